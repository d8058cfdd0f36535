"""What is declared is in the saved package, and holds when it is evaluated."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.conversion.core_types import deployment_target
from explorer.conversion.versions import check_versions
from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import Evaluator, evaluate
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.schemas.specs import ConvertSpec
from tests.conversion import ports_models
from tests.conversion.converting import convert

PIXELS = "input:bgr,scale=1/255,mean=0.485/0.456/0.406,std=0.229/0.224/0.225"


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def description(folder: Path) -> Any:
    with quiet():
        return coremltools().models.MLModel(str(folder / "model.mlpackage"), skip_model_load=True).get_spec().description


def test_a_range_is_declared_and_computed(tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "attention", "coreml", inputs=["x=1x1..30x4"], precision="float32")
    sizes = description(tmp_path).input[0].type.multiArrayType.shapeRange.sizeRanges
    assert [(item.lowerBound, item.upperBound) for item in sizes] == [(1, 1), (1, 30), (4, 4)]
    for length in (1, 17, 30):
        given = np.random.default_rng(length).standard_normal((1, length, 4)).astype(np.float32)
        assert evaluate(tmp_path / "model.mlpackage", {"x": given}, "float32").output.shape == (1, length, 4)
    assert result.ports == ["x 1x1..30x4 float32", "output 1x1..30x4 float32"], "the ends of the range are proven"


def test_enumerated_shapes_are_declared_and_computed(tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "attention", "coreml", inputs=["x=1x6x4|1x12x4|1x3x4"], precision="float32")
    shapes = description(tmp_path).input[0].type.multiArrayType.enumeratedShapes.shapes
    assert sorted(tuple(item.shape) for item in shapes) == [(1, 3, 4), (1, 6, 4), (1, 12, 4)]
    assert result.checks[0].samples >= 9
    assert result.ports == ["x 1x6x4 | 1x12x4 | 1x3x4 float32", "output 1x3..12x4 float32"]


@pytest.mark.parametrize(("text", "layout"), [("input:rgb,scale=1/127.5,mean=1", "RGB"), (PIXELS, "BGR")])
def test_a_picture_is_declared_and_scaled_as_told(text: str, layout: str, tmp_path: Path) -> None:
    convert(tmp_path, "picture", "coreml", image=[text], precision="float32")
    port = load_program(tmp_path / "model.mlpackage").inputs["input"]
    pixels = np.random.default_rng(0).integers(0, 256, (1, 3, 16, 16)).astype(np.float32)
    torch.manual_seed(0)
    module, _ = ports_models.picture()
    mean, std = (1.0, 1.0) if layout == "RGB" else (torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225]))
    scale = 1 / 127.5 if layout == "RGB" else 1 / 255
    scaled = (torch.from_numpy(pixels).permute(0, 2, 3, 1) * scale - mean) / std
    expected = module(scaled.permute(0, 3, 1, 2)).detach().numpy()
    assert port.image == layout
    assert evaluate(tmp_path / "model.mlpackage", {"input": pixels}, "float32").output == pytest.approx(expected, abs=1e-5)


def test_labels_make_a_classifier(tmp_path: Path) -> None:
    names = ["cat", "dog", "fish", "bird", "cow"]
    (tmp_path / "labels.txt").write_text("\n".join(names))
    result, _ = convert(tmp_path / "out", "picture", "coreml", labels=str(tmp_path / "labels.txt"))
    found = description(tmp_path / "out")
    program = load_program(tmp_path / "out" / "model.mlpackage")
    assert found.predictedFeatureName == "classLabel"
    assert program.classes == names
    assert result.checks[0].agreement == 1.0
    given = {"input": np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32)}
    assert str(evaluate(program, given, "float32").outputs["classLabel"]) in names


def test_labels_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("cat\ndog")
    with pytest.raises(ExplorerError, match=r"has 2 labels, .* gives 5 scores"):
        convert(tmp_path / "out", "picture", "coreml", labels=str(tmp_path / "labels.txt"))


def test_metadata_is_written(tmp_path: Path) -> None:
    texts = ["author=Me", "license=MIT", "version=2", "own=x"]
    convert(tmp_path, "picture", "coreml", metadata=texts, compute_units="cpu_only")
    found = description(tmp_path).metadata
    assert (found.author, found.license, found.versionString) == ("Me", "MIT", "2")
    assert found.userDefined["own"] == "x"
    assert found.userDefined["explorer.compute_units"] == "cpu_only"


def test_state_is_kept_between_calls(tmp_path: Path) -> None:
    convert(tmp_path, "adding", "coreml", state=["inner.total"], deployment_target="macOS15")
    evaluator = Evaluator(tmp_path / "model.mlpackage", "float32")
    ones = {"input": np.ones((1, 4), np.float32)}
    evaluator.run(ones)
    evaluator.run(ones)
    assert [state.name for state in description(tmp_path).state] == ["inner_total"]
    assert next(iter(evaluator.state.values())).tolist() == [[2.0, 2.0, 2.0, 2.0]]


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"deployment_target": "iOS17"}, "iOS17 has no state"), ({"state": ["x"], "deployment_target": "iOS18"}, "has no buffer x")],
)
def test_state_that_there_cannot_be_is_refused(fields: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=words):
        convert(tmp_path, "adding", "coreml", **{"state": ["inner.total"], **fields})


def test_operators_stay_in_float32_when_told(tmp_path: Path) -> None:
    convert(tmp_path, "attention", "coreml", keep_float32=["softmax"])
    steps = list(load_program(tmp_path / "model.mlpackage").steps())
    halves = {step.op_type: step.results[0].half for step in steps if step.op_type in ("softmax", "matmul", "linear")}
    assert halves == {"softmax": False, "matmul": True, "linear": True}


def test_what_breaks_in_half_is_repaired_when_asked(tmp_path: Path) -> None:
    result, report = convert(tmp_path, "tests.conversion.models:overflow", "coreml", repair_float16=True)
    assert result.passed
    assert result.losses
    assert any("stay in float32" in title for _, title in report.findings)


@pytest.mark.parametrize(("target", "version"), [("macOS12", 6), ("iOS17", 8), ("iOS26", 10)])
def test_the_system_sets_the_version_of_the_file(target: str, version: int, tmp_path: Path) -> None:
    convert(tmp_path, "tests.conversion.models:small", "coreml", deployment_target=target)
    with quiet():
        model = coremltools().models.MLModel(str(tmp_path / "model.mlpackage"), skip_model_load=True)
    assert model.get_spec().specificationVersion == version


def test_both_names_of_a_system_mean_one_version() -> None:
    spec = ConvertSpec(source="x", target="coreml", deployment_target="macOS14")
    assert deployment_target(spec) == "iOS17"


@pytest.mark.parametrize(
    ("numpy", "python", "words"), [("2.4.0", (3, 12), "cannot convert with numpy 2.4.0"), ("2.3.5", (3, 14), "Python 3.14")]
)
def test_versions_that_cannot_convert_are_told_first(numpy: str, python: tuple[int, int], words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        check_versions("coreml", numpy, python)
    check_versions("onnx", numpy, python)
