"""One training in words: head, facts, checkpoints, alarms, trouble; no widget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from screens.job_words import short_id
from screens.result_words import finding_rows, heading, wrapped
from screens.text import NONE, count, duration, memory, number, percent, short_count
from screens.train_memory import device_limit, process_limit
from screens.train_run import HELD_OUT, Run, is_share

if TYPE_CHECKING:
    from explorer.schemas.events import Finding
    from explorer.schemas.readings import Inventory

STEP_PARTS = {"data_ms": "data", "forward_ms": "fwd", "backward_ms": "bwd", "optimizer_ms": "opt"}
KNOWN = {"loss", "lr", "grad_norm", "grad_scale", "samples_per_s", "rss_bytes", "device_bytes", *STEP_PARTS}
OWN_METRICS = 4
Fact = tuple[str, str]


def headline(run: Run) -> list[str]:
    """Model, job, precision, processes, device with why; then state, steps, speed, time left, the last word."""
    job, spec = run.job, run.spec
    processes = spec.processes * spec.nodes if spec is not None else 1
    first = [
        job.model,
        f"job {short_id(job.id)}",
        spec.precision if spec is not None else "",
        f"{processes} processes" if processes > 1 else "",
        run.device,
    ]
    total = f" / {count(run.total)}" if run.total else ""
    speed = run.latest.get("samples_per_s")
    second = [
        job.state,
        f"step {count(run.step)}{total}" if run.progress is not None else "",
        run.progress.message if run.progress is not None and run.job.active else "",
        f"{count(speed)} samples/s" if speed is not None else "",
        _time_left(run),
        said(run),
    ]
    return [" · ".join(part for part in parts if part) for parts in (first, second)]


def said(run: Run) -> str:
    """Why it ended, or the last word of its state while that is no figure shown elsewhere."""
    if run.job.state in ("failed", "lost"):
        return ""  # stands below with its remedy
    stopped = str((run.result or {}).get("stopped") or "")
    return stopped or (run.job.headline if run.job.state == "done" else run.reason if run.job.state != "running" else "")


def facts(run: Run, inventory: Inventory | None, wide: bool) -> list[Fact]:
    """Labels and values for the side of the charts; a value that is not there says why where that is known."""
    latest = run.latest
    return [
        ("loss", number(latest.get("loss"))),
        ("loss smoothed", number(run.smoothed)),
        *_held_out(run),
        *[(name.replace("_", " "), measure(name, latest[name])) for name in _own(run)],
        ("lr", _rate(run)),
        ("grad norm", number(latest.get("grad_norm"))),
        ("grad scale", _scale(run)),
        ("step", _step_time(run)),
        ("memory", _of_limit(latest.get("rss_bytes"), process_limit(inventory), wide)),
        ("on device", _device_memory(run, inventory, wide)),
    ]


def split_row(run: Run) -> str:
    """The parts of a timed step, such as `data 8 % fwd 31 % bwd 49 % opt 12 %`; empty before one was timed."""
    parts = {name: run.latest[metric] for metric, name in STEP_PARTS.items() if metric in run.latest}
    total = sum(parts.values())
    return " ".join(f"{name} {_share(value / total)}" for name, value in parts.items()) if total > 0 else ""


def side_rows(run: Run, width: int, short: bool) -> list[Content]:
    """Below the facts: how a step's time is spent, checkpoints, alarms; and, with room, the end of the log."""
    rows = [Content.assemble((split, "$muted"))] if (split := split_row(run)) else []
    if short:
        return [
            *rows,
            _labelled("CHECKPOINTS", checkpoint_words(run, 2)),
            _labelled("ALARMS", _alarm_words(run), bool(run.alarms)),
        ]
    rows += [Content(""), heading("CHECKPOINTS"), *(Content(f"  {line}") for line in checkpoint_lines(run, 4) or ["none yet"])]
    rows += [Content(""), heading("ALARMS"), *(alarm_rows(run.alarms[-3:], width) or [Content("  none")])]
    log = [row for line in list(run.notes)[-8:] for row in wrapped(Content(line), width, "  ")]
    return [*rows, Content(""), heading("LOG"), *log] if log else rows


def checkpoint_lines(run: Run, most: int) -> list[str]:
    """The checkpoints that are kept, newest first; a checkpoint is written only when everything in it is finite."""
    kept = run.spec.keep_checkpoints if run.spec is not None else most
    return [f"step {count(step)} ✓ finite" for step in list(run.checkpoints)[::-1][: min(kept, most)]]


def checkpoint_words(run: Run, most: int) -> str:
    """The checkpoints in one row."""
    return " · ".join(checkpoint_lines(run, most)) or "none yet"


def alarm_rows(alarms: Sequence[Finding], width: int) -> list[Content]:
    """Alarms with their evidence, newest first."""
    return finding_rows(list(alarms)[::-1], width)


