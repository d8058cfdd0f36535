"""Compressed weights: decoded here bit by bit as coremltools decodes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.inference.coreml.evaluate import Evaluator, evaluate
from explorer.inference.coreml.program import Program, load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from tests.inference.coreml.folding import built, ours
from tests.inference.coreml.packages import traced_package

EXAMPLE = torch.randn(2, 4, 8, 8, generator=torch.Generator().manual_seed(0))
Kind = tuple[str, dict[str, Any]]
AFFINE, BLOCKS, TABLE = "constexpr_affine_dequantize", "constexpr_blockwise_shift_scale", "constexpr_lut_to_dense"
SPARSE = "constexpr_sparse_to_dense"

QUANTIZED: dict[str, tuple[Kind, str, str]] = {
    "int8 channel": (("quantize", {"mode": "linear_symmetric"}), "iOS16", AFFINE),
    "uint8 channel": (("quantize", {"mode": "linear", "dtype": "uint8"}), "iOS16", AFFINE),
    "int8 tensor": (("quantize", {"mode": "linear", "granularity": "per_tensor"}), "iOS16", AFFINE),
    "int8 channel 18": (("quantize", {"mode": "linear"}), "iOS18", BLOCKS),
    "int8 tensor 18": (("quantize", {"mode": "linear_symmetric", "granularity": "per_tensor"}), "iOS18", BLOCKS),
    "int4 channel": (("quantize", {"mode": "linear_symmetric", "dtype": "int4"}), "iOS18", BLOCKS),
    "uint4 tensor": (("quantize", {"mode": "linear", "dtype": "uint4", "granularity": "per_tensor"}), "iOS18", BLOCKS),
    "int4 block": (("quantize", {"dtype": "int4", "granularity": "per_block", "block_size": 4}), "iOS18", BLOCKS),
    "int8 block": (("quantize", {"dtype": "int8", "granularity": "per_block", "block_size": 2}), "iOS18", BLOCKS),
}
PALETTES: dict[str, tuple[Kind, str, str]] = {
    **{
        f"{bits} bits {target}": (("palettize", {"mode": "uniform", "nbits": bits}), target, TABLE)
        for bits in (1, 2, 3, 4, 6, 8)
        for target in ("iOS16", "iOS18")
        if target == "iOS18" or bits != 3
    },
    "grouped": (
        ("palettize", {"mode": "uniform", "nbits": 4, "granularity": "per_grouped_channel", "group_size": 4}), "iOS18", TABLE
    ),
    "scaled": (
        ("palettize", {"mode": "uniform", "nbits": 4, "enable_per_channel_scale": True}), "iOS18", BLOCKS
    ),
}  # fmt: skip
PRUNED: dict[str, tuple[Kind, str, str]] = {
    "half 16": (("magnitude", {"target_sparsity": 0.5}), "iOS16", SPARSE),
    "half 18": (("magnitude", {"target_sparsity": 0.5}), "iOS18", SPARSE),
    "2 of 4": (("magnitude", {"n_m_ratio": (2, 4), "dim": 1}), "iOS18", SPARSE),
    "threshold": (("threshold", {"threshold": 0.1, "minimum_sparsity_percentile": 0.01}), "iOS16", SPARSE),
}


def compress(optimize: Any, model: Any, kind: Kind, joint: bool = False) -> Any:
    name, options = kind
    classes = {
        "quantize": (optimize.linear_quantize_weights, optimize.OpLinearQuantizerConfig),
        "palettize": (optimize.palettize_weights, optimize.OpPalettizerConfig),
        "magnitude": (optimize.prune_weights, optimize.OpMagnitudePrunerConfig),
        "threshold": (optimize.prune_weights, optimize.OpThresholdPrunerConfig),
    }
    function, make = classes[name]
    config = optimize.OptimizationConfig(global_config=make(weight_threshold=1, **options))
    return function(model, config, joint_compression=True) if joint else function(model, config)


def packages(kinds: list[Kind], folder: Path, target: str, precision: Literal["FLOAT32", "FLOAT16"]) -> tuple[Program, Program]:
    """A program with compressed weights, and the one that coremltools makes of it without."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(4, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 32))
    source = traced_package(module, [EXAMPLE], folder / "source.mlpackage", precision, target)
    ct = coremltools()
    with quiet():
        model = ct.models.MLModel(str(source), skip_model_load=True)
        for number, kind in enumerate(kinds):
            model = compress(ct.optimize.coreml, model, kind, joint=number > 0)
        model.save(str(folder / "small.mlpackage"))
        ct.optimize.coreml.decompress_weights(model).save(str(folder / "decoded.mlpackage"))
    return load_program(folder / "small.mlpackage"), load_program(folder / "decoded.mlpackage")


def weights(program: Program) -> list[Tensor]:
    """The weights as the evaluator holds them, in the order of the operators that use them."""
    Evaluator(program)
    known = {**program.constants, **program.decoded}
    sources = [step.inputs["weight"] for step in program.steps() if "weight" in step.inputs]
    return [known[source] for source in sources]


def assert_bit_equal(small: Program, decoded: Program, op_types: set[str]) -> None:
    found = {step.op_type for step in small.steps()}
    assert op_types <= found
    assert not any(step.op_type.startswith("constexpr") for step in decoded.steps())
    for mine, theirs in zip(weights(small), weights(decoded), strict=True):
        assert mine.dtype == theirs.dtype == torch.float32
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    feed = {"x0": EXAMPLE.numpy()}
    np.testing.assert_array_equal(evaluate(small, feed, "float32").output, evaluate(decoded, feed, "float32").output)


