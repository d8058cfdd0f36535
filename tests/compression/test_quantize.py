from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from explorer.compression import quantize
from explorer.compression.int8_nodes import compute_nodes
from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.inference.onnx_runtime import run_onnx
from explorer.reporter import QuietReporter
from explorer.schemas.results import QuantizeResult
from explorer.schemas.specs import QuantizeSpec
from tests.compression.conftest import COREML, ONNX, TRAINED, reporter


@pytest.fixture(scope="module")
def int8(jobs_home: Path) -> tuple[QuantizeResult, QuietReporter]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLORER_HOME", str(jobs_home))
        report = reporter(jobs_home, "int8")
        return quantize.run(QuantizeSpec(source=ONNX, data="digits"), report), report


@pytest.fixture(scope="module")
def coreml_int8(jobs_home: Path) -> QuantizeResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLORER_HOME", str(jobs_home))
        return quantize.run(QuantizeSpec(source=COREML, data="digits"), reporter(jobs_home, "coreml_int8"))


def test_the_int8_file_is_small_and_as_accurate(int8: tuple[QuantizeResult, QuietReporter]) -> None:
    result, report = int8
    assert result.method == "static_int8"
    assert result.bytes == (report.folder / result.output).stat().st_size
    assert result.size_ratio == result.bytes / result.source_bytes <= 0.30
    assert result.source_accuracy is not None
    assert result.accuracy is not None
    assert result.source_accuracy >= 0.97
    assert result.accuracy >= result.source_accuracy - 0.01


def test_every_compute_node_runs_in_int8(int8: tuple[QuantizeResult, QuietReporter]) -> None:
    result, report = int8
    assert result.int8_nodes == 5
    assert (result.float_nodes, result.float_node_names) == (0, [])
    assert ("info", "5 of 5 compute nodes run in int8") in report.findings


def test_the_check_compares_with_the_source_on_all_held_out_data(int8: tuple[QuantizeResult, QuietReporter]) -> None:
    [check] = int8[0].checks
    assert check.passed
    assert check.samples == len(load("digits", "test"))
    assert check.snr_db > 25
    assert check.agreement is not None
    assert check.agreement > 0.97


def test_the_int8_file_takes_any_batch_and_carries_no_notes_of_the_exporter(
    int8: tuple[QuantizeResult, QuietReporter],
) -> None:
    path = int8[1].folder / "model.onnx"
    assert run_onnx(path, load("digits", "test").inputs[:7], batch=7).shape == (7, 10)
    model = onnx.load(path)
    onnx.checker.check_model(model)
    assert not any(node.metadata_props or node.doc_string for node in model.graph.node)


def test_the_accuracy_reported_is_that_of_the_file(int8: tuple[QuantizeResult, QuietReporter]) -> None:
    test = load("digits", "test")
    outputs = run_onnx(int8[1].folder / "model.onnx", test.inputs)
    assert int8[0].accuracy == pytest.approx(float((outputs.argmax(1) == test.targets).mean()))


def test_weights_of_a_core_ml_package_become_int8(coreml_int8: QuantizeResult) -> None:
    result = coreml_int8
    assert result.method == "weights_int8"
    assert result.output == "model.mlpackage"
    assert 0.4 < result.size_ratio < 0.6
    assert (result.int8_nodes, result.float_nodes) == (4, 0)
    [check] = result.checks
    assert check.passed
    assert check.snr_db > 30
    assert check.agreement is not None
    assert check.agreement > 0.99
    assert result.accuracy == pytest.approx(result.source_accuracy, abs=0.01)


def test_a_core_ml_package_without_known_data_is_checked_on_random_inputs(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "net.mlpackage"
    (home / "jobs" / "coreml" / "artifacts" / "model.mlpackage").rename(elsewhere)
    try:
        result = quantize.run(QuantizeSpec(source=str(elsewhere), per_channel=False), QuietReporter(tmp_path / "job"))
    finally:
        elsewhere.rename(home / "jobs" / "coreml" / "artifacts" / "model.mlpackage")
    assert result.accuracy is None
    assert result.checks[0].agreement is None
    assert result.checks[0].passed


@pytest.mark.usefixtures("home")
def test_the_result_is_also_written_where_the_user_wants_it(tmp_path: Path) -> None:
    target = tmp_path / "small.onnx"
    result = quantize.run(QuantizeSpec(source=ONNX, data="digits", output=str(target)), QuietReporter(tmp_path / "job"))
    assert result.delivered == str(target)
    assert target.read_bytes() == (tmp_path / "job" / "model.onnx").read_bytes()


@pytest.mark.usefixtures("home", "int8", "coreml_int8")
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (QuantizeSpec(source="job:int8", data="digits"), "quantized already"),
        (QuantizeSpec(source="job:coreml_int8", data="digits"), "compressed weights already"),
        (QuantizeSpec(source=TRAINED, data="digits"), r"made no model\.onnx or model\.mlpackage"),
        (QuantizeSpec(source="samples/digits_cnn.py:digits_cnn", data="digits"), "is code.*convert it first"),
        (QuantizeSpec(source=ONNX, data="digits", method="weights_int8"), "does not apply.*static_int8"),
        (QuantizeSpec(source=COREML, data="digits", method="static_int8"), "does not apply.*weights_int8"),
        (QuantizeSpec(source=ONNX, data="linear"), "takes .*the samples are"),
        (QuantizeSpec(source="missing.onnx"), "does not exist"),
    ],
)
def test_what_cannot_be_quantized_is_refused_in_one_sentence(spec: QuantizeSpec, words: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=words) as caught:
        quantize.run(spec, QuietReporter(tmp_path))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_torch_weights_are_told_to_be_converted_first(home: Path, tmp_path: Path) -> None:
    weights = home / "jobs" / "trained" / "artifacts" / "model.safetensors"
    with pytest.raises(ExplorerError, match="convert the model first"):
        quantize.run(QuantizeSpec(source=str(weights)), QuietReporter(tmp_path))


