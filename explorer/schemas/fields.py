"""A spec's fields as plain facts, so that forms and command-line flags need no list of their own."""

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from explorer.schemas.specs import Spec

FieldType = Literal["int", "float", "bool", "choice", "text", "list"]


@dataclass(frozen=True)
class SpecField:
    """One field of a spec: `default` is None when `optional` or `required`, bounds are inclusive unless said in `help`."""

    name: str
    type: FieldType
    required: bool
    optional: bool
    default: Any
    choices: tuple[str, ...]
    minimum: float | None
    maximum: float | None
    unit: str
    group: str
    is_path: bool
    help: str
    word: str = ""

    @property
    def flag(self) -> str:
        """The flag that help and examples show."""
        return "--" + (self.word or self.name).replace("_", "-")

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags that mean the field: the shown one first, then its own name."""
        return tuple(dict.fromkeys((self.flag, "--" + self.name.replace("_", "-"))))

    @property
    def label(self) -> str:
        return self.name.replace("_", " ")


def spec_fields(spec_type: type[Spec]) -> list[SpecField]:
    """The fields of a spec type in their order, without `kind`."""
    return [_field(name, info) for name, info in spec_type.model_fields.items() if name != "kind"]


def _field(name: str, info: FieldInfo) -> SpecField:
    annotation, optional = _without_none(info.annotation)
    type_, choices = _type_of(annotation)
    extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
    default = info.get_default(call_default_factory=True, validated_data={})
    low, high = _bounds(info)
    return SpecField(
        name=name,
        type=type_,
        required=info.is_required(),
        optional=optional,
        default=None if default is PydanticUndefined else default,
        choices=choices,
        minimum=low,
        maximum=high,
        unit=str(extra.get("unit", "")),
        group=str(extra.get("group", "basic")),
        is_path=bool(extra.get("path", False)),
        help=info.description or "",
        word=str(extra.get("flag", "")),
    )


def _without_none(annotation: Any) -> tuple[Any, bool]:
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [part for part in get_args(annotation) if part is not type(None)]
        return kept[0], len(kept) < len(get_args(annotation))
    return annotation, False


def _type_of(annotation: Any) -> tuple[FieldType, tuple[str, ...]]:
    if get_origin(annotation) is Literal:
        return "choice", tuple(str(choice) for choice in get_args(annotation))
    if get_origin(annotation) is list:
        return "list", ()
    names: dict[Any, FieldType] = {bool: "bool", int: "int", float: "float", str: "text"}
    return names[annotation], ()


def _bounds(info: FieldInfo) -> tuple[float | None, float | None]:
    low: Any = None
    high: Any = None
    for item in info.metadata:
        low = item.ge if isinstance(item, Ge) else item.gt if isinstance(item, Gt) else low
        high = item.le if isinstance(item, Le) else item.lt if isinstance(item, Lt) else high
    return low, high
