"""Operators of graphs that the tests write, against what was written."""

import json
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.graph import run
from explorer.models.onnx_skeleton import skeleton
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import GraphResult, Operator
from explorer.schemas.model_specs import GraphSpec


def graph(path: Path) -> GraphResult:
    return run(GraphSpec(source=str(path)), QuietReporter(path.parent))


def by_name(result: GraphResult) -> dict[str, Operator]:
    return {operator.name: operator for operator in result.operators}


def onnx_file(path: Path, nodes: list[Any], weights: list[Any], shape: tuple[int | str, ...] = ("batch", 64)) -> Path:
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
        helper.make_tensor_value_info("flag", TensorProto.BOOL, []),
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    made = helper.make_graph(nodes, "main", inputs, outputs, weights)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.example", 1)]), path)
    return path


def branch(name: str, operator: str) -> Any:
    node = helper.make_node(operator, ["h"], [f"{name}_out"], name=name)
    return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_out", TensorProto.FLOAT, None)])


def test_onnx_shapes_attributes_weights_and_nested_blocks(tmp_path: Path) -> None:
    """The weight is longer than a kibibyte, so its numbers are left out; the shape of Reshape is read from its own."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["g"], name="gemm", transB=1, alpha=0.5),
        helper.make_node("Constant", [], ["to"], name="to", value=numpy_helper.from_array(np.array([-1, 5, 20]), "t")),
        helper.make_node("Reshape", ["g", "to"], ["h"], name="reshape"),
        helper.make_node(
            "If", ["flag"], ["y"], name="choice", then_branch=branch("yes", "Relu"), else_branch=branch("no", "Tanh")
        ),
        helper.make_node("Special", ["y"], ["z"], domain="com.example"),
    ]
    weights = [
        numpy_helper.from_array(np.zeros((100, 64), np.float32), "w"),
        numpy_helper.from_array(np.zeros(100, np.float32), "b"),
    ]
    result = graph(onnx_file(tmp_path / "m.onnx", nodes, weights))
    assert [(item.name, item.type, item.block) for item in result.operators] == [
        ("gemm", "Gemm", ""), ("to", "Constant", ""), ("reshape", "Reshape", ""), ("choice", "If", ""),
        ("no", "Tanh", "choice"), ("yes", "Relu", "choice"), ("z", "com.example.Special", ""),
    ]  # fmt: skip
    found = by_name(result)
    assert [(port.shape, port.dtype) for port in found["gemm"].outputs] == [(["batch", 100], "float32")]
    assert found["reshape"].outputs[0].shape[1:] == [5, 20]
    assert found["yes"].outputs[0].shape[1:] == [5, 20]
    assert found["gemm"].attributes == {"transB": "1", "alpha": "0.5"}
    assert found["to"].attributes == {"value": "int64 [3]"}
    assert found["gemm"].inputs == ["x", "w", "b"]
    assert result.weights == ["w", "b", "to"]
    assert [(port.name, port.shape) for port in result.inputs] == [("x", ["batch", 64]), ("flag", [])]
    assert [finding.title for finding in result.findings] == ["the shapes of 1 operators are not known"]
    assert "z (com.example.Special)" in result.findings[0].evidence


def test_onnx_that_cannot_be_inferred_still_lists_its_operators(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"], name="add")]
    result = graph(onnx_file(tmp_path / "m.onnx", nodes, [numpy_helper.from_array(np.zeros(7, np.int64), "w")]))
    assert [(item.name, item.outputs[0].shape) for item in result.operators] == [("add", ["..."])]
    assert [finding.title for finding in result.findings] == ["the shapes of 1 operators are not known"]


def test_onnx_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """The last weight of a sparse file: 4 GiB whose numbers are not there."""
    size = 1 << 32
    small = onnx_file(tmp_path / "s.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], []).read_bytes()
    model = onnx.ModelProto.FromString(small)
    body, model.graph.name = model.graph.SerializeToString(), ""
    model.ClearField("graph")
    tensor = b"\x08\x40" + b"\x08" + varint(size // 256) + b"\x10\x01" + b"\x42\x01w" + b"\x4a" + varint(size)
    entry = b"\x2a" + varint(len(tensor) + size) + tensor
    with (tmp_path / "m.onnx").open("wb") as stream:
        stream.write(model.SerializeToString() + b"\x3a" + varint(len(body) + len(entry) + size) + body + entry)
        stream.truncate(stream.tell() + size)
    assert len(skeleton(tmp_path / "m.onnx")) < 1000
    started = time.perf_counter()
    result = graph(tmp_path / "m.onnx")
    assert time.perf_counter() - started < 5
    assert result.operators[0].outputs[0].shape == ["batch", size // 256]
    assert result.weights == ["w"]


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


class Net(nn.Module):
    """A branch over layers at two depths, a buffer, a free batch size."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        self.register_buffer("shift", torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.body(x) + self.shift
        output: torch.Tensor = torch.cond(hidden.sum() > 0, lambda y: y + 1, lambda y: y - 1, (hidden,))
        return output


