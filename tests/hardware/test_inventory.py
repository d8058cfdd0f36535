"""`collect` is fast and imports no framework; readers turn every failure into a reason."""

import json
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest

from explorer.hardware import inventory
from explorer.hardware.readers import output_of, outputs_of, text_of, tree_of

COLLECT = """
import json, sys, time
from explorer.hardware.inventory import collect
from explorer.hardware.live import Sampler
start = time.perf_counter()
readings = collect().readings
seconds = time.perf_counter() - start
Sampler().sample()
loaded = [name for name in ("torch", "numpy", "onnx", "onnxruntime", "coremltools") if name in sys.modules]
print(json.dumps({"seconds": seconds, "loaded": loaded, "names": sorted(readings)}))
"""
PROMISED = {
    *("chip.name", "os.name", "cpu.tiers", "cpu.logical", "cpu.isa", "memory.total_bytes", "memory.limit_bytes", "cpu.limit"),
    *("gpu", "mps.usable", "mps.built", "ane.cores", "ane.generation", "tpu", "machine.model", "memory.available_bytes", "cuda"),
    *("framework.torch", "framework.coremltools", "framework.onnx", "framework.onnxruntime", "onnxruntime.providers"),
    *("torch.threads", "dtypes.cpu", "dtypes.mps", "dtypes.cuda", "gpu.driver", "tpu.torch_xla", "coreml.devices", "xpu"),
}


def test_collect_is_fast_without_frameworks_and_complete() -> None:
    done = subprocess.run([sys.executable, "-c", COLLECT], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["loaded"] == []
    assert found["seconds"] < 1
    assert set(found["names"]) >= PROMISED


def test_versions_come_from_metadata() -> None:
    found = inventory.collect()
    assert found.get("framework.torch").value == metadata.version("torch")
    for name, package in {"torch_xla": "torch-xla", "torchao": "torchao", "executorch": "executorch"}.items():
        absent = found.get(f"framework.{name}")
        assert absent.known or absent.reason == f"{package} is not installed"


@pytest.mark.skipif(sys.platform != "linux", reason="reads sysfs")
def test_gpu_and_tpu_of_linux_are_rows_or_a_reason() -> None:
    found = inventory.collect()
    for name in ("gpu", "gpu.driver", "tpu"):
        reading = found.get(name)
        assert reading.known or reading.reason
    assert found.get("coreml.devices").reason == "Core ML runs on macOS only"


def test_commands_cost_their_limit_and_a_reason() -> None:
    start = time.monotonic()
    slow = output_of((sys.executable, "-c", "import time; time.sleep(60)"), limit_s=0.3)
    assert time.monotonic() - start < 5
    assert (slow.text, slow.reason.partition(" gave ")[2]) == ("", "no answer within 0.3 s")
    assert not output_of(("/no/such/command",))
    assert "cannot be run" in output_of(("/no/such/command",)).reason
    failing = output_of((sys.executable, "-c", "print('hw.memsize: 1'); raise SystemExit(1)"))
    assert failing.text == "hw.memsize: 1\n"
    assert "exit code 3" in output_of((sys.executable, "-c", "raise SystemExit(3)")).reason


def test_commands_run_together() -> None:
    texts = outputs_of({"one": (sys.executable, "-c", "print(1)"), "two": (sys.executable, "-c", "print(2)")})
    assert {name: text.text for name, text in texts.items()} == {"one": "1\n", "two": "2\n"}


def test_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "level").write_bytes(b"1\xff\n")
    assert text_of(tmp_path / "a" / "level").text == "1\ufffd\n"
    assert "No such file" in text_of(tmp_path / "b").reason
    assert tree_of(tmp_path, ["*/level", "*/none"]) == {str(tmp_path / "a" / "level"): "1\ufffd"}
