"""Which job runs when: the queue, its slots, the workers' ends, and adoption after a restart."""

import asyncio
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from explorer.engine.environment import training_environment
from explorer.engine.events_file import EventReader
from explorer.engine.jobs import JobFolder, LockHeldError, find_job, fold, list_jobs
from explorer.engine.mailbox import Doorbell, Mailbox
from explorer.engine.spawn import TIMING_KINDS, Worker, WorkerPool, signal_group
from explorer.engine.worker import EXIT_LOCK_HELD
from explorer.errors import ExplorerError
from explorer.hardware import cgroup
from explorer.schemas.events import FINAL_STATES, Failure, State
from explorer.schemas.jobs import Command, ControlLine, JobRemoved, JobSummary
from explorer.schemas.paths import short_name
from explorer.schemas.specs import CeilingsSpec, Spec, parent_jobs, sources

TICK_S = 0.1
MEMORY_EVERY_TICKS = 10
# A spare worker imports torch only after the job just started had the machine to itself for a while.
WARM_AFTER_TICKS = 30
# Cancelling asks through the folder first, then by signals.
TERM_AFTER_S = 10.0
KILL_AFTER_S = 15.0


@dataclass
class LiveJob:
    """A job that is not over: its folder, what is known of it, and its worker when this engine started it."""

    folder: JobFolder
    summary: JobSummary
    reader: EventReader
    worker: Worker | None = None
    scratch: bool = False
    cancel_asked_s: float | None = None
    resume_asked: bool = False
    doorbell: Doorbell = field(default_factory=Doorbell)

    @property
    def running(self) -> bool:
        return self.worker is not None or self.summary.state in ("running", "paused")


