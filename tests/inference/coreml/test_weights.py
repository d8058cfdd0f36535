"""Compressed weights: decoded here as coremltools decodes them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from tests.inference.coreml.packages import traced_package

ROWS = torch.randn(3, 64, generator=torch.Generator().manual_seed(0))


def compressed(kind: str, folder: Path, target: str) -> tuple[Path, Path]:
    """A package with compressed weights, and the same with the weights that coremltools decodes from it."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
    source = traced_package(module, [ROWS], folder / "source.mlpackage", "FLOAT32", target)
    ct = coremltools()
    with quiet():
        model = ct.models.MLModel(str(source), skip_model_load=True)
        small = compress(ct.optimize.coreml, model, kind)
        small.save(str(folder / "small.mlpackage"))
        ct.optimize.coreml.decompress_weights(small).save(str(folder / "decoded.mlpackage"))
    return folder / "small.mlpackage", folder / "decoded.mlpackage"


def compress(optimize: Any, model: Any, kind: str) -> Any:
    if kind == "int8":
        return optimize.linear_quantize_weights(
            model, config(optimize.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=1))
        )
    if kind == "uint8":
        asymmetric = optimize.OpLinearQuantizerConfig(mode="linear", dtype="uint8", weight_threshold=1)
        return optimize.linear_quantize_weights(model, config(asymmetric))
    if kind == "int4":
        blocks = optimize.OpLinearQuantizerConfig(dtype="int4", granularity="per_block", block_size=32, weight_threshold=1)
        return optimize.linear_quantize_weights(model, config(blocks))
    if kind == "pruned":
        return optimize.prune_weights(model, config(optimize.OpMagnitudePrunerConfig(target_sparsity=0.5, weight_threshold=1)))
    return optimize.palettize_weights(model, config(optimize.OpPalettizerConfig(mode="uniform", nbits=6, weight_threshold=1)))


def config(operation: Any) -> Any:
    return coremltools().optimize.coreml.OptimizationConfig(global_config=operation)


@pytest.mark.parametrize(
    ("kind", "target", "op_type"),
    [
        ("int8", "iOS16", "constexpr_affine_dequantize"),
        ("int8", "iOS18", "constexpr_blockwise_shift_scale"),
        ("uint8", "iOS16", "constexpr_affine_dequantize"),
        ("int4", "iOS18", "constexpr_blockwise_shift_scale"),
        ("palettized", "iOS16", "constexpr_lut_to_dense"),
        ("palettized", "iOS18", "constexpr_lut_to_dense"),
        ("pruned", "iOS16", "constexpr_sparse_to_dense"),
        ("pruned", "iOS18", "constexpr_sparse_to_dense"),
    ],
)
def test_compressed_weights_give_what_their_decoded_form_gives(kind: str, target: str, op_type: str, tmp_path: Path) -> None:
    small, decoded = compressed(kind, tmp_path, target)
    assert op_type in {step.op_type for step in load_program(small).steps()}
    assert not any(step.op_type.startswith("constexpr") for step in load_program(decoded).steps())
    inputs = {"x0": ROWS.numpy()}
    expected = evaluate(decoded, inputs, "float32").output
    np.testing.assert_allclose(evaluate(small, inputs, "float32").output, expected, atol=1e-5)
