"""Values of ONNX weights in every way that a file can hold them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from explorer.errors import ExplorerError
from explorer.models.tensor_reader.reading import read_values, stored_tensors

BASE = np.arange(12, dtype=np.float32).reshape(3, 4)


def saved(path: Path, tensors: list[Any], nodes: list[Any] | None = None, **options: Any) -> Path:
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([*(nodes or []), helper.make_node("Identity", ["x"], ["y"])], "g", [], [output], tensors)
    onnx.save(helper.make_model(graph), path, **options)
    return path


@pytest.mark.parametrize(
    "code",
    [
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.INT64, TensorProto.INT32,
        TensorProto.INT8, TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT64, TensorProto.BOOL, TensorProto.INT4,
        TensorProto.UINT4, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.COMPLEX64,
    ],
)  # fmt: skip
@pytest.mark.parametrize("raw", [False, True])
def test_every_type_in_typed_fields_and_as_raw_bytes(tmp_path: Path, code: int, raw: bool) -> None:
    values = np.array([0, 1, 2, 3, 1, 0, 7], dtype=np.float32)
    if code in (TensorProto.INT32, TensorProto.INT64, TensorProto.INT8):
        values = values - 5
    typed = helper.make_tensor("w", code, [7], values.astype(helper.tensor_dtype_to_np_dtype(code)).tolist())
    wanted = numpy_helper.to_array(typed)
    tensor = numpy_helper.from_array(wanted, "w") if raw else typed
    found = read_values(saved(tmp_path / "m.onnx", [tensor]), "w")
    np.testing.assert_array_equal(found.astype(np.complex64), wanted.astype(np.complex64))


def test_constant_nodes_and_nested_graphs(tmp_path: Path) -> None:
    constant = helper.make_node("Constant", [], ["shift"], value=numpy_helper.from_array(BASE, "ignored"))
    inner = helper.make_graph([], "branch", [], [], [numpy_helper.from_array(BASE[0], "inner")])
    choice = helper.make_node("If", ["flag"], ["z"], then_branch=inner, else_branch=inner)
    path = saved(tmp_path / "m.onnx", [numpy_helper.from_array(BASE[:, 0].copy(), "w")], [constant, choice])
    assert [tensor.name for tensor in stored_tensors(path)] == ["shift", "inner", "inner", "w"]
    np.testing.assert_array_equal(read_values(path, "shift"), BASE)
    np.testing.assert_array_equal(read_values(path, "inner"), BASE[0])


def test_external_data(tmp_path: Path) -> None:
    tensors = [numpy_helper.from_array(BASE * scale, name) for name, scale in (("first", 1), ("second", 2))]
    path = saved(tmp_path / "m.onnx", tensors, save_as_external_data=True, location="m.data", size_threshold=0)
    np.testing.assert_array_equal(read_values(path, "second"), BASE * 2)
    (tmp_path / "m.data").unlink()
    with pytest.raises(ExplorerError, match=r"second lies in m\.data, which cannot be read.*put it beside m\.onnx"):
        read_values(path, "second")


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"location": "../secret"}, "outside the model's folder"),
        ({"location": "/etc/passwd"}, "outside the model's folder"),
        ({"location": "there", "offset": "90", "length": "48"}, "claims bytes 90 to 138 of there, which holds 100"),
        ({"location": "there", "offset": "x"}, "cannot be read"),
        ({"location": "there", "offset": "-4"}, "claims bytes"),
    ],
)
def test_external_data_that_is_not_there(tmp_path: Path, entries: dict[str, str], sentence: str) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "there").write_bytes(bytes(100))
    (tmp_path / "secret").write_bytes(bytes(100))
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 4], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    with pytest.raises(ExplorerError, match=sentence):
        read_values(saved(folder / "m.onnx", [tensor]), "w")


@pytest.mark.parametrize(
    "tensor",
    [
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1 << 30, 1 << 30], raw_data=bytes(8)),
        TensorProto(name="w", data_type=TensorProto.INT64, dims=[1 << 30, 1 << 30], int64_data=[1, 2]),
    ],
)
def test_huge_shape_is_one_sentence(tmp_path: Path, tensor: Any) -> None:
    with pytest.raises(ExplorerError, match=r"w claims \d+ (bytes|elements)"):
        read_values(saved(tmp_path / "m.onnx", [tensor]), "w")
