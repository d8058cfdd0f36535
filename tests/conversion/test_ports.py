from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from explorer.conversion.declared import declared_images, declared_inputs, declared_metadata
from explorer.conversion.inputs import proof_inputs
from explorer.conversion.ports import Traced, flattened
from explorer.conversion.source import load_source
from explorer.errors import ExplorerError
from explorer.schemas.specs import ConvertSpec
from tests.conversion.converting import PORTS, convert


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def traced(name: str, target: str = "coreml", **fields: Any) -> Traced:
    spec = ConvertSpec.model_validate({"source": f"{PORTS}:{name}", "target": target, **fields})
    return flattened(load_source(spec), spec)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("nested", ["ids", "mask", "extra_bias_0"], ["logits", "hidden", "flag", "total"]),
        ("containers", ["a", "q"], ["mean", "std"]),
        ("chosen", ["x", "mask", "factor"], ["output"]),
        ("passed", ["x", "y"], ["output_0", "output_1", "output_2"]),
        ("picture", ["input"], ["output"]),
    ],
)
def test_ports_are_named_by_parameters_and_keys(name: str, inputs: list[str], outputs: list[str]) -> None:
    found = traced(name)
    assert [port.name for port in found.inputs] == inputs
    assert found.outputs == outputs
    assert len(found.module(*found.examples)) == len(outputs)


def test_core_ml_takes_no_bool_no_long_and_no_double() -> None:
    assert [port.dtype for port in traced("chosen").inputs] == [torch.float32, torch.int32, torch.float32]
    assert traced("tokens").inputs[0].dtype == torch.int32
    doubled = traced("double")
    assert doubled.inputs[0].dtype == torch.float32
    assert any("float64" in note for note in doubled.notes)
    assert traced("tokens", "onnx").inputs[0].dtype == torch.int64


def test_declared_sizes_that_go_together_are_found() -> None:
    together = traced("tokens", inputs=["ids=1x2..20", "mask=1x2..20"])
    assert together.tied == [[(0, 1), (1, 1)]]
    apart = traced("picture", inputs=["input=1x3x8..32x8..32"])
    assert apart.tied == [[(0, 2)], [(0, 3)]]


def test_feeds_hold_seeds_a_mirror_and_the_ends_of_shapes() -> None:
    spec = ConvertSpec(source=f"{PORTS}:attention", target="coreml", inputs=["x=1x1..30x4"])
    source = load_source(spec)
    feeds = proof_inputs(spec, flattened(source, spec), None).feeds
    assert {feed.origin for feed in feeds} >= {"the example", "seed 1", "seed 2", "seed 3", "mirrored"}
    assert {feed.inputs["x"].shape[1] for feed in feeds} >= {1, 6, 30}


def test_a_shape_that_the_source_refuses_is_told(tmp_path: Path) -> None:
    _, report = convert(tmp_path, "pooled", "onnx", inputs=["x=1x2x2..16"], exporter="torchscript")
    assert ("warning", "The source refuses a declared shape") in report.findings


