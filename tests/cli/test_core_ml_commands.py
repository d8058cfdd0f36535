"""The commands about Core ML programs, with results that the scripted engine does not make: words, flags and exit codes."""

from pathlib import Path

import pytest

from explorer import home
from explorer.cli import main
from explorer.cli.flags import spec_from, spec_parser
from explorer.cli.show import result_lines
from explorer.cli.show_convert import loss_lines, truth_lines
from explorer.cli.spec_command import answered_at_once
from explorer.engine.headline import headline
from explorer.schemas.convert_result import (
    Check,
    ConvertResult,
    EvaluateResult,
    Hint,
    HintsResult,
    OperatorsResult,
    PrecisionLoss,
    ProveResult,
    UnitRun,
)
from explorer.schemas.convert_spec import EvaluateSpec, HintsSpec, OperatorsSpec, ProveSpec
from explorer.schemas.specs import Spec

CHECK = Check(
    runtime="Core ML on all",
    mode="float16",
    samples=3,
    max_abs_error=1e-3,
    max_rel_error=2e-3,
    snr_db=61.4,
    tolerance="signal-to-noise >= 30 dB",
    passed=True,
)
UNITS = [
    UnitRun(compute_units="all", check=CHECK, load_s=0.5, call_s=1e-3, operators_by_device={"Neural Engine": 9, "CPU": 1}),
    UnitRun(compute_units="cpu_and_ne", problem="gave no answer within 120 s"),
]
PROVED = ProveResult(source="job:1", machine="Apple M4", system="macOS 15.5", units=UNITS)
HINT = Hint(rule="dilations", title="Dilated", where="conv_1 (conv)", remedy="none", source="somebody", date="read 2026-11-30")


@pytest.mark.parametrize(
    ("spec", "at_once"),
    [
        (EvaluateSpec(package="a.mlpackage", input="x.npz", output="y.npz"), True),
        (EvaluateSpec(package="a.mlpackage", input="x.npz"), False),
        (OperatorsSpec(), True),
        (HintsSpec(package="a.mlpackage"), True),
        (ProveSpec(source="job:1"), False),
    ],
)
def test_questions_leave_no_job(spec: Spec, at_once: bool) -> None:
    assert answered_at_once(spec) is at_once


def test_evaluate_takes_its_files_as_flags() -> None:
    words = ["a.mlpackage", "--input", "x.npz", "--output", "y.npz", "--float16"]
    spec = spec_from(spec_parser("evaluate").parse_args(words))
    assert spec == EvaluateSpec(package="a.mlpackage", input="x.npz", output="y.npz", float16=True)
    assert spec_from(spec_parser("operators").parse_args([])) == OperatorsSpec()
    assert spec_from(spec_parser("operators").parse_args(["a.mlpackage"])) == OperatorsSpec(package="a.mlpackage")


@pytest.mark.parametrize("words", [["evaluate", "a.mlpackage"], ["hints"], ["prove"]])
def test_what_must_be_named_is_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "field required" in capsys.readouterr().err


def test_an_evaluation_shows_shapes_and_what_is_not_finite() -> None:
    loss = PrecisionLoss(name="v", operator="exp", module="net.2", problem="overflow", largest=1e6, remedy="keep it in float32")
    result = EvaluateResult(
        package="a", mode="float16", output="y.npz", outputs={"y": [1, 3], "n": []}, operators=7, seconds=2e-3, losses=[loss]
    )
    assert result_lines(result) == [
        "7 operators in 2.00 ms, float16, by the reference evaluator",
        "output  y  1x3",
        "output  n  scalar",
        "written y.npz",
        "overflow  v (exp of net.2), largest 1e+06: keep it in float32",
    ]
    assert headline(result) == "7 operators in 0.002 s, 1 values not finite"
    assert loss_lines([loss] * 10)[-1] == "... and 2 more"


def test_operators_start_with_the_missing_ones() -> None:
    lines = result_lines(OperatorsResult(known=["add", "mul"], missing=["random_normal"]))
    assert lines == ["2 of the 3 operators of coremltools' registry are known", "missing  random_normal", "known    add, mul"]
    assert result_lines(OperatorsResult(package="a.mlpackage", known=["add"], missing=[]))[1] == "missing  none"


def test_hints_name_their_source_and_say_what_they_are() -> None:
    lines = result_lines(HintsResult(package="a", operators=3, hints=[HINT]))
    assert lines[:4] == ["hint: Dilated", "  conv_1 (conv)", "  → none", "  somebody, read 2026-11-30"]
    assert "not a measurement" in lines[-1]
    nothing = HintsResult(package="a", operators=3, hints=[])
    assert "no rule speaks against" in result_lines(nothing)[0]
    assert (headline(nothing), headline(HintsResult(package="a", operators=3, hints=[HINT]))) == ("0 hints", "1 hint")


def test_the_truth_is_a_row_for_each_compute_unit() -> None:
    assert result_lines(PROVED) == [
        "Apple M4, macOS 15.5",
        "compute units  verdict  max error    SNR    load     call  operators by device",
        "all            passed     1.0e-03  61 dB  500 ms  1.00 ms  Neural Engine 9, CPU 1",
        "cpu_and_ne     problem          –      –       –        –  –",
        "cpu_and_ne: gave no answer within 120 s",
    ]
    assert headline(PROVED) == "1 of 2 compute units passed on Apple M4"


def test_a_job_shows_the_truth_that_came_from_a_mac(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["train", "steps:1", "--json"]) == 0
    (job,) = home.jobs_folder().iterdir()
    capsys.readouterr()
    assert main(["jobs", "show", job.name]) == 0
    assert "Apple M4" not in capsys.readouterr().out
    (job / "artifacts").mkdir(exist_ok=True)
    (job / "artifacts" / "prove.json").write_text(PROVED.model_dump_json())
    assert main(["jobs", "show", job.name]) == 0
    assert "Apple M4, macOS 15.5" in capsys.readouterr().out
    (job / "artifacts" / "prove.json").write_text("{")
    assert truth_lines(job) == []


def test_a_conversion_shows_its_ports_proof_and_hints() -> None:
    wrong = CHECK.model_copy(update={"passed": False, "first_difference": "conv_1 of net.0"})
    result = ConvertResult(
        target="pt2", output="model.pt2", bytes=1000, route=["load 0.1 s"], passed=False, checks=[wrong], hints=[HINT, HINT],
        ports=["x 1x3 float32"], rewrites=["LSTMCell by its equations"], seconds=1.0,
    )  # fmt: skip
    assert result_lines(result, Path("m.pt2")) == [
        "m.pt2  1,000 bytes",
        "port   x 1x3 float32",
        "route  load 0.1 s",
        "replaced  LSTMCell by its equations",
        "Core ML on all float16: max error 1.0e-03, SNR 61 dB on 3 inputs: failed (signal-to-noise >= 30 dB); "
        "first difference conv_1 of net.0",
        "2 Neural Engine hints: `explorer hints PACKAGE` shows them",
    ]
    assert headline(result).startswith("exported program")
