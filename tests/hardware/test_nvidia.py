"""NVIDIA GPUs from NVML objects and from the text of `nvidia-smi -q -x`."""

from types import SimpleNamespace
from typing import Any

import pytest

from explorer.hardware import nvidia
from explorer.hardware.readers import Text
from tests.hardware import recorded

GIB = 1 << 30


def refused(*_: object) -> None:
    raise RuntimeError("Not Supported")


def nvml(**changes: Any) -> SimpleNamespace:
    """An H100 whose MIG indices 0 and 2 are taken."""
    attributes = SimpleNamespace(multiprocessorCount=16, gpuInstanceSliceCount=1)
    names = {
        "gpu": "NVIDIA H100 80GB HBM3",
        "mig0": "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "mig2": b"NVIDIA H100 80GB HBM3 MIG 1g.10gb",
    }
    parts: dict[str, Any] = {
        "nvmlSystemGetDriverVersion": lambda: b"580.65.06",
        "nvmlSystemGetCudaDriverVersion": lambda: 13000,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda _: "gpu",
        "nvmlDeviceGetName": lambda handle: names[handle],
        "nvmlDeviceGetNumGpuCores": lambda _: 16896,
        "nvmlDeviceGetMemoryInfo": lambda handle: SimpleNamespace(total=(80 if handle == "gpu" else 10) * GIB),
        "nvmlDeviceGetCudaComputeCapability": lambda _: (9, 0),
        "nvmlDeviceGetPciInfo": lambda _: SimpleNamespace(busId=b"00000000:1B:00.0"),
        "nvmlDeviceGetMigMode": lambda _: [1, 1],
        "nvmlDeviceGetMaxMigDeviceCount": lambda _: 7,
        "nvmlDeviceGetMigDeviceHandleByIndex": lambda _, index: f"mig{index}" if index in (0, 2) else refused(),
        "nvmlDeviceGetAttributes_v2": lambda _: attributes,
    }
    return SimpleNamespace(**{**parts, **changes})


def test_a_gpu_cut_into_mig_devices() -> None:
    (gpu,) = nvidia.from_nvml(nvml())
    part = {"name": "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "memory_bytes": 10 * GIB, "multiprocessors": 16, "slices": 1}
    assert gpu == {
        "vendor": "NVIDIA",
        "name": "NVIDIA H100 80GB HBM3",
        "cores": 16896,
        "memory_bytes": 80 * GIB,
        "capability": "9.0",
        "pci": "00000000:1B:00.0",
        "driver": "580.65.06",
        "cuda": "13.0",
        "mig": True,
        "mig_devices": 2,
        "mig_instances": [part, part],
        "usable_through": "torch's CUDA build, one MIG device a process",
    }


def test_mig_that_is_on_without_a_device() -> None:
    (gpu,) = nvidia.from_nvml(nvml(nvmlDeviceGetMigDeviceHandleByIndex=refused))
    assert (gpu["mig"], gpu["mig_devices"]) == (True, 0)
    assert gpu["usable_through"].endswith("MIG is on and has none")


def test_a_gpu_that_refuses_every_field_is_still_shown() -> None:
    asked = ("nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex")
    silent = {name: refused for name in vars(nvml()) if name not in asked}
    (gpu,) = nvidia.from_nvml(nvml(**silent))
    told = {"vendor", "name", "mig_devices", "mig_instances", "usable_through"}
    assert gpu["name"] == "NVIDIA GPU"
    assert {name for name, value in gpu.items() if value is None} == set(gpu) - told


def test_mig_devices_of_a_recorded_a100() -> None:
    gpus = nvidia.from_smi_xml(recorded.text("nvidia-a100-sxm4-v12", "nvidia-smi").text)
    first = gpus[0]
    assert (first["driver"], first["cuda"], first["pci"]) == ("535.54.03", "12.2", "00000000:01:00.0")
    assert first["mig_devices"] == len(first["mig_instances"]) == 4
    assert first["mig_instances"][0] == {"name": None, "memory_bytes": 19968 << 20, "multiprocessors": 14, "slices": None}
    assert all(part["memory_bytes"] for part in first["mig_instances"])


def test_a_recorded_card_without_mig() -> None:
    (gpu,) = nvidia.from_smi_xml(recorded.text("nvidia-gtx-1660-ti", "nvidia-smi").text)
    assert (gpu["mig"], gpu["mig_instances"], gpu["usable_through"]) == (None, [], "torch's CUDA build")
    assert gpu["driver"]


def test_nvidia_smi_stands_in_for_the_bindings(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise nvidia.NvmlAbsent("nvidia-ml-py is not installed")

    monkeypatch.setattr(nvidia, "start", absent)
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(nvidia, "output_of", lambda _: recorded.text("nvidia-gtx-1660-ti", "nvidia-smi"))
    assert nvidia.reading().source == "nvidia-smi -q -x"
    monkeypatch.setattr(nvidia, "output_of", lambda _: Text("", "no answer"))
    assert nvidia.reading().reason == "no NVIDIA GPU (nvidia-ml-py is not installed)"
