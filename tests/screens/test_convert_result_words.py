"""What is said about Core ML programs as labels and values."""

from explorer.schemas.convert_result import EvaluateResult, HintsResult, OperatorsResult, PrecisionLoss
from screens.result_words import result_facts
from tests.cli.test_core_ml_commands import HINT, PROVED


def test_a_mac_is_told_by_compute_unit() -> None:
    assert result_facts(PROVED) == [
        ("all", "error 0.001, passed, 1.00 ms a call, Neural Engine 9, CPU 1"),
        ("cpu_and_ne", "gave no answer within 120 s"),
        ("ran on", "Apple M4, macOS 15.5"),
    ]


def test_evaluations_operators_and_hints() -> None:
    loss = PrecisionLoss(name="v", operator="exp", problem="nan", largest=1.0)
    evaluated = EvaluateResult(package="a", mode="float32", outputs={"y": [1, 3]}, operators=7, seconds=2e-3, losses=[loss])
    assert result_facts(evaluated) == [("operators", "7 in 2.00 ms, float32"), ("y", "1x3"), ("not finite", "v")]
    assert result_facts(OperatorsResult(known=["add"], missing=[])) == [("known", "1"), ("missing", "none")]
    assert result_facts(HintsResult(package="a", operators=2, hints=[HINT])) == [("hints", "1"), ("dilations", "Dilated")]
