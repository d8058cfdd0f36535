"""The form of a conversion: it shows what bears on the chosen format and leaves the rest out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual import on
from textual.events import Mount
from textual.widgets import Label

from explorer.schemas.fields import SpecField
from explorer.schemas.specs import ConvertSpec
from screens.widgets.choice import Choice
from screens.widgets.spec_form import FieldRow, Fields, SpecDialog, SpecForm

COREML_FIELDS = frozenset({"precision", "deployment_target", "image", "labels", "state"})
ONNX_FIELDS = frozenset({"layers"})
TITLES = {"coreml": "Core ML", "onnx": "ONNX", "check": "Proof"}
# What every item of a list holds: text without it goes on with the item before, after these signs, so items may hold commas.
MARKS = {"image": (":", ","), "metadata": ("=", ", ")}


class ConvertForm(SpecForm):
    """Fits the fields to the target; a field that is not shown is not asked for."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__(ConvertSpec, values)

    def on_mount(self, event: Mount) -> None:
        self._fit(str(self._given.get("target", ConvertSpec.model_fields["target"].default)))

    @on(Choice.Changed, "#field-target")
    def _target_changed(self, event: Choice.Changed) -> None:
        self._fit(event.value)

    def values(self) -> dict[str, Any]:
        """Those of the fields that are shown, items with commas in one piece."""
        shown = {"kind", *(row.field.name for row in self.query(FieldRow) if row.display)}
        found = {name: value for name, value in super().values().items() if name in shown}
        return {name: rejoined(value, *MARKS[name]) if name in MARKS else value for name, value in found.items()}

    def _fit(self, target: str) -> None:
        """Show the rows of this target, and the title of each group with a row."""
        title: Label | None = None
        for child in self.query_one(Fields).children:
            if isinstance(child, FieldRow):
                child.display = bears_on(child.field, target)
                if title is not None and child.display:
                    title.display = True
                    title.update(TITLES.get(child.field.group, child.field.group.capitalize()))
            elif isinstance(child, Label):
                title, child.display = child, False


class ConvertDialog(SpecDialog):
    """A whole screen that asks for a conversion."""

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        super().__init__("New conversion", ConvertSpec, form=ConvertForm(values))


def bears_on(field: SpecField, target: str) -> bool:
    """Whether a field says something to the writer of this format."""
    if field.group == "coreml" or field.name in COREML_FIELDS:
        return target == "coreml"
    return target == "onnx" if field.group == "onnx" or field.name in ONNX_FIELDS else True


def rejoined(items: list[str], mark: str, comma: str) -> list[str]:
    """`["x:rgb", "scale=1/255"]` as one item when only `x:rgb` holds the mark `:`."""
    found: list[str] = []
    for item in items:
        if mark in item or not found:
            found.append(item)
        else:
            found[-1] += comma + item
    return found
