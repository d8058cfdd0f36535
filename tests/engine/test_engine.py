"""The engine as its clients see it, with real processes and a real socket."""

import asyncio
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from explorer import home
from explorer.engine.client import EngineClient, EngineLostError, connect
from explorer.engine.events_file import EventReader
from explorer.engine.start import open_engine
from explorer.engine.wire import write_message
from explorer.errors import ExplorerError
from explorer.schemas.events import Artifact, Event, Failure, Log, Metric, Progress, Result, State
from explorer.schemas.jobs import Call, JobSummary
from explorer.schemas.model_results import InspectResult
from explorer.schemas.specs import InspectSpec, TrainSpec
from tests.engine.conftest import StartEngine, job_folder, until


def spec(source: str) -> TrainSpec:
    return TrainSpec(source=source)


async def events_of(engine: EngineClient, job: JobSummary, since: int = 0) -> list[Event]:
    return [event async for event in engine.follow(job.id, since)]


async def started(engine: EngineClient, source: str) -> JobSummary:
    """A job whose worker holds the lock and has said that it runs."""
    job = await engine.submit(spec(source))
    await until(lambda: job_folder(job.id).summary().state == "running", 10)
    return job


async def test_a_job_runs_to_its_end_and_its_events_say_so(engine: EngineClient) -> None:
    job = await engine.submit(spec("steps:20"))
    assert job.state == "queued"
    assert job.model == "20"
    events = await events_of(engine, job)
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    assert [event.state for event in events if isinstance(event, State)] == ["running", "done"]
    losses = [loss for event in events if isinstance(event, Metric) for loss in event.values["loss"]]
    assert len(losses) == 20
    assert math.isnan(losses[2]), "NaN survives the trip"
    assert losses[3] == 0.25
    assert next(event for event in events if isinstance(event, Result)).result["kind"] == "train"
    summary = await engine.job(job.id)
    assert (summary.state, summary.progress) == ("done", 1.0)
    assert summary.ended is not None
    assert await engine.spec(job.id[-4:]) == spec("steps:20")
    assert "behaving as steps" in await engine.log(job.id)


async def test_follow_replays_from_the_file_since_a_sequence_number(engine: EngineClient) -> None:
    job = await engine.submit(spec("steps:5"))
    whole = await events_of(engine, job)
    rest = await events_of(engine, job, since=whole[1].seq)
    after = [event for event in whole if event.seq > whole[1].seq]
    # As text, in which NaN equals itself; of progress only the last may come.
    said, expected = ([event.model_dump_json() for event in events if event.kind != "progress"] for events in (rest, after))
    assert said == expected
    assert {"metric", "result", "state"} <= {event.kind for event in rest}


async def test_pause_resume_and_checkpoint_reach_the_worker(engine: EngineClient) -> None:
    job = await started(engine, "steps:400")
    await engine.control(job.id, "pause")
    await until(lambda: job_folder(job.id).summary().state == "paused")
    quiet = job_folder(job.id).summary().last_seq
    await asyncio.sleep(0.4)
    assert job_folder(job.id).summary().last_seq == quiet, "a paused job makes no steps"
    await engine.control(job.id, "checkpoint")
    await engine.control(job.id, "resume")
    await until(lambda: "checkpoint at" in job_folder(job.id).events_path.read_text())
    await engine.control(job.id, "cancel")
    states = [event.state for event in await events_of(engine, job) if isinstance(event, State)]
    assert states == ["running", "paused", "running", "cancelled"]