def test_exported_program(tmp_path: Path) -> None:
    shapes = ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The .grad attribute", category=UserWarning)  # torch's own, inside cond
        program = torch.export.export(Net().eval(), (torch.ones(2, 3),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "m.pt2")
    result = graph(tmp_path / "m.pt2")
    linear = next(item for item in result.operators if item.type == "aten.linear.default")
    assert (linear.inputs, linear.module) == (["x", "body.0.weight", "body.0.bias"], "body.0")
    assert (linear.outputs[0].shape[1], linear.outputs[0].dtype) == (4, "float32")
    symbol = linear.outputs[0].shape[0]
    assert isinstance(symbol, str)
    assert symbol.isidentifier()
    assert result.inputs[0].shape == [symbol, 3]
    assert result.weights == ["body.0.weight", "body.0.bias", "shift"]
    cond = next(item for item in result.operators if item.type == "higher_order.cond")
    inner = [item for item in result.operators if item.block == cond.name]
    assert [item.type for item in inner] == ["aten.add.Tensor", "aten.sub.Tensor"]
    assert inner[0].attributes == {"other": "1"}


def test_exported_program_of_another_layout_is_one_sentence(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m.pt2", "w") as archive:
        archive.writestr("m/archive_format", "pt2")
        archive.writestr("m/models/model.json", json.dumps({"graph_module": {"graph": {"nodes": 3}}}))
    with pytest.raises(ExplorerError, match="not laid out as torch"):
        graph(tmp_path / "m.pt2")


def test_onnx_from_torch_knows_its_modules(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 2), nn.Tanh())).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (torch.ones(2, 3),), tmp_path / "m.onnx", dynamo=True, verbose=False)
    result = graph(tmp_path / "m.onnx")
    assert [(item.type, item.module) for item in result.operators] == [("Gemm", "0"), ("Gemm", "1.0"), ("Tanh", "1.1")]
    assert [item.outputs[0].shape for item in result.operators] == [[2, 4], [2, 2], [2, 2]]


WRITE_PACKAGE = """
import sys, numpy as np, coremltools as ct
from coremltools.converters.mil import Builder as mb
@mb.program(input_specs=[mb.TensorSpec(shape=(1, 40))])
def program(x):
    y = mb.linear(x=x, weight=np.ones((30, 40), np.float32), bias=np.ones(30, np.float32), name="layer")
    positive = mb.greater(x=mb.reduce_sum(x=y, axes=[0, 1], keep_dims=False, name="total"), y=0.5)
    return mb.cond(pred=positive, _true_fn=lambda: mb.relu(x=y), _false_fn=lambda: mb.sigmoid(x=y), name="out")
model = ct.convert(program, minimum_deployment_target=ct.target.iOS16, compute_precision=ct.precision.FLOAT32)
model.save(sys.argv[1])
"""


def test_ml_program(tmp_path: Path) -> None:
    package = tmp_path / "m.mlpackage"
    subprocess.run([sys.executable, "-c", WRITE_PACKAGE, str(package)], check=True, capture_output=True)
    result = graph(package)
    assert [(item.type, item.block) for item in result.operators] == [
        ("linear", ""), ("reduce_sum", ""), ("greater", ""), ("cond", ""), ("relu", "out"), ("sigmoid", "out"),
    ]  # fmt: skip
    found = by_name(result)
    assert found["layer"].outputs[0].shape == [1, 30]
    assert (sorted(found["layer"].inputs), found["layer"].attributes) == (["layer_bias_0", "layer_weight_0", "x"], {})
    assert found["total"].attributes == {"axes": "[0, 1]", "keep_dims": "False"}
    assert next(item for item in result.operators if item.type == "greater").attributes == {"y": "0.5"}
    assert sorted(result.weights) == ["layer_bias_0", "layer_weight_0"]
    assert [(port.name, port.shape) for port in result.inputs] == [("x", [1, 40])]


def test_weights_alone_have_no_graph(tmp_path: Path) -> None:
    header = b'{"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'
    (tmp_path / "w.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0")
    with pytest.raises(ExplorerError, match="holds no graph: it is safetensors"):
        graph(tmp_path / "w.safetensors")


def test_onnx_cut_off_is_one_sentence(tmp_path: Path) -> None:
    content = onnx_file(tmp_path / "m.onnx", [helper.make_node("Relu", ["x"], ["y"])], []).read_bytes()
    (tmp_path / "m.onnx").write_bytes(content[:-5])
    with pytest.raises(ExplorerError, match="cut off or damaged"):
        graph(tmp_path / "m.onnx")
