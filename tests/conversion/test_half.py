"""Rows 25 to 27 of the failure table and others: what float16 breaks, named where it begins, and mended."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.conversion.half import losses, matters
from explorer.conversion.half_repair import repaired
from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import load_program
from tests.conversion.plain_coreml import feed, package

LOWEST = torch.finfo(torch.float32).min
Inputs = tuple[Tensor, ...]


class AddedMask(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(x + (1 - mask) * LOWEST, -1)


class FilledMask(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(x.masked_fill(mask < 0.5, LOWEST), -1)


class MildMask(nn.Module):
    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax(x + (1 - mask) * -1e9, -1)


class RootMeanSquare(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt((x**2).mean(-1, keepdim=True) + 1e-6) * 1.7


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = RootMeanSquare()
        self.out = nn.Linear(16, 4)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.out(self.norm(x))
        return output


class SumOfSquares(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x**2).sum(-1)


class LogSumExp(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.log(torch.exp(x).sum(-1))


class Cancelling(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        shifted = x + 1000.0
        return (shifted - shifted.mean(-1, keepdim=True)) * 3


class Vanishing(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.sqrt((x * 1e-3) ** 2 * 1e-4) * 1e5


def example(masked_row: bool = False) -> Inputs:
    torch.manual_seed(0)
    mask = torch.ones(2, 16)
    mask[0, : 16 if masked_row else 4] = 0
    return torch.randn(2, 16), mask


X, FULL_MASK = example(masked_row=True)
CASES = [
    (AddedMask(), (X, FULL_MASK), "mul", "nan"),
    (FilledMask(), (X, FULL_MASK), "softmax", "nan"),
    (Normed(), (X * 300,), "pow", "overflow"),
    (SumOfSquares(), (X * 300,), "pow", "overflow"),
    (LogSumExp(), (X * 0.1 + 12,), "exp", "overflow"),
    (Cancelling(), (X,), "sub", "loss"),
    (Vanishing(), (X,), "mul", "underflow"),
]


class Converter:
    """Packages of a module by what is kept in float32, each written once."""

    def __init__(self, module: nn.Module, inputs: Inputs, folder: Path, capture: Literal["trace", "export"] = "trace") -> None:
        self.module, self.inputs, self.folder, self.capture = module, inputs, folder, capture
        self.made: dict[tuple[str, ...], Path] = {}

    def __call__(self, keep: Sequence[str]) -> Path:
        if tuple(keep) not in self.made:
            path = self.folder / f"{len(self.made)}.mlpackage"
            self.made[tuple(keep)] = package(self.module, self.inputs, path, self.capture, "float16", keep)
        return self.made[tuple(keep)]

    def error(self, keep: Sequence[str]) -> float:
        """The largest error of that package over the largest output."""
        program = load_program(self(keep))
        got = evaluate(program, feed(self.inputs), "float16" if program.declares_half else "float32").output
        expected = self.module(*self.inputs).detach().numpy()
        return float(np.abs(got - expected).max() / np.abs(expected).max())


def assert_named_and_mended(convert: Converter, operator: str, problem: str) -> None:
    inputs = feed(convert.inputs)
    found = [item for item in losses(convert([]), [inputs], convert.module, convert.module) if matters(item)]
    assert [(item.operator, item.problem) for item in found] == [(operator, problem)]
    assert found[0].remedy
    repair = repaired([], convert, [inputs])
    assert repair.keep_float32
    assert not any(matters(item) for item in repair.left)
    assert convert.error(repair.keep_float32) <= 2e-3


@pytest.mark.parametrize(("module", "inputs", "operator", "problem"), CASES)
def test_a_loss_is_named_where_it_begins_and_mended(
    module: nn.Module, inputs: Inputs, operator: str, problem: str, tmp_path: Path
) -> None:
    assert_named_and_mended(Converter(module, inputs, tmp_path), operator, problem)


@pytest.mark.slow
@pytest.mark.parametrize(("module", "inputs", "operator", "problem"), CASES)
def test_a_loss_is_mended_in_an_exported_program_too(
    module: nn.Module, inputs: Inputs, operator: str, problem: str, tmp_path: Path
) -> None:
    assert_named_and_mended(Converter(module, inputs, tmp_path, "export"), operator, problem)


def test_the_source_of_a_loss_is_told(tmp_path: Path) -> None:
    module, inputs = Normed(), (X * 300,)
    path = package(module, inputs, tmp_path / "m.mlpackage", precision="float16")
    found = losses(path, [feed(inputs)], module, module)
    assert found[0].module.startswith("norm, test_half.py:")
    assert found[0].largest > 65504
    assert found[0].snr_db is None


def test_a_value_is_placed_though_weights_before_it_are_rounded(tmp_path: Path) -> None:
    module, inputs = nn.Sequential(nn.Linear(16, 16), SumOfSquares()), (X * 300,)
    path = package(module, inputs, tmp_path / "m.mlpackage", precision="float16")
    found = losses(path, [feed(inputs)], module, module)
    assert found[0].module.startswith("1, test_half.py:")


def test_a_loss_at_a_cast_is_that_of_the_operator_before_it(tmp_path: Path) -> None:
    path = package(MildMask(), example(), tmp_path / "m.mlpackage", precision="float16")
    assert [(item.operator, item.name) for item in losses(path, [feed(example())])] == [("mul", "var_7_to_fp16")]


def test_only_the_chain_up_to_where_values_fit_is_kept(tmp_path: Path) -> None:
    convert = Converter(Normed(), (X * 300,), tmp_path, "export")
    repair = repaired([], convert, [feed(convert.inputs)])
    assert repair.keep_float32 == ["pow_1", "mean", "add", "rsqrt"]
    assert repair.rounds == 2
    assert convert.error([]) > 0.5


def test_a_mask_that_becomes_infinite_without_harm_is_said_to_be_harmless(tmp_path: Path) -> None:
    inputs = example()
    path = package(MildMask(), inputs, tmp_path / "m.mlpackage", precision="float16")
    found = losses(path, [feed(inputs)])
    assert [item.problem for item in found] == ["overflow"]
    assert not matters(found[0])
    assert repaired([], lambda keep: path, [feed(inputs)]).keep_float32 == []


def test_a_sound_program_loses_nothing(tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))
    path = package(module, (X,), tmp_path / "m.mlpackage", precision="float16")
    assert losses(path, [feed((X,)), feed((-X,))]) == []


def test_the_worst_of_several_feeds_counts(tmp_path: Path) -> None:
    path = package(SumOfSquares(), (X,), tmp_path / "m.mlpackage", precision="float16")
    assert losses(path, [feed((X,))]) == []
    assert [item.problem for item in losses(path, [feed((X,)), feed((X * 300,))])] == ["overflow"]
