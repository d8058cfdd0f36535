"""Python text with lines that appear only when they are used."""

from collections.abc import Iterable
from pathlib import Path

MARK = "  ##"
LINE = 100


def chosen(template: str, flags: Iterable[str], **values: str) -> str:
    """The lines of a template whose marks hold: `##a !b` asks for flag `a` without `b`; `<name>` is replaced by a value."""
    there = set(flags)
    lines = []
    for line in template.strip("\n").split("\n"):
        text, _, marks = line.partition(MARK)
        if all((mark.removeprefix("!") in there) != mark.startswith("!") for mark in marks.split()):
            lines.append(text)
    text = "\n".join(lines) + "\n"
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def literal(value: object) -> str:
    """A value as Python text in the style of black: double quotes, a long list on several lines."""
    if isinstance(value, Path):
        return f"Path({literal(str(value))})"
    if isinstance(value, str):
        text = repr(value)
        return f'"{value}"' if text[0] == "'" and text[1:-1] == value and '"' not in value else text
    if isinstance(value, list):
        items = [literal(item) for item in value]
        line = f"[{', '.join(items)}]"
        return line if len(line) <= LINE else "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    return repr(value)
