from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import safetensors.torch
import torch
from torch import nn

from explorer.conversion import convert as conversion
from explorer.conversion import coreml_route, onnx_route
from explorer.conversion.convert import run
from explorer.conversion.to_coreml import capture
from explorer.conversion.to_onnx import export_onnx
from explorer.errors import Cancelled, ExplorerError
from explorer.inference.coreml.evaluate import evaluate_samples
from explorer.inference.onnx_runtime import run_onnx
from explorer.reporter import QuietReporter
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec

DIGITS = "samples/digits_cnn.py:digits_cnn"
LINEAR = "samples/simple_model.py:simple_model"
ENCODER = "samples/tiny_transformer.py:tiny_encoder"
MODELS = "tests.conversion.models"


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.fixture
def report(tmp_path: Path) -> QuietReporter:
    return QuietReporter(tmp_path / "artifacts")


class Doubled(nn.Module):
    """Twice what the module gives, and three times that."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.relu(item) * 2 for item in self.module(x))


def convert(report: QuietReporter, source: str, target: str, **fields: Any) -> ConvertResult:
    return run(ConvertSpec.model_validate({"source": source, "target": target, **fields}), report)


def assert_nothing_left(report: QuietReporter) -> None:
    assert not report.folder.exists() or list(report.folder.iterdir()) == []


@pytest.mark.parametrize(("source", "data"), [(DIGITS, "digits"), (LINEAR, "linear"), (ENCODER, "digits")])
def test_samples_convert_to_onnx_and_agree(source: str, data: str, report: QuietReporter) -> None:
    result = convert(report, source, "onnx", data=data)
    assert result.passed
    assert result.checks[0].max_abs_error <= 1e-5
    assert result.checks[0].samples >= 200
    assert (report.folder / "model.onnx").stat().st_size == result.bytes
    assert any("open batch" in step and step.endswith(" s") for step in result.route)


@pytest.mark.parametrize(("source", "data"), [(DIGITS, "digits"), (LINEAR, "linear"), (ENCODER, "digits")])
def test_samples_convert_to_coreml_and_agree(source: str, data: str, report: QuietReporter) -> None:
    result = convert(report, source, "coreml", data=data)
    exact, half = result.checks
    assert (exact.mode, half.mode) == ("float32", "float16")
    assert exact.max_abs_error <= 1e-5
    assert half.passed
    assert (half.agreement is None) == (data == "linear")
    assert half.snr_db >= 30.0
    assert (report.folder / "model.mlpackage" / "Manifest.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float16", "float32"])
@pytest.mark.parametrize("target", ["iOS15", "iOS16", "iOS17", "iOS18"])
@pytest.mark.parametrize("source", [DIGITS, LINEAR, ENCODER])
def test_samples_convert_for_every_system(source: str, target: str, precision: str, report: QuietReporter) -> None:
    result = convert(report, source, "coreml", deployment_target=target, precision=precision)
    assert result.passed
    assert result.checks[0].max_abs_error <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("opset", [19, 20, 21, 22, 23])
def test_every_opset_exports(opset: int, report: QuietReporter) -> None:
    convert(report, ENCODER, "onnx", opset=opset)
    assert onnx.load(report.folder / "model.onnx").opset_import[0].version == opset


def test_onnx_file_carries_names_opset_source_and_an_open_batch(report: QuietReporter) -> None:
    convert(report, f"{MODELS}:small", "onnx", input_name="image", output_name="scores")
    model = onnx.load(report.folder / "model.onnx")
    assert model.opset_import[0].version == 18
    assert [item.name for item in model.graph.input] == ["image"]
    assert [item.name for item in model.graph.output] == ["scores"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert {item.key: item.value for item in model.metadata_props}["explorer.source"] == f"{MODELS}:small"
    assert run_onnx(report.folder / "model.onnx", np.ones((7, 4), np.float32)).shape == (7, 2)


def test_a_fixed_batch_can_be_asked_for(report: QuietReporter) -> None:
    convert(report, f"{MODELS}:small", "onnx", dynamic_batch=False)
    model = onnx.load(report.folder / "model.onnx")
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 1


@pytest.mark.parametrize("target", ["onnx", "coreml"])
def test_a_model_that_fixes_its_batch_converts_for_one_sample(target: str, report: QuietReporter) -> None:
    result = convert(report, f"{MODELS}:fixed_batch", target)
    assert result.passed
    assert ("info", "The batch size is fixed at 1") in report.findings
    assert any("fixed batch" in step for step in result.route)


def test_coreml_package_carries_its_names(report: QuietReporter) -> None:
    convert(report, f"{MODELS}:small", "coreml", input_name="image", output_name="scores", precision="float32")
    result = evaluate_samples(report.folder / "model.mlpackage", {"image": np.ones((70, 4), np.float32)}, "float32")
    assert list(result.outputs) == ["scores"]
    assert result.output.shape == (70, 2)


def test_tracing_takes_over_where_export_fails(report: QuietReporter) -> None:
    result = convert(report, f"{MODELS}:recurrent", "coreml")
    assert result.passed
    assert any(step.startswith("torch.jit.trace") for step in result.route)
    assert any("no rule for the operator lstm" in line for line in report.messages)


def test_attention_modules_convert_without_their_fast_path(report: QuietReporter) -> None:
    assert convert(report, f"{MODELS}:encoder", "coreml", precision="float32").passed
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("target", ["onnx", "coreml"])
def test_integer_inputs_convert(target: str, report: QuietReporter) -> None:
    assert convert(report, f"{MODELS}:tokens", target).passed


def test_weights_from_a_state_dict_are_what_is_converted(tmp_path: Path, report: QuietReporter) -> None:
    weights = {"weight": torch.full((2, 4), 3.0), "bias": torch.tensor([1.0, -1.0])}
    safetensors.torch.save_file(weights, tmp_path / "w.safetensors")
    convert(report, f"{MODELS}:small", "onnx", weights=str(tmp_path / "w.safetensors"))
    got = run_onnx(report.folder / "model.onnx", np.ones((1, 4), np.float32))
    assert got.tolist() == [[13.0, 11.0]]


@pytest.mark.parametrize(
    ("name", "evidence"), [("branch", "max error"), ("large_integer", r"max error \d\.\d+e\+0\d, first at add_\d+ \(add\)")]
)
def test_a_conversion_that_gives_wrong_values_fails(
    name: str, evidence: str, report: QuietReporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "preflight", lambda *_: [])
    with pytest.raises(ExplorerError, match=f"{name} converts to Core ML but fails its float32 check.*{evidence}"):
        convert(report, f"{MODELS}:{name}", "coreml")
    assert ("error", "The Core ML result differs from its source") in report.findings
    assert_nothing_left(report)


def test_what_would_come_out_wrong_is_refused_before_it_is_converted(report: QuietReporter) -> None:
    with pytest.raises(ExplorerError, match="cannot be converted to Core ML: it branches on values"):
        convert(report, f"{MODELS}:branch", "coreml")
    assert not any("convert in" in line for line in report.messages)


def test_wrong_weights_in_the_onnx_file_fail(report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    real = export_onnx

    def spoiled(module: nn.Module, *rest: Any) -> list[Path]:
        with torch.no_grad():
            next(module.parameters()).mul_(1.01)
        files = real(module, *rest)
        with torch.no_grad():
            next(module.parameters()).div_(1.01)
        return files

    monkeypatch.setattr(onnx_route, "export_onnx", spoiled)
    with pytest.raises(ExplorerError, match="converts to ONNX but fails its float32 check"):
        convert(report, f"{MODELS}:small", "onnx")
    assert ("error", "The ONNX result differs from its source") in report.findings
    assert_nothing_left(report)


def test_overflow_in_half_fails_and_names_the_operation(report: QuietReporter) -> None:
    with pytest.raises(ExplorerError, match=r"fails its float16 check: \S+ \(\w+\) overflows float16") as caught:
        convert(report, f"{MODELS}:overflow", "coreml")
    told = caught.value.result
    assert isinstance(told, ConvertResult), "a failed proof tells its figures"
    assert (told.passed, told.output, [check.passed for check in told.checks]) == (False, "", [False])
    assert told.losses[0].problem == "overflow"
    assert ("error", "The model does not hold in float16") in report.findings
    assert_nothing_left(report)
    assert convert(report, f"{MODELS}:overflow", "coreml", precision="float32").passed


@pytest.mark.parametrize(
    ("name", "target", "words"),
    [
        ("inverse", "coreml", "no rule for the operator linalg_inv"),
        ("inverse", "onnx", "no rule for the operator .*linalg_inv"),
        ("branch", "onnx", "it branches on values"),
        ("branch", "pt2", "it branches on values"),
        ("no_example", "onnx", "gives no example input"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_one_sentence(name: str, target: str, words: str, report: QuietReporter) -> None:
    with pytest.raises(ExplorerError, match=words) as caught:
        convert(report, f"{MODELS}:{name}", target)
    assert "\n" not in str(caught.value)
    assert_nothing_left(report)


def test_data_of_another_shape_is_refused(report: QuietReporter) -> None:
    with pytest.raises(ExplorerError, match="takes 4, the samples of digits are 1x8x8"):
        convert(report, f"{MODELS}:small", "onnx", data="digits")


def test_an_lstm_cell_is_replaced_by_what_converts(report: QuietReporter) -> None:
    result = convert(report, f"{MODELS}:cell", "coreml")
    assert result.passed
    assert result.rewrites
    assert any(line.startswith("rewritten: ") for line in report.messages)


def test_an_error_has_the_facts_for_programs(report: QuietReporter) -> None:
    with pytest.raises(ExplorerError) as caught:
        convert(report, f"{MODELS}:inverse", "onnx")
    assert "linalg_inv" in caught.value.details["operator"]
    assert set(caught.value.details) >= {"reason", "operator", "module"}


@pytest.mark.parametrize("source", [f"{MODELS}:encoder", DIGITS, LINEAR, ENCODER])
def test_the_other_way_of_capturing_is_compared(source: str, report: QuietReporter) -> None:
    result = convert(report, source, "coreml")
    compared = [step for step in result.route if step.startswith("compare with torch.jit.trace")]
    assert len(compared) == 1
    assert "failed" not in compared[0], report.messages
    assert any("gives the same operators" in line or "with the same outputs" in line for line in report.messages)


def test_a_wrong_program_of_the_other_way_is_told(report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    real = capture

    def spoiled(module: nn.Module, way: Any) -> Any:
        return real(torch.nn.Sequential(Doubled(module)) if way.capture == "torch.jit.trace" else module, way)

    monkeypatch.setattr(coreml_route, "capture", spoiled)
    assert convert(report, f"{MODELS}:small", "coreml").passed
    assert ("info", "torch.jit.trace converts this model wrongly") in report.findings


@pytest.mark.parametrize("route", [onnx_route, coreml_route])
def test_a_conversion_that_dies_midway_leaves_nothing(route: Any, report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    target = "onnx" if route is onnx_route else "coreml"
    check = "onnx_check" if route is onnx_route else "coreml_float16_check"

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(route, check, dies)
    with pytest.raises(KeyboardInterrupt):
        convert(report, f"{MODELS}:small", target)
    assert_nothing_left(report)


def test_a_cancelled_conversion_leaves_nothing(report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    def cancelled() -> frozenset[str]:
        if len(report.messages) > 6:
            raise Cancelled
        return frozenset()

    monkeypatch.setattr(report, "control", cancelled)
    with pytest.raises(Cancelled):
        convert(report, f"{MODELS}:small", "coreml")
    assert_nothing_left(report)


@pytest.mark.parametrize(("target", "name"), [("onnx", "out.onnx"), ("coreml", "out.mlpackage")])
def test_output_gets_a_copy_and_replaces_an_older_one(target: str, name: str, tmp_path: Path, report: QuietReporter) -> None:
    output = tmp_path / "new" / name
    for _ in range(2):
        result = convert(report, f"{MODELS}:small", target, output=str(output), precision="float32")
    assert result.delivered == str(output)
    assert [item.name for item in output.parent.iterdir()] == [name]
    assert output.is_dir() == (target == "coreml")
    inputs = np.ones((1, 4), np.float32)
    run_onnx(output, inputs) if target == "onnx" else evaluate_samples(output, inputs, "float32")


def test_nothing_is_printed(report: QuietReporter, capfd: pytest.CaptureFixture[str]) -> None:
    convert(report, f"{MODELS}:small", "coreml")
    convert(report, f"{MODELS}:small", "onnx")
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def test_progress_names_the_converter_phases(report: QuietReporter, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float | None, str]] = []
    monkeypatch.setattr(report, "progress", lambda done, total, message="", unit="": seen.append((done, total, message)))
    convert(report, f"{MODELS}:small", "coreml")
    assert "Running MIL default pipeline" in [message for _, _, message in seen]
    assert all(total is not None and done <= total for done, total, _ in seen)
    assert [done for done, _, _ in seen] == sorted(done for done, _, _ in seen)
