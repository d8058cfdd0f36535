"""An engine that answers from a script: the one seam at which the screens are tested."""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence

from explorer.engine.client import Engine
from explorer.errors import ExplorerError
from explorer.schemas.curves import Curve, CurvesAnswer, CurvesQuery, RunCurves, RunNews
from explorer.schemas.events import Event, Metric, State
from explorer.schemas.jobs import PROTOCOL, Command, EngineStatus, JobRemoved, JobSummary, Setting
from explorer.schemas.readings import HardwareSample, Inventory, Reading
from explorer.schemas.results import JobResult
from explorer.schemas.specs import InspectSpec, Spec, TrainSpec, parent_jobs

# 2026-01-15 12:00:00 UTC; no clock is read.
EPOCH = 1_768_478_400.0


class FakeEngine:
    """Implements `Engine`. Give it what it knows; read what was asked of it from `submitted`, `commands`, `removed`, `asked`.

    `say` appends events to a job and wakes its followers, `change` replaces a summary, `know` the inventory, `lose` breaks every
    stream.
    """

    def __init__(
        self,
        jobs: Iterable[JobSummary] = (),
        *,
        events: dict[str, list[Event]] | None = None,
        specs: dict[str, Spec] | None = None,
        logs: dict[str, str] | None = None,
        inventory: Inventory | None = None,
        samples: Sequence[HardwareSample] = (),
        sample_interval_s: float = 0.0,
        answers: dict[str, JobResult | ExplorerError] | None = None,
    ) -> None:
        self._jobs = {job.id: job for job in jobs}
        self._events = {name: _numbered(found) for name, found in (events or {}).items()}
        self._specs = specs or {}
        self._logs = logs or {}
        self._inventory = inventory or an_inventory()
        self._samples = list(samples)
        self._sample_interval_s = sample_interval_s
        self._answers = answers or {}
        self._changed = asyncio.Condition()
        self._changes: list[JobSummary | JobRemoved] = list(self._jobs.values())
        self._lost = False
        self.submitted: list[Spec] = []
        self.asked: list[Spec] = []
        self.commands: list[tuple[str, Command]] = []
        self.settings: list[dict[Setting, float]] = []
        self.queries: list[CurvesQuery] = []
        self.hold_curves = asyncio.Event()
        self.hold_curves.set()
        self.followed: list[tuple[str, int, int]] = []
        self.runs: dict[str, RunCurves] = {}
        self.news: list[RunNews] = []
        self.removed: list[str] = []
        self.recordings: dict[str, Inventory] = {}
        self.refuse: ExplorerError | None = None
        self.hardware_watchers = 0
        self.samples_sent = False

    # What a test says to it

    async def say(self, job_id: str, *events: Event) -> None:
        """Append events to a job, as its worker would."""
        known = self._events.setdefault(job_id, [])
        known.extend(_numbered(events, len(known)))
        await self._wake()

    async def change(self, job_id: str, **fields: object) -> None:
        """Replace fields of a job's summary and tell the watchers."""
        self._jobs[job_id] = self._jobs[job_id].model_copy(update=fields)
        self._changes.append(self._jobs[job_id])
        await self._wake()

    async def log_run(self, news: RunNews) -> None:
        """Tell the watchers of runs something new."""
        self.news.append(news)
        await self._wake()

    def know(self, inventory: Inventory) -> None:
        """Answer later calls with this inventory."""
        self._inventory = inventory

    async def lose(self) -> None:
        """Break every stream and refuse every further call, as when the engine is killed."""
        self._lost = True
        await self._wake()

    # What a client says to it

    async def submit(self, spec: Spec) -> JobSummary:
        self._check()
        self.submitted.append(spec)
        job = a_job(f"new{len(self.submitted)}", spec.kind, model=_model_name(spec), state="queued", parents=parent_jobs(spec))
        self._jobs[job.id], self._specs[job.id] = job, spec
        self._changes.append(job)
        await self._wake()
        return job

    async def answer(self, spec: Spec) -> JobResult:
        self._check()
        self.asked.append(spec)
        key = spec.source if isinstance(spec, InspectSpec) else spec.kind
        if key not in self._answers:
            raise ExplorerError(f"{key} is not there", "name a file that exists")
        found = self._answers[key]
        if isinstance(found, ExplorerError):
            raise found
        return found

    async def jobs(self) -> list[JobSummary]:
        self._check()
        return list(self._jobs.values())

    async def job(self, job_id: str) -> JobSummary:
        self._check()
        if job_id not in self._jobs:
            raise ExplorerError(f"no job {job_id}", "`explorer jobs list` names them")
        return self._jobs[job_id]

    async def spec(self, job_id: str) -> Spec:
        await self.job(job_id)
        return self._specs.get(job_id, TrainSpec())

    async def log(self, job_id: str, tail_bytes: int = 65_536) -> str:
        await self.job(job_id)
        return self._logs.get(job_id, "")[-tail_bytes:]

    async def control(self, job_id: str, command: Command, values: Mapping[Setting, float] | None = None) -> JobSummary:
        job = await self.job(job_id)
        self.commands.append((job_id, command))
        if values:
            self.settings.append(dict(values))
        states = {"pause": "paused", "resume": "running", "cancel": "cancelled", "stop": "done"}
        if command in states:
            await self.change(job_id, state=states[command], headline="")
            await self.say(job_id, State.model_validate({"state": states[command], "time": EPOCH}))
        return self._jobs[job.id]

    async def remove(self, job_id: str) -> None:
        await self.job(job_id)
        self.removed.append(job_id)
        del self._jobs[job_id]
        self._changes.append(JobRemoved(id=job_id))
        await self._wake()

    async def follow(self, job_id: str, since: int = 0, metrics_since: int = 0) -> AsyncIterator[Event]:
        self.followed.append((job_id, since, metrics_since))
        sent = since
        while True:
            self._check()
            for event in self._events.get(job_id, [])[sent:]:
                sent = event.seq
                if event.kind != "metric" or event.seq > metrics_since:
                    yield event
            if job_id not in self._jobs or not self._jobs[job_id].active:
                return
            await self._wait()

    async def watch_jobs(self) -> AsyncIterator[JobSummary | JobRemoved]:
        seen = len(self._changes)
        for job in list(self._jobs.values()):
            yield job
        while True:
            self._check()
            while seen < len(self._changes):
                seen += 1
                yield self._changes[seen - 1]
            await self._wait()

    async def recorded(self, folder: str) -> Inventory:
        self._check()
        if folder not in self.recordings:
            raise ExplorerError(f"{folder} is not a recorded machine", "give a folder made by `explorer doctor --record`")
        return self.recordings[folder]

    async def curves(self, query: CurvesQuery) -> CurvesAnswer:
        self._check()
        self.queries.append(query)
        found = [self.runs.get(text) or self._curves_of(text, query) for text in query.sources]
        await self.hold_curves.wait()
        return CurvesAnswer(runs=found)

    def _curves_of(self, source: str, query: CurvesQuery) -> RunCurves:
        job = self._jobs.get(source.removeprefix("job:"))
        if job is None:
            return RunCurves(source=source, name=source, problem=f"there is no run {source}")
        return job_curves(job, self._events.get(job.id, []), query.start, query.stop)

    async def watch_runs(self, path: str) -> AsyncIterator[RunNews]:
        sent = 0
        while True:
            self._check()
            for news in self.news[sent:]:
                sent += 1
                yield news
            await self._wait()

    async def inventory(self) -> Inventory:
        self._check()
        return self._inventory

    async def watch_hardware(self) -> AsyncIterator[HardwareSample]:
        self.hardware_watchers += 1
        try:
            for sample in self._samples:
                self._check()
                yield sample
                await asyncio.sleep(self._sample_interval_s)
            self.samples_sent = True
            while True:
                self._check()
                await self._wait()
        finally:
            self.hardware_watchers -= 1

    async def status(self) -> EngineStatus:
        self._check()
        active = [job for job in self._jobs.values() if job.active]
        return EngineStatus(
            version="0.0.0",
            protocol=PROTOCOL,
            pid=1234,
            host="testhost",
            home="/home/user/.local/state/explorer",
            socket="/home/user/.local/state/explorer/engine.sock",
            uptime_s=60.0,
            clients=1,
            slots=1,
            running=sum(job.state == "running" for job in active),
            queued=sum(job.state == "queued" for job in active),
            python="3.11.7",
        )

    async def stop(self) -> None:
        await self.lose()

    async def aclose(self) -> None:
        return None

    def _check(self) -> None:
        if self._lost:
            raise ExplorerError("the engine has gone", "start `explorer` again")
        if self.refuse is not None:
            raise self.refuse

    async def _wait(self) -> None:
        async with self._changed:
            await self._changed.wait()

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def connected(engine: Engine) -> Callable[[], Awaitable[Engine]]:
    """A `connect` for `ExplorerApp` that gives `engine`."""

    async def connect() -> Engine:
        return engine

    return connect


