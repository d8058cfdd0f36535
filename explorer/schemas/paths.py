"""Paths in a spec made absolute, so that a job means the same from any folder."""

from pathlib import Path

from explorer.schemas.data_source import DataSource, parse_data_source
from explorer.schemas.fields import spec_fields
from explorer.schemas.specs import Spec


def with_absolute_paths(spec: Spec, folder: Path) -> Spec:
    """The same spec with every file it names made absolute below `folder`; `job:ID`, modules and samples stay."""
    changes: dict[str, object] = {}
    for field in spec_fields(type(spec)):
        value = getattr(spec, field.name)
        if field.type == "list" and field.name == "models":
            changes[field.name] = [absolute_source(text, folder) for text in value]
        elif field.name == "data" and isinstance(value, str):
            changes[field.name] = absolute_data(value, folder)
        elif field.is_path and isinstance(value, str):
            changes[field.name] = absolute_source(value, folder)
    return spec.model_copy(update=changes)


def absolute_data(text: str, folder: Path) -> str:
    """The same data seen from anywhere, with its options."""
    data = parse_data_source(text)
    return text if data.is_sample else str(DataSource(absolute_source(data.name, folder), data.options))


def absolute_source(text: str, folder: Path) -> str:
    """A model source or file name seen from anywhere: `net.py:make` becomes `/folder/net.py:make`."""
    head, separator, tail = text.partition(":")
    if text.startswith("job:") or (separator and not head.endswith(".py")):
        return text
    path = folder / Path(head).expanduser()
    if head.startswith("samples/") and not path.exists():
        return text
    return f"{path}{separator}{tail}"


def short_name(source: str) -> str:
    """What people call a model: the factory's name, else the file's name without its ending."""
    head, separator, tail = source.partition(":")
    return tail if separator and tail else Path(head).stem or head
