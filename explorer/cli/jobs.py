"""`explorer jobs list|show|log|follow|pause|resume|checkpoint|stop|set|cancel|remove`."""

import argparse
import asyncio
import json
import time
from typing import get_args

from explorer import home
from explorer.cli.following import Ticker, finish, follow_to_end
from explorer.cli.show_convert import truth_lines
from explorer.cli.table import table
from explorer.engine.client import Engine, connect
from explorer.schemas.jobs import Command, JobSummary, Setting
from explorer.schemas.specs import spec_to_toml

SETTINGS: dict[Setting, str] = {
    "learning_rate": "the rate from the next step on; the schedule goes on from there, scaled",
    "learning_rate_factor": "multiply the rate by this, for the rest of the run",
    "log_every_steps": "how often losses are read from the device",
}


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="explorer jobs", description="Every job that was kept.")
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "list": "one line a job",
        "show": "its state and spec",
        "log": "what the worker printed",
        "follow": "watch it to its end",
        "pause": "stop at the next step and wait",
        "resume": "go on, also an ended job that left a checkpoint",
        "checkpoint": "save one at the next step",
        "stop": "end a training well after this step, its model saved",
        "set": "change a running training",
        "cancel": "end it: ask, then SIGTERM, then SIGKILL",
        "remove": "delete an ended job's folder",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("--json", action="store_true", help="JSON on standard output")
        if name != "list":
            command.add_argument("job", help="its ID, or any unique beginning or ending")
        if name == "set":
            _add_settings(command)
    options = parser.parse_args(words[1:])
    if options.command == "set" and not _settings(options):
        parser.error(f"say what to set: {', '.join(map(_flag, SETTINGS))}")
    return asyncio.run(_main(options))


def _add_settings(command: argparse.ArgumentParser) -> None:
    for name, text in SETTINGS.items():
        command.add_argument(_flag(name), type=float, metavar="N", help=text)


def _flag(setting: str) -> str:
    return "--" + setting.replace("_", "-")


def _settings(options: argparse.Namespace) -> dict[Setting, float]:
    """What was typed for `set`; empty for every other command."""
    return {name: value for name in SETTINGS if (value := getattr(options, name, None)) is not None}


async def _main(options: argparse.Namespace) -> int:
    engine = await connect()
    try:
        return await _COMMANDS.get(options.command, _control)(engine, options)
    finally:
        await engine.aclose()


async def _list(engine: Engine, options: argparse.Namespace) -> int:
    jobs = await engine.jobs()
    if options.json:
        print(json.dumps([job.model_dump(mode="json") for job in jobs]))
    elif jobs:
        print("\n".join(table([_row(job) for job in jobs], right=())))
    else:
        print("no jobs yet; `explorer tour` makes some")
    return 0


async def _show(engine: Engine, options: argparse.Namespace) -> int:
    job = await engine.job(options.job)
    spec = await engine.spec(job.id)
    if options.json:
        print(json.dumps({**job.model_dump(mode="json"), "spec": spec.model_dump(mode="json")}))
    else:
        lines = [f"{job.id}  {job.kind} {job.model}  {job.state}  {job.headline}", "", spec_to_toml(spec).rstrip("\n")]
        print("\n".join([*lines, *truth_lines(home.jobs_folder() / job.id)]))
    return 0


async def _log(engine: Engine, options: argparse.Namespace) -> int:
    text = await engine.log(options.job)
    print(json.dumps({"log": text}) if options.json else text, end="" if text.endswith("\n") else "\n")
    return 0


async def _follow(engine: Engine, options: argparse.Namespace) -> int:
    job = await engine.job(options.job)
    return finish(await follow_to_end(engine, job, Ticker()), as_json=options.json)


async def _remove(engine: Engine, options: argparse.Namespace) -> int:
    job = await engine.job(options.job)
    await engine.remove(job.id)
    print(json.dumps({"removed": job.id}) if options.json else f"removed {job.id}")
    return 0


async def _control(engine: Engine, options: argparse.Namespace) -> int:
    assert options.command in get_args(Command)
    values = _settings(options)
    job = await engine.control(options.job, options.command, values)
    words = " ".join([options.command, *(f"{name}={value:g}" for name, value in values.items())])
    print(job.model_dump_json() if options.json else f"asked job {job.id} to {words}")
    return 0


_COMMANDS = {"list": _list, "show": _show, "log": _log, "follow": _follow, "remove": _remove}


def _row(job: JobSummary) -> list[str]:
    when = time.strftime("%m-%d %H:%M", time.localtime(job.created))
    progress = f"{job.progress:.0%} {job.message}" if job.active and job.progress is not None else job.headline
    return [job.id, when, job.kind, job.model, job.state, progress]
