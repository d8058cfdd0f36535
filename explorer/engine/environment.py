"""Variables that torch reads only when it starts, so they stand in a worker's environment before it does."""

import os
from collections.abc import Mapping

from explorer.schemas.specs import Spec, TrainSpec
from explorer.schemas.train_spec import MPS_HIGH_WATERMARK, MPS_LOW_WATERMARK, MPS_WATERMARK_BOUND

# What every worker gets where nobody said otherwise.
DEFAULTS = {"PYTORCH_ENABLE_MPS_FALLBACK": "1", "PYTHONUNBUFFERED": "1"}


def worker_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """A worker's environment: the defaults, then the engine's own, then `extra`."""
    return {**DEFAULTS, **os.environ, **extra}


def training_environment(spec: Spec) -> dict[str, str]:
    """The variables that a training's spec asks for, in the order to set them; none for other kinds of job."""
    if not isinstance(spec, TrainSpec):
        return {}
    variables = {"PYTORCH_ENABLE_MPS_FALLBACK": "1" if spec.mps_fallback else "0", **_watermarks(spec)}
    if spec.deterministic:
        # cuBLAS repeats its sums exactly only with a workspace of its own (torch.use_deterministic_algorithms).
        variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    return variables


def _watermarks(spec: TrainSpec) -> dict[str, str]:
    """Both limits of MPS memory as soon as one is given: torch refuses a high one below its default low one."""
    if spec.mps_low_watermark is None and spec.mps_high_watermark is None:
        return {}
    high = MPS_HIGH_WATERMARK if spec.mps_high_watermark is None else spec.mps_high_watermark
    low = min(MPS_LOW_WATERMARK, high or MPS_WATERMARK_BOUND) if spec.mps_low_watermark is None else spec.mps_low_watermark
    return {"PYTORCH_MPS_LOW_WATERMARK_RATIO": f"{low:g}", "PYTORCH_MPS_HIGH_WATERMARK_RATIO": f"{high:g}"}
