"""Finding runs below a folder."""

import os
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.runs import find
from explorer.runs.find import Finder, the_run
from tests.runs.logs import FIXTURES


def _found(root: Path) -> dict[str, str]:
    return {run.name: run.format for run in Finder(root).find()}


def test_every_recorded_log_is_found() -> None:
    assert _found(FIXTURES) == {
        "hf": "trainer_state",
        "hf/runs/1": "tfevents",
        "keras/train": "tfevents",
        "keras/training.csv": "csv",
        "keras/validation": "tfevents",
        "lightning/csv/metrics.csv": "csv",
        "lightning/tensorboard": "tfevents",
        "tf1": "tfevents",
        "tf2": "tfevents",
    }


def test_what_is_no_log_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("date,price\n2020-01-01,3\n")
    (tmp_path / "config.json").write_text('{"step": 1, "loss": 2}')
    (tmp_path / "notes.log").write_text("step one, epoch two\nall is well\n")
    (tmp_path / "data.jsonl").write_text('{"text": "hello", "length": 5}\n')
    (tmp_path / "picture.csv").write_bytes(b"step,epoch\0\0\n")
    (tmp_path / "model.bin").write_bytes(os.urandom(100))
    finder = Finder(tmp_path)
    assert finder.find() == []
    assert finder.problem == f"{tmp_path} has no run yet: no event file, CSV, JSON-lines log or trainer_state.json"


def test_a_log_that_is_named_need_not_count_steps(tmp_path: Path) -> None:
    for name, text, run_format in [("a.txt", "loss\n0.5\n", "csv"), ("b.out", '{"loss": 0.5}\n', "jsonl")]:
        (tmp_path / name).write_text(text)
        assert the_run(tmp_path / name).format == run_format


def test_new_runs_come_and_removed_ones_go(tmp_path: Path) -> None:
    finder = Finder(tmp_path)
    assert finder.find() == []
    log = tmp_path / "a" / "log.jsonl"
    log.parent.mkdir()
    log.write_text("")
    assert finder.find() == []
    log.write_text('{"step": 1, "loss": 1}\n')
    assert [run.name for run in finder.find()] == ["a/log.jsonl"]
    assert finder.problem == ""
    log.unlink()
    assert finder.find() == []


def test_loops_of_links_end_and_hidden_folders_stay_hidden(tmp_path: Path) -> None:
    for folder in ("a/b", ".hidden"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "log.csv").write_text("step,loss\n1,2\n")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "dead").symlink_to(tmp_path / "nowhere")
    assert _found(tmp_path) == {"a/b/log.csv": "csv"}


def test_a_linked_folder_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(FIXTURES / "tf1")
    assert _found(tmp_path / "root") == {"link": "tfevents"}


def test_too_many_runs_are_bounded_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MOST_RUNS", 3)
    for number in range(6):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "log.csv").write_text("step,loss\n1,2\n")
    finder = Finder(tmp_path)
    assert len(finder.find()) == 3
    assert "more than 3 runs" in finder.problem


def test_deep_folders_are_bounded(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * (find.DEEPEST + 1))
    deep.mkdir(parents=True)
    (deep / "log.csv").write_text("step,loss\n1,2\n")
    assert _found(tmp_path) == {}


def test_names_that_are_no_text_are_passed_over(tmp_path: Path) -> None:
    for name in (b"good", b"bad-\xff"):
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
        try:
            folder.mkdir()
        except OSError:  # some file systems refuse such names
            continue
        (folder / "log.csv").write_text("step,loss\n1,2\n")
    assert _found(tmp_path) == {"good/log.csv": "csv"}


def test_names_are_in_the_order_people_count(tmp_path: Path) -> None:
    for number in (10, 9, 1):
        (tmp_path / f"version_{number}").mkdir()
        (tmp_path / f"version_{number}" / "metrics.csv").write_text("step,loss\n1,2\n")
    assert [run.name for run in Finder(tmp_path).find()] == [f"version_{number}/metrics.csv" for number in (1, 9, 10)]


def test_jobs_with_metrics_are_runs_and_what_they_made_is_none(tmp_path: Path) -> None:
    for name, line in [("trained", '{"seq":1,"time":1,"kind":"metric","steps":[1],"values":{"loss":[1]}}\n'), ("converted", "")]:
        artifacts = tmp_path / name / "artifacts"
        artifacts.mkdir(parents=True)
        (artifacts / "log.csv").write_text("step,loss\n1,2\n")
        (tmp_path / name / "spec.json").write_text("{}")
        (tmp_path / name / "events.jsonl").write_text(line)
    assert _found(tmp_path) == {"trained": "job"}
    assert the_run(tmp_path / "converted").format == "job"
    assert the_run(tmp_path / "trained" / "events.jsonl") == the_run(tmp_path / "trained")


def test_a_folder_with_one_run_below_is_that_run() -> None:
    assert the_run(FIXTURES / "lightning" / "csv").path == FIXTURES / "lightning" / "csv" / "metrics.csv"
    assert the_run(FIXTURES / "hf").format == "trainer_state"


def test_several_runs_are_named() -> None:
    with pytest.raises(ExplorerError, match=r"keras holds 3 runs: train, training.csv, validation: name one of them"):
        the_run(FIXTURES / "keras")


def test_nothing_and_nowhere_are_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="has no run yet"):
        the_run(tmp_path)
    with pytest.raises(ExplorerError, match="does not exist"):
        the_run(tmp_path / "nowhere")
    (tmp_path / "net.py").write_text("import this\n")
    with pytest.raises(ExplorerError, match=r"net.py is no log that can be read"):
        the_run(tmp_path / "net.py")


def test_wandbs_own_format_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "wandb" / "run-1"
    folder.mkdir(parents=True)
    (folder / "run-1.wandb").write_bytes(b":W&B")
    for path in (tmp_path, folder / "run-1.wandb"):
        with pytest.raises(ExplorerError, match=r"wandb's own .wandb files cannot be read"):
            the_run(path)
