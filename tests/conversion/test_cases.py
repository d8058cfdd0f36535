"""A few of the cases, quickly; test_cases_all.py runs them all."""

import re
from typing import Literal

import pytest

from tests.conversion.cases import plain
from tests.conversion.cases.architectures import ARCHITECTURES
from tests.conversion.cases.judge import Verdict, ours, scripted
from tests.conversion.cases.notes import NOTES
from tests.conversion.cases.reports import REPORTS
from tests.conversion.cases.sources import CASES

NOTED_KINDS, FEWEST_OF_OUR_OWN = 61, 50


def assert_refused(verdict: Verdict, operator: str) -> None:
    assert verdict.word == "refused", verdict
    assert "\n" not in verdict.text
    assert verdict.details is not None
    assert re.search(operator, verdict.details["operator"] or verdict.text)
    assert verdict.details["module"]


def test_the_table_is_as_large_as_promised() -> None:
    assert len(NOTES) == NOTED_KINDS
    assert len(ARCHITECTURES) == 8
    assert len(REPORTS) >= FEWEST_OF_OUR_OWN
    assert len(CASES) == len(NOTES) + len(ARCHITECTURES) + len(REPORTS)
    assert all(re.search(r"\w#\d+", case.report) for case in REPORTS)


@pytest.mark.parametrize("name", ["rotary_complex", "lstm_cell", "antialias", "dict_output", "diagonal"])
def test_core_ml_is_right_where_bare_scripts_fail(name: str) -> None:
    assert ours(CASES[name], "coreml") == Verdict("right")


@pytest.mark.parametrize("name", ["inverse", "imaginary_unit"])
def test_onnx_is_right_where_the_bare_script_fails(name: str) -> None:
    assert ours(CASES[name], "onnx") == Verdict("right")


def test_a_wrong_conversion_is_judged_wrong() -> None:
    assert scripted(CASES["antialias"], plain.trace, ".mlpackage").word == "wrong"


@pytest.mark.parametrize("target", ["coreml", "onnx"])
def test_a_branch_is_refused_with_its_place(target: Literal["coreml", "onnx"]) -> None:
    assert_refused(ours(CASES["branch"], target), "")
