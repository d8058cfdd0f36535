"""Each rule speaks where it should, is silent on the closest program that it should let pass, and names its source."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import Program, load_program
from explorer.inference.neural_engine.hints import RULES, hints
from explorer.inference.neural_engine.hints_command import run
from explorer.reporter import QuietReporter
from explorer.schemas.convert_result import Hint
from explorer.schemas.convert_spec import ConvertSpec, HintsSpec
from tests.inference.coreml.architectures import ARCHITECTURES, package_of
from tests.inference.coreml.packages import built_package
from tests.inference.neural_engine.cases import CASES, good
from tests.inference.neural_engine.programs import PitchLike, builder, conv, program, traced

NEED_MORE_THAN_A_PROGRAM = ("activation ranges", "file size")
SPEC = ConvertSpec(source="net.py:make", target="coreml", deployment_target="iOS17")


def found(program: Program, rule: str) -> Hint | None:
    return next((hint for hint in hints(program, SPEC) if hint.rule == rule), None)


def test_there_is_a_case_for_every_rule() -> None:
    assert len(CASES) + len(NEED_MORE_THAN_A_PROGRAM) == len(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_and_is_silent(rule: str) -> None:
    case = CASES[rule]
    hint = found(case.speaks(), rule)
    assert hint is not None
    assert case.where in hint.where
    assert hint.title
    assert hint.remedy
    assert hint.source
    assert re.match(r"read \d{4}-\d{2}-\d{2}", hint.date)
    assert found(case.silent(), rule) is None


def test_nothing_is_said_against_a_good_network() -> None:
    assert hints(good()) == []


def test_ranges_of_an_evaluation_are_judged() -> None:
    scaled = program(lambda x: builder().mul(x=conv(x, 8), y=1000.0), (1, 3, 16, 16))
    inputs = {"x": np.ones((1, 3, 16, 16), np.float32)}
    (loud,) = [hint for hint in hints(scaled, evaluation=evaluate(scaled, inputs, "float32")) if hint.rule == "activation ranges"]
    assert "mul" in loud.where
    assert hints(scaled) == []
    assert hints(good(), evaluation=evaluate(good(), {"x": np.ones((1, 3, 64, 64), np.float32)}, "float32")) == []


def test_weights_beyond_a_gigabyte(tmp_path: Path) -> None:
    for name, size in (("small.bin", 10**6), ("large.bin", 11 * 10**8)):
        with (tmp_path / name).open("wb") as stream:
            stream.truncate(size)
        hint = found(replace(good(), path=tmp_path), "file size")
        assert (hint is not None) == (name == "large.bin")
    assert hint is not None
    assert "1.10 GB" in hint.title


def test_enumerated_inputs_are_fine_from_ios18() -> None:
    two = CASES["enumerated inputs"].speaks()
    newer = SPEC.model_copy(update={"deployment_target": "iOS18"})
    assert "enumerated inputs" not in [hint.rule for hint in hints(two, newer)]


def test_operators_are_counted_not_repeated() -> None:
    many = program(lambda x: _many_dilated(x), (1, 8, 32, 32))
    hint = found(many, "dilations")
    assert hint is not None
    assert hint.where.endswith("and 2 more")


def _many_dilated(x: object) -> object:
    for _ in range(5):
        x = builder().relu(x=conv(x, 8, dilations=[2, 2]))
    return x


def test_what_keeps_work_away_comes_before_what_costs_time() -> None:
    both = program(lambda x: builder().silu(x=conv(x, 8, dilations=[2, 2])), (1, 8, 32, 32), precision="FLOAT32")
    rules = [hint.rule for hint in hints(both)]
    assert rules == ["float32", "dilations", "silu and tanh"]


def test_the_command_reads_a_package(tmp_path: Path) -> None:
    mb = builder()
    built = mb.program(input_specs=[mb.TensorSpec((1, 8, 32, 32))])(lambda x: conv(x, 8, dilations=[2, 2]))
    package = built_package(built, tmp_path / "m.mlpackage", "FLOAT16")
    result = run(HintsSpec(package=str(package)), QuietReporter(tmp_path))
    assert [hint.rule for hint in result.hints] == ["dilations"]
    assert result.operators == 3
    with pytest.raises(ExplorerError, match="does not exist"):
        run(HintsSpec(package=str(tmp_path / "none.mlpackage")), QuietReporter(tmp_path))


def test_the_system_is_read_from_the_package(tmp_path: Path) -> None:
    package = built_package(_relu(), tmp_path / "m.mlpackage", "FLOAT16", "iOS17")
    two = replace(CASES["enumerated inputs"].speaks(), path=package)
    assert "enumerated inputs" in [hint.rule for hint in hints(two)]
    newer = built_package(_relu(), tmp_path / "n.mlpackage", "FLOAT16", "iOS18")
    assert "enumerated inputs" not in [hint.rule for hint in hints(replace(two, path=newer))]


def _relu() -> object:
    mb = builder()
    return mb.program(input_specs=[mb.TensorSpec((1, 8))])(lambda x: mb.relu(x=x))


def test_a_pitch_detector_is_told_of_its_wide_kernels() -> None:
    rules = [hint.rule for hint in hints(traced(PitchLike(), (1, 4, 43, 132)), SPEC)]
    assert "kernels" in rules
    assert "float32" not in rules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cnn", set()),
        ("depthwise", set()),
        ("resnet", set()),
        ("encoder", {"gather and topk", "attention", "channels first", "linear layers", "layout"}),
        ("transformer", {"attention", "channels first", "linear layers", "layout"}),
        ("lstm", {"recurrent layers"}),
        ("gru", {"recurrent layers", "gather and topk", "device switches", "float32", "silu and tanh"}),
        ("unet", {"decomposed norms", "silu and tanh"}),
    ],
)
def test_hints_on_whole_architectures(name: str, expected: set[str], tmp_path: Path) -> None:
    package = package_of(*ARCHITECTURES[name](), tmp_path / "m.mlpackage", "FLOAT16", "iOS18")
    assert {hint.rule for hint in hints(load_program(package))} == expected
