"""An export of a run: from whatever log, to whatever format, whole or not at all."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from explorer import home
from explorer.engine.events_file import EventWriter
from explorer.engine.jobs import JobFolder
from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.runs import export
from explorer.runs.history import read_history
from explorer.schemas.events import Metric, State
from explorer.schemas.export_spec import ExportResult, ExportSpec
from explorer.schemas.specs import TrainSpec
from tests.runs.test_export_formats import float32_bits, tensorboards_reading


@pytest.fixture
def job(explorer_home: Path, tmp_path: Path) -> JobFolder:
    """A training that was resumed: steps 3 and 4 were said twice."""
    job = JobFolder.create(home.jobs_folder(), TrainSpec(), model="net", cwd=str(tmp_path))
    with job.locked():
        writer = EventWriter(job.events_path)
        writer.write(State(state="running", time=1.7e9))
        writer.write(Metric(time=1.7e9 + 1, steps=[1, 2, 3, 4], values={"loss": [4.0, 3.0, 9.0, float("nan")]}))
        writer.write(Metric(time=1.7e9 + 2, steps=[3, 4], values={"loss": [2.0, float("inf")]}))
        writer.write(Metric(time=1.7e9 + 3, steps=[4], values={"val_loss": [0.5], "val_accuracy": [0.1]}))
        writer.write(State(state="done"))
        writer.close()
    return job


def exported(job: JobFolder, to: str, output: Path, *, overwrite: bool = False) -> ExportResult:
    spec = ExportSpec.model_validate({"source": f"job:{job.id}", "to": to, "output": str(output), "overwrite": overwrite})
    return export.run(spec, QuietReporter(output.parent))


def test_a_job_is_exported_folded_by_step(job: JobFolder, tmp_path: Path) -> None:
    result = exported(job, "csv", tmp_path / "run.csv")
    assert (result.steps, result.values, sorted(result.names)) == (4, 6, ["loss", "val_accuracy", "val_loss"])
    with (tmp_path / "run.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["loss"] for row in rows] == ["4.0", "3.0", "2.0", "inf"]
    assert [row["val_loss"] for row in rows] == ["", "", "", "0.5"]
    assert float(rows[3]["time"]) == 1.7e9 + 3
    assert result.bytes == (tmp_path / "run.csv").stat().st_size


def test_a_job_reads_back_equal_in_tensorboards_own_reader(job: JobFolder, tmp_path: Path) -> None:
    exported(job, "tensorboard", tmp_path / "run")
    read, ours = tensorboards_reading(tmp_path / "run"), read_history(f"job:{job.id}").series
    assert read.keys() == ours.keys()
    for name, item in ours.items():
        assert [step for step, _, _ in read[name]] == item.steps.tolist()
        assert [seconds for _, seconds, _ in read[name]] == item.times.tolist()
        assert float32_bits([value for _, _, value in read[name]]) == float32_bits(item.values)


@pytest.mark.parametrize(("to", "name"), [("csv", "run.csv"), ("jsonl", "run.jsonl"), ("tensorboard", "run")])
def test_what_we_wrote_we_read_back_the_same(to: str, name: str, job: JobFolder, tmp_path: Path) -> None:
    exported(job, to, tmp_path / name)
    ours, back = read_history(f"job:{job.id}").series, read_history(str(tmp_path / name)).series
    assert back.keys() == ours.keys()
    for metric, item in ours.items():
        np.testing.assert_array_equal(back[metric].steps, item.steps)
        np.testing.assert_array_equal(back[metric].values, item.values.astype(np.float32) if to == "tensorboard" else item.values)
        if to == "tensorboard" or metric != "loss":
            np.testing.assert_array_equal(back[metric].times, item.times)


def test_another_trainers_log_is_exported_too(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"step": 1, "train": {"loss": 2.5}}\n{"step": 2, "train": {"loss": 1.5}}\n')
    spec = ExportSpec(source=str(tmp_path / "log.jsonl"), to="jsonl", output=str(tmp_path / "out.jsonl"))
    result = export.run(spec, QuietReporter(tmp_path))
    assert result.names == ["train/loss"]
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert rows == [{"step": 1, "train/loss": 2.5}, {"step": 2, "train/loss": 1.5}]


def test_what_is_there_is_replaced_only_when_asked(job: JobFolder, tmp_path: Path) -> None:
    target = tmp_path / "run.csv"
    target.write_text("mine")
    with pytest.raises(ExplorerError, match=r"run\.csv is there already"):
        exported(job, "csv", target)
    assert target.read_text() == "mine"
    exported(job, "csv", target, overwrite=True)
    assert target.read_text().startswith("step,time")


def test_a_folder_with_anything_else_in_it_is_never_replaced(job: JobFolder, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    exported(job, "tensorboard", folder)
    first = {path.name for path in folder.iterdir()}
    exported(job, "tensorboard", folder, overwrite=True)
    assert {path.name for path in folder.iterdir()} == first
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ExplorerError, match="holds more than event files"):
        exported(job, "tensorboard", folder, overwrite=True)
    with pytest.raises(ExplorerError, match="is a folder"):
        exported(job, "csv", folder, overwrite=True)
    with pytest.raises(ExplorerError, match="is a file"):
        exported(job, "tensorboard", folder / "notes.txt", overwrite=True)
    assert (folder / "notes.txt").read_text() == "mine"


def test_nothing_half_written_is_left(job: JobFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(series: object, path: Path) -> None:
        path.write_text("half")
        raise OSError("disk full")

    monkeypatch.setitem(export.WRITERS, "csv", fail)
    with pytest.raises(OSError, match="disk full"):
        exported(job, "csv", tmp_path / "out" / "run.csv")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_run_without_values_is_one_sentence(explorer_home: Path, tmp_path: Path) -> None:
    job = JobFolder.create(home.jobs_folder(), TrainSpec(), model="net", cwd="")
    with pytest.raises(ExplorerError) as caught:
        exported(job, "csv", tmp_path / "run.csv")
    assert caught.value.remedy
    assert not (tmp_path / "run.csv").exists()
