"""`explorer devices`: what this machine, or a recorded one, can compute with."""

import argparse
import asyncio
from pathlib import Path

from explorer.cli.readings import reading_lines, readings_json, value_text
from explorer.engine.client import Engine, connect

POLL_S = 0.2


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="explorer devices", description="Readings of this machine: value, unit, source, state, reason."
    )
    parser.add_argument("--json", action="store_true", help="one flat object of readings under dotted names")
    parser.add_argument("--recorded", metavar="DIR", help="read the outputs in this folder instead, of any machine")
    parser.add_argument("--wait", action="store_true", help="wait for what only torch can tell")
    parser.add_argument("--watch", action="store_true", help="then a line of live values each second")
    options = parser.parse_args(words[1:])
    if options.recorded is not None:
        if options.watch or options.wait:
            parser.error("a recorded machine has no live values: leave --watch and --wait away")
        return _recorded(Path(options.recorded), options.json)
    return asyncio.run(_main(options))


def _recorded(folder: Path, as_json: bool) -> int:
    from explorer.hardware import recorded

    readings = recorded.inventory(folder).readings
    print(readings_json(readings) if as_json else "\n".join(reading_lines(readings)))
    return 0


async def _main(options: argparse.Namespace) -> int:
    engine = await connect()
    try:
        inventory = await engine.inventory()
        while options.wait and any(reading.state == "pending" for reading in inventory.readings.values()):
            await asyncio.sleep(POLL_S)
            inventory = await engine.inventory()
        print(readings_json(inventory.readings) if options.json else "\n".join(reading_lines(inventory.readings)), flush=True)
        if options.watch:
            await _watch(engine, options.json)
    finally:
        await engine.aclose()
    return 0


async def _watch(engine: Engine, as_json: bool) -> None:
    async for sample in engine.watch_hardware():
        if as_json:
            print(readings_json(sample.readings), flush=True)
        else:
            shown = [
                f"{name} {value_text(reading)}"
                for name, reading in sample.readings.items()
                if reading.known and not isinstance(reading.value, list)
            ]
            print("  ".join(shown), flush=True)