async def test_settings_and_stop_reach_the_worker(engine: EngineClient) -> None:
    job = await started(engine, "steps:2000")
    await engine.control(job.id, "set", {"learning_rate": 0.002, "log_every_steps": 5})
    await until(lambda: "set 0.002 x 1.0, every 5" in job_folder(job.id).events_path.read_text())
    await engine.control(job.id, "set", {"learning_rate_factor": 0.5})
    await until(lambda: "set None x 0.5, every None" in job_folder(job.id).events_path.read_text())
    await engine.control(job.id, "stop")
    events = await events_of(engine, job)
    assert [event.state for event in events if isinstance(event, State)] == ["running", "done"]
    result = next(event.result for event in events if isinstance(event, Result))
    assert result["stopped"] == "asked to stop"
    assert result["steps"] < 2000


@pytest.mark.parametrize(
    ("command", "values"),
    [
        ("set", {"learning_rate": 0.0}),
        ("set", {"learning_rate": -1.0}),
        ("set", {"learning_rate": math.inf}),
        ("set", {"momentum": 0.5}),
        ("dance", {}),
    ],
)
async def test_what_no_job_understands_is_refused_in_a_sentence(engine: EngineClient, command: Any, values: Any) -> None:
    job = await started(engine, "steps:2000")
    with pytest.raises(ExplorerError, match="is nothing to say to a job") as caught:
        await engine.control(job.id, command, values)
    assert "learning_rate" in caught.value.remedy
    assert (await engine.job(job.id)).active
    await engine.control(job.id, "cancel")


async def test_a_deaf_worker_is_cancelled_by_force(engine: EngineClient) -> None:
    job = await started(engine, "deaf:")
    await until(lambda: "behaving as deaf" in job_folder(job.id).log_tail())
    asked_s = time.monotonic()
    await engine.control(job.id, "cancel")
    last = (await events_of(engine, job))[-1]
    assert isinstance(last, State)
    assert last.state == "cancelled"
    assert time.monotonic() - asked_s < 4


async def test_slots_hold_jobs_back_and_a_queued_job_can_be_cancelled(engine: EngineClient) -> None:
    first, second = await started(engine, "steps:500"), await started(engine, "steps:500")
    third = await engine.submit(spec("steps:1"))
    await asyncio.sleep(0.5)
    assert (await engine.job(third.id)).state == "queued"
    status = await engine.status()
    assert (status.running, status.queued, status.slots) == (2, 1, 2)
    assert (await engine.control(third.id, "cancel")).state == "cancelled"
    assert not job_folder(third.id).log_path.exists(), "it never started"
    for job in (first, second):
        await engine.control(job.id, "cancel")
        await events_of(engine, job)


@pytest.mark.parametrize(
    ("source", "cause", "message"),
    [
        ("kill:9", "SIGKILL", "killed by SIGKILL"),
        ("kill:11", "SIGSEGV", "killed by SIGSEGV"),
        ("exit:7", "exit 7", "exit code 7"),
        ("allocate:", "MemoryError", "not enough memory"),
        ("crash:", "RuntimeError", "RuntimeError: the step went wrong"),
        ("refuse:", "refused", "weights.pth does not fit"),
    ],
)
async def test_a_worker_that_dies_fails_its_job_only(engine: EngineClient, source: str, cause: str, message: str) -> None:
    job = await engine.submit(spec(source))
    events = await events_of(engine, job)
    failure = next(event for event in events if isinstance(event, Failure))
    assert failure.cause == cause
    assert message in failure.message
    assert failure.remedy
    last = events[-1]
    assert isinstance(last, State)
    assert last.state == "failed"
    assert cause == "refused" or cause == "MemoryError" or any("behaving as" in line for line in failure.log_tail)
    assert (await engine.status()).pid > 0, "the engine is well"
    after = await engine.submit(spec("steps:1"))
    assert (await events_of(engine, after))[-1].kind == "state"


async def test_kill_9_of_a_worker_shows_within_three_seconds(engine: EngineClient) -> None:
    job = await started(engine, "steps:2000")
    pid = job_folder(job.id).holder_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    killed_s = time.monotonic()
    failure = next(event for event in await events_of(engine, job) if isinstance(event, Failure))
    assert time.monotonic() - killed_s < 3
    assert failure.cause == "SIGKILL"


