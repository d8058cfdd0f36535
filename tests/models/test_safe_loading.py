"""Weights beside harmless values load; anything that could run code does not."""

import argparse
import datetime
import os
import pathlib
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from explorer.errors import ExplorerError
from explorer.models.allowlist import HARMLESS
from explorer.models.inspect import describe
from explorer.models.safe_loading import harmless_globals, load_weights
from explorer.models.weights import read_state_dict

WEIGHTS = {"fc.weight": torch.ones(2, 3)}


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("ran",)


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.5),
        np.int64(7),
        np.arange(4, dtype=np.float32),
        argparse.Namespace(lr=0.1),
        pathlib.PurePosixPath("runs/1"),
        datetime.datetime(2026, 1, 2),
        range(3),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_what_inspect_calls_harmless_loads(value: object, zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    torch.save({"state_dict": WEIGHTS, "extra": value}, path, _use_new_zipfile_serialization=zipped)
    assert describe(path).unknown == []
    assert not describe(path).runs_code_on_load
    assert torch.equal(read_state_dict(path)["fc.weight"], WEIGHTS["fc.weight"])
    loaded = load_weights(path)["extra"]
    assert np.array_equal(loaded, value) if isinstance(value, np.ndarray) else loaded == value


@pytest.mark.parametrize("module", ["pathlib", "pathlib._local"])
def test_a_path_loads_whichever_python_saved_it(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pathlib._local", pathlib)
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.PurePosixPath, "__module__", module)
        torch.save({"state_dict": WEIGHTS, "extra": pathlib.PurePosixPath("runs/1")}, tmp_path / "a.pt")
    monkeypatch.delitem(sys.modules, "pathlib._local")
    assert f"{module}.PurePosixPath" in describe(tmp_path / "a.pt").references
    assert not describe(tmp_path / "a.pt").runs_code_on_load
    assert load_weights(tmp_path / "a.pt")["extra"] == pathlib.PurePosixPath("runs/1")


def test_code_beside_weights_is_refused_and_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": WEIGHTS, "extra": Evil()}, tmp_path / "evil.pt")
    with pytest.raises(ExplorerError, match=r"evil\.pt holds more than tensors"):
        read_state_dict(tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError):
        load_weights(tmp_path / "evil.pt")
    assert not (tmp_path / "ran").exists()


def test_every_harmless_name_has_its_object_and_none_is_a_function_that_reaches_out() -> None:
    found = {name: thing for thing, name in harmless_globals()}
    assert found.keys() >= HARMLESS
    functions = {name for name, thing in found.items() if not isinstance(thing, type)}
    assert {name.rpartition(".")[2] for name in functions} == {"scalar", "_reconstruct"}


def test_the_allowance_ends_with_the_call(tmp_path: Path) -> None:
    torch.save(WEIGHTS, tmp_path / "w.pt")
    before = set(torch.serialization.get_safe_globals())
    load_weights(tmp_path / "w.pt")
    assert set(torch.serialization.get_safe_globals()) == before