# One of each form in the quick suite.
QUICK = {
    "int8 channel",
    "uint4 tensor",
    "int4 block",
    "1 bits iOS16",
    "6 bits iOS16",
    "3 bits iOS18",
    "grouped",
    "half 16",
    "2 of 4",
}
NAMES = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in (*QUANTIZED, *PALETTES, *PRUNED)]


@pytest.mark.parametrize("name", NAMES)
def test_compressed_weights_are_bit_equal_to_their_decoded_form(name: str, tmp_path: Path) -> None:
    kind, target, op_type = {**QUANTIZED, **PALETTES, **PRUNED}[name]
    precision: Literal["FLOAT32", "FLOAT16"] = "FLOAT16" if len(name) % 2 else "FLOAT32"
    small, decoded = packages([kind], tmp_path, target, precision)
    assert_bit_equal(small, decoded, {op_type})


@pytest.mark.parametrize("precision", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    ("second", "op_types"),
    [
        (QUANTIZED["int8 channel 18"][0], {"constexpr_sparse_blockwise_shift_scale", SPARSE}),
        (PALETTES["4 bits iOS18"][0], {"constexpr_lut_to_sparse", SPARSE}),
    ],
)
def test_joint_compression(
    second: Kind, op_types: set[str], precision: Literal["FLOAT32", "FLOAT16"], tmp_path: Path
) -> None:  # fmt: skip
    small, decoded = packages([PRUNED["half 18"][0], second], tmp_path, "iOS18", precision)
    assert_bit_equal(small, decoded, op_types)


def test_quantized_table(tmp_path: Path) -> None:
    small, decoded = packages([PALETTES["4 bits iOS18"][0], QUANTIZED["int8 tensor 18"][0]], tmp_path, "iOS18", "FLOAT16")
    assert_bit_equal(small, decoded, {TABLE, BLOCKS})


def numbers(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, high, shape).astype(np.uint8)


def sub_byte(bits: int, array: np.ndarray) -> np.ndarray:
    from coremltools.converters.mil.mil import types

    return array.astype(types.np_uint1_dtype if bits == 1 else getattr(types, f"np_uint{bits}_dtype"))


MASK = numbers(2, 6, 8)
TABLES = np.random.default_rng(1).normal(size=(2, 4, 16, 1)).astype(np.float32)
VECTORS = np.random.default_rng(2).normal(size=(1, 2, 4, 3)).astype(np.float16)
BUILT: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "a table for each block": (TABLE, lambda: {"indices": sub_byte(4, numbers(16, 6, 8)), "lut": TABLES}),
    "vectors along rows": (TABLE, lambda: {"indices": sub_byte(2, numbers(4, 5, 8)), "lut": VECTORS, "vector_axis": 0}),
    "vectors along columns": (TABLE, lambda: {"indices": sub_byte(2, numbers(4, 5, 8)), "lut": VECTORS, "vector_axis": -1}),
    "offsets for each block": (
        BLOCKS,
        lambda: {
            "data": np.random.default_rng(3).integers(-128, 127, (6, 8)).astype(np.int8),
            "scale": np.linspace(0.1, 1, 12, dtype=np.float16).reshape(3, 4),
            "offset": np.arange(12, dtype=np.int8).reshape(3, 4),
        },
    ),
    "sparse": (SPARSE, lambda: {"nonzero_data": np.arange(1, MASK.sum() + 1, dtype=np.float32), "mask": sub_byte(1, MASK)}),
    "sparse table": (
        "constexpr_lut_to_sparse",
        lambda: {
            "indices_mask": sub_byte(1, MASK),
            "indices_nonzero_data": sub_byte(2, numbers(4, int(MASK.sum()))),
            "lut": VECTORS[..., :1].reshape(1, 2, 4, 1),
        },
    ),
    "sparse vectors": (
        "constexpr_lut_to_sparse",
        lambda: {
            "indices_mask": sub_byte(1, MASK),
            "indices_nonzero_data": sub_byte(2, numbers(4, int(MASK.sum()))),
            "lut": VECTORS,
            "vector_axis": 0,
        },
    ),
    "sparse blocks": (
        "constexpr_sparse_blockwise_shift_scale",
        lambda: {
            "data_mask": sub_byte(1, MASK),
            "nonzero_data": numbers(200, int(MASK.sum())),
            "scale": np.linspace(0.1, 1, 6, dtype=np.float32).reshape(6, 1),
            "offset": np.arange(6, dtype=np.uint8).reshape(6, 1),
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
def test_the_seven_forms_as_coremltools_materializes_them(name: str) -> None:
    coremltools()
    op_type, arguments = BUILT[name]
    variables = built(op_type, arguments(), "iOS18")
    operation = variables[0].op
    with quiet():
        expected = operation.materialized_val_inference()
    expected = expected if isinstance(expected, tuple | list) else (expected,)
    for value, got in zip(expected, ours(variables[0]), strict=True):
        got = got.half() if value.dtype == np.float16 else got
        np.testing.assert_array_equal(got.numpy().astype(value.dtype), value)


def test_dequantize_and_quantize_round_trip_and_cast(tmp_path: Path) -> None:
    from tests.inference.coreml.folding import rule

    steps = np.array([[-128, 127], [3, 0]], np.int8)
    scale, zero = np.array([0.5, 0.25], np.float32), np.array([1, -2], np.int8)
    assert rule("dequantize", input=steps, scale=scale, zero_point=zero, axis=0).tolist() == [[-64.5, 63.0], [1.25, 0.5]]
    cast = built("constexpr_cast", {"source_val": np.array([1.5, 65504], np.float16), "output_dtype": "fp32"}, "iOS16")
    assert ours(cast[0])[0].tolist() == [1.5, 65504.0]
