from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.match import run
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import MatchResult
from explorer.schemas.model_specs import MatchSpec

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.first = nn.Linear(3, width)
        self.second = nn.Linear(width, 2)

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embedding.weight

def huge():
    return nn.Linear(1 << 20, 1 << 20)

def stubborn():
    net = Net()
    net.scale = float(net.first.weight.sum())
    return net

def broken():
    raise ValueError("no such size")
"""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "net.py"
    path.write_text(CODE)
    return path


def match(code: Path, factory: str, weights: dict[str, torch.Tensor]) -> MatchResult:
    save_file(weights, code.with_name("w.safetensors"))
    return laid(code, factory, "w.safetensors")


def laid(code: Path, factory: str, file: str) -> MatchResult:
    return run(MatchSpec(source=f"{code}:{factory}", weights=str(code.with_name(file))), QuietReporter(code.parent))


def test_weights_that_fit(code: Path) -> None:
    result = match(code, "Net", Net().state_dict())
    assert (result.fits, result.matched, result.suggestion, result.suggested_matches) == (True, 4, "", None)
    assert (result.missing, result.unexpected, result.mismatched) == ([], [], [])


def test_missing_unexpected_and_wrong_shapes(code: Path) -> None:
    state = Net().state_dict()
    del state["second.bias"]
    state["first.weight"] = torch.zeros(5, 3)
    state["extra"] = torch.zeros(1)
    result = match(code, "Net", state)
    assert (result.fits, result.matched, result.missing, result.unexpected) == (False, 2, ["second.bias"], ["extra"])
    assert [(item.name, item.expected, item.found) for item in result.mismatched] == [("first.weight", [4, 3], [5, 3])]


@pytest.mark.parametrize(
    ("prefix", "advice"),
    [
        ("module.", "remove 'module.' from the start of the weights' names"),
        ("module._orig_mod.", "remove 'module._orig_mod.' from the start of the weights' names"),
        ("backbone.", "remove 'backbone.' from the start of the weights' names"),
    ],
)
def test_prefix_to_remove(code: Path, prefix: str, advice: str) -> None:
    result = match(code, "Net", {prefix + name: value for name, value in Net().state_dict().items()})
    assert (result.fits, result.matched, result.suggestion, result.suggested_matches) == (False, 0, advice, 4)


def test_prefix_to_add_and_to_replace(code: Path) -> None:
    layer = nn.Linear(3, 4).state_dict()
    assert match(code, "Net", layer).suggestion == "put 'first.' before the weights' names"
    renamed = {f"encoder.{name}": value for name, value in layer.items()}
    result = match(code, "Net", renamed)
    assert (result.suggestion, result.suggested_matches) == (
        "replace 'encoder.' by 'first.' at the start of the weights' names",
        2,
    )


def test_checkpoint_is_matched_by_its_model_part(code: Path) -> None:
    for legacy in (False, True):
        torch.save(
            {"epoch": 3, "state_dict": Net().state_dict(), "optimizer": {"m": torch.zeros(2)}},
            code.with_name("c.ckpt"),
            _use_new_zipfile_serialization=not legacy,
        )
        result = laid(code, "Net", "c.ckpt")
        assert (result.fits, result.matched) == (True, 4)
        assert "'state_dict'" in result.findings[0].title


def test_keyword_arguments_of_the_factory(code: Path) -> None:
    result = match(code, "Net(width=6)", Net().state_dict())
    assert {item.name for item in result.mismatched} == {"first.weight", "first.bias", "second.weight"}


def test_huge_module_takes_no_memory(code: Path) -> None:
    """4 TiB of weights: only the meta device can build it."""
    result = match(code, "huge", {"bias": torch.zeros(1 << 20)})
    assert (result.matched, result.missing) == (1, ["weight"])


def test_code_that_reads_values_is_built_for_real(code: Path) -> None:
    result = match(code, "stubborn", Net().state_dict())
    assert result.fits
    assert "does not run on torch's meta device" in result.findings[0].title


def test_tied_weight_under_one_name_is_explained(code: Path) -> None:
    result = match(code, "Tied", {"embedding.weight": torch.zeros(5, 3)})
    assert (result.missing, result.fits) == (["head.weight"], False)
    assert result.findings[0].title == "missing, but tied to weights that are there: head.weight is embedding.weight"


def test_factory_that_fails_is_one_sentence(code: Path) -> None:
    with pytest.raises(ExplorerError, match="no such size"):
        match(code, "broken", {"w": torch.zeros(1)})
