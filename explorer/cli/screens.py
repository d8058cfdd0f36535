"""`explorer` without a command: the screens."""

import argparse
import sys
from typing import TYPE_CHECKING

from explorer.errors import ExplorerError

if TYPE_CHECKING:
    from explorer.engine.client import Engine


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="explorer", description="Open the screens.")
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    options = parser.parse_args(words)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ExplorerError("the screens need a terminal", "use a command such as `explorer jobs list`, or `ssh -t`")
    from screens.app import run

    return run(_connect, mouse=not options.no_mouse)


async def _connect() -> "Engine":
    from explorer.engine.client import connect

    return await connect()
