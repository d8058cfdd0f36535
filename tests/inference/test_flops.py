from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from explorer.inference import flops

Dims = Sequence[int | str]


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Dims],
    weights: Mapping[str, Sequence[int]] | None = None,
    *,
    stored: Mapping[str, np.ndarray[Any, Any]] | None = None,
    kind: int = TensorProto.FLOAT,
    functions: Sequence[onnx.FunctionProto] = (),
) -> ModelProto:
    """A graph that ends in "y", with weights of ones in the given shapes."""
    values = {name: np.ones(shape, np.float32) for name, shape in (weights or {}).items()}
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, kind, dims) for name, dims in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in {**values, **(stored or {})}.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10, functions=functions)


def node(kind: str, inputs: Sequence[str], output: str = "y", **attributes: Any) -> NodeProto:
    return helper.make_node(kind, inputs, [output], **attributes)


def test_convolution() -> None:
    net = model([node("Conv", ["x", "w"], kernel_shape=[3, 3])], {"x": [2, 3, 10, 12]}, {"w": [8, 3, 3, 3]})
    assert flops.count_model(net, (2, 3, 10, 12)) == 2 * (2 * 8 * 8 * 10) * (3 * 3 * 3)


def test_grouped_strided_convolution() -> None:
    net = model([node("Conv", ["x", "w"], group=4, strides=[2, 2])], {"x": [1, 8, 9, 9]}, {"w": [12, 2, 3, 3]})
    assert flops.count_model(net, (1, 8, 9, 9)) == 2 * (12 * 4 * 4) * (2 * 3 * 3)


def test_transposed_convolution() -> None:
    net = model([node("ConvTranspose", ["x", "w"], strides=[2, 2], group=2)], {"x": [1, 4, 5, 5]}, {"w": [4, 3, 2, 2]})
    assert flops.count_model(net, (1, 4, 5, 5)) == 2 * (4 * 5 * 5) * (3 * 2 * 2)


@pytest.mark.parametrize(("transposed", "shape"), [(0, (6, 5)), (1, (5, 6))])
def test_gemm(transposed: int, shape: tuple[int, int]) -> None:
    net = model([node("Gemm", ["x", "w"], transA=transposed)], {"x": shape}, {"w": [5, 7]})
    assert flops.count_model(net, shape) == 2 * 6 * 5 * 7


def test_batched_and_vector_matmul() -> None:
    net = model([node("MatMul", ["x", "w"])], {"x": [3, 4, 5, 6]}, {"w": [4, 6, 7]})
    assert flops.count_model(net, (3, 4, 5, 6)) == 2 * 3 * 4 * 5 * 6 * 7
    net = model([node("MatMul", ["x", "w"])], {"x": [6]}, {"w": [6, 7]})
    assert flops.count_model(net, (6,)) == 2 * 6 * 7


def test_recurrent_layer() -> None:
    lstm = helper.make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=4)
    net = model([lstm], {"x": [5, 2, 3]}, {"w": [1, 16, 3], "r": [1, 16, 4]})
    assert flops.count_model(net, (5, 2, 3)) == 2 * 5 * 2 * 16 * (3 + 4)


def test_a_model_with_quantize_and_dequantize_nodes_counts_like_its_float_twin() -> None:
    stored: dict[str, np.ndarray[Any, Any]] = {
        "s": np.array(0.1, np.float32),
        "z": np.array(0, np.int8),
        "wq": np.ones((8, 3, 3, 3), np.int8),
    }
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], "xq"),
        node("DequantizeLinear", ["xq", "s", "z"], "xd"),
        node("DequantizeLinear", ["wq", "s", "z"], "wd"),
        node("Conv", ["xd", "wd"], "c"),
        node("QuantizeLinear", ["c", "s", "z"], "cq"),
        node("DequantizeLinear", ["cq", "s", "z"], "y"),
    ]
    assert flops.count_model(model(nodes, {"x": ["n", 3, 6, 6]}, stored=stored), (4, 3, 6, 6)) == 2 * (4 * 8 * 4 * 4) * 27


