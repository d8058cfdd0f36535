"""Traces of quantization and sparsity in the names and types of tensors."""

import re
from collections.abc import Sequence

from explorer.models.gguf_types import QUANTIZED_NAMES
from explorer.schemas.events import Finding

# Names that the writers of quantized weights give their parts.
SCHEMES = (
    (re.compile(r"\.qweight$"), "packed integer weights, as GPTQ and AWQ write them"),
    (re.compile(r"\.weight_packed$"), "packed integer weights, as compressed-tensors writes them"),
    (re.compile(r"\.(absmax|quant_map|quant_state\.\w+)$"), "4-bit or 8-bit weights, as bitsandbytes writes them"),
    (re.compile(r"\.(SCB|weight_scale|weight_scale_inv)$"), "8-bit weights with scales"),
    (re.compile(r"_packed_params(\._packed_params)?\.\d$|_packed_params\.dtype$"), "packed parameters of quantized layers"),
    (re.compile(r"\.(sparse_values|sparse_indices|sparse_col_indices)$"), "sparse tensors"),
)
QUANTIZED_DTYPES = {"qint8", "quint8", "qint32", "quint4x2", "quint2x4", *QUANTIZED_NAMES}


def compression_findings(tensors: Sequence[tuple[str, str]]) -> list[Finding]:
    """A note for each scheme that the names and types of the tensors show, and for weights that a mask prunes."""
    found: dict[str, int] = {}
    names = {name for name, _ in tensors}
    for name, dtype in tensors:
        for pattern, scheme in SCHEMES:
            if pattern.search(name):
                found[scheme] = found.get(scheme, 0) + 1
        if dtype in QUANTIZED_DTYPES:
            found[f"quantized to {dtype}"] = found.get(f"quantized to {dtype}", 0) + 1
    notes = [
        Finding(severity="info", title=f"compressed: {scheme}", evidence=f"{count} tensors")
        for scheme, count in found.items()
    ]  # fmt: skip
    masks = [name for name in names if name.endswith("_mask") and f"{name.removesuffix('_mask')}_orig" in names]
    if masks:
        title = f"{len(masks)} weights are pruned by masks that are stored beside them"
        remedy = "torch.nn.utils.prune.remove makes the zeros permanent and drops the masks"
        notes.append(Finding(severity="info", title=title, evidence="pairs of _orig and _mask", remedy=remedy))
    return notes
