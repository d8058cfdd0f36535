"""`python -m explorer.hardware.torch_facts`: what torch and ONNX Runtime say, printed as one JSON object of readings a line.

Runs in a child because importing and asking may hang or crash. The riskiest questions come last, so that a crash or a hang
costs only them: what is printed before is kept.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from explorer.hardware import torch_devices, torch_dtypes, torch_mps
from explorer.hardware.answers import found, known
from explorer.hardware.child import answer
from explorer.schemas.readings import Reading

LIBRARIES = ("mkl", "mkldnn", "openmp", "nnpack", "kleidiai", "opt_einsum", "cudnn", "cusparselt", "miopen")


def torch_readings() -> dict[str, Reading]:
    """Threads, vector width and libraries of torch on the CPU, and whether it is built for MPS."""
    torch = import_module("torch")
    capabilities = getattr(torch.cpu, "get_capabilities", None)  # newer than the oldest torch allowed here
    backends = [name for name in LIBRARIES if _is_on(getattr(torch.backends, name, None))]
    return {
        "torch.threads": known(torch.get_num_threads(), "torch", "threads"),
        "torch.interop_threads": known(torch.get_num_interop_threads(), "torch", "threads"),
        "torch.cpu_capability": known(torch.backends.cpu.get_cpu_capability(), "torch"),
        "torch.isa": found(_true_names(capabilities) if capabilities else None, "torch", "this torch does not tell"),
        "torch.backends": known(backends, "torch"),
        "torch.quantized_engines": known([str(name) for name in torch.backends.quantized.supported_engines], "torch"),
        "torch.float32_matmul_precision": known(torch.get_float32_matmul_precision(), "torch"),
        "mps.built": known(bool(torch.backends.mps.is_built()), "torch"),
    }


def onnxruntime_readings() -> dict[str, Reading]:
    """Execution providers in ONNX Runtime's order of preference."""
    providers = import_module("onnxruntime").get_available_providers()
    return {"onnxruntime.providers": found(list(providers), "onnxruntime", "onnxruntime lists none")}


NAMES: dict[Callable[[], dict[str, Reading]], tuple[str, ...]] = {
    torch_readings: (
        *("torch.threads", "torch.interop_threads", "torch.cpu_capability", "torch.isa", "torch.backends"),
        *("torch.quantized_engines", "torch.float32_matmul_precision", "mps.built"),
    ),
    onnxruntime_readings: ("onnxruntime.providers",),
    torch_dtypes.cpu: ("dtypes.cpu",),
    torch_devices.cuda: ("cuda", "cuda.version", "cuda.devices"),
    torch_dtypes.cuda: ("dtypes.cuda",),
    torch_devices.xpu: ("xpu", "xpu.devices"),
    torch_dtypes.xpu: ("dtypes.xpu",),
    torch_mps.availability: ("mps.available", "mps.name", "mps.cores", "mps.memory_limit_bytes"),
    torch_mps.usability: ("mps.usable",),
    torch_dtypes.mps: ("dtypes.mps",),
    torch_devices.tpu: ("tpu.torch_xla",),
}


def _is_on(backend: Any) -> bool:
    return backend is not None and hasattr(backend, "is_available") and bool(backend.is_available())


def _true_names(ask: Callable[[], dict[str, Any]]) -> list[str]:
    return [name for name, value in ask().items() if value is True]


if __name__ == "__main__":
    answer(NAMES)