def trouble(run: Run, width: int, log_rows: int) -> list[Content]:
    """For a failed or lost training: cause, remedy, alarm, the checkpoint to go on from, and the end of its log."""
    if run.job.state not in ("failed", "lost"):
        return []
    failure = run.failure
    message = failure.message if failure else run.reason or run.job.headline or "its worker is gone"
    rows = wrapped(Content.assemble((f"✗ {run.job.state}: {message}", "$error")), width, "  ")
    for label, text in (
        ("cause", failure.cause if failure and failure.cause not in ("refused", *message.split(": ")) else ""),
        ("remedy", failure.remedy if failure else ""),
        ("alarm", _last_alarm(run, message)),
        ("go on", _go_on(run)),
    ):
        if text:
            rows += wrapped(_labelled(f"{label:<6}", text), width, " " * 8)
    log = failure.log_tail if failure else list(run.notes)
    return rows + [Content.assemble((f"  {line}", "$muted")) for line in log[-log_rows:]] if log_rows else rows


def measure(name: str, value: float) -> str:
    """A metric's value as people write it: a share as a percentage, bytes and milliseconds with their unit."""
    if name.endswith("_bytes"):
        return memory(value)
    if name.endswith("_ms"):
        return f"{number(value)} ms"
    return percent(value, 1) if is_share(name) and 0 <= value <= 1 else number(value)


def _share(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else percent(share)


def _labelled(label: str, text: str, alarm: bool = False) -> Content:
    return Content.assemble((label, "bold $primary"), "  ", (text, "$warning" if alarm else ""))


def _time_left(run: Run) -> str:
    job = run.job
    if run.seconds_left is not None:
        return f"{duration(run.seconds_left)} left"
    return f"took {duration(job.ended - job.started)}" if job.started and job.ended and not job.active else ""


def _held_out(run: Run) -> list[Fact]:
    """Each held-out metric, and under it the best so far with its step."""
    best = run.best
    rows: list[Fact] = []
    for name in sorted((name for name in run.latest if name.startswith(HELD_OUT)), key=lambda name: name != "val_loss"):
        rows.append((name.replace("_", " "), measure(name, run.latest[name])))
        if name in best:
            rows.append(("  best", f"{measure(name, best[name].value)} at {count(best[name].step)}"))
    return rows or [("val", f"{NONE} not yet" if run.job.active else NONE)]


def _own(run: Run) -> list[str]:
    """The user's own training metrics."""
    return [name for name in run.latest if name not in KNOWN and not name.startswith(HELD_OUT)][:OWN_METRICS]


def _rate(run: Run) -> str:
    if run.rate is None:
        return NONE
    return number(run.rate) + (f" ×{run.rate_factor:.3g}" if abs(run.rate_factor - 1) > 1e-3 else "")


def _scale(run: Run) -> str:
    if (scale := run.latest.get("grad_scale")) is not None:
        return short_count(scale)
    return f"{NONE} {run.spec.precision}" if run.spec is not None and run.spec.precision != "float16" else NONE


def _step_time(run: Run) -> str:
    parts = [run.latest[name] for name in STEP_PARTS if name in run.latest]
    if parts:
        return f"{number(sum(parts))} ms"
    if run.spec is None or not run.job.active:
        return NONE
    every = run.spec.time_every_steps
    return f"{NONE} at step {count(every)}" if every else f"{NONE} not timed"


def _device_memory(run: Run, inventory: Inventory | None, wide: bool) -> str:
    used = run.latest.get("device_bytes")
    if used is None:
        return f"{NONE} cpu has none" if run.device.lower().startswith("cpu") else NONE
    return _of_limit(used, device_limit(inventory, run.device), wide)


def _of_limit(used: float | None, limit: float | None, wide: bool) -> str:
    if used is None or not limit:
        return memory(used)
    return f"{memory(used)} of {memory(limit)}" if wide else f"{memory(used)} {percent(used / limit)}"


def _alarm_words(run: Run) -> str:
    """The latest alarm with where it was raised, and how many came before."""
    alarms = run.alarms
    more = f" (and {len(alarms) - 1} more, enter shows them)" if len(alarms) > 1 else ""
    return f"{_told(alarms[-1])}{more}" if alarms else "none"


def _told(alarm: Finding) -> str:
    return f"{alarm.title}, {alarm.evidence}" if alarm.evidence else alarm.title


def _last_alarm(run: Run, message: str) -> str:
    """The latest alarm, unless the message of the failure says it all."""
    alarm = run.alarms[-1] if run.alarms else None
    return _told(alarm) if alarm is not None and not (alarm.title in message and alarm.evidence in message) else ""


def _go_on(run: Run) -> str:
    if not run.job.resumable:
        return ""
    steps = list(run.checkpoints)
    return f"r goes on from the checkpoint of step {count(steps[-1])}" if steps else "r goes on from the last checkpoint"
