"""The torch child: what it answers, and what a broken one costs."""

import asyncio
import sys
import time
from types import SimpleNamespace

import psutil
import pytest

from explorer.hardware import torch_facts
from explorer.hardware.inventory import probe
from explorer.hardware.probe import COMMAND, NAMES, pending
from explorer.hardware.readers import Text

LINE = '{"torch.threads": {"value": 3, "state": "ok"}}'


def child(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def running(words: str) -> list[str]:
    """Live processes with `words` in their command line."""
    lines = [" ".join(process.info["cmdline"] or []) for process in psutil.process_iter(["cmdline", "status"])]
    return [line for line in lines if words in line]


async def test_this_machine_answers_every_question() -> None:
    found = await probe()
    assert set(found) == set(NAMES) == set(pending())
    assert all(reading.state != "pending" for reading in found.values())
    assert found["torch.threads"].value >= 1
    assert "CPUExecutionProvider" in found["onnxruntime.providers"].value
    assert found["mps.built"].value is (sys.platform == "darwin")
    assert found["cuda"].known or found["cuda"].reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "died of SIGSEGV"),
        ("raise SystemExit(7)", "ended with exit code 7"),
        ("print('Welcome!'); print('[1]'); print('{broken'); print('{\"torch.threads\": 5}')", "did not say"),
        ("while True: print('x' * 4096)", "printed over 1 MiB"),
    ],
)
async def test_a_broken_child_costs_a_reason(code: str, reason: str) -> None:
    found = await probe(child(code), limit_s=20)
    assert reason in found["torch.threads"].reason
    assert {reading.state for reading in found.values()} == {"absent"}


async def test_a_hanging_child_costs_its_limit_and_keeps_what_it_said() -> None:
    start = time.monotonic()
    code = f"import subprocess, time; print('{LINE}', flush=True); subprocess.Popen(['sleep', '61.25']); time.sleep(60)"
    found = await probe(child(code), limit_s=2)
    assert 2 <= time.monotonic() - start < 10
    assert found["torch.threads"].value == 3
    assert found["cuda"].reason == "the torch probe gave no answer within 2 s"
    assert not running("61.25")


async def test_a_missing_interpreter_is_a_reason() -> None:
    assert "cannot be started" in (await probe(("/no/such/python",)))["cuda"].reason


async def test_cancelling_leaves_no_child() -> None:
    task = asyncio.create_task(probe(child("import time; time.sleep(60.75)")))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not running("60.75")


def test_a_broken_framework_costs_only_its_own_readings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> object:
        raise OSError(f"{name}: cannot open shared object\nmore")

    monkeypatch.setattr(torch_facts, "import_module", broken)
    torch_facts.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(torch_facts.NAMES)
    assert "OSError: onnxruntime: cannot open shared object" in lines[1]
    assert COMMAND[1:] == ("-m", "explorer.hardware.torch_facts")


def fake_torch(monkeypatch: pytest.MonkeyPatch, **parts: object) -> None:
    torch = SimpleNamespace(**{"version": SimpleNamespace(cuda=None, hip=None), "uint8": "uint8", **parts})
    monkeypatch.setattr(torch_facts, "import_module", lambda _: torch)


def test_cuda_is_usable_when_a_tensor_was_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = SimpleNamespace(name="NVIDIA H200", total_memory=150_000_000_000, major=9, minor=0)
    cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 1, get_device_properties=lambda _: properties)
    version = SimpleNamespace(cuda="13.0", hip=None)
    asked: list[object] = []
    fake_torch(monkeypatch, cuda=cuda, version=version, zeros=lambda *_, **options: asked.append(options["device"]))
    found = torch_facts.cuda_readings()
    assert (asked, found["cuda"].value, found["cuda.version"].value) == (["cuda"], True, "13.0")
    assert found["cuda.devices"].value == [{"name": "NVIDIA H200", "memory_bytes": 150_000_000_000, "capability": "9.0"}]


def test_cuda_build_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_torch(monkeypatch, cuda=SimpleNamespace(is_available=lambda: False), version=SimpleNamespace(cuda=None, hip="7.0"))
    found = torch_facts.cuda_readings()
    assert (found["cuda"].state, found["cuda.version"].value) == ("absent", "ROCm 7.0")


@pytest.mark.parametrize("total", [256, 0])
def test_mps_is_usable_when_the_device_gives_back_what_was_put(monkeypatch: pytest.MonkeyPatch, total: int) -> None:
    on_mac(monkeypatch, "kern.osproductversion: 26.6\n")
    tensor = SimpleNamespace(sum=lambda: SimpleNamespace(item=lambda: float(total)))
    fake_torch(monkeypatch, **MPS_PARTS, ones=lambda *_, device: tensor if device == "mps" else None)
    found = torch_facts.mps_readings()
    assert (found["mps.built"].value, found["mps.available"].value) == (True, True)
    assert found["mps.usable"].value is (True if total else None)
    assert found["mps.memory_limit_bytes"].value == (1 << 34 if total else None)


def test_mps_of_a_virtual_mac_that_says_available_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("MPS backend out of memory\n(MPS allocated: 0 bytes)")

    on_mac(monkeypatch, "machdep.cpu.brand_string: Apple M1 (Virtual)\nkern.osproductversion: 26.6\n")
    fake_torch(monkeypatch, **MPS_PARTS, ones=fails)
    reason = torch_facts.mps_readings()["mps.usable"].reason
    assert reason == "available, but allocating 1 KiB in this virtual machine fails: RuntimeError: MPS backend out of memory"


YES = SimpleNamespace(is_built=lambda: True, is_available=lambda: True)
MPS_PARTS = {"backends": SimpleNamespace(mps=YES), "mps": SimpleNamespace(recommended_max_memory=lambda: 1 << 34)}


def on_mac(monkeypatch: pytest.MonkeyPatch, sysctl: str) -> None:
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    monkeypatch.setattr(torch_facts, "output_of", lambda _: Text(sysctl, ""))
