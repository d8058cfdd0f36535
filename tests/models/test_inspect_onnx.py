import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from explorer.errors import ExplorerError
from tests.models.files import inspect


def small_model() -> Any:
    """Weights in an initializer, a packed-dims Constant and a branch of an If."""
    weight = numpy_helper.from_array(np.zeros((4, 3), np.float32), "weight")
    constant = helper.make_node("Constant", [], ["shift"], value=numpy_helper.from_array(np.zeros(4, np.int8), "ignored"))
    inner = helper.make_graph(
        [helper.make_node("Identity", ["inner"], ["out"])],
        "branch",
        [],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2])],
        [numpy_helper.from_array(np.zeros(2, np.float16), "inner")],
    )
    branch = helper.make_node("If", ["flag"], ["choice"], then_branch=inner, else_branch=inner)
    gemm = helper.make_node("MatMul", ["x", "weight"], ["y"])
    custom = helper.make_node("Special", ["y"], ["z"], domain="com.example")
    graph = helper.make_graph(
        [constant, branch, gemm, custom],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4]),
            helper.make_tensor_value_info("weight", TensorProto.FLOAT, [4, 3]),
        ],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["batch", 3])],
        [weight],
    )
    return helper.make_model(graph, producer_name="test", opset_imports=[helper.make_opsetid("", 18)])


def test_weights_ports_operators_and_opset(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "m.onnx")
    result = inspect(tmp_path / "m.onnx")
    found = [(tensor.name, tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors]
    assert found == [
        ("shift", [4], "int8", 4),
        ("inner", [2], "float16", 4),
        ("inner", [2], "float16", 4),
        ("weight", [4, 3], "float32", 48),
    ]
    assert result.parameters == 20
    assert [(port.name, port.shape, port.dtype) for port in result.inputs] == [("x", ["batch", 4], "float32")]
    assert [(port.name, port.shape) for port in result.outputs] == [("z", ["batch", 3])]
    assert result.metadata["operators"] == {"Constant": 1, "If": 1, "Identity": 2, "MatMul": 1, "com.example.Special": 1}
    assert result.metadata["opset"] == {"ai.onnx": 18}
    assert not result.runs_code_on_load


def test_external_data_is_counted_and_a_missing_file_is_a_finding(tmp_path: Path) -> None:
    onnx.save(small_model(), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    result = inspect(tmp_path / "m.onnx")
    assert result.metadata["external_files"] == ["m.data"]
    assert result.bytes == (tmp_path / "m.onnx").stat().st_size + (tmp_path / "m.data").stat().st_size
    (tmp_path / "m.data").unlink()
    assert "m.data is missing" in inspect(tmp_path / "m.onnx").findings[0].title


def test_external_data_outside_the_folder_is_an_error_finding(tmp_path: Path) -> None:
    model = small_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../../etc/passwd")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    finding = inspect(tmp_path / "m.onnx").findings[0]
    assert finding.severity == "error"
    assert "outside the model's folder" in finding.title


def test_cut_off_file_is_one_sentence(tmp_path: Path) -> None:
    data = small_model().SerializeToString()
    (tmp_path / "m.onnx").write_bytes(data[: len(data) // 2])
    with pytest.raises(ExplorerError, match="cut off or damaged"):
        inspect(tmp_path / "m.onnx")


def test_graph_of_graphs_without_end_is_refused(tmp_path: Path) -> None:
    graph = b""
    for _ in range(100):
        graph = field(1, field(5, field(6, graph)))
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08" + field(7, graph))
    with pytest.raises(ExplorerError, match="nested deeper"):
        inspect(tmp_path / "m.onnx")


def test_weights_are_skipped_not_read(tmp_path: Path) -> None:
    """A sparse file of 8 GiB: reading it would take many seconds."""
    size = 1 << 33
    head = b"\x08\x08"
    tensor = b"\x08" + varint(size // 4) + b"\x10\x01" + field(8, b"w") + b"\x4a" + varint(size)
    graph_size = 1 + len(varint(len(tensor) + size)) + len(tensor) + size
    with (tmp_path / "m.onnx").open("wb") as stream:
        stream.write(head + b"\x3a" + varint(graph_size) + b"\x2a" + varint(len(tensor) + size) + tensor)
        stream.truncate(stream.tell() + size)
    started = time.perf_counter()
    result = inspect(tmp_path / "m.onnx")
    assert time.perf_counter() - started < 2
    assert [(tensor.name, tensor.bytes) for tensor in result.tensors] == [("w", size)]


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content