async def test_an_engine_killed_during_a_job_is_replaced_and_the_job_goes_on(start_engine: StartEngine) -> None:
    client = await connect()
    job = await started(client, "steps:300")
    pid = (await client.status()).pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(EngineLostError):
        await events_of(client, job)
    await client.aclose()
    again = await connect()
    assert (await again.status()).pid != pid
    assert (await again.job(job.id)).state == "running"
    events = await events_of(again, job)
    losses = [loss for event in events if isinstance(event, Metric) for loss in event.values["loss"]]
    assert len(losses) == 300, "no step was lost"
    assert isinstance(events[-1], State)
    assert events[-1].state == "done"
    await again.aclose()


async def test_a_job_whose_worker_died_with_the_engine_is_lost(start_engine: StartEngine) -> None:
    client = await connect()
    job = await started(client, "steps:3000")
    os.kill((await client.status()).pid, signal.SIGKILL)
    await client.aclose()
    pid = job_folder(job.id).holder_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not job_folder(job.id).is_locked())
    again = await connect()
    assert (await again.job(job.id)).state == "lost"
    await again.aclose()


async def test_an_adopted_worker_that_dies_fails_its_job(start_engine: StartEngine) -> None:
    client = await connect()
    job = await started(client, "steps:3000")
    os.kill((await client.status()).pid, signal.SIGKILL)
    await client.aclose()
    again = await connect()
    pid = job_folder(job.id).holder_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    failure = next(event for event in await events_of(again, job) if isinstance(event, Failure))
    assert "gone without a word" in failure.message
    await again.aclose()


async def test_a_cancelled_job_with_a_checkpoint_can_be_resumed(engine: EngineClient) -> None:
    job = await started(engine, "checkpoint:")
    await until(lambda: (job_folder(job.id).artifacts_path / "checkpoint.pt").exists())
    await engine.control(job.id, "cancel")
    events = await events_of(engine, job)
    assert any(isinstance(event, Artifact) and event.bytes == 2 for event in events)
    await until(lambda: job_folder(job.id).summary().resumable)
    assert (await engine.job(job.id)).resumable
    assert (await engine.control(job.id, "resume")).state == "queued"
    states = [event.state for event in await events_of(engine, job) if isinstance(event, State)]
    assert states == ["running", "cancelled", "queued", "running", "done"]
    result = [event for event in await events_of(engine, job) if isinstance(event, Result)][-1]
    assert result.result["steps"] == 41, "it went on from the checkpoint"


async def test_an_ended_job_without_a_checkpoint_cannot_be_resumed(engine: EngineClient) -> None:
    job = await engine.submit(spec("crash:"))
    await events_of(engine, job)
    with pytest.raises(ExplorerError, match="no checkpoint"):
        await engine.control(job.id, "resume")


async def test_remove_deletes_an_ended_job_and_refuses_a_live_one(engine: EngineClient) -> None:
    job = await started(engine, "steps:200")
    with pytest.raises(ExplorerError, match="cancel it first"):
        await engine.remove(job.id)
    await engine.control(job.id, "cancel")
    await events_of(engine, job)
    await engine.remove(job.id)
    assert not job_folder(job.id).path.exists()
    with pytest.raises(ExplorerError, match="no job"):
        await engine.job(job.id)


async def test_watch_jobs_gives_every_job_then_each_change(engine: EngineClient) -> None:
    done = await engine.submit(spec("steps:1"))
    await events_of(engine, done)
    seen: list[tuple[str, str]] = []
    fresh: JobSummary | None = None
    async for news in engine.watch_jobs():
        assert isinstance(news, JobSummary)
        seen.append((news.id, news.state))
        if fresh is None:
            assert seen == [(done.id, "done")]
            fresh = await engine.submit(spec("steps:1"))
        elif news.id == fresh.id and not news.active:
            break
    assert fresh is not None
    assert seen[-1] == (fresh.id, "done")


