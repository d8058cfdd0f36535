"""The first value that differs, by tracing, export and in ONNX; rows 10, 15, 30 and 37 of the failure table among them."""

import copy
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.conversion.localise import first_difference, located
from explorer.conversion.program_values import computed
from explorer.inference.coreml.quiet import quiet
from explorer.models.sources import resolve
from tests.conversion.plain_coreml import feed, package


class Between(nn.Module):
    """A function between two linear layers."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(8, 8), nn.Linear(8, 8)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.after(self.function(self.before(x)))
        return output


def antialiased(x: Tensor) -> Tensor:
    return F.interpolate(x, size=(5, 8), mode="bilinear", antialias=True)


def assigned(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, torch.tensor([2])] = x[:, :1] * 3
    return y


def large(x: Tensor) -> Tensor:
    return (x.long() + 3_000_000_000).float()


def branched(x: Tensor) -> Tensor:
    return x * 2 if bool(x.sum() > 0) else -x


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize(
    ("function", "shape", "operator", "source"),
    [
        (antialiased, (1, 2, 8, 8), "upsample_bilinear", "_upsample_bilinear2d_aa"),
        (assigned, (2, 8), "", "index_put_"),
        (large, (2, 8), "add", "add"),
        (branched, (2, 8), "", ""),
    ],
)
def test_a_wrong_traced_program_names_operator_and_line(
    function: Callable[[Tensor], Tensor], shape: tuple[int, ...], operator: str, source: str, tmp_path: Path
) -> None:
    module = Between(function)
    example = torch.randn(*shape)
    path = package(module, (example,), tmp_path / "m.mlpackage")
    others = [example, -example, example * 9, -example * 9]
    found = next(item for item in (located(module, (x,), path, feed((x,)), module) for x in others) if item is not None)
    assert found.line.startswith("test_localise.py:")
    assert int(found.line.rpartition(":")[2]) in range(function.__code__.co_firstlineno, function.__code__.co_firstlineno + 5)
    assert operator in ("", found.operator)
    assert source in ("", found.source_operator)


def tiny_encoder() -> nn.Module:
    return resolve("samples/tiny_transformer.py:tiny_encoder").module.eval()


@pytest.mark.parametrize("capture", ["trace", "export"])
def test_a_right_program_has_no_difference_and_a_spoiled_weight_is_found_in_its_layer(capture: str, tmp_path: Path) -> None:
    module, example = tiny_encoder(), torch.rand(2, 1, 8, 8)
    right = package(module, (example,), tmp_path / "right.mlpackage", capture)  # type: ignore[arg-type]
    assert located(module, (example,), right, feed((example,))) is None
    assert first_difference(module, (example,), right, feed((example,))) == ""
    spoiled = copy.deepcopy(module)
    with torch.no_grad():
        spoiled.get_parameter("block2.up.weight").mul_(1.2)
    wrong = package(spoiled, (example,), tmp_path / "wrong.mlpackage", capture)  # type: ignore[arg-type]
    found = located(module, (example,), wrong, feed((example,)))
    assert found is not None
    assert (found.operator, found.module) == ("linear", "block2.up")
    assert str(found).startswith(f"first at {found.name} (linear), from addmm in block2.up, tiny_transformer.py:")


def test_normalisation_that_is_folded_away_is_no_difference(tmp_path: Path) -> None:
    module = resolve("samples/digits_cnn.py:digits_cnn").module.eval()
    example = torch.rand(2, 1, 8, 8)
    assert located(module, (example,), package(module, (example,), tmp_path / "a.mlpackage"), feed((example,))) is None
    spoiled = copy.deepcopy(module)
    with torch.no_grad():
        spoiled.get_parameter("conv2.weight")[0].mul_(1.3)
    found = located(module, (example,), package(spoiled, (example,), tmp_path / "b.mlpackage"), feed((example,)))
    assert found is not None
    assert found.module == "conv2"


class Wrapper(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.wrapped = inner

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return (self.wrapped(x),)


def test_module_paths_are_the_users_whatever_wraps_a_copy(tmp_path: Path) -> None:
    module, example = tiny_encoder(), torch.rand(1, 1, 8, 8)
    spoiled = copy.deepcopy(module)
    with torch.no_grad():
        spoiled.get_parameter("block1.down.bias")[0].add_(1.0)
    path = package(spoiled, (example,), tmp_path / "m.mlpackage")
    found = located(Wrapper(copy.deepcopy(module)), (example,), path, feed((example,)), root=module)
    assert found is not None
    assert found.module == "block1.down"


def test_a_wrong_onnx_file_is_searched_the_same_way(tmp_path: Path) -> None:
    module, example = tiny_encoder(), torch.rand(2, 1, 8, 8)
    path = tmp_path / "m.onnx"
    with quiet():
        torch.onnx.export(module, (example,), path, dynamo=False, input_names=["x0"])  # the quick exporter
    assert located(module, (example,), path, feed((example,))) is None
    model = onnx.load(path)
    bias = next(item for item in model.graph.initializer if item.name == "block2.down.bias")
    values = onnx.numpy_helper.to_array(bias).copy()
    values[0] += 1
    bias.raw_data = values.tobytes()
    onnx.save(model, path)
    found = located(module, (example,), path, feed((example,)))
    assert found is not None
    assert found.module == "block2.down"
    assert found.name in {item.name for item in computed(path, feed((example,)))}