class Supervisor:
    """Holds every job's summary and moves jobs from queued to their last state. Runs in one event loop."""

    def __init__(self, jobs_root: Path, scratch_root: Path, pool: WorkerPool, slots: int) -> None:
        self._jobs_root = jobs_root
        self._scratch_root = scratch_root
        self._pool = pool
        self.slots = slots
        self._summaries: dict[str, JobSummary] = {}
        self._live: dict[str, LiveJob] = {}
        self._watchers: set[Mailbox[JobSummary | JobRemoved]] = set()
        self._work = asyncio.Event()
        self._ticks = 0
        self._warm_at_tick = WARM_AFTER_TICKS

    # What there is

    def summaries(self) -> list[JobSummary]:
        """Every kept job, oldest first."""
        return [self._summaries[job_id] for job_id in sorted(self._summaries)]

    def counts(self) -> tuple[int, int]:
        """How many jobs run and how many wait."""
        running = sum(job.running for job in self._live.values())
        return running, len(self._live) - running

    def find(self, text: str) -> JobFolder:
        """A kept job, or a scratch one that is still there."""
        scratch = self._scratch_root / text if text else None
        if scratch is not None and text in self._live and self._live[text].scratch:
            return JobFolder(scratch)
        return find_job(self._jobs_root, text)

    def summary(self, text: str) -> JobSummary:
        folder = self.find(text)
        live = self._live.get(folder.id)
        return live.summary if live else self._summaries.get(folder.id) or folder.summary()

    def doorbell(self, job_id: str) -> Doorbell | None:
        """Rings when the job says more; None when it is over."""
        live = self._live.get(job_id)
        return live.doorbell if live else None

    def watch(self) -> "Mailbox[JobSummary | JobRemoved]":
        """A mailbox of every summary now and each change from here on; give it back to `unwatch`."""
        mailbox: Mailbox[JobSummary | JobRemoved] = Mailbox()
        for summary in self.summaries():
            mailbox.put(summary.id, summary)
        self._watchers.add(mailbox)
        return mailbox

    def unwatch(self, mailbox: "Mailbox[JobSummary | JobRemoved]") -> None:
        self._watchers.discard(mailbox)

    # What can be asked

    def submit(self, spec: Spec, cwd: str, *, scratch: bool = False) -> JobSummary:
        """A new queued job."""
        for parent in parent_jobs(spec):
            self.find(parent)
        root = self._scratch_root if scratch else self._jobs_root
        folder = JobFolder.create(root, spec, model=self._model_name(spec), cwd=cwd)
        self._enlist(folder, folder.summary(), scratch=scratch)
        return self._live[folder.id].summary

    def control(self, text: str, line: ControlLine) -> JobSummary:
        """Say a command to a job; raises `ExplorerError` when its state makes no sense of it."""
        command = line.command
        folder = self.find(text)
        live = self._live.get(folder.id)
        if live is None:
            return self._revive(folder, command)
        if command == "cancel" and not live.running:
            folder.append(State(state="cancelled", reason="cancelled before it started"))
            self._read_news(live)
            self._retire(live)
            return live.summary
        if live.summary.state in FINAL_STATES:
            return self._command_at_the_end(live, command)
        if not live.running:
            raise ExplorerError(f"job {folder.id} is queued", "wait until it runs")
        folder.send(line)
        if command == "cancel" and live.cancel_asked_s is None:
            live.cancel_asked_s = time.monotonic()
        return live.summary

    def _command_at_the_end(self, job: LiveJob, command: Command) -> JobSummary:
        """A job that said its last word while its worker has yet to leave can only be resumed, as soon as that is gone."""
        if command != "resume" or not job.summary.resumable:
            raise ExplorerError(f"job {job.folder.id} is {job.summary.state}", "start it again instead")
        job.resume_asked = True
        return job.summary

    def remove(self, text: str) -> None:
        """Delete an ended job."""
        folder = self.find(text)
        if folder.id in self._live:
            raise ExplorerError(f"job {folder.id} is not over", "cancel it first")
        folder.remove()
        self._summaries.pop(folder.id, None)
        self._announce(folder.id, JobRemoved(id=folder.id))

    def forget_scratch(self, job_id: str) -> None:
        """Delete a scratch job, stopping it when it still runs."""
        live = self._live.pop(job_id, None)
        if live and live.worker:
            live.worker.signal_group(signal.SIGKILL)
        JobFolder(self._scratch_root / job_id).remove()

    # Time passing

    def adopt(self, host: str) -> None:
        """Take over what an earlier engine left: running jobs are followed, dead ones marked lost, queued ones queued."""
        for folder in list_jobs(self._jobs_root):
            try:
                summary = folder.summary()
                mine = folder.record().host == host
            except ExplorerError:
                continue
            self._summaries[folder.id] = summary
            if summary.active and mine:
                self._adopt_one(folder, summary)

    async def run(self) -> None:
        """Start, tail and end jobs until cancelled; sleeps while there are none."""
        while True:
            if not self._live:
                self._pool.warm_up()
                await self._work.wait()
            self._work.clear()
            self._tick()
            await asyncio.sleep(TICK_S)

    def _tick(self) -> None:
        self._ticks += 1
        for job in list(self._live.values()):
            self._start_when_free(job)
            self._look_after(job)
        if self._ticks > self._warm_at_tick and not any(job.summary.kind in TIMING_KINDS for job in self._live.values()):
            self._pool.warm_up()

    def _look_after(self, job: LiveJob) -> None:
        ended = self._worker_ended(job)
        self._read_news(job)
        if job.summary.state in FINAL_STATES:
            self._retire(job)
        elif ended:
            self._bury(job)
        else:
            self._press_cancel(job)

    def _enlist(self, folder: JobFolder, summary: JobSummary, *, scratch: bool = False) -> LiveJob:
        reader = EventReader(folder.events_path)
        job = LiveJob(folder=folder, summary=summary, reader=reader, scratch=scratch)
        self._live[folder.id] = job
        if not scratch:
            self._summaries[folder.id] = summary
            self._announce(folder.id, summary)
        self._work.set()
        return job

    def _adopt_one(self, folder: JobFolder, summary: JobSummary) -> None:
        if summary.state == "queued" or folder.is_locked():
            self._enlist(folder, summary)
            return
        folder.append(State(state="lost", reason="its worker was gone when the engine started"))
        self._summaries[folder.id] = folder.summary()

    def _start_when_free(self, job: LiveJob) -> None:
        if job.running or job.folder.is_locked():
            return
        busy = sum(other.running and not other.scratch for other in self._live.values())
        if not job.scratch and busy >= self.slots:
            return
        job.worker = self._pool.start(job.folder.path, job.summary.kind, _environment(job.folder))
        self._warm_at_tick = self._ticks + WARM_AFTER_TICKS

    def _worker_ended(self, job: LiveJob) -> bool:
        if job.worker is None:
            return job.running and not job.folder.is_locked()
        code = job.worker.exit_code()
        if code is None:
            if self._ticks % MEMORY_EVERY_TICKS == 0:
                job.worker.note_memory()
            return False
        if code == EXIT_LOCK_HELD:
            job.worker = None
            return False
        return True

    def _read_news(self, job: LiveJob) -> None:
        before = job.summary
        while events := job.reader.read_events():
            for event in events:
                job.summary = fold(job.summary, event)
        if job.summary.last_seq != before.last_seq:
            job.summary = job.folder.with_resumable(job.summary)
            job.doorbell.ring()
            if not job.scratch:
                self._summaries[job.folder.id] = job.summary
                self._announce(job.folder.id, job.summary)

    def _retire(self, job: LiveJob) -> None:
        """The job said its last word; wait for the worker to leave before the slot is free."""
        if job.worker is not None and job.worker.exit_code() is None:
            return
        self._live.pop(job.folder.id, None)
        if not job.scratch:
            summary = job.folder.with_resumable(job.summary)
            self._summaries[job.folder.id] = summary
            self._announce(job.folder.id, summary)
        job.doorbell.ring()
        if job.resume_asked:
            self._revive(job.folder, "resume")

    def _bury(self, job: LiveJob) -> None:
        """Say for a dead worker what it could not say itself."""
        if job.cancel_asked_s is not None:
            last: list[Failure | State] = [State(state="cancelled", reason="cancelled; it had to be killed")]
        else:
            failure = _post_mortem(job)
            last = [failure, State(state="failed", reason=failure.message)]
        try:
            job.folder.append(*last)
        except LockHeldError:
            return
        self._read_news(job)
        self._retire(job)

    def _press_cancel(self, job: LiveJob) -> None:
        if job.cancel_asked_s is None:
            return
        waited_s = time.monotonic() - job.cancel_asked_s
        pid = job.worker.pid if job.worker else job.folder.holder_pid()
        if pid is not None and waited_s > TERM_AFTER_S:
            signal_group(pid, signal.SIGKILL if waited_s > KILL_AFTER_S else signal.SIGTERM)

    def _revive(self, folder: JobFolder, command: Command) -> JobSummary:
        summary = folder.summary()
        if command != "resume" or not summary.resumable:
            hint = "it has no checkpoint to go on from" if command == "resume" else "start it again instead"
            raise ExplorerError(f"job {folder.id} is {summary.state}", hint)
        folder.forget_commands()
        folder.append(State(state="queued", reason="resumed from its checkpoint"))
        return self._enlist(folder, folder.summary()).summary

    def _announce(self, job_id: str, news: JobSummary | JobRemoved) -> None:
        for mailbox in self._watchers:
            mailbox.put(job_id, news)

    def _model_name(self, spec: Spec) -> str:
        if isinstance(spec, CeilingsSpec):
            return "this machine"
        source = next(iter(sources(spec)), spec.kind)
        return self.summary(source[4:]).model if source.startswith("job:") else short_name(source)