async def test_an_answer_keeps_no_job_and_its_refusal_is_an_error(engine: EngineClient, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    result = await engine.answer(InspectSpec(source=str(tmp_path / "a.txt")))
    assert isinstance(result, InspectResult)
    assert result.bytes == 5
    assert result.metadata == {"torch_imported": False}
    with pytest.raises(ExplorerError, match=r"missing\.pth does not exist"):
        await engine.answer(InspectSpec(source=str(tmp_path / "missing.pth")))
    assert await engine.jobs() == []
    assert list(home.scratch_folder().iterdir()) == []


async def test_lines_of_a_mebibyte_survive(engine: EngineClient) -> None:
    job = await engine.submit(spec(f"long:{2**20}"))
    texts = [event.text for event in await events_of(engine, job) if isinstance(event, Log)]
    assert [len(text) for text in texts] == [2**20]


async def test_a_client_that_stops_reading_slows_nobody(engine: EngineClient) -> None:
    """The stalled client follows the same 3,000 messages and never reads them."""
    writer = await engine.submit(spec("steps:1"))
    await events_of(engine, writer)
    with job_folder(writer.id).events_path.open("a") as stream:
        stream.writelines(
            Log(seq=100 + number, text=f"message {number} " + "." * 1000).model_dump_json() + "\n" for number in range(3000)
        )
    _, stalled = await open_engine()
    await write_message(stalled, Call(id=1, method="follow", params={"job_id": writer.id, "since": 0}))
    await asyncio.sleep(0.5)
    began_s = time.monotonic()
    messages = [event for event in await events_of(engine, writer, since=99) if isinstance(event, Log)]
    assert len(messages) == 3000
    assert time.monotonic() - began_s < 5
    stalled.close()


async def test_an_idle_engine_leaves_and_takes_its_socket_along(start_engine: StartEngine) -> None:
    process = start_engine("0.3")
    await until(home.socket_path().exists, 10)
    await until(lambda: process.poll() is not None, 10)
    assert process.returncode == 0
    assert not home.socket_path().exists()


async def test_two_engines_started_at_once_leave_one(start_engine: StartEngine) -> None:
    first, second = start_engine(), start_engine()
    clients = await asyncio.gather(connect(), connect(), connect())
    pids = {(await client.status()).pid for client in clients}
    assert len(pids) == 1
    await until(lambda: all(engine.poll() is not None for engine in (first, second) if engine.pid not in pids))
    for client in clients:
        await client.aclose()


async def test_a_stale_socket_and_a_removed_one_are_survived(start_engine: StartEngine) -> None:
    home.socket_path().touch()
    client = await connect()
    home.socket_path().unlink()
    again = await connect()
    assert (await again.status()).pid > 0
    await client.aclose()
    await again.aclose()


async def test_stop_leaves_jobs_running(engine: EngineClient) -> None:
    job = await started(engine, "steps:300")
    await engine.stop()
    await until(lambda: not home.socket_path().exists())
    assert job_folder(job.id).is_locked()
    await until(lambda: job_folder(job.id).summary().state == "done", 15)
    events = EventReader(job_folder(job.id).events_path).read_events()
    assert any(isinstance(event, Progress) for event in events)


async def test_without_an_engine_and_not_starting_one_it_says_so() -> None:
    with pytest.raises(ExplorerError, match="no engine is running"):
        await connect(start=False)


async def test_a_recorded_machine_is_read_by_the_engine(engine: EngineClient) -> None:
    folder = Path(__file__).parents[1] / "fixtures" / "hardware" / "mac-m4max-sequoia"
    inventory = await engine.recorded(str(folder))
    assert inventory.get("chip.name").value == "Apple M4 Max"
    with pytest.raises(ExplorerError, match="nowhere"):
        await engine.recorded(str(folder / "nowhere"))
