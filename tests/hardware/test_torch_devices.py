"""What the torch child says of CUDA, XPU, MPS, TPUs, dtypes and Core ML, with torch and coremltools replaced."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from explorer.hardware import coreml_facts, torch_devices, torch_dtypes, torch_mps
from explorer.hardware.readers import Text

GIB = 1 << 30


def no(*_: object, **__: object) -> bool:
    return False


def yes(*_: object, **__: object) -> bool:
    return True


def tensor(total: float) -> SimpleNamespace:
    return SimpleNamespace(sum=lambda: SimpleNamespace(item=lambda: total))


def fake_torch(monkeypatch: pytest.MonkeyPatch, **parts: Any) -> None:
    version = SimpleNamespace(cuda=None, hip=None, xpu=None)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(**{"version": version, **parts}))


def devices_of(*devices: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(
        is_available=yes, device_count=lambda: len(devices), get_device_properties=lambda index: devices[index]
    )


def test_cuda_is_usable_when_a_tensor_came_back(monkeypatch: pytest.MonkeyPatch) -> None:
    h200 = SimpleNamespace(name="NVIDIA H200", total_memory=150_000_000_000, major=9, minor=0)
    asked: list[object] = []

    def ones(_: int, device: str) -> SimpleNamespace:
        asked.append(device)
        return tensor(256)

    fake_torch(monkeypatch, cuda=devices_of(h200), version=SimpleNamespace(cuda="13.0", hip=None), ones=ones)
    found = torch_devices.cuda()
    assert (asked, found["cuda"].value, found["cuda.version"].value) == (["cuda"], True, "13.0")
    assert found["cuda.devices"].value == [{"name": "NVIDIA H200", "memory_bytes": 150_000_000_000, "capability": "9.0"}]


def test_cuda_builds_without_a_device_or_with_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rocm = SimpleNamespace(cuda=None, hip="7.0")
    fake_torch(monkeypatch, cuda=SimpleNamespace(is_available=no), version=rocm)
    found = torch_devices.cuda()
    assert (found["cuda"].state, found["cuda.version"].value) == ("absent", "ROCm 7.0")
    fake_torch(monkeypatch, cuda=devices_of(), version=rocm, ones=lambda *_, **__: tensor(0))
    assert torch_devices.cuda()["cuda"].reason == "the device gave back other numbers"
    fake_torch(monkeypatch)
    assert torch_devices.cuda()["cuda"].reason == "this torch build has no CUDA"


def test_xpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch)
    assert torch_devices.xpu()["xpu"].reason == "this torch build has no XPU"
    version = SimpleNamespace(cuda=None, hip=None, xpu="20250101")
    fake_torch(monkeypatch, version=version, xpu=SimpleNamespace(is_available=no))
    assert torch_devices.xpu()["xpu"].reason == "torch sees no Intel GPU or no driver"
    arc = SimpleNamespace(name="Intel(R) Arc(TM) A770 Graphics", total_memory=16 * GIB)
    fake_torch(monkeypatch, version=version, xpu=devices_of(arc), ones=lambda *_, **__: tensor(256))
    found = torch_devices.xpu()
    assert found["xpu"].value is True
    assert found["xpu.devices"].value == [{"name": arc.name, "memory_bytes": 16 * GIB, "capability": None}]


def test_tpu_by_torch_xla(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_devices, "find_spec", lambda _: None)
    monkeypatch.setattr(torch_devices, "import_module", no)
    assert torch_devices.tpu()["tpu.torch_xla"].reason == "torch-xla is not installed"
    kinds = ["CPU", "TPU"]
    torch = SimpleNamespace(ones=lambda _, device: tensor(256 if device == "xla:0" else 0))
    modules = {
        "torch": torch,
        "torch_xla": SimpleNamespace(device=lambda: "xla:0"),
        "torch_xla.runtime": SimpleNamespace(device_type=lambda: kinds.pop(0)),
    }
    monkeypatch.setattr(torch_devices, "find_spec", lambda _: object())
    monkeypatch.setattr(torch_devices, "import_module", modules.__getitem__)
    assert torch_devices.tpu()["tpu.torch_xla"].reason == "torch-xla computes on CPU, not on a TPU"
    assert torch_devices.tpu()["tpu.torch_xla"].value is True


def fails(message: str) -> Callable[..., Any]:
    def raising(*_: object, **__: object) -> None:
        raise RuntimeError(message)

    return raising


def on_mac(monkeypatch: pytest.MonkeyPatch, sysctl: str = "kern.osproductversion: 26.6\n", profile: str = "") -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    texts = {torch_mps.SYSCTL: Text(sysctl, ""), torch_mps.PROFILE: Text(profile, "")}
    monkeypatch.setattr(torch_mps, "output_of", texts.__getitem__)


def mps_torch(monkeypatch: pytest.MonkeyPatch, available: bool = True, **parts: Any) -> None:
    backend = SimpleNamespace(
        is_built=yes, is_available=lambda: available, get_name=lambda: "Apple M4 Max", get_core_count=lambda: 40
    )
    fake_torch(
        monkeypatch,
        **{"backends": SimpleNamespace(mps=backend), "mps": SimpleNamespace(recommended_max_memory=lambda: 48 * GIB), **parts},
    )


def test_what_torch_says_of_metal(monkeypatch: pytest.MonkeyPatch) -> None:
    mps_torch(monkeypatch)
    found = torch_mps.availability()
    assert [reading.value for reading in found.values()] == [True, "Apple M4 Max", 40, 48 * GIB]


def test_older_torches_and_absent_devices_tell_less(monkeypatch: pytest.MonkeyPatch) -> None:
    older = SimpleNamespace(is_built=yes, is_available=yes, get_core_count=fails("no device"))
    mps_torch(monkeypatch, backends=SimpleNamespace(mps=older), mps=SimpleNamespace())
    found = torch_mps.availability()
    assert found["mps.available"].value is True
    assert found["mps.name"].reason == found["mps.memory_limit_bytes"].reason == "this torch does not tell"
    assert found["mps.cores"].reason == "RuntimeError: no device"
    mps_torch(monkeypatch, available=False)
    found = torch_mps.availability()
    assert (found["mps.available"].value, found["mps.name"].state) == (False, "absent")


@pytest.mark.parametrize("total", [256, 0])
def test_mps_is_usable_when_the_device_gives_back_what_was_put(monkeypatch: pytest.MonkeyPatch, total: int) -> None:
    on_mac(monkeypatch)
    mps_torch(monkeypatch, ones=lambda _, device: tensor(total) if device == "mps" else None)
    usable = torch_mps.usability()["mps.usable"]
    assert usable.value is (True if total else None)
    assert ("other numbers" in usable.reason) is (not total)


def test_mps_of_a_virtual_mac_that_says_available_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    on_mac(monkeypatch, "machdep.cpu.brand_string: Apple M1 (Virtual)\nkern.osproductversion: 26.6\n")
    mps_torch(monkeypatch, ones=fails("MPS backend out of memory\n(MPS allocated: 0 bytes)"))
    reason = torch_mps.usability()["mps.usable"].reason
    assert reason == "available, but allocating 1 KiB in this virtual machine fails: RuntimeError: MPS backend out of memory"


@pytest.mark.parametrize(
    ("profile", "words"),
    [
        ('{"SPDisplaysDataType": []}', "no GPU is visible to this process"),
        ('{"SPDisplaysDataType": [{"sppci_model": "Apple Paravirtual device"}]}', "virtual machine's GPU"),
        ("", "torch accepts no GPU"),
    ],
)
def test_what_system_profiler_shows_decides_between_reasons(monkeypatch: pytest.MonkeyPatch, profile: str, words: str) -> None:
    on_mac(monkeypatch, profile=profile)
    mps_torch(monkeypatch, available=False)
    assert words in torch_mps.usability()["mps.usable"].reason


def test_this_torch_multiplies_in_every_dtype_it_says() -> None:
    torch = pytest.importorskip("torch")
    reading = torch_dtypes.cpu()["dtypes.cpu"]
    assert set(reading.value) >= {"float32", "float64"}
    assert set(reading.value) <= set(torch_dtypes.DTYPES)
    assert all(hasattr(torch, name) for name in reading.value)


class Matrix:
    """Ones that sum up as a product of SIDE x SIDE ones does, unless told otherwise."""

    def __init__(self, total: float = torch_dtypes.SIDE**3) -> None:
        self.total = total

    def __matmul__(self, _: "Matrix") -> "Matrix":
        return self

    def to(self, _: object) -> "Matrix":
        return self

    def sum(self) -> SimpleNamespace:
        return SimpleNamespace(item=lambda: self.total)


def test_dtypes_that_a_device_refuses_or_gets_wrong_are_left_out() -> None:
    def ones(_: object, dtype: str, device: str) -> Matrix:
        assert device == "mps"
        if dtype == "float64":
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.")
        return Matrix(7) if dtype == "bfloat16" else Matrix()

    dtypes = {name: name for name in torch_dtypes.DTYPES}
    reading = torch_dtypes.on(SimpleNamespace(**dtypes, ones=ones), "mps")
    assert reading.value == ["float32", "float16"]
    assert "no float64: TypeError: Cannot convert a MPS Tensor to float64" in reading.reason
    assert "no bfloat16: a sum of 7 instead of 32768" in reading.reason
    assert "no int8: AttributeError" in reading.reason


def test_dtypes_of_devices_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = SimpleNamespace(is_available=no, is_built=no)
    fake_torch(monkeypatch, cuda=absent, xpu=absent, backends=SimpleNamespace(mps=absent))
    for found in (torch_dtypes.cuda(), torch_dtypes.xpu(), torch_dtypes.mps()):
        assert [(reading.state, bool(reading.reason)) for reading in found.values()] == [("absent", True)]


class MLCPUComputeDevice: ...


class MLNeuralEngineComputeDevice:
    total_core_count = 16


def coreml(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], list[object]]) -> None:
    module = SimpleNamespace(MLComputeDevice=SimpleNamespace(get_all_compute_devices=ask))
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr(coreml_facts, "import_module", lambda _: module)


def test_core_ml_devices_check_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    coreml(monkeypatch, lambda: [MLCPUComputeDevice(), MLNeuralEngineComputeDevice()])
    found = coreml_facts.coreml_readings()
    assert found["coreml.devices"].value == ["CPU", "Neural Engine"]
    assert (found["ane.coreml_cores"].value, found["ane.coreml_cores"].unit) == (16, "cores")
    coreml(monkeypatch, lambda: [MLCPUComputeDevice()])
    assert coreml_facts.coreml_readings()["ane.coreml_cores"].reason == "Core ML shows no Neural Engine"


def test_core_ml_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_library() -> list[object]:
        raise AttributeError("'NoneType' object has no attribute 'get_all_compute_devices'")

    coreml(monkeypatch, without_library)
    assert "no native library" in coreml_facts.coreml_readings()["coreml.devices"].reason
    coreml(monkeypatch, fails("This API is only supported on macOS 14 and above."))
    assert "from macOS 14 on (RuntimeError: This API" in coreml_facts.coreml_readings()["coreml.devices"].reason


def test_core_ml_is_not_even_imported_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(coreml_facts, "import_module", fails("imported"))
    assert coreml_facts.coreml_readings()["coreml.devices"].reason == "Core ML runs on macOS only"
