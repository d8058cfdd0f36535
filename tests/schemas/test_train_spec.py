"""Fields of a training that must fit each other are refused at the field to mend, on the command line and in the form."""

from typing import Any

import pytest

from explorer.cli.flags import spec_from, spec_parser
from explorer.errors import ExplorerError, UsageError
from explorer.schemas.specs import TrainSpec, parse_spec
from screens.widgets.spec_form import problems

WRONG: list[tuple[dict[str, Any], str, str]] = [
    (
        {"mps_low_watermark": 1.2, "mps_high_watermark": 1.0},
        "mps_low_watermark",
        "must be at most mps_high_watermark, 1 (given 1.2)",
    ),
    ({"mps_low_watermark": 1.9}, "mps_low_watermark", "must be at most mps_high_watermark, which is 1.7 (given 1.9)"),
    ({"mps_high_watermark": 2.5}, "mps_high_watermark", "input should be less than or equal to 2 (given 2.5)"),
    ({"nodes": 2}, "rendezvous", "must be host:port of one of the machines when nodes is above 1"),
    ({"nodes": 2, "rendezvous": "node7"}, "rendezvous", "must be host:port, such as 10.0.0.1:29500 (given 'node7')"),
    (
        {"device": "xla", "precision": "float16"},
        "precision",
        "must be bfloat16 or float32 on xla, whose gradients torch cannot scale (given 'float16')",
    ),
]


@pytest.mark.parametrize(("fields", "name", "words"), WRONG)
def test_what_does_not_fit_is_named(fields: dict[str, Any], name: str, words: str) -> None:
    with pytest.raises(ExplorerError) as caught:
        parse_spec({"kind": "train", **fields}, "here")
    assert caught.value.message == f"here: {name}: {words}"


@pytest.mark.parametrize(("fields", "name", "words"), WRONG)
def test_the_command_line_says_so(fields: dict[str, Any], name: str, words: str) -> None:
    flags = [text for field, value in fields.items() for text in (f"--{field.replace('_', '-')}", str(value))]
    with pytest.raises(UsageError, match=f"explorer train: {name}: "):
        spec_from(spec_parser("train").parse_args(flags))


@pytest.mark.parametrize(("fields", "name", "words"), WRONG)
def test_the_form_says_so_beside_the_field(fields: dict[str, Any], name: str, words: str) -> None:
    with pytest.raises(ExplorerError) as caught:
        parse_spec({"kind": "train", **fields}, "form")
    found = problems(caught.value, list(TrainSpec.model_fields))
    assert list(found) == [name]
    assert found[name].startswith(("must be ", "≤ 2"))


@pytest.mark.parametrize(
    "fields",
    [
        {"mps_low_watermark": 1.7},
        {"mps_low_watermark": 2.0, "mps_high_watermark": 0.0},
        {"nodes": 2, "rendezvous": "node7:29500"},
        {"device": "xla", "precision": "bfloat16"},
    ],
)
def test_what_fits_is_taken(fields: dict[str, Any]) -> None:
    assert TrainSpec(**fields).model_dump(exclude_unset=True) == fields
