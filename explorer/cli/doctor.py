"""`explorer doctor`: one page for a bug report, and a recording of this machine for a parser's test."""

import argparse
import asyncio
import json
from pathlib import Path
from typing import Any

from explorer.cli import doctor_facts
from explorer.cli.doctor_checks import Check, checks
from explorer.cli.readings import reading_lines
from explorer.cli.table import table
from explorer.schemas.readings import Reading


def main(words: list[str]) -> int:
    """Exit 1 when a check says error: something here cannot work until it is mended."""
    parser = argparse.ArgumentParser(
        prog="explorer doctor",
        description="Terminal, versions, engine, readings and checks on one page, without host and user names.",
    )
    parser.add_argument("--json", action="store_true", help="one object")
    parser.add_argument(
        "--record", metavar="DIR", help="also store the raw outputs of this machine there, without serials, UUIDs and names"
    )
    options = parser.parse_args(words[1:])
    files = _record(Path(options.record)) if options.record is not None else None
    report = asyncio.run(_report())
    found = checks(report["facts"], report["readings"])
    print(_json(report, found, files) if options.json else "\n".join(_page(report, found, files)))
    return 1 if any(check.level == "error" for check in found) else 0


def _record(folder: Path) -> list[str]:
    from explorer.hardware import record

    return record.record(folder)


async def _report() -> dict[str, Any]:
    """Facts of program and terminal, and every reading, the probed ones included; no engine is started."""
    from explorer.hardware import inventory

    engine, collected, probed = await asyncio.gather(
        doctor_facts.engine(), asyncio.to_thread(inventory.collect), inventory.probe()
    )
    return {"facts": {**doctor_facts.facts(), "engine": engine}, "readings": {**collected.readings, **probed}}


def _page(report: dict[str, Any], found: list[Check], files: list[str] | None) -> list[str]:
    lines: list[str] = []
    for title, values in report["facts"].items():
        lines += [title, *_indented([[name, str(value)] for name, value in values.items()]), ""]
    readings: dict[str, Reading] = report["readings"]
    lines += ["readings", *("  " + line for line in reading_lines(readings)), ""]
    rows = [[check.level, check.text + (f": {check.remedy}" if check.remedy else "")] for check in found]
    lines += ["checks", *_indented(rows)]
    return lines + (["", "recorded", *_indented([[name] for name in files])] if files is not None else [])


def _indented(rows: list[list[str]]) -> list[str]:
    return ["  " + line for line in table(rows, right=())] if rows else []


def _json(report: dict[str, Any], found: list[Check], files: list[str] | None) -> str:
    readings = {name: reading.model_dump(mode="json") for name, reading in report["readings"].items()}
    recorded = {} if files is None else {"recorded": files}
    return json.dumps({**report["facts"], "readings": readings, "checks": [check._asdict() for check in found], **recorded})