def test_integer_operators() -> None:
    s, z = np.array(0.1, np.float32), np.array(0, np.int8)
    stored: dict[str, np.ndarray[Any, Any]] = {"s": s, "z": z, "w": np.ones((8, 3, 3, 3), np.int8)}
    conv = node("QLinearConv", ["x", "s", "z", "w", "s", "z", "s", "z"])
    assert flops.count_model(model([conv], {"x": [1, 3, 6, 6]}, stored=stored, kind=TensorProto.INT8), (1, 3, 6, 6)) == (
        2 * (8 * 4 * 4) * 27
    )
    stored["w"] = np.ones((6, 7), np.int8)
    product = node("QLinearMatMul", ["x", "s", "z", "w", "s", "z", "s", "z"])
    assert flops.count_model(model([product], {"x": [5, 6]}, stored=stored, kind=TensorProto.INT8), (5, 6)) == 2 * 5 * 6 * 7
    product = node("MatMulInteger", ["x", "w"])
    assert flops.count_model(model([product], {"x": [5, 6]}, stored=stored, kind=TensorProto.INT8), (5, 6)) == 2 * 5 * 6 * 7


def test_the_batch_goes_through_reshapes_and_named_dimensions() -> None:
    nodes = [node("Reshape", ["x", "shape"], "flat"), node("MatMul", ["flat", "w"], "h"), node("Concat", ["h", "z"], axis=1)]
    stored = {"shape": np.array([0, -1], np.int64)}
    net = model(nodes, {"x": ["batch", 2, 3], "z": ["batch", 1]}, {"w": [6, 7]}, stored=stored)
    before = net.SerializeToString()
    assert flops.count_model(net, (1, 2, 3)) == 2 * 6 * 7
    assert flops.count_model(net, (64, 2, 3)) == 64 * 2 * 6 * 7
    assert net.SerializeToString() == before


def test_shapes_that_a_file_kept_from_another_batch_do_not_matter() -> None:
    net = model([node("MatMul", ["x", "w"], "h"), node("MatMul", ["h", "v"])], {"x": ["n", 6]}, {"w": [6, 7], "v": [7, 2]})
    net.graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [1, 7]))
    assert flops.count_model(net, (8, 6)) == 8 * (2 * 6 * 7 + 2 * 7 * 2)


def test_local_functions_are_looked_into() -> None:
    body = helper.make_function(
        "own", "Layer", ["a", "b"], ["c"], [helper.make_node("MatMul", ["a", "b"], ["c"])], [helper.make_opsetid("", 18)]
    )
    net = model([node("Layer", ["x", "w"], domain="own")], {"x": ["n", 6]}, {"w": [6, 7]}, functions=[body])
    assert flops.count_model(net, (3, 6)) == 2 * 3 * 6 * 7


def test_what_cannot_be_counted_has_a_reason(tmp_path: Path) -> None:
    branch = helper.make_graph(
        [node("MatMul", ["x", "w"], "b")], "b", [], [helper.make_tensor_value_info("b", TensorProto.FLOAT, None)]
    )
    cases = {
        "computes in a branch": model(
            [node("If", ["c"], then_branch=branch, else_branch=branch)],
            {"x": [2, 6]},
            {"w": [6, 7]},
            stored={"c": np.array(True)},
        ),
        "no rule for operator Einsum": model([node("Einsum", ["x", "w"], equation="ij,jk->ik")], {"x": [2, 6]}, {"w": [6, 7]}),
        "no rule for operator com.microsoft.QGemm": model(
            [node("QGemm", ["x", "w"], domain="com.microsoft")], {"x": [2, 6]}, {"w": [6, 7]}
        ),
        "shape of y cannot be inferred": model(
            [node("NonZero", ["x"], "i"), node("Cast", ["i"], "h", to=1), node("MatMul", ["w", "h"])],
            {"x": [2, 6]},
            {"w": [3, 2]},
        ),
        "input of 2 dimensions": model([node("Conv", ["x", "w"])], {"x": [1, 3, 6, 6]}, {"w": [8, 3, 3, 3]}),
    }
    for reason, net in cases.items():
        onnx.save(net, tmp_path / "net.onnx")
        counted = flops.count(tmp_path / "net.onnx", (2, 6))
        assert counted.flops is None
        assert reason in counted.reason
    (tmp_path / "net.onnx").write_bytes(b"\x00not onnx")
    assert flops.count(tmp_path / "net.onnx", (2, 6)).reason.startswith("shapes cannot be inferred")
