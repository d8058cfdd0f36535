"""The commands about model files, with results that the scripted engine does not make: words and exit codes."""

import pytest

from explorer.cli import main, show_models
from explorer.cli.spec_command import answered_at_once
from explorer.schemas.events import Finding
from explorer.schemas.model_results import (
    DiffResult,
    ExternalFile,
    GraphResult,
    InspectResult,
    LayerCost,
    LayersResult,
    MatchResult,
    Operator,
    OutputDifference,
    PortInfo,
    ShapeMismatch,
    TensorChange,
    TensorInfo,
    TensorValues,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.model_specs import DiffSpec, GraphSpec, LayersSpec, MatchSpec, ValuesSpec, VerifySpec
from explorer.schemas.specs import Spec

TENSOR = TensorInfo(name="fc.weight", shape=[10, 64], dtype="float32", bytes=2560)


@pytest.mark.parametrize(
    ("spec", "at_once"),
    [
        (ValuesSpec(source="a.onnx", tensor="w"), True),
        (ValuesSpec(source="a.onnx"), False),
        (MatchSpec(source="net.py:make", weights="w.pth"), True),
        (GraphSpec(source="a.onnx"), True),
        (DiffSpec(first="a", second="b"), False),
        (VerifySpec(first="a", second="b"), False),
        (LayersSpec(source="net.py:make"), False),
    ],
)
def test_questions_leave_no_job(spec: Spec, at_once: bool) -> None:
    assert answered_at_once(spec) is at_once


@pytest.mark.parametrize("words", [["diff", "only_one.pth"], ["match"], ["values"]])
def test_what_must_be_named_is_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "field required" in capsys.readouterr().err


def test_inspect_names_what_a_checkpoint_holds_and_what_is_missing() -> None:
    result = InspectResult(
        source="a.onnx",
        format="onnx",
        format_name="ONNX",
        runs_code_on_load=False,
        safety="opening it runs no code",
        tensors=[TENSOR, TensorInfo(name="tied", shape=[10, 64], dtype="float32", bytes=2560, shares="fc.weight")],
        parameters=640,
        bytes=5000,
        bytes_by_dtype={"float32": 2560},
        prefixes=["module."],
        contents={"optimizer": "AdamW, 2 states"},
        external_files=[ExternalFile(name="weights.bin")],
        findings=[Finding(severity="warning", title="a file is missing", remedy="copy it beside the model")],
    )
    text = "\n".join(show_models.inspect_lines(result))
    for words in ("640 parameters", "shares fc.weight", "module.", "AdamW, 2 states", "weights.bin  missing", "(copy it beside"):
        assert words in text


def test_values_draw_a_histogram() -> None:
    values = TensorValues(
        name="w", shape=[4], dtype="float32", elements=4, minimum=-1, maximum=1, mean=0, std=1, norm=2, histogram=[1, 0, 2, 1],
        edges=[-1, -0.5, 0, 0.5, 1],
    )  # fmt: skip
    result = ValuesResult(source="a", checked=1, bytes=16, seconds=0.1, tensors=[values])
    assert show_models.values_lines(result)[-1] == "-1 ▄ █▄ 1"


def test_a_sweep_names_only_what_is_not_finite() -> None:
    clean = ValuesResult(source="a", checked=9, bytes=900, seconds=0.1, tensors=[])
    assert show_models.values_lines(clean)[0].endswith("all finite")
    bad = TensorValues(name="w", shape=[4], dtype="float32", elements=4, nans=3)
    text = "\n".join(show_models.values_lines(clean.model_copy(update={"tensors": [bad]})))
    assert "1 hold NaN or infinity" in text
    assert "3 NaN" in text


def test_a_diff_lists_each_kind() -> None:
    change = TensorChange(name="b", shape=[2], other_shape=[3], dtype="float32", other_dtype="float16")
    result = DiffResult(
        first="a",
        second="b",
        same=5,
        added=[TENSOR],
        reshaped=[change],
        changed=[change.model_copy(update={"other_shape": [2], "max_abs": 0.5, "relative": 0.25})],
        renaming="without model.",
    )
    text = "\n".join(show_models.diff_lines(result))
    for words in (
        "1 added, 0 removed, 1 reshaped, 1 changed, 5 the same",
        "2 -> 3",
        "float32 -> float16",
        "max 5.00e-01",
        "model.",
    ):
        assert words in text


def test_a_verdict_says_how_far_apart() -> None:
    output = OutputDifference(name="y", other_name="z", shape=[2, 3], other_shape=[2, 3], max_abs_error=0.5, agreement=0.5)
    result = VerifyResult(
        first="a",
        second="b",
        same=False,
        max_abs_error=0.5,
        tolerance=1e-4,
        samples=8,
        runtimes=["torch", "onnxruntime"],
        outputs=[output, output.model_copy(update={"other_shape": [3, 2], "max_abs_error": None})],
    )
    lines = show_models.verify_lines(result)
    assert lines[0] == "different on 8 inputs, max error 5.0e-01 (tolerance 1e-04; torch against onnxruntime)"
    assert "same class on 50.0%" in lines[1]
    assert "2 x 3, not 3 x 2" in lines[2]


def test_weights_that_do_not_fit_get_a_suggestion() -> None:
    result = MatchResult(
        source="net.py:make",
        weights="w.pth",
        matched=0,
        missing=["fc.weight"],
        unexpected=["module.fc.weight"],
        mismatched=[ShapeMismatch(name="fc.bias", expected=[10], found=[5])],
        suggestion="remove module.",
        suggested_matches=1,
        fits=False,
    )
    text = "\n".join(show_models.match_lines(result))
    for words in ("does not fit: 0 matched, 1 missing, 1 unexpected, 1 of another shape", "remove module.", "5, not 10"):
        assert words in text


def test_layers_and_operators_have_a_line_each() -> None:
    layer = LayerCost(name="fc", type="Linear", output_shapes=[[1, 10]], parameters=650, flops=1280, activation_bytes=40)
    layers = LayersResult(
        source="a", batch_size=1, input_shapes=[[1, 64]], parameters=650, flops=1280, activation_bytes=40, layers=[layer],
        uncounted=["aten.topk"],
    )  # fmt: skip
    text = "\n".join(show_models.layers_lines(layers))
    assert "1.28 KFLOP" in text
    assert "aten.topk" in text
    port = PortInfo(name="y", shape=[1, "n"], dtype="float32")
    nested = Operator(name="add", type="Add", inputs=["a", "b"], outputs=[port], block="if_1")
    graph = GraphResult(
        source="a", format="ONNX", inputs=[port], outputs=[port],
        operators=[Operator(name="if_1", type="If", inputs=["c"], outputs=[port]), nested],
    )  # fmt: skip
    assert show_models.graph_lines(graph)[-1] == "  add  Add(a, b) -> 1 x n float32"
