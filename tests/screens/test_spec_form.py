"""The form: every field of a spec, kept right while typing, by keys alone."""

from itertools import pairwise
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.schemas.fields import spec_fields
from explorer.schemas.specs import SPEC_TYPES, BenchmarkSpec, ConvertSpec, QuantizeSpec, Spec, TrainSpec, parse_spec
from screens.widgets.spec_form import SpecForm, grouped, parsed, problems, shown
from tests.screens.helpers import WidgetApp, screen_text, until_shown


class OneForm(WidgetApp[Spec]):
    """A form alone; it ends with the spec that was run."""

    def __init__(self, spec_type: type[Spec], values: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.form = SpecForm(spec_type, values)

    def compose(self) -> ComposeResult:
        yield self.form

    def on_mount(self) -> None:
        self.form.focus_first()

    def on_spec_form_submitted(self, event: SpecForm.Submitted) -> None:
        self.exit(event.spec)


async def clear_and_type(pilot: Pilot[Any], text: str) -> None:
    await pilot.press("ctrl+e", "ctrl+u", *text)
    await pilot.pause()


@pytest.mark.parametrize("spec_type", SPEC_TYPES.values())
async def test_every_field_of_every_spec_has_a_row(spec_type: type[Spec]) -> None:
    app = OneForm(spec_type)
    async with app.run_test(size=(80, 60)) as pilot:
        text = screen_text(pilot)
        assert [field.label for field in spec_fields(spec_type) if field.label not in text] == []


async def test_enter_runs_with_the_defaults() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
    assert app.return_value == TrainSpec()


async def test_typing_choosing_and_running_gives_the_spec() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down")
        await clear_and_type(pilot, "linear")
        await pilot.press("down")
        await clear_and_type(pilot, "3")
        await pilot.press("ctrl+r")
    assert app.return_value == TrainSpec(data="linear", epochs=3)


async def test_up_and_down_move_between_fields_and_the_help_follows() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "down")
        await until_shown(pilot, "passes over the training data (1 to 100000)")
        await pilot.press("up")
        await until_shown(pilot, "digits, linear, a .npz or .csv file, a folder of images by class")


async def test_a_bad_value_is_named_beside_its_field_and_nothing_runs() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "down")
        await clear_and_type(pilot, "0")
        await until_shown(pilot, "✗ epochs: ≥ 1")
        await pilot.press("enter")
        await pilot.pause()
        assert app.return_value is None
        await clear_and_type(pilot, "2")
        await pilot.press("enter")
    assert app.return_value == TrainSpec(epochs=2)


async def test_a_wrong_option_of_the_data_is_named() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down")
        await clear_and_type(pilot, "table.csv,taget=price")
        await until_shown(pilot, "✗ data: there is no option 'taget'")
        await clear_and_type(pilot, "table.csv,target=price")
        await pilot.press("enter")
    assert app.return_value == TrainSpec(data="table.csv,target=price")


async def test_page_keys_go_from_group_to_group() -> None:
    app = OneForm(TrainSpec)
    seen = []
    async with app.run_test(size=(80, 24)) as pilot:
        for key in ("pagedown", "pagedown", "pagedown", "pageup", "pageup", "pageup", "pageup"):
            await pilot.press(key)
            await pilot.pause()
            assert app.focused is not None
            seen.append(app.focused.id)
    groups = ["field-weights", "field-max_steps", "field-optimizer"]
    assert seen == [*groups, *groups[:2][::-1], "field-source", "field-processes"]


async def test_running_with_a_missing_field_goes_to_it() -> None:
    app = OneForm(ConvertSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("down", "down")
        await pilot.press("ctrl+r")
        await pilot.pause()
        assert app.focused is not None
        assert app.focused.id == "field-source"


async def test_the_last_field_scrolls_into_view_at_80x24() -> None:
    app = OneForm(TrainSpec)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("up")
        await until_shown(pilot, "how processes talk")
        assert "data parallel" in screen_text(pilot)


async def test_given_values_and_set_value_fill_the_form() -> None:
    app = OneForm(ConvertSpec, {"source": "job:7f3a", "target": "coreml", "dynamic_batch": False})
    async with app.run_test(size=(80, 24)) as pilot:
        app.form.set_value("opset", 20)
        await pilot.pause()
        assert app.form.spec() == ConvertSpec(source="job:7f3a", target="coreml", dynamic_batch=False, opset=20)


async def test_optional_choices_and_lists() -> None:
    quantize, benchmark = OneForm(QuantizeSpec, {"source": "a.onnx"}), OneForm(BenchmarkSpec, {"models": ["a.onnx", "b.onnx"]})
    async with quantize.run_test():
        assert "data" not in quantize.form.values()
        quantize.form.set_value("data", "digits")
        assert quantize.form.spec() == QuantizeSpec(source="a.onnx", data="digits")
    async with benchmark.run_test():
        assert benchmark.form.spec() == BenchmarkSpec(models=["a.onnx", "b.onnx"])


@pytest.mark.parametrize("spec_type", [TrainSpec, QuantizeSpec, ConvertSpec])
def test_defaults_survive_being_shown_and_read_back(spec_type: type[Spec]) -> None:
    for field in spec_fields(spec_type):
        if not field.required:
            assert (parsed(field, shown(field, field.default)) or None) == (field.default or None), field.name


def test_fields_of_a_group_stand_together_with_the_basic_ones_first() -> None:
    groups = [field.group for field in grouped(spec_fields(TrainSpec))]
    assert groups[0] == "basic"
    assert len([1 for before, after in pairwise(groups) if before != after]) == len(set(groups)) - 1


def test_problems_are_assigned_to_their_fields() -> None:
    with pytest.raises(ExplorerError) as caught:
        parse_spec({"kind": "train", "epochs": 0, "batch_size": "many"}, "form")
    found = problems(caught.value, ["epochs", "batch_size"])
    assert found["epochs"] == "≥ 1"
    assert "integer" in found["batch_size"]
