"""Checkpoint files: how many are kept, which is read, what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import checkpoint
from explorer.training.checkpoint import Checkpoints
from explorer.training.train import run

SPEC = TrainSpec(
    source="samples/simple_model.py:simple_model",
    data="linear",
    epochs=2,
    threads=1,
    checkpoint_every_steps=10,
    time_every_steps=0,
    schedule="constant",
)


def files(folder: Path) -> dict[str, int]:
    """Checkpoints by name with the step that is in them."""
    return {path.name: int(torch.load(path, weights_only=True)["step"]) for path in sorted(folder.glob("*.pt"))}


def saved(folder: Path, steps: range, keep: int) -> Checkpoints:
    kept = Checkpoints(QuietReporter(folder), keep)
    for step in steps:
        kept.save(step, {"value": torch.full((3,), float(step))})
    return kept


def test_the_newest_are_kept_under_their_steps(tmp_path: Path) -> None:
    kept = saved(tmp_path, range(1, 6), 3)
    assert files(tmp_path) == {"checkpoint-3.pt": 3, "checkpoint-4.pt": 4, "checkpoint.pt": 5}
    assert [(entry.name, entry.step) for entry in kept.kept()] == [
        ("checkpoint.pt", 5), ("checkpoint-4.pt", 4), ("checkpoint-3.pt", 3)
    ]  # fmt: skip
    assert all(entry.bytes == (tmp_path / entry.name).stat().st_size for entry in kept.kept())
    assert kept.has(5)
    assert not kept.has(4)


def test_one_is_enough_for_those_who_want_one(tmp_path: Path) -> None:
    saved(tmp_path, range(1, 4), 1)
    assert files(tmp_path) == {"checkpoint.pt": 3}


def test_a_step_saved_again_is_still_one_file(tmp_path: Path) -> None:
    kept = saved(tmp_path, range(1, 3), 3)
    kept.save(2, {"value": torch.zeros(1)})
    assert files(tmp_path) == {"checkpoint-1.pt": 1, "checkpoint.pt": 2}


def test_without_links_a_copy_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*paths: Path) -> None:
        raise OSError

    monkeypatch.setattr("os.link", refused)
    saved(tmp_path, range(1, 4), 3)
    assert files(tmp_path) == {"checkpoint-1.pt": 1, "checkpoint-2.pt": 2, "checkpoint.pt": 3}


def test_a_kill_between_link_and_rename_loses_nothing(tmp_path: Path) -> None:
    """Then the newest has two names, of which the resumed training keeps one."""
    saved(tmp_path, range(1, 3), 3)
    (tmp_path / "checkpoint-2.pt").hardlink_to(tmp_path / "checkpoint.pt")
    again = Checkpoints(QuietReporter(tmp_path), 3)
    state = again.load()
    assert state is not None
    assert state["step"] == 2
    assert [entry.step for entry in again.kept()] == [2, 1]
    again.save(3, {})
    assert files(tmp_path) == {"checkpoint-1.pt": 1, "checkpoint-2.pt": 2, "checkpoint.pt": 3}


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "gone"])
def test_a_damaged_newest_falls_back_to_the_one_before(tmp_path: Path, damage: str) -> None:
    saved(tmp_path, range(1, 4), 3)
    newest = tmp_path / "checkpoint.pt"
    content = newest.read_bytes()
    middle = content.index(torch.full((3,), 3.0).numpy().tobytes())
    changed = {
        "torn": content[: len(content) // 2],
        "empty": b"",
        "flipped": content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :],
    }
    newest.unlink()
    if damage in changed:
        newest.write_bytes(changed[damage])
    report = QuietReporter(tmp_path)
    state = Checkpoints(report, 3).load()
    assert state is not None
    assert state["value"].tolist() == [2.0] * 3
    assert report.messages == (["checkpoint.pt is damaged, going on from checkpoint-2.pt"] if damage in changed else [])
    assert files(tmp_path) == {"checkpoint-1.pt": 1, "checkpoint.pt": 2}


def test_a_damaged_only_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"garbage")
    with pytest.raises(ExplorerError, match=r"checkpoint\.pt is damaged .*remove it to start afresh"):
        run(SPEC, QuietReporter(tmp_path))


def test_a_run_goes_on_from_the_one_before_a_damaged_one(tmp_path: Path) -> None:
    whole = run(SPEC, QuietReporter(tmp_path / "whole"))
    run(SPEC.model_copy(update={"max_steps": 25}), QuietReporter(tmp_path / "cut"))
    (tmp_path / "cut" / "checkpoint.pt").write_bytes(b"torn")
    report = QuietReporter(tmp_path / "cut")
    again = run(SPEC, report)
    assert "resumed from the checkpoint at step 20" in report.messages
    assert again.metrics == whole.metrics
    assert [kept.step for kept in again.checkpoints] == [50, 40, 30]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"batch_size": 16}, "is of another training: its batch_size was 32, not 16"),
        ({"seed": 1}, "its seed was 0, not 1"),
        ({"optimizer": "sgd"}, "its optimizer was adamw, not sgd"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    run(SPEC, QuietReporter(tmp_path))
    with pytest.raises(ExplorerError, match=sentence):
        run(SPEC.model_copy(update=change), QuietReporter(tmp_path))


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "net.py"
    source.write_text("from torch import nn\ndef net():\n  return nn.Linear(10, 1)\n")
    spec = SPEC.model_copy(update={"source": f"{source}:net"})
    run(spec, QuietReporter(tmp_path))
    source.write_text("from torch import nn\ndef net():\n  return nn.Sequential(nn.Linear(10, 2), nn.Linear(2, 1))\n")
    with pytest.raises(ExplorerError, match=r"does not fit this model \(Error.*\): give it another folder"):
        run(spec, QuietReporter(tmp_path))


def test_a_run_keeps_its_last_checkpoints(tmp_path: Path) -> None:
    result = run(SPEC, QuietReporter(tmp_path))
    assert [(kept.name, kept.step) for kept in result.checkpoints] == [
        ("checkpoint.pt", 50), ("checkpoint-40.pt", 40), ("checkpoint-30.pt", 30)
    ]  # fmt: skip
    assert result.checkpoint == "checkpoint.pt"


def test_what_this_version_did_not_write_counts_as_damaged(tmp_path: Path) -> None:
    torch.save({"version": 1, "step": 3}, tmp_path / "checkpoint.pt")
    with pytest.raises(ExplorerError, match="not written by this version"):
        Checkpoints(QuietReporter(tmp_path), checkpoint.VERSION).load()
