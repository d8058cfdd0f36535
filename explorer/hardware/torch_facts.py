"""`python -m explorer.hardware.torch_facts`: what torch and ONNX Runtime say, printed as one JSON object of readings a line.

Runs in a child because importing and asking may hang or crash. The riskiest question comes last, so that a crash costs only it.
"""

import json
import platform
from collections.abc import Callable
from importlib import import_module
from typing import Any

from explorer.hardware import mps, sysctl
from explorer.hardware.answers import found, known, missing
from explorer.hardware.readers import output_of
from explorer.schemas.readings import Reading

KIB = 1024
MAC_NAMES = ("sysctl.proc_translated", "kern.osproductversion", "kern.hv_vmm_present", "machdep.cpu.brand_string")


def torch_readings() -> dict[str, Reading]:
    """Threads, vector width and libraries of torch on the CPU."""
    torch = import_module("torch")
    capabilities = getattr(torch.cpu, "get_capabilities", None)  # newer than the oldest torch allowed here
    switches = ("mkl", "mkldnn", "openmp", "nnpack", "xnnpack", "cudnn")
    backends = [name for name in switches if _is_on(getattr(torch.backends, name, None))]
    return {
        "torch.threads": known(torch.get_num_threads(), "torch", "threads"),
        "torch.interop_threads": known(torch.get_num_interop_threads(), "torch", "threads"),
        "torch.cpu_capability": known(torch.backends.cpu.get_cpu_capability(), "torch"),
        "torch.isa": found(_true_names(capabilities) if capabilities else None, "torch", "this torch does not tell"),
        "torch.backends": known(backends, "torch"),
        "torch.quantized_engines": known([str(name) for name in torch.backends.quantized.supported_engines], "torch"),
    }


def onnxruntime_readings() -> dict[str, Reading]:
    """Execution providers in ONNX Runtime's order of preference."""
    providers = import_module("onnxruntime").get_available_providers()
    return {"onnxruntime.providers": found(list(providers), "onnxruntime", "onnxruntime lists none")}


def cuda_readings() -> dict[str, Reading]:
    """Whether torch computes on a CUDA (or ROCm) device, proved by an allocation, and on which."""
    torch = import_module("torch")
    version, rocm = torch.version.cuda, torch.version.hip
    if not version and not rocm:
        return dict.fromkeys(NAMES[cuda_readings], missing("this torch build has no CUDA", "torch", state="unsupported"))
    built = known(version or f"ROCm {rocm}", "torch")
    if not torch.cuda.is_available():
        absent = missing("torch sees no CUDA device or no driver", "torch")
        return {"cuda": absent, "cuda.version": built, "cuda.devices": absent}
    torch.zeros(KIB, dtype=torch.uint8, device="cuda")
    devices = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    return {
        "cuda": known(True, "1 KiB allocated on the device by torch"),
        "cuda.version": built,
        "cuda.devices": known([_cuda_device(device) for device in devices], "torch"),
    }


def mps_readings() -> dict[str, Reading]:
    """Whether torch is built for MPS, calls it available, and can really allocate on it."""
    backend = import_module("torch").backends.mps
    built = bool(backend.is_built())
    available = built and bool(backend.is_available())
    usable = mps.verdict(mps.MpsFacts(**_host(), built=built, available=available, failure=_failure() if available else None))
    return {
        "mps.built": known(built, "torch"),
        "mps.available": known(available, "torch"),
        "mps.usable": usable,
        "mps.memory_limit_bytes": _mps_memory_limit() if usable.known else missing(usable.reason, unit="B"),
    }


NAMES: dict[Callable[[], dict[str, Reading]], tuple[str, ...]] = {
    torch_readings: (
        *("torch.threads", "torch.interop_threads", "torch.cpu_capability"),
        *("torch.isa", "torch.backends", "torch.quantized_engines"),
    ),
    onnxruntime_readings: ("onnxruntime.providers",),
    cuda_readings: ("cuda", "cuda.version", "cuda.devices"),
    mps_readings: ("mps.built", "mps.available", "mps.usable", "mps.memory_limit_bytes"),
}


def _host() -> dict[str, Any]:
    facts: dict[str, Any] = {"system": platform.system(), "machine": platform.machine()}
    if facts["system"] == "Darwin":
        values = sysctl.parse(output_of(("/usr/sbin/sysctl", *MAC_NAMES)).text)
        facts["translated"] = values.get("sysctl.proc_translated") == "1"
        facts["os_version"] = values.get("kern.osproductversion", "")
        facts["virtual"] = values.get("kern.hv_vmm_present") == "1" or "(Virtual)" in values.get("machdep.cpu.brand_string", "")
    return facts


def _failure() -> str:
    """What allocating and reading back 1 KiB on the device raises; empty when it works."""
    torch = import_module("torch")
    try:
        total = int(torch.ones(KIB // 4, device="mps").sum().item())
    except Exception as error:  # torch raises many kinds here
        return _first_line(error)
    return "" if total == KIB // 4 else "the device gave back other numbers"


def _mps_memory_limit() -> Reading:
    limit = getattr(import_module("torch").mps, "recommended_max_memory", None)
    return found(int(limit()) if limit else None, "torch.mps", "this torch does not tell", "B")


def _cuda_device(device: Any) -> dict[str, Any]:
    return {"name": device.name, "memory_bytes": device.total_memory, "capability": f"{device.major}.{device.minor}"}


def _is_on(backend: Any) -> bool:
    return backend is not None and hasattr(backend, "is_available") and bool(backend.is_available())


def _true_names(ask: Callable[[], dict[str, Any]]) -> list[str]:
    return [name for name, value in ask().items() if value is True]


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def main() -> None:
    """Print each group's readings as soon as it has answered."""
    for ask, names in NAMES.items():
        try:
            answers = ask()
        except Exception as error:  # a broken install raises anything
            answers = dict.fromkeys(names, missing(_first_line(error)))
        line = json.dumps({name: reading.model_dump(mode="json") for name, reading in answers.items()})
        print(line, flush=True)  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    main()
