import math
import struct
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file

from explorer.errors import ExplorerError
from explorer.models.diff import run
from explorer.models.tensor_reader.stored import CHUNK_ELEMENTS
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import DiffResult
from explorer.schemas.model_specs import DiffSpec

State = dict[str, torch.Tensor]


def diff(first: Path, second: Path, tolerance: float = 0.0) -> DiffResult:
    return run(DiffSpec(first=str(first), second=str(second), tolerance=tolerance), QuietReporter(first.parent))


def compared(folder: Path, first: Any, second: State, tolerance: float = 0.0) -> DiffResult:
    torch.save(first, folder / "a.pt")
    save_file(second, folder / "b.safetensors")
    return diff(folder / "a.pt", folder / "b.safetensors", tolerance)


def random_state(scale: float = 1.0) -> State:
    generator = torch.Generator().manual_seed(0)
    return {
        "fc1.weight": torch.randn(8, 16, generator=generator) * scale,
        "fc1.bias": torch.randn(8, generator=generator) * scale,
        "fc2.weight": torch.randn(8, 16, generator=generator) * scale,
    }


def test_added_removed_reshaped_and_changed_by_hand(tmp_path: Path) -> None:
    first = {"same": torch.ones(3), "gone": torch.ones(2), "shape": torch.ones(2, 3), "w": torch.tensor([3.0, 4.0])}
    second = {"same": torch.ones(3), "new": torch.zeros(5), "shape": torch.ones(3, 2), "w": torch.tensor([3.0, 4.5])}
    result = compared(tmp_path, first, second)
    assert result.same == 1
    assert [(item.name, item.shape) for item in result.added] == [("new", [5])]
    assert [(item.name, item.bytes) for item in result.removed] == [("gone", 8)]
    assert [(item.name, item.shape, item.other_shape, item.max_abs) for item in result.reshaped] == [
        ("shape", [2, 3], [3, 2], None)
    ]
    change = result.changed[0]
    assert (change.name, change.max_abs, change.mean_abs, change.relative) == ("w", 0.5, 0.25, 0.1)
    assert result.renaming == ""


def test_largest_relative_change_comes_first_and_the_tolerance_counts_as_same(tmp_path: Path) -> None:
    first = {"a": torch.full((4,), 100.0), "b": torch.ones(4), "c": torch.zeros(4)}
    second = {"a": torch.full((4,), 101.0), "b": torch.full((4,), 1.5), "c": torch.full((4,), 0.25)}
    assert [item.name for item in compared(tmp_path, first, second).changed] == ["c", "b", "a"]
    assert compared(tmp_path, first, second).changed[0].relative == math.inf
    result = compared(tmp_path, first, second, tolerance=0.5)
    assert ([item.name for item in result.changed], result.same) == (["a"], 2)


def test_change_in_the_last_piece_of_a_big_tensor(tmp_path: Path) -> None:
    tensor = torch.ones(2 * CHUNK_ELEMENTS + 5)
    other = tensor.clone()
    other[-1] = 3
    change = compared(tmp_path, {"w": tensor}, {"w": other}).changed[0]
    assert change.max_abs == 2
    assert change.mean_abs == pytest.approx(2 / tensor.numel())


def test_nan_and_infinity_are_equal_to_themselves_only(tmp_path: Path) -> None:
    odd = torch.tensor([math.nan, math.inf, -math.inf, 1.0])
    assert compared(tmp_path, {"w": odd}, {"w": odd.double()}).same == 1
    assert compared(tmp_path, {"w": odd}, {"w": torch.ones(4)}).changed[0].max_abs == math.inf


def test_types_may_differ_and_values_are_compared(tmp_path: Path) -> None:
    result = compared(tmp_path, {"w": torch.tensor([1.0, 1.0 + 2**-12])}, {"w": torch.ones(2).half()})
    change = result.changed[0]
    assert (change.dtype, change.other_dtype, change.max_abs) == ("float32", "float16", 2**-12)
    assert result.findings[0].title == "types changed: 1 from float32 to float16"


@pytest.mark.parametrize(("prefix", "other"), [("module.", ""), ("", "model."), ("_orig_mod.", "module.")])
def test_prefixes_are_set_aside(tmp_path: Path, prefix: str, other: str) -> None:
    state = random_state()
    result = compared(
        tmp_path, {prefix + name: item for name, item in state.items()}, {other + name: item for name, item in state.items()}
    )
    assert (result.same, result.added, result.removed) == (3, [], [])
    assert (repr(prefix) in result.renaming, repr(other) in result.renaming) == (bool(prefix), bool(other))


def test_checkpoint_against_its_weights(tmp_path: Path) -> None:
    state = random_state()
    result = compared(tmp_path, {"state_dict": state, "optimizer": {"state": {0: {"step": torch.tensor(5.0)}}}}, state)
    assert (result.same, result.renaming) == (3, "'state_dict.' set aside in the names of a.pt")
    assert [item.name for item in result.removed] == ["optimizer.state.0.step"]


def test_onnx_with_other_names_is_paired_by_values(tmp_path: Path) -> None:
    """Half precision, other names and another order; two zero biases pair with two zero biases."""
    state = {**random_state(), "a.zero": torch.zeros(4), "b.zero": torch.zeros(4)}
    torch.save(state, tmp_path / "a.pt")
    names = {"onnx::1": "fc2.weight", "onnx::2": "a.zero", "onnx::3": "b.zero", "onnx::4": "fc1.weight", "onnx::5": "fc1.bias"}
    weights = [numpy_helper.from_array(state[old].half().numpy(), new) for new, old in names.items()]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    onnx.save(
        helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [], [output], weights)),
        tmp_path / "b.onnx",
    )
    result = diff(tmp_path / "a.pt", tmp_path / "b.onnx")
    assert (result.added, result.removed, result.same) == ([], [], 2)
    assert {item.name for item in result.changed} == {"fc1.weight", "fc1.bias", "fc2.weight"}
    assert max(item.relative or 0 for item in result.changed) < 1e-3
    assert result.findings[0].title == "5 tensors were paired by shape and values, since their names differ"


def test_unrelated_models_share_nothing(tmp_path: Path) -> None:
    other = {
        name.replace(".", "_"): torch.randn(item.shape, generator=torch.Generator().manual_seed(7))
        for name, item in random_state().items()
    }
    result = compared(tmp_path, random_state(), other)
    assert (len(result.added), len(result.removed), result.same) == (3, 3, 0)
    assert result.findings[0].title == "the models share neither names nor values of tensors"


def gguf(path: Path, content: bytes) -> Path:
    head = b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + b"w" + struct.pack("<IQIQ", 1, 256, 12, 0)
    path.write_bytes(head + bytes(-len(head) % 32) + content)
    return path


def test_types_that_are_not_decoded_are_compared_by_their_bytes(tmp_path: Path) -> None:
    first, second = gguf(tmp_path / "a.gguf", bytes(144)), gguf(tmp_path / "b.gguf", bytes(143) + b"\1")
    assert diff(first, first).same == 1
    result = diff(first, second)
    assert [(item.name, item.max_abs) for item in result.changed] == [("w", None)]
    assert "how far 1 tensors are apart cannot be said" in result.findings[0].title


def test_what_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(1)}, tmp_path / "a.pt")
    (tmp_path / "b.pt").write_bytes(b"")
    with pytest.raises(ExplorerError, match=r"b\.pt is empty"):
        diff(tmp_path / "a.pt", tmp_path / "b.pt")
