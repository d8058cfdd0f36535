"""`explorer engine run|status|stop`."""

import argparse
import asyncio
import json

from explorer.engine.client import connect
from explorer.schemas.jobs import EngineStatus


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="explorer engine", description="The service that queues and follows jobs.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="serve in the foreground, for systemd, tmux or a look at its log")
    run.add_argument("--slots", type=int, default=None, help="jobs that run at once (default 2)")
    for name, text in (("status", "say what the engine does"), ("stop", "end it; jobs go on and the next engine adopts them")):
        commands.add_parser(name, help=text).add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args(words[1:])
    if options.command == "run":
        from explorer.engine import service

        return service.run(slots=max(1, options.slots or service.DEFAULT_SLOTS))
    return asyncio.run(_status(options.json) if options.command == "status" else _stop(options.json))


async def _status(as_json: bool) -> int:
    engine = await connect(start=False)
    status = await engine.status()
    await engine.aclose()
    print(status.model_dump_json() if as_json else _sentences(status))
    return 0


async def _stop(as_json: bool) -> int:
    engine = await connect(start=False)
    status = await engine.status()
    await engine.stop()
    await engine.aclose()
    text = f"engine {status.pid} ends; {status.running} running jobs go on"
    print(json.dumps({"pid": status.pid, "running": status.running}) if as_json else text)
    return 0


def _sentences(status: EngineStatus) -> str:
    return (
        f"engine {status.version}, process {status.pid} on {status.host}, up {status.uptime_s:.0f} s\n"
        f"{status.running} of {status.slots} slots busy, {status.queued} queued, {status.clients} clients\n"
        f"home {status.home}\nsocket {status.socket}"
    )
