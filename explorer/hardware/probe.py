"""Asks torch and ONNX Runtime in a child process: one that hangs, crashes or prints nonsense costs time and a reason only."""

import asyncio
import contextlib
import json
import os
import platform
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from explorer.hardware import mps, torch_facts
from explorer.hardware.answers import missing
from explorer.schemas.readings import Reading

COMMAND = (sys.executable, "-m", torch_facts.__name__)
LIMIT_S = 30.0
MAX_OUTPUT_BYTES = 1 << 20
NAMES = tuple(name for names in torch_facts.NAMES.values() for name in names)
# Where the child starts, so that it imports this very package and nothing that lies in the user's folder.
ROOT = Path(__file__).resolve().parents[2]


def pending() -> dict[str, Reading]:
    """The readings that `probe` will give, before it has; MPS is refused at once where the system rules it out."""
    verdict = mps.verdict(mps.MpsFacts(platform.system(), platform.machine()))
    return {**dict.fromkeys(NAMES, missing("not asked yet", state="pending")), "mps.usable": verdict}


async def probe(command: Sequence[str] = COMMAND, limit_s: float = LIMIT_S) -> dict[str, Reading]:
    """Every reading of `pending`, none of them pending: answered, or absent with what became of the child."""
    output, reason = await _output_of(command, limit_s)
    silent = missing(reason or "the torch probe did not say")
    unanswered = {name: silent if reading.state == "pending" else reading for name, reading in pending().items()}
    return {**unanswered, **parse(output.decode(errors="replace"))}


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


async def _output_of(command: Sequence[str], limit_s: float) -> tuple[bytes, str]:
    """What the child printed before its end or its limit, and what went wrong, if anything."""
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdin=null, stdout=pipe, stderr=null, cwd=ROOT, start_new_session=True
        )
    except OSError as error:
        return b"", f"the torch probe cannot be started: {error.strerror}"
    output = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            await _read(child, output)
            return bytes(output), _end(await child.wait())
    except TimeoutError:
        return bytes(output), f"the torch probe gave no answer within {limit_s:g} s"
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
            raise ValueError(f"the torch probe printed over {MAX_OUTPUT_BYTES >> 20} MiB")


def _end(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"the torch probe died of {signal.Signals(-code).name}"
    return f"the torch probe ended with exit code {code}" if code else ""
