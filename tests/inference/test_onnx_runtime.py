from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from explorer.errors import ExplorerError
from explorer.inference.onnx_runtime import run_onnx, session

WEIGHT = np.arange(6, dtype=np.float32).reshape(3, 2)


def linear(path: Path, batch: int | str) -> Path:
    """An ONNX file for x @ WEIGHT."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 2])],
        [onnx.numpy_helper.from_array(WEIGHT, "w")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


@pytest.mark.parametrize("batch", ["n", 1, 4])
def test_outputs_keep_order_whatever_the_batch(tmp_path: Path, batch: int | str) -> None:
    inputs = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
    output = run_onnx(linear(tmp_path / "m.onnx", batch), inputs, batch=3)
    np.testing.assert_allclose(output, inputs @ WEIGHT, rtol=1e-6)


def test_session_has_the_asked_threads_and_writes_the_optimized_graph(tmp_path: Path) -> None:
    made = session(linear(tmp_path / "m.onnx", 1), threads=2, optimized_path=tmp_path / "o.onnx")
    assert made.get_session_options().intra_op_num_threads == 2
    assert made.get_session_options().inter_op_num_threads == 1
    assert (tmp_path / "o.onnx").stat().st_size > 0


def test_a_session_can_be_used_again(tmp_path: Path) -> None:
    made = session(linear(tmp_path / "m.onnx", "n"))
    ones = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(run_onnx(made, ones), run_onnx(made, ones))


def test_garbage_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "bad.onnx"
    path.write_bytes(b"garbage")
    with pytest.raises(ExplorerError, match=r"bad\.onnx") as caught:
        session(path)
    assert "\n" not in str(caught.value)


def test_a_wrong_shape_is_named(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="2x5 float32"):
        run_onnx(linear(tmp_path / "m.onnx", "n"), np.ones((2, 5), np.float32))
