"""The environment variables that matter to a training, as they are in this process."""

import os

NAMES = (
    "PYTORCH_ENABLE_MPS_FALLBACK",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_VISIBLE_DEVICES",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PJRT_DEVICE",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def shown_environment() -> dict[str, str]:
    """Those of the variables that are set, by name."""
    return {name: os.environ[name] for name in NAMES if name in os.environ}
