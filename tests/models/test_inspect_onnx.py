import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from explorer.errors import ExplorerError
from tests.models.files import field, inspect, varint


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
    assert [(file.name, file.bytes) for file in result.external_files] == [("m.data", (tmp_path / "m.data").stat().st_size)]
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


@pytest.mark.parametrize("location", ["/etc/passwd", "../m.data", "a/../../m.data", "..\\m.data", "C:\\m.data"])
def test_no_file_outside_the_folder_is_touched(tmp_path: Path, location: str) -> None:
    (tmp_path / "m.data").write_bytes(b"\0" * 1000)
    (tmp_path / "inner").mkdir()
    result = inspect(external(tmp_path / "inner" / "m.onnx", location))
    assert result.findings[0].title == f"weights lie outside the model's folder: {location}"
    assert [(file.name, file.bytes) for file in result.external_files] == [(location, None)]


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"\0" * 1000)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "m.data").symlink_to(tmp_path / "secret")
    result = inspect(external(tmp_path / "inner" / "m.onnx", "m.data"))
    assert result.findings[0].title == "weights lie outside the model's folder: m.data"


def test_links_of_a_download_cache_are_followed(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    external(tmp_path / "blobs" / "0a", "m.data")
    (tmp_path / "blobs" / "0b").write_bytes(b"\0" * 96)
    (tmp_path / "snapshot" / "m.onnx").symlink_to("../blobs/0a")
    (tmp_path / "snapshot" / "m.data").symlink_to("../blobs/0b")
    result = inspect(tmp_path / "snapshot" / "m.onnx")
    assert [file.bytes for file in result.external_files] == [96]


def test_external_file_that_is_too_short_and_weights_on_the_same_bytes(tmp_path: Path) -> None:
    path = external(tmp_path / "m.onnx", "m.data")
    (tmp_path / "m.data").write_bytes(b"\0" * 96)
    whole = inspect(path)
    assert [(tensor.name, tensor.shares) for tensor in whole.tensors] == [("first", ""), ("second", ""), ("tied", "first")]
    assert (whole.parameters, whole.bytes_by_dtype) == (24, {"float32": 96})
    (tmp_path / "m.data").write_bytes(b"\0" * 95)
    assert inspect(path).findings[0].title == "external weights file m.data is cut off: it ends before second"


def external(path: Path, location: str) -> Path:
    """Three tensors of 12 numbers in one file, the third on the bytes of the first."""
    tensors = []
    for name, offset in (("first", 0), ("second", 48), ("tied", 0)):
        tensor = TensorProto(name=name, dims=[4, 3], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", location), ("offset", str(offset)), ("length", "48")):
            tensor.external_data.add(key=key, value=value)
        tensors.append(tensor)
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])
    graph = helper.make_graph([helper.make_node("Identity", ["first"], ["y"])], "g", [], [output], tensors)
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    return path


def test_operators_that_need_a_library_and_quantized_ones(tmp_path: Path) -> None:
    model = small_model()
    model.graph.node.append(helper.make_node("DequantizeLinear", ["a", "b"], ["c"]))
    model.graph.node.append(helper.make_node("FusedMatMul", ["a", "b"], ["d"], domain="com.microsoft"))
    onnx.save(model, tmp_path / "m.onnx")
    result = inspect(tmp_path / "m.onnx")
    assert result.references == ["com.example.Special", "com.microsoft.FusedMatMul"]
    assert result.unknown == ["com.example.Special"]
    assert [finding.title for finding in result.findings] == [
        "needs a library for com.example.Special",
        "compressed: quantized weights or activations",
    ]


def test_an_operator_that_the_file_defines_itself_needs_no_library(tmp_path: Path) -> None:
    model = small_model()
    body = [helper.make_node("Relu", ["x"], ["y"])]
    model.functions.append(helper.make_function("com.example", "Special", ["x"], ["y"], body, model.opset_import))
    onnx.save(model, tmp_path / "m.onnx")
    result = inspect(tmp_path / "m.onnx")
    assert (result.unknown, result.metadata["operators"]["Relu"]) == ([], 1)


def test_weights_of_another_size_than_their_shape_are_an_error(tmp_path: Path) -> None:
    model = small_model()
    model.graph.initializer[0].raw_data = b"\0" * 40
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    titles = [finding.title for finding in inspect(tmp_path / "m.onnx").findings if finding.severity == "error"]
    assert titles == ["weight holds other than the bytes of its shape"]
