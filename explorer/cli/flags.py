"""Command-line flags made from a spec's fields, and the spec made from what was typed."""

import argparse
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError, UsageError
from explorer.schemas.fields import SpecField, spec_fields
from explorer.schemas.specs import SPEC_TYPES, Spec, parse_spec, spec_from_toml, spec_to_toml

# Questions that take a moment and leave no job.
AT_ONCE = ("inspect", "match", "graph", "export", "operators", "hints")
# Required fields that are flags all the same: a command with two files to name says which is which.
FLAGGED = ("input", "output")
# The file that a command is about stands without a flag, asked for or not.
BARE = ("source", "package")
_PARSERS: dict[str, Any] = {"int": int, "float": float, "text": str, "choice": str}


def spec_parser(kind: str) -> argparse.ArgumentParser:
    """A parser with a flag for each field; what it is about and other required fields but FLAGGED are positional."""
    spec_type = SPEC_TYPES[kind]
    parser = argparse.ArgumentParser(prog=f"explorer {kind}", description=spec_type.__doc__)
    parser.set_defaults(kind=kind)
    for field in spec_fields(spec_type):
        _add(parser, field)
    parser.add_argument("--spec", metavar="FILE", help="start from the spec in this TOML file")
    parser.add_argument("--toml", action="store_true", help="print the spec as TOML and do nothing")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output, progress on standard error")
    if kind not in AT_ONCE:
        parser.add_argument("--detach", action="store_true", help="print the job's ID and leave; the job goes on")
    return parser


def spec_from(options: argparse.Namespace) -> Spec:
    """The spec that was asked for: the TOML file's values, then those typed."""
    values: dict[str, Any] = {"kind": options.kind}
    if options.spec:
        base = spec_from_toml(read_text(options.spec), options.spec)
        if base.kind != options.kind:
            raise ExplorerError(f"{options.spec} is a {base.kind} spec", f"`explorer run {options.spec}` runs it")
        values |= base.model_dump(exclude_unset=True)
    for field in spec_fields(SPEC_TYPES[options.kind]):
        if (value := getattr(options, field.name)) not in (None, []):
            values[field.name] = value
    try:
        return parse_spec(values, f"explorer {options.kind}")
    except ExplorerError as error:
        raise UsageError(error.message, error.remedy) from None


def toml_text(spec: Spec) -> str:
    return spec_to_toml(spec).rstrip("\n")


def read_text(name: str) -> str:
    """The text of a file; raises `ExplorerError` naming it."""
    try:
        return Path(name).read_text()
    except FileNotFoundError:
        raise ExplorerError(f"{name} does not exist", "check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ExplorerError(f"{name} cannot be read ({type(error).__name__})", "give a TOML text file") from None


def _add(parser: argparse.ArgumentParser, field: SpecField) -> None:
    text = _help(field)
    if field.name in BARE or (field.required and field.name not in FLAGGED):
        many = "*" if field.type == "list" else "?"
        parser.add_argument(field.name, nargs=many, default=None, help=text, metavar=field.name.upper())
    elif field.type == "bool":
        parser.add_argument(*field.flags, dest=field.name, action=argparse.BooleanOptionalAction, default=None, help=text)
    elif field.type == "list":
        parser.add_argument(*field.flags, dest=field.name, nargs="+", default=None, help=text, metavar="NAME")
    else:
        choices = field.choices or None
        metavar = None if choices else field.unit.upper() or field.type.upper()
        kind = _PARSERS[field.type]
        parser.add_argument(*field.flags, dest=field.name, type=kind, choices=choices, default=None, help=text, metavar=metavar)


def _help(field: SpecField) -> str:
    shown = "" if field.required or field.default in (None, []) else f" (default {field.default})"
    return (field.help + shown).replace("%", "%%")
