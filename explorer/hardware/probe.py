"""Asks torch, ONNX Runtime and Core ML in child processes: a broken one costs time and a reason only."""

import asyncio
import contextlib
import json
import os
import platform
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pydantic import ValidationError

from explorer.hardware import coreml_facts, mps, torch_facts
from explorer.hardware.answers import missing
from explorer.schemas.readings import Reading

COMMAND = (sys.executable, "-m", torch_facts.__name__)
COREML_COMMAND = (sys.executable, "-m", coreml_facts.__name__)
LIMIT_S = 30.0
MAX_OUTPUT_BYTES = 1 << 20
TORCH_NAMES = tuple(name for names in torch_facts.NAMES.values() for name in names)
COREML_NAMES = tuple(name for names in coreml_facts.NAMES.values() for name in names)
NAMES = (*TORCH_NAMES, *COREML_NAMES)
# Where the child starts, so that it imports this very package and nothing that lies in the user's folder.
ROOT = Path(__file__).resolve().parents[2]


def pending() -> dict[str, Reading]:
    """The readings that `probe` will give, before it has; what the system or a missing package rules out is refused at once."""
    found = dict.fromkeys(NAMES, missing("not asked yet", state="pending"))
    found["mps.usable"] = mps.verdict(mps.MpsFacts(platform.system(), platform.machine()))
    if find_spec("torch_xla") is None:
        found["tpu.torch_xla"] = missing("torch-xla is not installed")
    return {**found, **(coreml_facts.unanswered(reason) if (reason := _no_coreml()) else {})}


async def probe(
    command: Sequence[str] = COMMAND, limit_s: float = LIMIT_S, coreml_command: Sequence[str] = COREML_COMMAND
) -> dict[str, Reading]:
    """Every reading of `pending`, none of them pending: answered, or absent with what became of its child."""
    refused = {name: reading for name, reading in pending().items() if reading.state != "pending"}
    asked = [_ask(command, limit_s, "torch")]
    if not _no_coreml():
        asked.append(_ask(coreml_command, limit_s, "Core ML"))
    (torch, torch_reason), *others = await asyncio.gather(*asked)
    coreml, coreml_reason = others[0] if others else ({}, "")
    return {
        **dict.fromkeys(TORCH_NAMES, missing(torch_reason or "the torch probe did not say")),
        **dict.fromkeys(COREML_NAMES, missing(coreml_reason or "the Core ML probe did not say")),
        **refused,
        **torch,
        **coreml,
        **_mps_cut_short(torch, torch_reason),
    }


def parse(text: str) -> dict[str, Reading]:
    """Readings in lines of JSON; every other line, name or shape is left out."""
    readings: dict[str, Reading] = {}
    for line in text.splitlines():
        try:
            answers = json.loads(line) if line.startswith("{") else {}
        except (ValueError, RecursionError):
            continue
        for name in NAMES:
            with contextlib.suppress(ValidationError):
                if name in answers:
                    readings[name] = Reading.model_validate(answers[name])
    return readings


async def _ask(command: Sequence[str], limit_s: float, what: str) -> tuple[dict[str, Reading], str]:
    """What the child answered before its end or its limit, and what went wrong, if anything."""
    output, reason = await _output_of(command, limit_s)
    return parse(output.decode(errors="replace")), f"the {what} probe {reason}" if reason else ""


async def _output_of(command: Sequence[str], limit_s: float) -> tuple[bytes, str]:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=null, stdout=pipe, stderr=null, cwd=ROOT, start_new_session=True
        )
    except OSError as error:
        return b"", f"cannot be started: {error.strerror}"
    output = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            await _read(child, output)
            return bytes(output), _end(await child.wait())
    except TimeoutError:
        return bytes(output), f"gave no answer within {limit_s:g} s"
    except ValueError as error:
        return bytes(output), str(error)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()


async def _read(child: asyncio.subprocess.Process, output: bytearray) -> None:
    """Append the child's output as it comes. Raises ValueError when it prints without end."""
    assert child.stdout is not None
    while chunk := await child.stdout.read(1 << 16):
        output += chunk
        if len(output) > MAX_OUTPUT_BYTES:
            raise ValueError(f"printed over {MAX_OUTPUT_BYTES >> 20} MiB")


def _end(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"died of {signal.Signals(-code).name}"
    return f"ended with exit code {code}" if code else ""


def _mps_cut_short(answers: dict[str, Reading], reason: str) -> dict[str, Reading]:
    """The verdict on an MPS that torch called available and that then took the child with it."""
    if answers.get("mps.available", missing("")).value is not True or "mps.usable" in answers or not reason:
        return {}
    return {"mps.usable": mps.verdict(mps.MpsFacts("Darwin", built=True, available=True, failure=reason))}


def _no_coreml() -> str:
    if sys.platform != "darwin":
        return "Core ML runs on macOS only"
    return "" if find_spec("coremltools") else "coremltools is not installed"
