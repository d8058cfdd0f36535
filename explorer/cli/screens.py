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
    if not on_terminal():
        raise ExplorerError("the screens need a terminal", "use a command such as `explorer jobs list`, or `ssh -t`")
    return show(mouse=not options.no_mouse)


def on_terminal() -> bool:
    """Whether there is a terminal to show screens on."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def show(*, mouse: bool = True, watch: str | None = None) -> int:
    """Show the screens until the user leaves, first the runs below `watch` if given; gives the exit code."""
    from screens.app import run

    return run(_connect, mouse=mouse, watch=watch)


async def _connect() -> "Engine":
    from explorer.engine.client import connect

    return await connect()
