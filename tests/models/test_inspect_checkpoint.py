"""Shared storages, views, prefixes, what a checkpoint holds, and the gate for names in pickles."""

import argparse
import copy
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.allowlist import PLAIN
from tests.models.files import Net, inspect, pickled


def trained(optimizer_type: Any, **settings: Any) -> tuple[nn.Module, Any]:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    optimizer = optimizer_type(net.parameters(), **settings)
    net(torch.rand(5, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def test_tied_weights_name_the_first_and_a_view_shows_its_storage(tmp_path: Path) -> None:
    big = torch.zeros(1000)
    torch.save({**Net().state_dict(), "view": big[:3], "half": big[500:]}, tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    found = {tensor.name: tensor for tensor in result.tensors}
    assert found["second.weight"].shares == "first.weight"
    assert found["first.weight"].shares == ""
    assert (found["view"].bytes, found["view"].storage_bytes) == (12, 4000)
    assert (found["half"].shares, found["half"].storage_bytes) == ("", 4000), "parts of a storage that do not overlap"
    assert result.parameters == 18 + 3 + 500
    assert result.bytes_by_dtype == {"float32": 4 * result.parameters}


def test_overlapping_views_count_together_once(tmp_path: Path) -> None:
    matrix = torch.zeros(10, 20)
    torch.save({"a": matrix, "b": matrix.T, "c": matrix[2:4], "d": matrix[::2], "e": matrix[:, 1]}, tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert result.parameters == 200
    assert [tensor.shares for tensor in result.tensors] == ["", "a", "a", "a", "a"]


def test_weights_of_a_recurrent_layer_in_one_storage_all_count(tmp_path: Path) -> None:
    lstm = nn.LSTM(3, 5)
    flat = torch.cat([weight.detach().flatten() for weight in lstm.parameters()])
    state, start = {}, 0
    for name, weight in lstm.named_parameters():
        state[name] = flat[start : start + weight.numel()].view(weight.shape)
        start += weight.numel()
    torch.save(state, tmp_path / "x.pt")
    assert inspect(tmp_path / "x.pt").parameters == sum(weight.numel() for weight in lstm.parameters())


def test_a_small_view_of_a_big_storage_is_a_finding(tmp_path: Path) -> None:
    torch.save({"view": torch.zeros(1_000_000)[:3]}, tmp_path / "x.pt")
    (finding,) = inspect(tmp_path / "x.pt").findings
    assert finding.title == "the tensors show 12 of 4,000,000 stored bytes"


def test_running_statistics_are_no_parameters(tmp_path: Path) -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    torch.save(net.state_dict(), tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert result.parameters == sum(weight.numel() for weight in net.parameters()) == 24
    assert len(result.tensors) == 7


@pytest.mark.parametrize(
    ("prefix", "found"),
    [("module.", ["module."]), ("_orig_mod.", ["_orig_mod."]), ("module._orig_mod.", ["module.", "_orig_mod."]), ("net.", [])],
)
@pytest.mark.parametrize("key", [None, "state_dict"])
def test_prefixes_common_to_all_weights(tmp_path: Path, prefix: str, found: list[str], key: str | None) -> None:
    state = {f"{prefix}{name}": value for name, value in Net().state_dict().items()}
    torch.save({key: state, "epoch": 1} if key else state, tmp_path / "x.pt")
    assert inspect(tmp_path / "x.pt").prefixes == found


def test_a_prefix_that_some_names_lack_is_none(tmp_path: Path) -> None:
    torch.save({"model.a": torch.zeros(1), "head": torch.zeros(1)}, tmp_path / "x.pt")
    assert inspect(tmp_path / "x.pt").prefixes == []


OPTIMIZERS: list[tuple[Any, dict[str, Any], str]] = [
    (torch.optim.Adam, {"lr": 0.01}, "Adam, 4 states, lr 0.01"),
    (torch.optim.AdamW, {"lr": 0.01}, "AdamW, 4 states, lr 0.01"),
    (torch.optim.SGD, {"lr": 0.5, "momentum": 0.9}, "SGD with momentum, 4 states, lr 0.5"),
    (torch.optim.SGD, {"lr": 0.5}, "SGD"),
    (torch.optim.RMSprop, {"lr": 0.01}, "RMSprop, 4 states, lr 0.01"),
    (torch.optim.Adagrad, {"lr": 0.01}, "Adagrad, 4 states, lr 0.01"),
    (torch.optim.Adadelta, {"lr": 1.0}, "Adadelta, 4 states, lr 1.0"),
    (torch.optim.Adamax, {"lr": 0.002}, "Adamax, 4 states, lr 0.002"),
]


@pytest.mark.parametrize(("kind", "settings", "phrase"), OPTIMIZERS)
def test_the_optimizer_is_named(tmp_path: Path, kind: Any, settings: dict[str, Any], phrase: str) -> None:
    net, optimizer = trained(kind, **settings)
    torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "x.pt")
    assert inspect(tmp_path / "x.pt").contents["optimizer"].startswith(phrase)


def test_everything_a_training_script_saves(tmp_path: Path) -> None:
    net, optimizer = trained(torch.optim.Adam)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    torch.save(
        {
            "model": net.state_dict(),
            "ema": copy.deepcopy(net).state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "epoch": 3,
            "best": float("nan"),
            "rng_state": torch.get_rng_state(),
            "hyper_parameters": {"width": 4, "depth": 2},
            "args": argparse.Namespace(lr=0.1),
            "note": "x" * 1000,
        },
        tmp_path / "x.pt",
    )
    result = inspect(tmp_path / "x.pt")
    assert result.format_name == "PyTorch checkpoint (torch.save zip)"
    assert result.parameters == 24, "the model alone: neither averages nor the optimizer's states"
    assert result.contents["model"] == "7 tensors, 33 numbers"
    assert result.contents["ema"] == "averaged weights: 7 tensors, 33 numbers"
    assert result.contents["scheduler"] == "learning rate schedule, at 0"
    assert result.contents["epoch"] == "3"
    assert result.contents["rng_state"] == "state of a random generator"
    assert result.contents["hyper_parameters"] == "2 entries: width, depth"
    assert result.contents["args"] == "argparse.Namespace"
    assert result.metadata["epoch"] == 3
    assert len(result.metadata["note"]) == 200
    assert result.metadata["best"] != result.metadata["best"]


def test_lightning_checkpoint(tmp_path: Path) -> None:
    net, optimizer = trained(torch.optim.Adam)
    torch.save(
        {
            "epoch": 2,
            "global_step": 40,
            "pytorch-lightning_version": "2.6.0",
            "state_dict": OrderedDict({f"model.{name}": value for name, value in net.state_dict().items()}),
            "optimizer_states": [optimizer.state_dict()],
            "lr_schedulers": [{"last_epoch": 2, "_last_lr": [0.1]}],
            "hyper_parameters": {"lr": 0.1},
        },
        tmp_path / "x.ckpt",
    )
    result = inspect(tmp_path / "x.ckpt")
    assert result.format_name == "PyTorch Lightning checkpoint (torch.save zip)"
    assert (result.parameters, result.prefixes, result.unknown) == (24, ["model."], [])
    assert result.contents["optimizer_states"] == "Adam, 4 states, lr 0.001"
    assert result.contents["lr_schedulers"] == "learning rate schedule, at 2"
    assert (result.metadata["global_step"], result.metadata["pytorch-lightning_version"]) == (40, "2.6.0")


def test_a_checkpoint_of_two_models_counts_both_without_the_optimizer(tmp_path: Path) -> None:
    net, optimizer = trained(torch.optim.Adam)
    state = {"generator": net.state_dict(), "critic": Net().state_dict(), "optim_g": optimizer.state_dict()}
    torch.save(state, tmp_path / "x.pt")
    assert inspect(tmp_path / "x.pt").parameters == 24 + 18


def test_numpy_values_are_allowed_and_said_to_be(tmp_path: Path) -> None:
    torch.save({"model": Net().state_dict(), "loss": np.float32(0.5), "args": argparse.Namespace(lr=0.1)}, tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert result.parameters == 18
    assert "argparse.Namespace" in result.references
    assert (result.unknown, result.runs_code_on_load) == ([], False)
    assert "make plain values: allowed" in result.safety
    assert result.findings[0].title.startswith("torch.load(weights_only=True) refuses ")


def test_plain_names_are_listed_and_allowed(tmp_path: Path) -> None:
    torch.save(OrderedDict(Net().state_dict()), tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert set(result.references) == {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch.FloatStorage"}
    assert (result.unknown, result.runs_code_on_load) == ([], False)
    assert "torch.load(weights_only=True) reads it without running code" in result.safety


def test_the_allowlist_holds_nothing_that_torch_refuses() -> None:
    """Beside what torch allows: the names of Python 2, legacy storages and layouts, which its reader maps itself."""
    from torch._weights_only_unpickler import _get_allowed_globals

    extra = {name for name in PLAIN - set(_get_allowed_globals()) if not name.startswith("__builtin__.")}
    assert extra == {"torch.strided", "torch.storage._LegacyStorage", "torch.UntypedStorage"}


def test_the_allowlist_holds_all_that_torch_allows() -> None:
    from torch._weights_only_unpickler import _get_allowed_globals

    assert set(_get_allowed_globals()) <= PLAIN


def test_quantized_and_pruned_weights_are_noted(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="torch.quantize_per_tensor", category=UserWarning)
        quantized = torch.quantize_per_tensor(torch.ones(4, 4), 0.1, 0, torch.qint8)
    pruned = {"fc.weight_orig": torch.zeros(4), "fc.weight_mask": torch.ones(4)}
    torch.save({"weight": quantized, **pruned}, tmp_path / "x.pt")
    titles = [finding.title for finding in inspect(tmp_path / "x.pt").findings]
    assert titles == ["compressed: quantized to qint8", "1 weights are pruned by masks that are stored beside them"]


def test_sparse_weights_show_their_parts(tmp_path: Path) -> None:
    torch.save({"w": torch.eye(4).to_sparse()}, tmp_path / "x.pt")
    result = inspect(tmp_path / "x.pt")
    assert {tensor.name: tensor.shape for tensor in result.tensors} == {"w.sparse_indices": [2, 4], "w.sparse_values": [4]}
    assert result.findings[0].title == "compressed: sparse tensors"


@pytest.mark.parametrize("zipped", [True, False])
def test_a_subclass_that_keeps_its_tensor_is_described(tmp_path: Path, zipped: bool) -> None:
    torch.save({"w": nn.Parameter(torch.ones(2, 3))}, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    result = inspect(tmp_path / "x.pt")
    assert (result.parameters, result.unknown) == (6, [])


def test_legacy_file_that_is_cut_off_says_where_it_should_end(tmp_path: Path) -> None:
    torch.save({"w": torch.ones(1000)}, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    data = (tmp_path / "x.pt").read_bytes()
    (tmp_path / "x.pt").write_bytes(data[:-100])
    with pytest.raises(ExplorerError, match=rf"is cut off: its tensors end at byte {len(data)} of {len(data) - 100}"):
        inspect(tmp_path / "x.pt")


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_tensors_in_a_plain_pickle_are_described_and_their_loader_is_named(tmp_path: Path, protocol: int) -> None:
    """A module that `pickle.dump` wrote: each storage is a whole torch.save file inside, however large."""
    net = Net()
    net.register_buffer("large", torch.zeros(600_000, dtype=torch.float16))
    (tmp_path / "net.pkl").write_bytes(pickled(net, protocol))
    result = inspect(tmp_path / "net.pkl")
    found = {tensor.name: (tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors}
    assert found["first.weight"] == ([4, 3], "float32", 48)
    assert found["large"] == ([600_000], "float16", 1_200_000)
    assert (result.parameters, result.runs_code_on_load) == (16, True)
    assert "torch.storage._load_from_bytes" in result.unknown
