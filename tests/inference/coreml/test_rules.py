"""Rules against coremltools' own constant folding, which needs no conversion."""

from typing import Any

import numpy as np
import pytest

from explorer.inference.coreml.quiet import coremltools
from tests.inference.coreml.folding import assert_folds_alike, rule

X = np.linspace(-2.0, 2.0, 24, dtype=np.float32).reshape(2, 3, 4)
Y = np.linspace(0.3, 1.7, 24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.arange(64, dtype=np.float32).reshape(1, 4, 4, 4)
WHOLE = np.array([3, -7, 5], np.int32)
MASK = X > 0.1
Case = tuple[str, dict[str, Any]]

UNARY = ["abs", "atan", "ceil", "cos", "erf", "exp", "exp2", "floor", "relu", "relu6", "round", "sigmoid", "sign", "sin", "sinh"]
UNARY += ["softplus", "softsign", "sqrt", "square", "tan", "tanh", "cosh"]
BINARY = ["add", "floor_div", "maximum", "minimum", "mod", "mul", "pow", "real_div", "sub"]
COMPARISONS = ["equal", "greater", "greater_equal", "less", "less_equal", "not_equal"]
REDUCTIONS = ["reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_log_sum_exp", "reduce_max", "reduce_mean"]
REDUCTIONS += ["reduce_min", "reduce_prod", "reduce_sum", "reduce_sum_square"]

CASES: list[Case] = [
    *[(name, {"x": Y if name in ("sqrt", "tan") else X}) for name in UNARY],
    *[(name, {"x": Y, "y": X + 0.05}) for name in BINARY if name != "pow"],
    ("pow", {"x": Y, "y": X}),
    *[(name, {"x": X, "y": np.zeros((3, 1), np.float32)}) for name in COMPARISONS],
    *[(name, {"x": MASK, "y": ~MASK}) for name in ("logical_and", "logical_or", "logical_xor")],
    ("logical_not", {"x": MASK}),
    *[(name, {"x": Y, "axes": [0, -1], "keep_dims": keep}) for name in REDUCTIONS for keep in (True, False)],
    ("reduce_sum", {"x": WHOLE}),
    ("reduce_argmax", {"x": X, "axis": 1}),
    ("reduce_argmin", {"x": X, "axis": -1, "keep_dims": True}),
    ("floor_div", {"x": WHOLE, "y": np.array([2, 2, 2], np.int32)}),
    ("mod", {"x": WHOLE, "y": np.array([2, 2, 2], np.int32)}),
    ("log", {"x": Y}),
    ("rsqrt", {"x": Y}),
    ("inverse", {"x": Y}),
    ("clip", {"x": X, "alpha": -0.5, "beta": 0.7}),
    ("threshold", {"x": X, "alpha": 0.4}),
    ("leaky_relu", {"x": X, "alpha": 0.2}),
    ("elu", {"x": X, "alpha": 0.6}),
    ("clamped_relu", {"x": X, "alpha": 0.3, "beta": 1.0}),
    ("linear_activation", {"x": X, "alpha": 0.3, "beta": 1.0}),
    ("scaled_tanh", {"x": X, "alpha": 0.3, "beta": 1.4}),
    ("sigmoid_hard", {"x": X, "alpha": 0.3, "beta": 0.4}),
    ("thresholded_relu", {"x": X.copy(), "alpha": 0.4}),
    *[("gelu", {"x": X, "mode": mode}) for mode in ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")],
    ("softmax", {"x": X, "axis": 1}),
    ("matmul", {"x": X, "y": Y, "transpose_y": True}),
    ("linear", {"x": X[0], "weight": Y[1], "bias": np.ones(3, np.float32)}),
    ("cast", {"x": X, "dtype": "int32"}),
    ("cast", {"x": X, "dtype": "bool"}),
    ("select", {"cond": MASK, "a": X, "b": Y}),
    ("transpose", {"x": X, "perm": [2, 0, 1]}),
    ("reshape", {"x": X, "shape": [0, -1, 2]}),
    ("expand_dims", {"x": X, "axes": [0, -1]}),
    ("squeeze", {"x": X[None], "axes": [0]}),
    ("reverse", {"x": X, "axes": [1]}),
    ("concat", {"values": [X, Y], "axis": 1}),
    ("stack", {"values": [X, Y], "axis": -1}),
    ("tile", {"x": X, "reps": [1, 2, 3]}),
    ("split", {"x": X, "split_sizes": [1, 3], "axis": 2}),
    ("split", {"x": X, "num_splits": 3, "axis": 1}),
    ("slice_by_size", {"x": X, "begin": [0, 1, -2], "size": [1, 2, -1]}),
    ("slice_by_index", {"x": X, "begin": [0, -1, 3], "end": [2, 0, 0], "stride": [1, -1, -2], "end_mask": [False, True, False]}),
    ("slice_by_index", {"x": X, "begin": [1, 0, 0], "end": [0, 2, 4], "squeeze_mask": [True, False, False]}),
    ("pad", {"x": X, "pad": [1, 0, 2, 1], "constant_val": 3.0}),
    ("pad", {"x": X, "pad": [1, 2, 2, 1], "mode": "reflect"}),
    ("pad", {"x": X, "pad": [1, 1, 2, 1, 3, 0], "mode": "replicate"}),
    ("fill", {"shape": [2, 3], "value": 1.5}),
    ("range_1d", {"start": 1, "end": 9, "step": 3}),
    ("band_part", {"x": X, "lower": 0, "upper": 1}),
    ("band_part", {"x": X, "lower": 1, "upper": -1}),
    ("cumsum", {"x": X, "axis": 1, "reverse": True}),
    ("topk", {"x": X, "k": 2, "axis": 1, "ascending": True}),
    ("argsort", {"x": X, "axis": -1, "ascending": True}),
    ("gather", {"x": X, "indices": [[2, 0], [1, 1]], "axis": 1}),
    ("gather_along_axis", {"x": X, "indices": np.array(MASK, np.int32), "axis": 1}),
    ("non_zero", {"x": MASK}),
]
CASES += [
    ("acos", {"x": X / 3}),
    ("asin", {"x": X / 3}),
    ("atanh", {"x": X / 3}),
    ("identity", {"x": X}),
    ("flatten2d", {"x": X, "axis": -1}),
    ("flatten2d", {"x": X, "axis": 1}),
    ("prelu", {"x": IMAGE - 30, "alpha": np.array([0.1, 0.2, 0.3, 0.4], np.float32)}),
    ("softplus_parametric", {"x": X, "alpha": np.array([0.1, 0.2, 0.3], np.float32), "beta": np.array([1, 2, 3], np.float32)}),
    ("l2_norm", {"x": X[None], "epsilon": 1e-3}),
    ("layer_norm", {"x": X, "axes": [1, 2], "gamma": Y[0], "beta": X[1], "epsilon": 1e-3}),
    ("layer_norm", {"x": X, "axes": [2]}),
    ("einsum", {"values": [IMAGE, IMAGE], "equation": "nchw,nwhu->nchu"}),
    ("einsum", {"values": [X, np.swapaxes(X, 0, 2)], "equation": "chw,whr->chr"}),
    (
        "scatter_along_axis",
        {"data": X, "indices": np.zeros((2, 1, 4), np.int32), "updates": Y[:, :1], "axis": 1, "mode": "update"},
    ),
    ("quantize", {"input": X, "scale": 0.1, "zero_point": np.int8(4), "output_dtype": "int8"}),
    ("quantize", {"input": X, "scale": np.array([0.1, 0.02, 0.3], np.float32), "output_dtype": "int8", "axis": 1}),
    ("quantize", {"input": X, "scale": 0.01, "zero_point": np.uint8(100), "output_dtype": "uint8"}),
    *[("cast", {"x": X * 10, "dtype": dtype}) for dtype in ("int8", "int16", "fp32")],
    ("cast", {"x": np.array([300, -5, 70000], np.int32), "dtype": "uint8"}),
    ("cast", {"x": np.array([300, -5, 70000], np.int32), "dtype": "int16"}),
    ("topk", {"x": np.array([[1.0, 2.0, 2.0, 0.0]], np.float32), "k": 3}),
    ("gather", {"x": X, "indices": [[1, 2], [0, 1]], "axis": 1, "batch_dims": 1}),
    ("cumsum", {"x": X, "axis": -1}),
    ("squeeze", {"x": X[:1, :, :1]}),
    (
        "slice_by_index",
        {"x": X, "begin": [0, 0, 0], "end": [0, 0, 0], "begin_mask": [True] * 3, "end_mask": [True] * 3, "stride": [-1, 2, -3]},
    ),
    ("reduce_argmin", {"x": np.array([[2.0, 1.0, 1.0]], np.float32), "axis": 1}),
    ("round", {"x": np.array([0.5, 1.5, -0.5, 2.5], np.float32)}),
]
NEWER: list[Case] = [
    ("slice_update", {"x": X, "update": Y[:, :1, ::2] * 0 + 5, "begin": [0, 1, 0], "end": [2, 2, 4], "stride": [1, 1, 2]}),
    ("slice_update", {"x": X, "update": Y[0], "begin": [1, 0, 0], "end": [0, 3, 4], "squeeze_mask": [True, False, False]}),
    ("scaled_dot_product_attention", {"query": X, "key": Y, "value": X}),
    ("scaled_dot_product_attention", {"query": X, "key": Y, "value": X, "attn_mask": np.eye(3, dtype=bool)}),
    ("scaled_dot_product_attention", {"query": X, "key": Y, "value": X, "attn_mask": np.eye(3, dtype=np.float32)}),
]
# What coremltools folds only while it converts, or only where a value is symbolic; tested by programs elsewhere.
UNFOLDED = {
    "_const_symbolic": "never in a file",
    "cond": "a block",
    "const": "a literal",
    "fill_like": "folds symbols",
    "list_length": "a list",
    "reverse_sequence": "folds symbols",
    "shape": "folds symbols",
}


@pytest.mark.parametrize(("op_type", "arguments"), CASES, ids=[f"{name}-{index}" for index, (name, _) in enumerate(CASES)])
def test_rule_gives_what_constant_folding_gives(op_type: str, arguments: dict[str, Any]) -> None:
    assert_folds_alike(op_type, arguments)


@pytest.mark.parametrize(("op_type", "arguments"), NEWER, ids=[f"{name}-{index}" for index, (name, _) in enumerate(NEWER)])
def test_rule_of_ios18_gives_what_constant_folding_gives(op_type: str, arguments: dict[str, Any]) -> None:
    assert_folds_alike(op_type, arguments, "iOS18")


def test_every_operator_that_coremltools_folds_is_compared() -> None:
    from coremltools.converters.mil.mil import Operation
    from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

    coremltools()
    kinds = SSAOpRegistry.core_ops.items()
    folding = {
        name for name, found in kinds if any(one.value_inference is not Operation.value_inference for one in found.values())
    }
    compared = {name for name, _ in [*CASES, *NEWER]}
    assert folding - compared == UNFOLDED.keys()


def test_depth_and_space_move_whole_blocks() -> None:
    spaced = rule("depth_to_space", x=IMAGE, block_size=2)
    assert spaced.shape == (1, 1, 8, 8)
    assert spaced[0, 0, :2, :2].tolist() == [[0.0, 16.0], [32.0, 48.0]]
    assert rule("space_to_depth", x=spaced, block_size=2).numpy().tolist() == IMAGE.tolist()


def test_gather_nd_takes_slices_by_position_and_by_batch() -> None:
    assert rule("gather_nd", x=X, indices=[[0, 2], [1, 1]]).numpy().tolist() == [X[0, 2].tolist(), X[1, 1].tolist()]
    batched = rule("gather_nd", x=X, indices=[[[2]], [[0]]], batch_dims=1)
    assert batched.numpy().tolist() == [[X[0, 2].tolist()], [X[1, 0].tolist()]]


def test_scatter_nd_updates_and_adds_repeated_positions() -> None:
    data, places, updates = np.zeros(3, np.float32), [[1], [1]], np.array([2.0, 3.0], np.float32)
    assert rule("scatter_nd", data=data, indices=places, updates=updates, mode="add").tolist() == [0.0, 5.0, 0.0]
    assert rule("scatter_nd", data=data, indices=[[2], [0]], updates=updates, mode="update").tolist() == [3.0, 0.0, 2.0]


def test_scatter_writes_along_its_axis() -> None:
    data, updates = np.zeros((2, 3), np.float32), np.array([[1.0], [2.0]], np.float32)
    written = rule("scatter", data=data, indices=[2], updates=updates, axis=1, mode="update")
    assert written.tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]


def test_slice_update_replaces_a_part() -> None:
    written = rule("slice_update", x=np.zeros((2, 3), np.float32), update=np.ones((2, 1), np.float32), begin=[0, 1], end=[2, 2])
    assert written.tolist() == [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]


def test_one_hot_puts_the_new_axis_where_asked() -> None:
    hot = rule("one_hot", indices=[2, 0], one_hot_vector_size=3, axis=0, on_value=5.0, off_value=-1.0)
    assert hot.tolist() == [[-1.0, 5.0], [-1.0, -1.0], [5.0, -1.0]]


@pytest.mark.parametrize(
    ("mode", "points"),
    [
        ("UNALIGN_CORNERS", [0.0, 0.1, 0.5, 0.9, 1.0]),
        ("STRICT_ALIGN_CORNERS", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("DEFAULT", [0.0, 0.4, 0.8, 1.0, 1.0]),
        ("OFFSET_CORNERS", [0.1, 0.3, 0.5, 0.7, 0.9]),
    ],
)
def test_sampling_grids_are_those_of_the_documentation(mode: str, points: list[float]) -> None:
    from explorer.inference.coreml.resizing import grid

    assert grid(2, 5, mode).tolist() == pytest.approx(points)


def test_quantize_rounds_and_dequantize_undoes_it_within_half_a_step() -> None:
    steps = rule("quantize", input=X, scale=0.05, zero_point=np.int8(3), output_dtype="int8")
    back = rule("dequantize", input=steps, scale=0.05, zero_point=np.int8(3))
    assert np.abs(back.numpy() - X).max() <= 0.0251
    assert rule("quantize", input=np.array([99.0]), scale=0.05, output_dtype="int8").tolist() == [127]
