"""How ONNX Runtime would split an ONNX file with its Core ML provider, forecast on any system."""

import tempfile
from pathlib import Path
from typing import Any

from explorer.inference.coreml.quiet import quiet
from explorer.schemas.events import Finding

# The operators of the provider's ML Program form, a file beside the checker.
OPERATORS_FILE = "coreml_supported_mlprogram_ops.md"
VERDICTS = {"YES": "worth trying", "MAYBE": "may be worth trying", "NO": "the CPU provider is likely faster"}


def provider_forecast(model: Path) -> Finding | None:
    """Partitions, share of the nodes and what is not taken, as ONNX Runtime's own checker sees them; None when it cannot tell.

    The checker looks at operator types and ranks only: it is a forecast, and nothing fails because of it.
    """
    try:
        with quiet():
            info = _partitions(model)
    except Exception:  # a forecast must not end a proven conversion
        return None
    share = info.num_supported_nodes / info.num_nodes if info.num_nodes else 0.0
    taken = f"{info.num_supported_nodes} of {info.num_nodes} nodes"
    parts = f"{info.num_partitions} partition{'' if info.num_partitions == 1 else 's'}"
    lacking = sorted({*info.unsupported_ops, *info.ops_with_unsupported_rank})
    return Finding(
        severity="info",
        title=f"ONNX Runtime's Core ML provider would take {taken} ({share:.0%}) in {parts}",
        evidence=f"not taken: {', '.join(item.removeprefix('ai.onnx:') for item in lacking)}"
        if lacking
        else "all operators are taken",
        remedy=VERDICTS[info.suitability().name],
    )


def _partitions(model: Path) -> Any:
    import onnx
    from onnxruntime.tools.mobile_helpers import usability_checker
    from onnxruntime.tools.onnx_model_utils import ModelProtoWithShapeInfo, optimize_model

    with tempfile.TemporaryDirectory() as folder:
        optimized = Path(folder) / "optimized.onnx"
        optimize_model(model, optimized, use_external_initializers=True)
        shaped = ModelProtoWithShapeInfo(optimized)
        assert isinstance(shaped.model_with_shape_info, onnx.ModelProto)
        return usability_checker.check_coreml_partitions(shaped.model_with_shape_info, False, OPERATORS_FILE)