def test_garbage_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"<html>not a model</html>")
    with pytest.raises(ExplorerError, match=r"net\.onnx"):
        quantize.run(QuantizeSpec(source=str(tmp_path / "net.onnx"), data="digits"), QuietReporter(tmp_path / "job"))
    assert not list((tmp_path / "job").glob("*"))


@pytest.mark.usefixtures("home")
def test_too_large_a_drop_of_accuracy_fails_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([0.99, 0.97])
    monkeypatch.setattr(quantize, "accuracy", lambda logits, targets: next(values))
    with pytest.raises(ExplorerError, match=r"fell from 0\.9900 to 0\.9700"):
        quantize.run(QuantizeSpec(source=ONNX, data="digits"), QuietReporter(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_badly_scaled_network_fails_its_check(tmp_path: Path) -> None:
    """Channels that differ by factors of a thousand, undone by the next layer: eight bits a tensor cannot hold both."""
    path = tmp_path / "trap.onnx"
    _save_trap(path)
    with pytest.raises(ExplorerError, match="differ too much"):
        quantize.run(QuantizeSpec(source=str(path), data="linear", per_channel=False), QuietReporter(tmp_path / "job"))


def test_a_network_without_layers_to_quantize_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "relu.onnx"
    _save(path, [helper.make_node("Erf", ["input"], ["output"])], {}, outputs=[10])
    with pytest.raises(ExplorerError, match="saves nothing"):
        quantize.run(QuantizeSpec(source=str(path), data="linear"), QuietReporter(tmp_path / "job"))


def test_layers_that_stay_float_are_counted_and_named(tmp_path: Path) -> None:
    """ONNX Runtime has no int8 kernel for a transposed convolution."""
    generator = np.random.default_rng(0)
    weights = {
        "down": generator.normal(size=(32, 1, 3, 3)).astype(np.float32),
        "inner": generator.normal(size=(32, 32, 3, 3)).astype(np.float32),
        "up": generator.normal(size=(32, 16, 3, 3)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["input", "down"], ["a"], name="down"),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "inner"], ["c"], name="inner"),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("ConvTranspose", ["d", "up"], ["output"], name="up"),
    ]
    path = tmp_path / "net.onnx"
    _save(path, nodes, weights, inputs=[1, 8, 8], outputs=[16, 6, 6])
    report = QuietReporter(tmp_path / "job")
    result = quantize.run(QuantizeSpec(source=str(path), data="digits"), report)
    assert (result.int8_nodes, result.float_nodes) == (2, 1)
    assert result.float_node_names == ["up (ConvTranspose)"]
    assert ("warning", "2 of 3 compute nodes run in int8") in report.findings
    assert "up (ConvTranspose)" in result.findings[0].evidence
    assert result.accuracy is None


def test_float_nodes_are_named(tmp_path: Path) -> None:
    """A MatMul between Gemms that keeps its float inputs is listed by its name."""
    path = tmp_path / "mixed.onnx"
    generator = np.random.default_rng(0)
    nodes = [
        helper.make_node("QuantizeLinear", ["input", "scale", "zero"], ["q"]),
        helper.make_node("MatMulInteger", ["q", "w8", "zero", "zero8"], ["int"], name="inner"),
        helper.make_node("Cast", ["int"], ["float"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["float", "w"], ["output"], name="last"),
    ]
    weights = {
        "scale": np.float32(0.1),
        "zero": np.uint8(128),
        "zero8": np.int8(0),
        "w8": generator.integers(-100, 100, (10, 16)).astype(np.int8),
        "w": generator.normal(size=(16, 3)).astype(np.float32),
    }
    _save(path, nodes, weights, outputs=[3])
    found = compute_nodes(path)
    assert found.int8 == ["inner (MatMulInteger)"]
    assert found.floating == ["last (MatMul)"]


def _save_trap(path: Path) -> None:
    generator = np.random.default_rng(0)
    scales = np.logspace(-3, 3, 64, dtype=np.float32)
    weights = {
        "w1": (generator.normal(size=(10, 64)) * scales).astype(np.float32),
        "w2": (generator.normal(size=(64, 64)) / scales[:, None]).astype(np.float32),
    }
    nodes = [
        helper.make_node("MatMul", ["input", "w1"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w2"], ["output"]),
    ]
    _save(path, nodes, weights, outputs=[64])


def _save(
    path: Path, nodes: list[onnx.NodeProto], weights: Mapping[str, Any], outputs: Sequence[int], inputs: Sequence[int] = (10,)
) -> None:
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["batch", *inputs])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["batch", *outputs])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