def a_job(job_id: str, kind: str = "train", **fields: object) -> JobSummary:
    """A summary with sensible values for what is not given."""
    values: dict[str, object] = {"model": "digits_cnn", "state": "running", "created": EPOCH, "started": EPOCH + 1}
    return JobSummary.model_validate({"id": job_id, "kind": kind} | values | fields)


def job_curves(job: JobSummary, events: Iterable[Event], start: float | None = None, stop: float | None = None) -> RunCurves:
    """What a job's metrics say within `start`..`stop`, folded by step, the later value wins."""
    found: dict[str, dict[int, float]] = {}
    for event in events:
        if isinstance(event, Metric):
            for name, values in event.values.items():
                found.setdefault(name, {}).update(zip(event.steps, values, strict=True))
    low, high = -math.inf if start is None else start, math.inf if stop is None else stop
    return RunCurves(
        source=f"job:{job.id}",
        name=f"{job.model} {job.id}",
        format="job",
        first_time=EPOCH,
        last_step=max((step for points in found.values() for step in points), default=None),
        curves=[_curve(name, points, low, high) for name, points in found.items()],
    )


def _curve(name: str, points: dict[int, float], low: float, high: float) -> Curve:
    steps = sorted(points)
    xs = [step for step in steps if low <= step <= high]
    last = points[steps[-1]] if steps else None
    return Curve(name=name, xs=[float(x) for x in xs], ys=[points[x] for x in xs], count=len(xs), last=last)


