"""`explorer devices`: what this machine can compute with."""

import argparse
import asyncio
import json
from typing import Any

from explorer.cli.show import table
from explorer.engine.client import Engine, connect
from explorer.schemas.readings import Inventory, Reading

POLL_S = 0.2
SHOWN_FIRST = ("chip", "machine", "os", "cpu", "memory", "swap", "gpu", "cuda", "mps", "ane", "tpu", "framework")


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="explorer devices", description="Readings of this machine: value, unit, source, state, reason."
    )
    parser.add_argument("--json", action="store_true", help="one flat object of readings under dotted names")
    parser.add_argument("--wait", action="store_true", help="wait for what only torch can tell")
    parser.add_argument("--watch", action="store_true", help="then a line of live values each second")
    return asyncio.run(_main(parser.parse_args(words[1:])))


async def _main(options: argparse.Namespace) -> int:
    engine = await connect()
    try:
        inventory = await engine.inventory()
        while options.wait and any(reading.state == "pending" for reading in inventory.readings.values()):
            await asyncio.sleep(POLL_S)
            inventory = await engine.inventory()
        print(_json(inventory.readings) if options.json else "\n".join(inventory_lines(inventory)))
        if options.watch:
            await _watch(engine, options.json)
    finally:
        await engine.aclose()
    return 0


async def _watch(engine: Engine, as_json: bool) -> None:
    async for sample in engine.watch_hardware():
        if as_json:
            print(_json(sample.readings), flush=True)
        else:
            shown = [
                f"{name} {_value(reading)}" for name, reading in sample.readings.items() if not isinstance(reading.value, list)
            ]
            print("  ".join(shown), flush=True)


def inventory_lines(inventory: Inventory) -> list[str]:
    """One aligned line a reading: name, value or state, source or reason."""
    names = sorted(inventory.readings, key=_rank)
    rows = [[name, _value(item), item.reason or item.source] for name in names for item in [inventory.get(name)]]
    return table(rows, right=()) if rows else []


def _rank(name: str) -> int:
    head = name.partition(".")[0]
    return SHOWN_FIRST.index(head) if head in SHOWN_FIRST else len(SHOWN_FIRST)


def _json(readings: dict[str, Reading]) -> str:
    return json.dumps({name: reading.model_dump(mode="json") for name, reading in readings.items()})


def _value(reading: Reading) -> str:
    if not reading.known:
        return f"({reading.state})"
    return f"{_plain(reading.value)} {reading.unit}".rstrip() + (" (estimated)" if reading.state == "estimated" else "")


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        return " ".join(f"{key} {_plain(item)}" for key, item in value.items() if item is not None)
    return str(value)
