"""What is known to go wrong, looked for: each check says ok, warning or error in one sentence, with the remedy."""

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple

from explorer import home
from explorer.cli.doctor_facts import without_user
from explorer.errors import ExplorerError
from explorer.schemas.readings import Reading

Facts = Mapping[str, Mapping[str, str]]
Readings = Mapping[str, Reading]
LEAST_FREE_GIB = 1.0


class Check(NamedTuple):
    """One finding; `remedy` is empty when all is well."""

    level: Literal["ok", "warning", "error"]
    text: str
    remedy: str = ""


def checks(facts: Facts, readings: Readings) -> list[Check]:
    """Every check, errors first."""
    found = [
        _state_folder(facts["program"]),
        _torch(readings),
        _numpy(facts["packages"]),
        _onnxruntime(facts["packages"]),
        _engine(facts),
        _terminal(facts["terminal"]),
        _encoding(facts["terminal"]),
        _rosetta(readings),
    ]
    order = ("error", "warning", "ok")
    return sorted(found, key=lambda check: order.index(check.level))


def _state_folder(program: Mapping[str, str]) -> Check:
    try:
        folder = home.jobs_folder()
        home.socket_path()
    except (ExplorerError, OSError) as error:
        return Check("error", f"jobs cannot be kept: {error}", "set EXPLORER_HOME to a folder of your own")
    if not os.access(folder, os.W_OK):
        return Check("error", f"{without_user(folder)} cannot be written", "set EXPLORER_HOME to a folder of your own")
    free = program["free there"].removesuffix(" GiB")
    if free.replace(".", "", 1).isdigit() and float(free) < LEAST_FREE_GIB:
        return Check("warning", f"{free} GiB are free for jobs", "remove old jobs, or set EXPLORER_HOME to a larger disk")
    return Check("ok", "jobs can be kept")


def _torch(readings: Readings) -> Check:
    threads = readings.get("torch.threads")
    if threads is None or not threads.known:
        reason = threads.reason if threads is not None else "it was not asked"
        return Check("error", f"torch does not answer ({reason})", "install explorer again in a fresh environment")
    return Check("ok", f"torch answers and uses {threads.value} threads")


def _numpy(packages: Mapping[str, str]) -> Check:
    numpy, coreml = packages["numpy"], packages["coremltools"]
    if coreml.startswith("9.") and _numbers(numpy) >= (2, 4):
        return Check("error", f"coremltools {coreml} cannot convert with numpy {numpy}", "install 'numpy<2.4'")
    return Check("ok", f"coremltools {coreml} works with numpy {numpy}")


def _onnxruntime(packages: Mapping[str, str]) -> Check:
    if packages["onnxruntime"] == "not installed":
        return Check("error", "ONNX files cannot be run", "install onnxruntime")
    return Check("ok", f"onnxruntime {packages['onnxruntime']} runs ONNX files")


def _engine(facts: Facts) -> Check:
    engine, version = facts["engine"], facts["program"]["explorer"]
    if engine["state"] == "does not answer":
        return Check("error", "the engine does not answer", "`explorer engine stop`, then start explorer again")
    if engine.get("version", version) != version:
        return Check("warning", f"the engine is version {engine['version']}", "`explorer engine stop`; jobs go on")
    return Check("ok", "the engine runs" if "version" in engine else "no engine runs; the next start brings one up")


def _terminal(terminal: Mapping[str, str]) -> Check:
    if terminal["size"] == "not a terminal":
        return Check("ok", "this is no terminal; the commands work, the screens need one")
    if terminal.get("TERM", "dumb") == "dumb":
        return Check("error", "TERM names no terminal that can show screens", "set TERM, for example to xterm-256color")
    columns, _, lines = terminal["size"].partition(" x ")
    if int(columns) < 80 or int(lines) < 24:
        return Check("warning", f"the terminal has {terminal['size']} cells", "make it at least 80 x 24")
    return Check("ok", f"{terminal['TERM']} with {terminal['size']} cells shows the screens")


def _encoding(terminal: Mapping[str, str]) -> Check:
    if "utf" not in terminal["encoding"].lower():
        return Check("warning", f"the locale's encoding is {terminal['encoding']}", "set LC_ALL to a UTF-8 locale")
    return Check("ok", "the locale can show fine charts")


def _rosetta(readings: Readings) -> Check:
    rosetta = readings.get("process.rosetta")
    if rosetta is not None and rosetta.value is True:
        return Check("warning", "this Python runs under Rosetta", "install an arm64 Python to use the GPU")
    return Check("ok", "Python runs natively")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
