import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from explorer.errors import ExplorerError
from explorer.inference.coreml.evaluate import evaluate, evaluate_samples, first_difference, missing_ops
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools
from explorer.inference.coreml.registry import RULES
from tests.inference.coreml.packages import traced_package


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *x: Tensor) -> Tensor:
        return self.function(*x)


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> tuple[nn.Module, Path]:
    """A float16 package with an open batch of 1 to 4, and its module."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    path = tmp_path_factory.mktemp("linear") / "m.mlpackage"
    batch = coremltools().RangeDim(1, 4)
    return module, traced_package(module, [torch.randn(2, 6)], path, "FLOAT16", shape=(batch, 6))


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 package for two samples at a time: x minus the mean of its two samples."""
    path = tmp_path_factory.mktemp("fixed") / "m.mlpackage"
    return traced_package(Calls(lambda x: x * 2.0 + 1.0), [torch.randn(2, 3)], path)


def outputs(module: nn.Module, inputs: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(module(torch.from_numpy(inputs)).numpy())


def test_samples_are_run_in_pieces_of_the_open_batch(linear: tuple[nn.Module, Path]) -> None:
    module, package = linear
    inputs = np.random.default_rng(0).normal(size=(11, 6)).astype(np.float32)
    result = evaluate_samples(package, inputs, "float32")
    np.testing.assert_allclose(result.output, outputs(module, inputs), atol=3e-3)
    assert result.output.shape == (11, 3)


def test_a_short_last_piece_of_a_fixed_batch_is_filled_and_cut(fixed: Path) -> None:
    inputs = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(evaluate_samples(fixed, {"x0": inputs}, "float32").output, inputs * 2 + 1)


def test_half_rounds_where_float32_does_not(linear: tuple[nn.Module, Path]) -> None:
    module, package = linear
    inputs = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    half = evaluate(package, {"x0": inputs}, "float16").output
    assert np.array_equal(half, half.astype(np.float16).astype(np.float32))
    full = evaluate(package, {"x0": inputs}, "float32").output
    assert 0.0 < np.abs(half - full).max() < 1e-2
    np.testing.assert_allclose(half, outputs(module, inputs), atol=2e-2)


def test_a_float32_program_is_rounded_throughout_in_half(fixed: Path) -> None:
    result = evaluate(fixed, {"x0": np.full((2, 3), 0.1, np.float32)}, "float16")
    assert result.output[0, 0] == np.float32(np.float16(np.float16(0.1) * np.float16(2.0)) + np.float16(1.0))


def test_every_float_value_has_its_range(linear: tuple[nn.Module, Path]) -> None:
    _, package = linear
    inputs = np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32)
    result = evaluate_samples(package, inputs, "float32")
    assert [item.op_type for item in result.ranges] == ["linear", "relu", "linear"]
    relu, last = result.ranges[1], result.ranges[2]
    assert relu.minimum == 0.0
    assert (last.minimum, last.maximum) == (result.output.min(), result.output.max())
    assert not any(item.has_nan or item.has_inf for item in result.ranges)


def breaking(function: Callable[..., Tensor], inputs: np.ndarray, path: Path) -> str:
    package = load_program(traced_package(Calls(function), [torch.from_numpy(inputs)], path, "FLOAT16"))
    feeds = {"x0": inputs}
    return first_difference(evaluate(package, feeds, "float16"), evaluate(package, feeds, "float32"))


def test_the_first_overflow_is_named(tmp_path: Path) -> None:
    inputs = np.full((1, 8), 300.0, np.float32)
    said = breaking(lambda x: torch.relu(x) * torch.rsqrt((x**2).mean(-1, keepdim=True)), inputs, tmp_path / "m.mlpackage")
    assert "overflows float16" in said
    assert "9e+04" in said
    assert "(square)" in said or "(pow)" in said


def test_the_first_nan_is_named(tmp_path: Path) -> None:
    lowest = torch.finfo(torch.float32).min
    mask = np.ones((1, 8), np.float32)
    said = breaking(lambda x: torch.softmax((1.0 - x) * lowest, -1), mask, tmp_path / "m.mlpackage")
    assert "(mul) turns NaN: a constant before it lies beyond float16" in said


def test_an_underflow_is_named(tmp_path: Path) -> None:
    inputs = np.full((1, 4), 1e-4, np.float32)
    said = breaking(lambda x: torch.relu(x) * torch.tanh(x) * 1e7, inputs, tmp_path / "m.mlpackage")
    assert "underflows to zero" in said


def test_nothing_is_named_when_half_holds(linear: tuple[nn.Module, Path]) -> None:
    _, package = linear
    feeds = {"x0": np.ones((1, 6), np.float32)}
    assert first_difference(evaluate(package, feeds, "float16"), evaluate(package, feeds, "float32")) == ""


def test_an_op_without_a_rule_is_named_with_its_place(fixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_ops(fixed) == []
    monkeypatch.delitem(RULES, "mul")
    assert missing_ops(fixed) == ["mul"]
    with pytest.raises(ExplorerError, match=r"no rule for mul \(first at .+ in .*m\.mlpackage"):
        evaluate(fixed, {"x0": np.ones((2, 3), np.float32)}, "float32")


def test_integer_inputs_and_outputs_stay_integers(tmp_path: Path) -> None:
    tokens = torch.tensor([[3, 0, 2]])
    package = traced_package(nn.Embedding(5, 4), [tokens], tmp_path / "m.mlpackage")
    assert evaluate(package, {"x0": tokens.numpy()}, "float32").output.shape == (1, 3, 4)
    picked = traced_package(Calls(lambda x: x.argmax(-1)), [torch.randn(2, 5)], tmp_path / "a.mlpackage")
    assert evaluate(picked, {"x0": np.eye(5, dtype=np.float32)[[4, 1]]}, "float32").output.tolist() == [4, 1]


def test_several_inputs_are_fed_by_name(tmp_path: Path) -> None:
    package = traced_package(Calls(lambda a, b: a - b), [torch.ones(1, 2), torch.ones(1, 2)], tmp_path / "m.mlpackage")
    feeds = {"x1": np.full((3, 2), 1.0, np.float32), "x0": np.full((3, 2), 5.0, np.float32)}
    assert evaluate_samples(package, feeds, "float32").output.tolist() == [[4.0, 4.0]] * 3


@pytest.mark.parametrize(
    ("feeds", "words"),
    [
        ({"x0": np.ones((2, 4), np.float32)}, "input x0 of .* is 2x3, given 2x4"),
        ({"other": np.ones((2, 3), np.float32)}, "has the inputs x0; given were other"),
    ],
)
def test_inputs_that_do_not_fit_are_named(fixed: Path, feeds: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        evaluate(fixed, feeds, "float32")


def test_a_folder_that_is_no_package_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.mlpackage"):
        with pytest.raises(ExplorerError, match=r"is not an \.mlpackage"):
            load_program(path)


def test_a_package_with_damaged_content_is_refused(fixed: Path, tmp_path: Path) -> None:
    import shutil

    damaged = tmp_path / "damaged.mlpackage"
    shutil.copytree(fixed, damaged)
    next(damaged.rglob("*.mlmodel")).write_bytes(b"\xff\xfegarbage")
    with pytest.raises(ExplorerError, match=r"damaged\.mlpackage cannot be read"):
        load_program(damaged)


def test_loading_says_nothing(fixed: Path) -> None:
    code = f"from explorer.inference.coreml.program import load_program; load_program({str(fixed)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout + done.stderr == ""
