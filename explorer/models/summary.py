"""What a list of tensors comes to: parameters, bytes by type, common prefixes of the names.

Parameters are floating and integer numbers, once each. Left out are buffers, as far as the file tells them apart: those of whole
modules and exported programs by their table, elsewhere by the names that torch's normalisation layers give theirs.
"""

from collections.abc import Iterable, Sequence

from explorer.models.dtypes import elements_of, is_weight
from explorer.schemas.model_results import TensorInfo

BUFFER_NAMES = frozenset({"running_mean", "running_var", "num_batches_tracked"})
PREFIXES = ("module.", "_orig_mod.", "model.")


def is_buffer(name: str) -> bool:
    """Whether a name says that the tensor is running statistics of a normalisation layer."""
    return name.rpartition(".")[2] in BUFFER_NAMES


def is_parameter(name: str, dtype: str) -> bool:
    return is_weight(dtype) and not is_buffer(name)


def count_parameters(tensors: Iterable[TensorInfo]) -> int:
    """Numbers in parameters; a tensor that shares its storage with an earlier one adds nothing."""
    return sum(elements_of(item.shape) for item in tensors if not item.shares and is_parameter(item.name, item.dtype))


def bytes_by_dtype(tensors: Iterable[TensorInfo]) -> dict[str, int]:
    """Stored bytes by element type, the largest first; shared storage once."""
    sums: dict[str, int] = {}
    for tensor in tensors:
        if not tensor.shares:
            sums[tensor.dtype] = sums.get(tensor.dtype, 0) + tensor.bytes
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def common_prefixes(names: Sequence[str]) -> list[str]:
    """The wrappers that every name begins with, from the outside in: `module.` of DataParallel, `_orig_mod.` of torch.compile."""
    found: list[str] = []
    start = ""
    while names:
        prefix = next((item for item in PREFIXES if all(name.startswith(start + item) for name in names)), None)
        if prefix is None or len(found) > 8:
            break
        found.append(prefix)
        start += prefix
    return found
