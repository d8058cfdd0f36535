"""The roofline: logarithmic axes, ridges in their places, and words that stand beside their line."""

import pytest

from explorer.schemas.results import Ratio, Variant
from screens.ceiling_words import ceiling_facts, training_limit, variant_limit
from screens.result_words import result_facts
from screens.roofline_rows import Curve, roofline_rows, roofs
from screens.text import rate
from tests.screens.machines import limits


def drawn(found: list[Curve], width: int = 80, height: int = 20) -> list[str]:
    return [row.plain for row in roofline_rows(found, width, height)]


def test_a_roof_for_each_dtype_highest_first_and_the_published_bandwidth_last() -> None:
    found = roofs(limits(), "cpu", 546e9)
    assert [roof.name for roof in found] == ["int8", "float32", "float64", "published bandwidth"]
    assert found[1].ridge == pytest.approx(2.9e12 / 398e9)
    assert [roof.dotted for roof in found] == [False, False, False, True]


def test_without_bandwidth_or_rates_there_is_nothing_to_draw() -> None:
    assert roofs(limits(), "cuda") == []
    assert roofs(None, "cpu") == []
    assert drawn([]) == []
    assert drawn(roofs(limits(), "cpu"), width=30) == []


def test_the_drawing_fills_its_room_and_names_every_ridge() -> None:
    rows = drawn(roofs(limits(), "cpu", 546e9))
    assert len(rows) == 20
    assert max(map(len, rows)) <= 80
    assert sum(row.count("◆") for row in rows) == 3 + 3 + 1  # on the lines, in the names, in the legend
    assert any("float32 2.90 TFLOP/s  ◆ 7.3" in row for row in rows)
    assert "memory copy 398 GB/s · ┄ published 546 GB/s · ◆ operations per byte" in rows[-1]


def test_a_ridge_stands_over_its_place_on_the_axis() -> None:
    rows = drawn([Curve("float32", 4e12, 1e12)])
    ridge = next(row.index("◆") for row in rows if row.count("◆") == 1 and "FLOP" not in row)
    assert abs(ridge - rows[-2].index(" 4 ") - 1) <= 1


def test_above_its_ridge_a_roof_is_level() -> None:
    rows = drawn([Curve("float32", 4e12, 1e12)])
    level = next(row for row in rows if row.count("◆") == 1 and "FLOP" not in row)
    assert " " not in level[level.index("◆") :]


def test_in_ascii_nothing_else_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert "".join(drawn(roofs(limits(), "cpu"))).replace("·", "").isascii()


def test_a_result_in_words_names_every_limit_and_what_was_skipped() -> None:
    facts = dict(ceiling_facts(limits()))
    assert facts["cpu float32 matmul"] == "2.90 TFLOP/s  [2.81 TFLOP/s, 2.96 TFLOP/s] in 21 repeats, 2048 x 2048 x 2048"
    assert facts["mps smallest call"].startswith("41.0 µs")
    assert facts["cuda skipped"] == "CUDA does not exist on macOS"
    assert result_facts(limits()) == ceiling_facts(limits())


def test_a_training_is_compared_with_the_rate_of_its_device() -> None:
    result = {"device": "cpu", "flops_per_sample": 2.9e9, "samples_per_s": 120.0}
    assert training_limit(result, limits()) == "12 % of the measured float32 rate of 12 threads"
    assert training_limit(result | {"device": "mps"}, limits()) == "2.6 % of the measured float32 rate"
    assert training_limit(result | {"flops_per_sample": None}, limits()) == ""
    assert training_limit(result, None) == ""


def test_a_variant_is_compared_only_when_its_work_is_known() -> None:
    same = Ratio(value=1.0, low=1.0, high=1.0)
    known = Variant(
        name="base", source="a.onnx", bytes=1, size_ratio=1.0, p50_ms=0.1, p90_ms=None, speed_ratio=same, verdict="baseline"
    ).model_copy(update={"flops": 29_000_000})
    assert variant_limit(known, limits(), int8=False) == "290 GFLOP/s, 10 % of the measured float32 rate of 12 threads"
    assert variant_limit(known, limits(), int8=True) == "290 GOP/s, 5.7 % of the measured int8 rate of 12 threads"
    assert variant_limit(known.model_copy(update={"flops": None}), limits(), int8=False) == ""
    assert variant_limit(known, None, int8=False) == ""


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (2.94e12, "FLOP/s", "2.94 TFLOP/s"),
        (398e9, "B/s", "398 GB/s"),
        (12e-6, "s", "12.0 µs"),
        (None, "B/s", "–"),
        (0, "s", "0.00 s"),
    ],
)
def test_rates_have_three_digits_and_a_prefix(value: float | None, unit: str, shown: str) -> None:
    assert rate(value, unit) == shown