def test_check_inputs_are_what_is_proven(tmp_path: Path) -> None:
    ids, mask = np.arange(30).reshape(5, 6), np.ones((5, 6), np.float32)
    np.savez(tmp_path / "own.npz", ids=ids, mask=mask)
    spec = ConvertSpec(source=f"{PORTS}:tokens", target="coreml", check_inputs=str(tmp_path / "own.npz"))
    feeds = proof_inputs(spec, flattened(load_source(spec), spec), None).feeds
    assert [feed.inputs["ids"].tolist() for feed in feeds[:5]] == [[row.tolist()] for row in ids]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"ids": np.zeros((2, 6), np.int64)}, "holds ids; the inputs are ids, mask"),
        ({"ids": np.full((2, 6), 2**40), "mask": np.ones((2, 6))}, "holds integers beyond 32 bits"),
        ({"ids": np.zeros((2, 6), np.int64), "mask": np.ones((3, 6))}, "different numbers of samples"),
    ],
)
def test_check_inputs_that_do_not_fit_are_refused(entries: dict[str, Any], words: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", **entries)
    inputs = ["ids=1x6:int64", "mask=1x6"]
    spec = ConvertSpec(source=f"{PORTS}:tokens", target="onnx", check_inputs=str(tmp_path / "own.npz"), inputs=inputs)
    ports = flattened(load_source(spec), spec)
    with pytest.raises(ExplorerError, match=words):
        proof_inputs(spec.model_copy(update={"target": "coreml"}), ports, None)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["x"], "declares no input"),
        (["x=1x0"], "has the size '0'"),
        (["x=1x4..2"], "has the size"),
        (["x=1x4|1x4x4"], "mixes shapes"),
        (["x=1x4..8|1x4"], "mixes ranges"),
        (["x=1x4:float31"], "declares no input"),
        (["x=4", "x=5"], "declares x twice"),
        (["x=99999x99999"], "is too large"),
    ],
)
def test_a_text_that_declares_no_input_is_refused(texts: list[str], words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        declared_inputs(texts)


def test_declarations_are_read() -> None:
    ids, picture = declared_inputs(["ids=1x1..512:int32", "image=1x3x8x8|1x3x9x9"])
    assert (ids.shapes, ids.dtype) == ([(1, (1, 512))], torch.int32)
    assert picture.shapes == [(1, 3, 8, 8), (1, 3, 9, 9)]
    cut = declared_images(["x:rgb", "scale=1/255", "mean=0.5/0.4/0.3"])["x"]
    assert cut.multipliers == pytest.approx((1 / 255,) * 3)
    assert cut.offsets == pytest.approx((-0.5, -0.4, -0.3))
    assert declared_metadata(["author=A=B"]) == {"author": "A=B"}


@pytest.mark.parametrize("text", ["x:rgb,scale=a", "x:cmyk", "x", "x:rgb,mean=1/2", "x:rgb,std=0"])
def test_a_text_that_declares_no_picture_is_refused(text: str) -> None:
    with pytest.raises(ExplorerError):
        declared_images([text])


def test_an_input_that_there_is_not_is_refused() -> None:
    with pytest.raises(ExplorerError, match="has no input z: its inputs are ids, mask"):
        traced("tokens", inputs=["z=1x3"])


@pytest.mark.parametrize("name", ["nested", "passed", "chosen", "mean"])
def test_ports_of_every_kind_convert_to_core_ml(name: str, tmp_path: Path) -> None:
    result, _ = convert(tmp_path, name, "coreml")
    assert result.passed
    assert [check.mode for check in result.checks] == ["float32", "float16"]


def test_ports_of_every_kind_convert_to_onnx(tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "nested", "onnx")
    model = onnx.load(tmp_path / "model.onnx")
    assert result.passed
    assert [item.name for item in model.graph.output] == ["logits", "hidden", "flag", "total"]
    assert result.ports == [
        "ids 1x6 int64",
        "mask 1x6 float32",
        "extra_bias_0 8 float32",
        "logits 1x3 float32",
        "hidden 1x6x8 float32",
        "flag scalar bool",
        "total scalar float32",
    ]


@pytest.mark.parametrize("name", ["nested", "containers", "chosen", "passed", "mean"])
def test_ports_of_every_kind_convert_to_an_exported_program(name: str, tmp_path: Path) -> None:
    result, _ = convert(tmp_path, name, "pt2")
    assert result.passed
    assert result.output == "model.pt2"


def test_an_exported_program_takes_and_gives_what_the_source_does(tmp_path: Path) -> None:
    convert(tmp_path, "tokens", "pt2", inputs=["ids=1x2..20", "mask=1x2..20"])
    loaded = torch.export.load(tmp_path / "model.pt2").module()
    output = loaded(torch.zeros(1, 9, dtype=torch.int64), torch.ones(1, 9))
    assert set(output) == {"logits", "hidden", "none", "flag", "total"}
    assert output["hidden"].shape == (1, 9, 8)


def test_a_declared_shape_stands_for_an_example(tmp_path: Path) -> None:
    result, _ = convert(tmp_path, "no_example", "onnx", inputs=["image=1x3x8x8"], exporter="torchscript")
    assert result.ports == ["image 1x3x8x8 float32", "output 1x4x6x6 float32"]


@pytest.mark.parametrize("inputs", [["x=1x1..30x4"], ["x=1x6x4|1x12x4|1x3x4"]])
def test_open_sizes_convert_to_onnx(inputs: list[str], tmp_path: Path) -> None:
    convert(tmp_path, "attention", "onnx", inputs=inputs)
    sizes = onnx.load(tmp_path / "model.onnx").graph.input[0].type.tensor_type.shape.dim
    assert [size.dim_value for size in sizes] == [1, 0, 4]
    assert sizes[1].dim_param
