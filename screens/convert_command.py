"""The command line that does what a form did."""

from __future__ import annotations

import shlex

from explorer.schemas.fields import SpecField, spec_fields
from explorer.schemas.specs import ConvertSpec


def command_line(spec: ConvertSpec, width: int = 76) -> str:
    """`explorer convert …` with a flag for every value that is not the default; on several lines where it is over `width`."""
    flags = [_flag(field, getattr(spec, field.name)) for field in spec_fields(ConvertSpec) if _told(field, spec)]
    words = [f"explorer convert {shlex.quote(spec.source)}", *flags]
    line = " ".join(words)
    return line if len(line) <= width else " \\\n  ".join(words)


def _told(field: SpecField, spec: ConvertSpec) -> bool:
    return field.name == "target" or (field.name != "source" and getattr(spec, field.name) != field.default)


def _flag(field: SpecField, value: object) -> str:
    if isinstance(value, bool):
        return field.flag if value else f"--no-{field.flag.removeprefix('--')}"
    values = value if isinstance(value, list) else [value]
    return " ".join([field.flag, *(shlex.quote(str(item)) for item in values)])