def _environment(folder: JobFolder) -> dict[str, str]:
    """What the job wants in its worker's environment; nothing for a damaged folder, of which the worker says so itself."""
    try:
        return training_environment(folder.record().spec)
    except ExplorerError:
        return {}


def memory_limit_bytes() -> int:
    """Memory of this machine, or of the tightest control group of this process where that is less."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = cgroup.limits(cgroup.read_groups()).memory_bytes
    return physical if limit is None else min(limit, physical)


def _post_mortem(job: LiveJob) -> Failure:
    """The likely cause of a worker's death, from its exit code, its memory and its log."""
    code = job.worker.exit_code() if job.worker else None
    tail = job.folder.log_tail_lines()
    if code is None:
        return Failure(message="the worker is gone without a word", cause="unknown", remedy="see its log", log_tail=tail)
    if code >= 0:
        return Failure(
            message=f"the worker left with exit code {code}", cause=f"exit {code}", remedy="see its log", log_tail=tail
        )
    name = signal.Signals(-code).name
    message = f"the worker was killed by {name}"
    remedy = "see its log for the stack"
    if code == -signal.SIGKILL and job.worker:
        total_bytes = memory_limit_bytes()
        message += f", last seen with {job.worker.peak_rss_bytes / 2**30:.1f} of {total_bytes / 2**30:.1f} GB of memory"
        if job.worker.peak_rss_bytes > total_bytes / 4:
            remedy = "likely the system ran out of memory: make the batch or the model smaller"
        else:
            remedy = "somebody or the system's memory guard killed it: see its log, and start it again"
    return Failure(message=message, cause=name, remedy=remedy, log_tail=tail)
