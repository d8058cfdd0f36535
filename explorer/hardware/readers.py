"""The only code here that touches the system: runs a command, reads a file, walks sysfs. Never raises; says why instead."""

import subprocess
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

COMMAND_LIMIT_S = 5.0
MAX_FILE_BYTES = 4 << 20


@dataclass(frozen=True)
class Text:
    """What a command printed or a file held; `reason` says why there is none."""

    text: str = ""
    reason: str = "not read"

    def __bool__(self) -> bool:
        return bool(self.text)


UNREAD = Text()


def text_of(path: Path) -> Text:
    """A file's text, undecodable bytes replaced."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_FILE_BYTES).decode(errors="replace")
            return Text(text, f"{path} does not say" if text.strip() else f"{path} is empty")
    except OSError as error:
        return Text("", f"{path}: {error.strerror or 'cannot be read'}")


def output_of(command: tuple[str, ...], limit_s: float = COMMAND_LIMIT_S) -> Text:
    """What a command prints within `limit_s`. A failing exit still counts when it printed: sysctl fails for one unknown name."""
    name = command[0].rpartition("/")[2]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return Text("", f"{name} gave no answer within {limit_s:g} s")
    except OSError as error:
        return Text("", f"{name} cannot be run: {error.strerror}")
    printed = done.stdout.decode(errors="replace")
    return Text(printed, f"{name} does not say" if printed.strip() else f"{name} printed nothing (exit code {done.returncode})")


def outputs_of(commands: Mapping[str, tuple[str, ...]], run: Callable[[tuple[str, ...]], Text] = output_of) -> dict[str, Text]:
    """Several commands at once, so that together they cost the slowest one's time."""
    with ThreadPoolExecutor(len(commands) or 1) as pool:
        return dict(zip(commands, pool.map(run, commands.values()), strict=True))


def tree_of(root: Path, patterns: Iterable[str]) -> dict[str, str]:
    """Files below `root` that match, as `{absolute path: stripped text}`; unreadable ones are left out."""
    values: dict[str, str] = {}
    for pattern in patterns:
        try:
            paths = list(root.glob(pattern))
        except OSError:
            continue
        for path in paths:
            if text := text_of(path).text.strip():
                values[str(path)] = text
    return values
