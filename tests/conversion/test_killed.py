"""A killed conversion leaves nothing under the final name."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from explorer.conversion.destination import SUFFIXES
from explorer.schemas.convert_spec import ConvertTarget

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from pathlib import Path
from explorer.conversion.convert import run
from explorer.reporter import QuietReporter
from explorer.schemas.specs import ConvertSpec
folder = Path(sys.argv[2])
print("ready", flush=True)
spec = ConvertSpec(source="tests.conversion.ports_models:picture", target=sys.argv[1], output=sys.argv[3], external_data="always")
run(spec, QuietReporter(folder))
"""
TRIALS = 6


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", ["onnx", "coreml", "pt2"])
def test_a_kill_at_any_time_leaves_the_whole_result_or_none(target: ConvertTarget, tmp_path: Path) -> None:
    output = tmp_path / "sent" / f"out{SUFFIXES[target]}"
    whole = _ended(target, tmp_path / "first", output, None)
    names = sorted(item.name for item in output.parent.iterdir())
    generator = random.Random(0)
    for trial in range(TRIALS):
        folder = tmp_path / f"killed{trial}"
        sent = folder / "sent" / output.name
        _ended(target, folder / "job", sent, generator.uniform(0.0, whole))
        kept = [folder / "job" / f"model{SUFFIXES[target]}", sent]
        for item in kept:
            if item.exists() and item.parent == sent.parent:
                assert sorted(other.name for other in item.parent.iterdir() if not other.name.startswith(".")) == names
                assert item.is_file() == (target != "coreml")
                assert item.is_file() or (item / "Manifest.json").is_file()


def _ended(target: str, folder: Path, output: Path, after_s: float | None) -> float:
    """Seconds that a conversion took from its first line, or until it was killed."""
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, target, str(folder), str(output)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        started = time.monotonic()
        if after_s is not None:
            time.sleep(after_s)
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        assert code == (0 if after_s is None else code)
        return time.monotonic() - started
