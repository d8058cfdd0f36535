"""What is told before anything is converted, with module path, source line and remedy."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from explorer.conversion.ports import flattened
from explorer.conversion.preflight import details, preflight
from explorer.models.sources import LoadedModel
from explorer.schemas.events import Finding
from explorer.schemas.specs import ConvertSpec

FILE = "test_preflight.py"


class Calls(nn.Module):
    """A function of the input, below a child called net."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.net = Inner(function)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.net(x)
        return output


class Inner(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def branched(x: Tensor) -> Tensor:
    if x.sum() > 0:
        return x * 2
    return -x


def checked(x: Tensor) -> Tensor:
    if torch.isnan(x).any():
        raise ValueError("a NaN")
    return x * 2


def asserted(x: Tensor) -> Tensor:
    assert x.min() > -100
    return x * 2


def through_numpy(x: Tensor) -> Tensor:
    return torch.from_numpy(x.numpy() * 2)


def assigned(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, torch.tensor([2])] = 1.0
    return y


def masked(x: Tensor) -> Tensor:
    return torch.softmax(x + (1 - (x > 0).float()) * torch.finfo(torch.float32).min, -1)


def antialiased(x: Tensor) -> Tensor:
    return F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True)


def rank_seven(x: Tensor) -> Tensor:
    return (x.reshape(1, 2, 2, 2, 2, 2, 2) * 2 + 1).flatten(1)


def only_moved(x: Tensor) -> Tensor:
    return x.reshape(1, 2, 2, 2, 2, 2, 2).permute(0, 1, 3, 5, 2, 4, 6).reshape(1, 8, 8)


def far_integer(x: Tensor) -> Tensor:
    return (x.long() + 3_000_000_000).float()


def far_constant(x: Tensor) -> Tensor:
    return (x.long() * torch.tensor([2**40])).float()


def dropped(x: Tensor) -> Tensor:
    return F.dropout(x, 0.5)


def noisy(x: Tensor) -> Tensor:
    return x + torch.randn_like(x)


def singular_values(x: Tensor) -> Tensor:
    values: Tensor = torch.linalg.svd(x)[1]
    return values


def scaled_complex(x: Tensor) -> Tensor:
    return torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones(4), torch.ones(4)))


def doubled(x: Tensor) -> Tensor:
    return x * 2


def found(module: nn.Module, shape: tuple[int, ...], target: str = "coreml", **fields: Any) -> list[Finding]:
    spec = ConvertSpec.model_validate({"source": "mine", "target": target, **fields})
    traced = flattened(LoadedModel(module.eval(), (torch.randn(*shape),), "mine", None, "as_built"), spec)
    return preflight(traced, spec)


def only(findings: list[Finding], severity: str) -> Finding:
    items = [item for item in findings if item.severity == severity]
    assert len(items) == 1, findings
    return items[0]


@pytest.mark.parametrize(
    ("function", "shape", "words"),
    [
        (branched, (2, 8), "it branches on values"),
        (through_numpy, (2, 8), "it leaves torch for numpy"),
        (far_integer, (2, 8), "add is given 3000000000, beyond the 32-bit integers"),
        (far_constant, (2, 8), "a constant holds 1099511627776"),
        (rank_seven, (1, 8, 8), "mul computes with 7 dimensions"),
        (dropped, (2, 8), "dropout stays on in evaluation mode"),
    ],
)
def test_what_must_fail_is_refused_with_place_and_remedy(
    function: Callable[[Tensor], Tensor], shape: tuple[int, ...], words: str
) -> None:
    item = only(found(Calls(function), shape), "error")
    assert words in item.title
    line = int(item.evidence.rpartition(f"{FILE}:")[2])
    start = function.__code__.co_firstlineno
    assert start < line <= start + 3 or line in range(Inner.forward.__code__.co_firstlineno, start)
    assert item.remedy


def chunked(x: Tensor) -> Tensor:
    return x.chunk(2, -1)[0] + 1


@pytest.mark.parametrize(("function", "shape"), [(doubled, (2, 8)), (chunked, (2, 8)), (only_moved, (1, 8, 8))])
@pytest.mark.parametrize("target", ["coreml", "pt2"])
def test_a_sound_model_has_nothing_to_tell(function: Callable[[Tensor], Tensor], shape: tuple[int, ...], target: str) -> None:
    assert found(Calls(function), shape, target) == []


@pytest.mark.parametrize("function", [checked, asserted])
def test_a_check_on_values_warns_only(function: Callable[[Tensor], Tensor]) -> None:
    assert "a check on values" in only(found(Calls(function), (2, 8)), "warning").title


