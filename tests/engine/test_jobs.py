"""The job folder by itself, without an engine."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from pydantic import ValidationError

from explorer.engine.events_file import EventReader, EventWriter
from explorer.engine.jobs import JobFolder, LockHeldError, find_job, fold, list_jobs
from explorer.engine.reporting import JobReporter
from explorer.errors import Cancelled, ExplorerError
from explorer.reporter import NO_ORDERS, Orders
from explorer.schemas.events import Event, Metric, Progress, State
from explorer.schemas.jobs import ControlLine, JobSummary
from explorer.schemas.specs import TrainSpec
from tests.engine.conftest import ROOT


@pytest.fixture
def job(tmp_path: Path) -> JobFolder:
    return JobFolder.create(tmp_path, TrainSpec(source="steps:3"), model="net", cwd=str(tmp_path))


def test_a_new_folder_is_a_queued_job(job: JobFolder) -> None:
    summary = job.summary()
    assert (summary.state, summary.model, summary.kind) == ("queued", "net", "train")
    assert job.path.stat().st_mode & 0o777 == 0o700
    assert job.record().spec == TrainSpec(source="steps:3")


def test_a_worker_can_be_run_by_hand(job: JobFolder) -> None:
    command = [sys.executable, "-m", "tests.engine.scripted_worker", str(job.path)]
    subprocess.run(command, check=True, cwd=ROOT, timeout=30)
    assert job.summary().state == "done"
    assert job.summary().headline.startswith("loss 0.5")


def test_one_worker_at_a_time(job: JobFolder) -> None:
    with job.locked():
        assert job.is_locked()
        assert job.holder_pid() == os.getpid()
        with pytest.raises(LockHeldError):
            job.append(State(state="lost"))
        command = [sys.executable, "-m", "tests.engine.scripted_worker", str(job.path)]
        assert subprocess.run(command, cwd=ROOT, timeout=30).returncode == 3
    assert not job.is_locked()
    assert not job.events_path.exists()


def test_jobs_are_found_by_any_unique_end(tmp_path: Path, job: JobFolder) -> None:
    other = JobFolder.create(tmp_path, TrainSpec(), model="net", cwd="")
    assert find_job(tmp_path, job.id).id == job.id
    assert find_job(tmp_path, job.id[-4:]).id == job.id
    assert {found.id for found in list_jobs(tmp_path)} == {job.id, other.id}
    with pytest.raises(ExplorerError, match="2 jobs match"):
        find_job(tmp_path, job.id[:6])
    for text in ("nothing", "", "../x"):
        with pytest.raises(ExplorerError, match="there is no job"):
            find_job(tmp_path, text)


def test_a_damaged_spec_is_one_sentence(job: JobFolder) -> None:
    (job.path / "spec.json").write_text("{")
    with pytest.raises(ExplorerError, match=r"spec\.json cannot be read"):
        job.summary()


def test_fold_passes_over_what_it_has_seen() -> None:
    summary = JobSummary(id="a", kind="train", model="net", state="queued", created=0.0)
    running = fold(summary, State(seq=1, time=5.0, state="running"))
    assert fold(running, State(seq=1, state="failed")) == running
    half = fold(running, Progress(seq=2, done=1, total=2))
    assert (half.started, half.progress) == (5.0, 0.5)


def test_metrics_are_written_in_columns_no_oftener_than_four_times_a_second(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)
    began_s = time.monotonic()
    for step in range(2000):
        reporter.metric([step], {"loss": [0.5]})
        reporter.progress(step, 2000)
        reporter.control()
    reporter.metric([2000], {"val_loss": [0.1]})
    reporter.flush()
    elapsed_s = time.monotonic() - began_s
    writer.close()
    metrics = [event for event in _all(job) if isinstance(event, Metric)]
    assert [step for event in metrics for step in event.steps] == list(range(2001))
    assert metrics[-1].values == {"val_loss": [0.1]}
    assert len(metrics) <= 3 + elapsed_s / 0.25


def test_what_is_being_done_is_written_at_once_but_not_without_end(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)
    for done, message in enumerate(("load", "convert")):
        reporter.progress(done, 2, message)
    said = [event.message for event in _all(job) if isinstance(event, Progress)]
    assert said == ["load", "convert"], "a step may now be silent for minutes"
    began_s = time.monotonic()
    for done in range(2000):
        reporter.progress(done, 2000, f"epoch {done}")
    elapsed_s = time.monotonic() - began_s
    writer.close()
    assert len(_all(job)) <= 2 + 8 * (1 + elapsed_s) + 1 + elapsed_s / 0.25


def test_commands_are_obeyed_once_and_cancel_raises(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)
    job.send(ControlLine(command="checkpoint"))
    assert reporter.control() == Orders(checkpoint=True)
    assert reporter.control() == NO_ORDERS
    with job.control_path.open("ab") as stream:
        stream.write(b"nonsense\n")
    job.send(ControlLine(command="cancel"))
    with pytest.raises(Cancelled):
        reporter.control()
    writer.close()


def test_settings_that_came_together_are_one_order(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)
    for values in (
        {"learning_rate_factor": 0.5},
        {"learning_rate": 0.01},
        {"learning_rate_factor": 0.1},
        {"log_every_steps": 7.4},
    ):
        job.send(ControlLine.model_validate({"command": "set", "values": values}))
    job.send(ControlLine(command="stop"))
    asked = reporter.control()
    assert asked == Orders(stop=True, learning_rate=0.01, learning_rate_factor=0.1, log_every_steps=7)
    assert asked.then(Orders(learning_rate_factor=10.0)).learning_rate_factor == 1.0
    assert not reporter.control()
    writer.close()


def test_a_stop_ends_a_pause(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)
    job.send(ControlLine(command="pause"))
    threading.Timer(0.1, job.send, [ControlLine(command="stop")]).start()
    assert reporter.control() == Orders(stop=True)
    writer.close()


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_a_setting_is_a_finite_number_above_zero(value: float) -> None:
    with pytest.raises(ValidationError):
        ControlLine(command="set", values={"learning_rate": value})


def test_an_artifact_appears_whole_or_not_at_all(job: JobFolder) -> None:
    writer = EventWriter(job.events_path)
    reporter = JobReporter(job, writer)

    def fail() -> None:
        with reporter.artifact("model.bin") as path:
            path.write_bytes(b"half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert list(job.artifacts_path.iterdir()) == []
    with reporter.artifact("model.mlpackage") as folder:
        folder.mkdir()
        (folder / "a").write_bytes(b"12345")
    with reporter.artifact("model.mlpackage") as folder:
        folder.mkdir()
        (folder / "b").write_bytes(b"1")
    assert [path.name for path in (job.artifacts_path / "model.mlpackage").iterdir()] == ["b"]
    assert [event.bytes for event in _all(job) if event.kind == "artifact"] == [5, 1]
    writer.close()


def _all(job: JobFolder) -> list[Event]:
    reader = EventReader(job.events_path)
    found: list[Event] = []
    while events := reader.read_events():
        found += events
    return found
