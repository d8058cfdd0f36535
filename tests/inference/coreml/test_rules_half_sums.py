"""The mode that keeps the sums of an operator in half."""

from typing import Any

import pytest
import torch
from torch import Tensor

from explorer.inference.coreml.half_sums import HALF_SUMS
from explorer.inference.coreml.rules import RULES
from tests.inference.coreml.folding import close, noise


def test_sums_in_half_lose_what_float32_keeps() -> None:
    """4096 ones after a large number: half stops counting once a step is under its spacing."""
    ones = torch.ones(1, 4096)
    assert float(RULES["reduce_sum"](x=ones * 0.51, axes=torch.tensor([1]))) == pytest.approx(2089, abs=0.1)  # type: ignore[arg-type]
    coarse = float(HALF_SUMS["reduce_sum"](x=ones * 0.51, axes=torch.tensor([1])))  # type: ignore[arg-type]
    assert coarse != pytest.approx(2089, abs=0.6)
    cases: dict[str, dict[str, Any]] = {
        "linear": {"x": noise(3, 100), "weight": noise(5, 100)},
        "matmul": {"x": noise(2, 3, 100), "y": noise(2, 100, 4)},
        "conv": {"x": noise(1, 40, 6, 6), "weight": noise(8, 20, 3, 3), "pad_type": "same", "groups": torch.tensor(2)},
        "scaled_dot_product_attention": {"query": noise(1, 5, 64), "key": noise(1, 70, 64), "value": noise(1, 70, 8)},
        "reduce_mean": {"x": noise(3, 100), "axes": torch.tensor([1])},
    }
    for op_type, arguments in cases.items():
        exact, half = RULES[op_type](**arguments), HALF_SUMS[op_type](**arguments)
        assert isinstance(exact, Tensor)
        assert isinstance(half, Tensor)
        assert half.shape == exact.shape
        error = float((half - exact).abs().max() / exact.abs().max())
        assert 0 < error < 5e-3


@pytest.mark.parametrize(("x", "y"), [((3,), (3, 4)), ((2, 3), (3,)), ((2, 1, 3, 5), (4, 5, 2))])
def test_matmul_in_half_broadcasts_like_the_exact_one(x: tuple[int, ...], y: tuple[int, ...]) -> None:
    left, right = torch.ones(x), torch.ones(y)
    half = HALF_SUMS["matmul"](x=left, y=right)
    assert isinstance(half, Tensor)
    close(half, left @ right)