@pytest.mark.parametrize(
    ("function", "shape", "severity", "words"),
    [
        (assigned, (2, 8), "warning", "tracing drops an assignment by index"),
        (masked, (2, 8), "warning", "is given -3.4e+38, float16 ends at 65504"),
        (antialiased, (1, 1, 8, 8), "error", "coremltools leaves the antialiasing out"),
        (scaled_complex, (4, 2), "error", "Core ML has no rule for the operator view_as_complex"),
    ],
)
def test_what_rewrites_mend_is_listed_as_mended(
    function: Callable[[Tensor], Tensor], shape: tuple[int, ...], severity: str, words: str
) -> None:
    unmended = found(Calls(function), shape, rewrites=False)
    item = next(item for item in unmended if words in item.title)
    assert (item.severity, item.evidence.startswith("net, test_preflight.py:")) == (severity, True)
    mended = found(Calls(function), shape)
    assert {item.severity for item in mended} == {"info"}
    assert any(item.title == f"mended: {unmended_item.title}" for item in mended for unmended_item in unmended)
    assert any(item.title.startswith("rewritten: ") for item in mended)


def test_a_mask_is_no_matter_in_float32() -> None:
    assert found(Calls(masked), (2, 8), precision="float32", rewrites=False) == []


def test_an_operator_without_rule_is_told_for_onnx() -> None:
    item = only(found(Calls(singular_values), (1, 4, 4), "onnx"), "error")
    assert item.title == "ONNX has no rule for the operator _linalg_svd"
    assert item.evidence.startswith(f"net, {FILE}:")


def test_a_finding_gives_its_facts_to_programs() -> None:
    facts = details(only(found(Calls(far_integer), (2, 8)), "error"))
    assert (facts["operator"], facts["module"]) == ("add", "net")
    assert facts["line"].startswith(f"{FILE}:")
    assert details(only(found(Calls(singular_values), (1, 4, 4), "onnx"), "error"))["operator"] == "_linalg_svd"
    branch = details(only(found(Calls(branched), (2, 8)), "error"))
    assert (branch["operator"], branch["module"]) == ("", "")
    assert branch["line"].startswith(f"{FILE}:")


def test_a_decomposed_operator_is_listed() -> None:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            output: Tensor = self.cell(x)[0]
            return output

    item = only(found(Cell(), (2, 4)), "info")
    assert item.title == "mended: lstm_cell is decomposed"
    assert item.evidence.startswith(f"cell, {FILE}:")


def test_an_operator_that_one_way_of_capturing_knows_is_no_matter() -> None:
    class Recurrent(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 4, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            output: Tensor = self.lstm(x)[0]
            return output

    assert found(Recurrent(), (2, 3, 4)) == []


def test_random_numbers_warn() -> None:
    assert "randn_like" in only(found(Calls(noisy), (2, 8)), "warning").title


class Holds(nn.Module):
    def __init__(self, value: Tensor) -> None:
        super().__init__()
        self.register_buffer("held", value)

    def forward(self, x: Tensor) -> Tensor:
        held: Tensor = self.held  # type: ignore[assignment]
        return x + held[0].float()


def test_weights_beyond_what_core_ml_holds_are_named() -> None:
    assert "the buffer held" in only(found(Holds(torch.tensor([1, 2**40])), (2, 2)), "error").title
    assert found(Holds(torch.tensor([1, 2**40])), (2, 2), "onnx") == []
    assert "held reaches 1e+06" in only(found(Holds(torch.tensor([1e6])), (2, 2)), "warning").title
    assert "held reaches 1e+06" in only(found(Holds(torch.tensor([float("-inf"), -1e6])), (2, 2)), "warning").title
    assert found(Holds(torch.tensor([float("-inf"), 2.0])), (2, 2)) == []


def test_a_dimension_that_the_model_fixes_is_told() -> None:
    class Fixed(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.reshape(2, 4) + 1

    item = only(found(Fixed(), (2, 4), inputs=["input=1..8x4"]), "warning")
    assert item.title == "dimension 0 of input will be baked: the model fixes it at 2"
    assert found(Calls(doubled), (2, 4), inputs=["input=1..8x4"]) == []


def test_training_mode_is_mended() -> None:
    spec = ConvertSpec(source="mine", target="coreml")
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    traced = flattened(LoadedModel(module.eval(), (torch.randn(2, 4),), "mine", None, "as_built"), spec)
    assert preflight(traced, spec) == []
    assert only(preflight(traced, spec, was_training=True), "info").title.startswith("mended: the model was in training mode")
    module.train()
    assert only(preflight(traced, spec), "info").evidence == "1"
