"""What programs read of a conversion that failed."""

import pytest

from explorer.cli.flags import spec_from, spec_parser
from explorer.cli.following import note
from explorer.errors import ExplorerError
from explorer.schemas.events import Failure, Finding, Result
from explorer.schemas.specs import ConvertSpec


def test_a_refusal_has_reason_operator_and_module() -> None:
    answer = {"job": "1", "passed": False, "findings": []}
    note(answer, Finding(severity="error", title="no rule", evidence="net.cell", remedy="replace it"))
    note(answer, Failure(message="x cannot be converted", details={"reason": "no rule", "operator": "inv", "module": "net.cell"}))
    assert (answer["passed"], answer["reason"], answer["operator"], answer["module"]) == (False, "no rule", "inv", "net.cell")
    assert answer["findings"] == [{"severity": "error", "title": "no rule", "evidence": "net.cell", "remedy": "replace it"}]


def test_a_failure_without_facts_has_its_message_as_reason() -> None:
    answer = {"job": "1", "passed": False, "findings": []}
    note(answer, Failure(message="the worker is gone"))
    assert (answer["reason"], answer["operator"], answer["module"]) == ("the worker is gone", "", "")


def test_a_result_says_that_it_passed() -> None:
    answer = {"job": "1", "passed": False, "findings": []}
    note(answer, Result(result={"kind": "convert", "passed": True, "findings": [], "route": ["load 0.1 s"]}))
    assert answer["passed"] is True


@pytest.mark.parametrize("delivered", [None, "/models/net.onnx"])
def test_the_output_is_the_path_that_was_asked_for_or_the_artifact(delivered: str | None) -> None:
    answer = {"job": "1", "passed": False, "findings": []}
    note(answer, Result(result={"kind": "convert", "passed": True, "output": "model.onnx", "delivered": delivered}))
    assert str(answer["output"]).endswith(delivered or "/jobs/1/artifacts/model.onnx")
    assert "delivered" not in answer


@pytest.mark.parametrize("flag", ["--to", "--target"])
def test_to_names_the_target(flag: str) -> None:
    spec = spec_from(spec_parser("convert").parse_args(["net.py:make", flag, "pt2", "--inputs", "x=1x4", "y=1x5"]))
    assert spec == ConvertSpec(source="net.py:make", target="pt2", inputs=["x=1x4", "y=1x5"])


def test_an_error_carries_facts() -> None:
    assert ExplorerError("x", "y", {"operator": "inv"}).details == {"operator": "inv"}
    assert ExplorerError("x").details == {}
