"""`explorer run FILE.toml`: repeat an experiment from its spec."""

import argparse
import asyncio
import sys

from explorer.cli.flags import read_text
from explorer.cli.following import submit_and_follow
from explorer.schemas.specs import spec_from_toml


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="explorer run", description="Run a spec from a TOML file.")
    parser.add_argument("file", help="the spec, such as one that `explorer train --toml` printed")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--detach", action="store_true", help="print the job's ID and leave; the job goes on")
    options = parser.parse_args(words[1:])
    spec = spec_from_toml(read_text(options.file), options.file)
    try:
        return asyncio.run(submit_and_follow(spec, as_json=options.json, detach=options.detach))
    except KeyboardInterrupt:
        print("\nthe job goes on; `explorer jobs list` shows it", file=sys.stderr)
        raise
