"""A job is a folder: `spec.json`, `events.jsonl`, `control.jsonl`, `log.txt`, `artifacts/` and `lock`."""

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from explorer import files, home
from explorer.engine.events_file import EventWriter, first_event, json_line, tail_events
from explorer.errors import ExplorerError
from explorer.schemas.events import FINAL_STATES, Event, Progress, State
from explorer.schemas.jobs import ControlLine, JobRecord, JobSummary
from explorer.schemas.specs import Spec, parent_jobs

LOG_TAIL_LINES = 20


class LockHeldError(Exception):
    """Another process holds the job's lock."""


class JobFolder:
    """One job on disk. Reading needs no lock; writing events does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.events_path = path / "events.jsonl"
        self.control_path = path / "control.jsonl"
        self.log_path = path / "log.txt"
        self.artifacts_path = path / "artifacts"
        self._lock_path = path / "lock"

    @classmethod
    def create(cls, root: Path, spec: Spec, *, model: str, cwd: str) -> "JobFolder":
        """A new queued job below `root`; the folder appears with its `spec.json` in it."""
        created = time.time()
        job_id = f"{time.strftime('%y%m%d-%H%M%S', time.localtime(created))}-{secrets.token_hex(2)}"
        record = JobRecord(id=job_id, created=created, host=home.host_name(), cwd=cwd, model=model, spec=spec)
        folder = cls(root / job_id)
        with files.written_by_rename(folder.path) as temporary:
            (temporary / "artifacts").mkdir(parents=True, mode=0o700)
            temporary.chmod(0o700)
            (temporary / "spec.json").write_text(record.model_dump_json(indent=1))
        return folder

    def record(self) -> JobRecord:
        """What was asked; raises `ExplorerError` when `spec.json` is missing or damaged."""
        try:
            return JobRecord.model_validate_json((self.path / "spec.json").read_bytes())
        except FileNotFoundError:
            raise ExplorerError(f"{self.path} is not a job", "it has no spec.json") from None
        except (ValidationError, OSError) as error:
            raise ExplorerError(f"{self.path / 'spec.json'} cannot be read ({type(error).__name__})", "remove the job") from None

    def summary(self) -> JobSummary:
        """The job in one line, folded from the first and last events."""
        record = self.record()
        summary = JobSummary(
            id=self.id,
            kind=record.spec.kind,
            model=record.model,
            state="queued",
            created=record.created,
            parents=parent_jobs(record.spec),
        )
        first = first_event(self.events_path)
        for event in ([first] if first else []) + tail_events(self.events_path):
            summary = fold(summary, event)
        return self.with_resumable(summary)

    def with_resumable(self, summary: JobSummary) -> JobSummary:
        """The summary saying whether an ended job left a checkpoint to go on from."""
        ended_early = summary.state in ("failed", "cancelled", "lost")
        return summary.model_copy(update={"resumable": ended_early and (self.artifacts_path / "checkpoint.pt").exists()})

    def send(self, line: ControlLine) -> None:
        """Append one command for the worker to read at its next step."""
        with self.control_path.open("ab") as stream:
            stream.write(json_line(line.model_dump()))

    def forget_commands(self) -> None:
        """Start the next run of this job without the commands of the last."""
        self.control_path.unlink(missing_ok=True)

    def log_tail(self, limit_bytes: int = 65_536) -> str:
        """The end of what the worker printed; empty when it printed nothing."""
        try:
            with self.log_path.open("rb") as stream:
                size = stream.seek(0, os.SEEK_END)
                stream.seek(max(0, size - limit_bytes))
                return stream.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def log_tail_lines(self) -> list[str]:
        return self.log_tail().splitlines()[-LOG_TAIL_LINES:]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the job's lock for the block; raises `LockHeldError` at once when another process has it."""
        fd = os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise LockHeldError(self.id) from None
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()} {home.host_name()}\n".encode(), 0)
            yield
        finally:
            os.close(fd)

    def is_locked(self) -> bool:
        """Whether a worker holds the lock now; asked without disturbing it."""
        try:
            with self._lock_path.open("rb") as stream:
                try:
                    fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    return True
        except FileNotFoundError:
            pass
        return False

    def holder_pid(self) -> int | None:
        """The process that last took the lock; a hint only, since process IDs are reused."""
        try:
            return int(self._lock_path.read_text().split()[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None

    def append(self, *events: Event) -> None:
        """Write events in the name of a worker that is gone; raises `LockHeldError` when it is not."""
        with self.locked():
            writer = EventWriter(self.events_path)
            for event in events:
                writer.write(event)
            writer.close()

    def remove(self) -> None:
        """Delete the folder; it vanishes from listings at once."""
        aside = self.path.with_name(f".removing-{self.id}")
        os.rename(self.path, aside)
        files.remove(aside)


def fold(summary: JobSummary, event: Event) -> JobSummary:
    """The summary after one more event. Events before `last_seq` are passed over."""
    if event.seq <= summary.last_seq:
        return summary
    changes: dict[str, object] = {"last_seq": event.seq}
    if isinstance(event, Progress):
        changes["progress"] = min(1.0, event.done / event.total) if event.total else None
        changes["message"] = event.message
        changes["seconds_left"] = event.seconds_left
    elif isinstance(event, State):
        changes |= {"state": event.state, "headline": event.reason or summary.headline, "seconds_left": None}
        if event.state in FINAL_STATES:
            changes |= {"ended": event.time, "progress": 1.0 if event.state == "done" else summary.progress}
        elif event.state == "running":
            changes |= {"started": summary.started or event.time, "ended": None}
    return summary.model_copy(update=changes)


def list_jobs(root: Path) -> list[JobFolder]:
    """Every job below `root`, oldest first."""
    return [JobFolder(path) for path in sorted(root.iterdir()) if path.is_dir() and not path.name.startswith(".")]


def find_job(root: Path, text: str) -> JobFolder:
    """The job whose ID is `text`, or begins or ends with it; raises `ExplorerError` for none or several."""
    if text and (root / text / "spec.json").exists() and "/" not in text:
        return JobFolder(root / text)
    found = [job for job in list_jobs(root) if text and (job.id.startswith(text) or job.id.endswith(text))]
    if len(found) == 1:
        return found[0]
    if not found:
        raise ExplorerError(f"there is no job {text!r}", "`explorer jobs list` shows them")
    raise ExplorerError(f"{len(found)} jobs match {text!r}", f"say more of the ID, such as {found[0].id}")
