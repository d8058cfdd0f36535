"""One compute unit in a process with a time limit, and what came of it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from explorer.conversion.inputs import Array, Feed, Proof
from explorer.conversion.proof import Judged, judged
from explorer.schemas.convert_result import UnitRun

UNITS = ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")
POLL_S = 0.05
KILLED = "Core ML ended the process with SIGKILL, as it does when the Neural Engine's compiler fails (coremltools issue 2758)"
Control = Callable[[], object]


@dataclass(frozen=True)
class Outcome:
    """What a process said and left, and what went wrong with it; outputs are None unless it came to its end."""

    said: dict[str, Any] = field(default_factory=dict)
    outputs: list[dict[str, Array]] | None = None
    problem: str = ""


def child_command(package: Path, proof: Path, units: str, out: Path) -> list[str]:
    """The command that runs a package on one compute unit."""
    return [sys.executable, "-m", "explorer.conversion.prove_child", str(package), str(proof), units, str(out)]


def run_unit(command: Sequence[str], out: Path, time_limit_s: float, control: Control) -> Outcome:
    """Run the process to its end or its limit; `control` is called all along and may raise, which ends the process too."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        with _started(command, stdout, stderr) as child:
            code = _waited(child, time_limit_s, control)
        said = _said(_text(stdout))
        problem = _problem(code, time_limit_s, _text(stderr))
        return Outcome(said, None, problem) if problem or not said.get("done") else _with_outputs(said, out)


@contextmanager
def _started(command: Sequence[str], stdout: Any, stderr: Any) -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True)
    try:
        yield child
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _waited(child: "subprocess.Popen[bytes]", time_limit_s: float, control: Control) -> int | None:
    """Its exit code; None when the time was up first."""
    end = time.monotonic() + time_limit_s
    while time.monotonic() < end:
        control()
        with suppress(subprocess.TimeoutExpired):
            return child.wait(POLL_S)
    return None


def _text(stream: Any) -> str:
    stream.seek(0)
    return str(stream.read().decode(errors="replace"))


def _said(text: str) -> dict[str, Any]:
    """All lines in one; what is no JSON object was printed by somebody else."""
    said: dict[str, Any] = {}
    for line in text.splitlines():
        with suppress(ValueError):
            item = json.loads(line)
            said |= item if isinstance(item, dict) else {}
    return said


def _problem(code: int | None, time_limit_s: float, errors: str) -> str:
    if code is None:
        return f"gave no answer within {time_limit_s:g} s"
    if code == -signal.SIGKILL:
        return KILLED
    if code < 0:
        return f"ended by {signal.Signals(-code).name}"
    last = next((line.strip() for line in reversed(errors.splitlines()) if line.strip()), "")
    return "" if code == 0 else (last or f"ended with exit code {code}")[:300]


def _with_outputs(said: dict[str, Any], out: Path) -> Outcome:
    found: dict[int, dict[str, Array]] = {}
    with np.load(out, allow_pickle=False) as archive:
        for name in archive.files:
            index, _, output = name.partition("/")
            found.setdefault(int(index), {})[output] = archive[name]
    return Outcome(said, [found[index] for index in sorted(found)])


def unit_run(units: str, outcome: Outcome, proof: Proof, mode: Judged) -> UnitRun:
    """The outcome judged against the proof. An operator's device is what Core ML prefers, not a promise."""
    said = outcome.said
    check = None
    if outcome.outputs is not None:
        answers = [*outcome.outputs, *[{}] * (len(proof.feeds) - len(outcome.outputs))]
        pairs = [(feed, _as_expected(feed, got)) for feed, got in zip(proof.feeds, answers, strict=True)]
        check = judged(pairs, f"Core ML on {units}", mode, proof.classes)
    plan = f"no compute plan ({said['no_plan']})" if said.get("no_plan") else ""
    silent = "" if check is not None or outcome.problem else "ended without an answer"
    devices = Counter(item["device"] for item in said.get("operators", []))
    return UnitRun(
        compute_units=units,
        check=check,
        load_s=said.get("load_s"),
        call_s=said.get("call_s"),
        operators_by_device=dict(devices.most_common()),
        problem=outcome.problem or silent or plan,
    )


def _as_expected(feed: Feed, got: dict[str, Array]) -> dict[str, Array]:
    """Outputs in the source's shapes: Core ML has no scalars, and a classifier's probabilities have a name of their own."""
    missing = [name for name in feed.expected if name not in got]
    spare = [value for name, value in got.items() if name not in feed.expected and value.dtype.kind == "f"]
    named = got | dict(zip(missing, spare, strict=False))
    shapes = {name: value.shape for name, value in feed.expected.items()}
    return {
        name: value.reshape(shapes[name]) if name in shapes and value.size == feed.expected[name].size else value
        for name, value in named.items()
    }
