"""The torch child: what it answers, and what a broken one costs."""

import asyncio
import json
import sys
import time

import psutil
import pytest

from explorer.hardware import child as asking
from explorer.hardware import probe as probing
from explorer.hardware import torch_facts
from explorer.hardware.answers import known
from explorer.hardware.inventory import probe
from explorer.hardware.probe import COMMAND, NAMES, pending

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
    assert {"float32", "bfloat16", "float16", "float64"} <= set(found["dtypes.cpu"].value)
    assert found["mps.usable"].known or found["mps.usable"].reason != "the torch probe did not say"
    assert all(reading.known or reading.reason for reading in found.values())


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


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "died of SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGABRT)", "died of SIGABRT"),
        ("print('not JSON'); print('{\"cuda\": [')", "did not say"),
        ("raise SystemExit(3)", "ended with exit code 3"),
        ("[print('x' * 4096) for _ in range(10**9)]", "printed over 1 MiB"),
    ],
)
async def test_what_was_said_before_a_bad_end_is_kept(ending: str, reason: str) -> None:
    found = await probe(child(f"import os, signal; print('{LINE}', flush=True); {ending}"), limit_s=20)
    assert (found["torch.threads"].value, found["torch.threads"].state) == (3, "ok")
    assert reason in found["cuda"].reason


@pytest.mark.parametrize(
    ("ending", "reason"), [("time.sleep(60)", "gave no answer within 2 s"), ("os.abort()", "died of SIGABRT")]
)
async def test_an_mps_that_hangs_or_crashes_costs_only_what_comes_after(ending: str, reason: str) -> None:
    available = json.dumps({"mps.available": known(True, "torch").model_dump(mode="json")})
    found = await probe(child(f"import os, time; print('{LINE}'); print('{available}', flush=True); {ending}"), limit_s=2)
    assert (found["torch.threads"].value, found["mps.available"].value) == (3, True)
    assert found["mps.usable"].state == "unsupported"
    assert found["mps.usable"].reason == f"available, but allocating 1 KiB fails: the torch probe {reason}"
    assert reason in found["dtypes.mps"].reason


def test_the_riskiest_questions_come_last() -> None:
    order = [name for names in torch_facts.NAMES.values() for name in names]
    assert order.index("torch.threads") < order.index("dtypes.cpu") < order.index("cuda") < order.index("mps.available")
    assert order[-3:] == ["mps.usable", "dtypes.mps", "tpu.torch_xla"]


async def test_core_ml_has_a_child_of_its_own_on_a_mac(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_no_coreml", lambda: "")
    line = json.dumps({"ane.coreml_cores": known(16, "coremltools", "cores").model_dump(mode="json")})
    torch, coreml = child("import os; os.abort()"), child(f"print('{line}')")
    found = await probe(torch, limit_s=20, coreml_command=coreml)
    assert found["ane.coreml_cores"].value == 16
    assert found["coreml.devices"].reason == "the Core ML probe did not say"
    found = await probe(child(f"print('{LINE}')"), limit_s=20, coreml_command=torch)
    assert found["torch.threads"].value == 3
    assert found["coreml.devices"].reason == "the Core ML probe died of SIGABRT"


@pytest.mark.skipif(sys.platform == "darwin", reason="Core ML is there")
async def test_core_ml_is_not_asked_elsewhere() -> None:
    found = await probe(child(""), coreml_command=child("import time; time.sleep(60)"))
    assert found["coreml.devices"].reason == found["ane.coreml_cores"].reason == "Core ML runs on macOS only"


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
    asking.answer(torch_facts.NAMES)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(torch_facts.NAMES)
    assert "OSError: torch: cannot open shared object" in lines[0]
    assert "OSError: onnxruntime: cannot open shared object" in lines[1]
    assert "float32" in lines[2]
    assert COMMAND[1:] == ("-m", "explorer.hardware.torch_facts")


def test_reasons_are_one_short_line() -> None:
    assert asking.first_line(RuntimeError("one\ntwo")) == "RuntimeError: one"
    assert asking.first_line(ValueError()) == "ValueError"
    assert len(asking.first_line(RuntimeError("x" * 5000))) == asking.MAX_REASON_CHARS