def an_inventory(**readings: Reading) -> Inventory:
    """A Linux machine without accelerators; `readings` (with `__` for the dot) replace or add."""
    known = {
        "host.name": Reading(value="testhost", source="gethostname"),
        "chip.name": Reading(value="AMD EPYC 7B13", source="/proc/cpuinfo model name"),
        "os.name": Reading(value="Linux 6.8.0", source="uname"),
        "cpu.tiers": Reading(
            value=[{"name": "Cores", "cores": 8, "threads": 16, "l1d_bytes": 32_768, "l2_bytes": 524_288}], source="lscpu --json"
        ),
        "cpu.logical": Reading(value=16, unit="threads", source="sched_getaffinity"),
        "cpu.isa": Reading(value=["AVX2", "FMA", "VAES"], source="/proc/cpuinfo flags"),
        "memory.total_bytes": Reading(value=33_000_000_000, unit="B", source="/proc/meminfo MemTotal"),
        "memory.limit_bytes": Reading(value=17_179_869_184, unit="B", source="cgroup v2 memory.max"),
        "gpu": Reading(state="absent", source="/sys/class/drm", reason="no GPU on the PCI bus"),
        "mps.usable": Reading(state="unsupported", source="torch", reason="MPS needs macOS on Apple silicon"),
        "cuda": Reading(state="absent", source="NVML", reason="no NVIDIA driver is loaded"),
        "ane.cores": Reading(state="unsupported", source="platform", reason="the Neural Engine is in Apple silicon only"),
        "tpu": Reading(state="absent", source="/sys/bus/pci", reason="no TPU on the PCI bus"),
        "framework.torch": Reading(value="2.13.0", source="importlib.metadata"),
        "framework.coremltools": Reading(value="9.0", source="importlib.metadata"),
        "framework.onnxruntime": Reading(value="1.23.2", source="importlib.metadata"),
    }
    return Inventory(readings=known | {name.replace("__", "."): reading for name, reading in readings.items()})


def a_sample(second: int, cpu_percent: float | None, used_bytes: int | None) -> HardwareSample:
    """A live sample; None for a value that could not be read."""
    denied = Reading(state="denied", source="psutil", reason="not permitted here")
    cpu = denied if cpu_percent is None else Reading(value=cpu_percent, unit="%", source="psutil.cpu_percent")
    used = denied if used_bytes is None else Reading(value=used_bytes, unit="B", source="psutil.virtual_memory")
    return HardwareSample(time_s=float(second), readings={"cpu.use": cpu, "memory.used_bytes": used})


def _numbered(events: Sequence[Event], known: int = 0) -> list[Event]:
    stamps = [{"seq": place, "time": EPOCH + place} for place in range(known + 1, known + 1 + len(events))]
    return [event.model_copy(update=stamp) for event, stamp in zip(events, stamps, strict=True)]


def _model_name(spec: Spec) -> str:
    text = getattr(spec, "source", None) or " ".join(getattr(spec, "models", []))
    return str(text).rpartition(":")[2] or str(text)
