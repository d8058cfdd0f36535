"""Submitting a job and following it to its end: progress on standard error, the answer on standard output."""

import json
import sys
from pathlib import Path
from typing import Any

from explorer import home
from explorer.cli.show import result_lines
from explorer.engine.client import Engine, connect
from explorer.schemas.events import Artifact, Event, Failure, Finding, Log, Metric, Progress, Result, State
from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import RESULT_ADAPTER
from explorer.schemas.specs import Spec

# Result fields that name something below the job's artifacts.
ARTIFACT_FIELDS = ("output", "model", "checkpoint")


class Ticker:
    """What a job says, for a person at a terminal or a log file: one rewritten line, or a line a change."""

    def __init__(self) -> None:
        self._rewrites = sys.stderr.isatty()
        self._open = False
        self._last = ""

    def show(self, event: Event) -> None:
        match event:
            case Progress():
                self._line(f"  {_percent(event)} {event.message}", rewrite=True)
            case Log():
                self._line(f"  {event.text}")
            case Finding():
                evidence, remedy = event.evidence and f" ({event.evidence})", event.remedy and f": {event.remedy}"
                self._line(f"  {event.severity}: {event.title}{evidence}{remedy}")
            case State():
                self._line(f"  {event.state}" + (f": {event.reason}" if event.reason else ""))
            case _:
                pass

    def close(self) -> None:
        if self._open:
            print(file=sys.stderr)
            self._open = False

    def _line(self, text: str, *, rewrite: bool = False) -> None:
        if rewrite and not self._rewrites:
            return
        if text == self._last:
            return
        self._last = text
        head = "\r\x1b[K" if self._open else ""
        print(head + text, end="" if rewrite else "\n", file=sys.stderr, flush=True)
        self._open = rewrite


async def follow_to_end(engine: Engine, job: JobSummary, ticker: Ticker | None = None) -> dict[str, Any]:
    """Follow a job and give its answer as plain data: `job`, `state`, and the result's fields or `error` and `remedy`.

    A training that ends without a result still tells its last step, metrics, checkpoint and alarms; a conversion that fails
    is `passed: false` with `reason`, `operator`, `module` and what was found on the way.
    """
    answer: dict[str, Any] = {"job": job.id}
    if job.kind == "train":
        answer |= {"steps": 0, "metrics": {}, "checkpoint": None, "alarms": []}
    if job.kind == "convert":
        answer |= {"passed": False, "findings": []}
    async for event in engine.follow(job.id):
        if ticker:
            ticker.show(event)
        note(answer, event)
    if ticker:
        ticker.close()
    return answer


def note(answer: dict[str, Any], event: Event) -> None:
    """Add what an event says to a job's answer."""
    match event:
        case Result():
            answer |= {key: value for key, value in event.result.items() if key not in ("job", "state")}
            folder = home.jobs_folder() / answer["job"] / "artifacts"
            answer |= {key: str(folder / answer[key]) for key in ARTIFACT_FIELDS if answer.get(key)}
            if delivered := answer.pop("delivered", None):
                answer["output"] = delivered
        case Failure():
            answer |= {"error": event.message, "remedy": event.remedy, "cause": event.cause, "log_tail": event.log_tail}
            if "passed" in answer:
                answer |= {"passed": False, "reason": event.message, "operator": "", "module": ""}
            answer |= event.details
        case State():
            answer["state"] = event.state
            answer["headline"] = event.reason
        case Finding() if "passed" in answer:
            answer["findings"].append(event.model_dump(mode="json", exclude={"seq", "time", "kind"}))
        case Metric() | Artifact() | Finding() if "alarms" in answer:
            _note_training(answer, event)
        case _:
            pass


def _note_training(answer: dict[str, Any], event: Metric | Artifact | Finding) -> None:
    """What is known of a training before its result, which replaces all of it."""
    match event:
        case Metric():
            answer["steps"] = max(event.steps, default=answer["steps"])
            answer["metrics"] |= _last_values(event)
        case Artifact() if event.step is not None:
            answer["checkpoint"] = str(home.jobs_folder() / answer["job"] / "artifacts" / event.name)
        case Finding() if event.severity != "info":
            where = event.evidence.partition(":")[0]
            answer["alarms"].append(f"{event.title} at {where}" if where.startswith("step ") else event.title)


def _last_values(event: Metric) -> dict[str, float | str]:
    """By metric, NaN and infinities as words."""
    last = event.model_copy(update={"values": {name: column[-1:] for name, column in event.values.items()}})
    return {name: column[0] for name, column in json.loads(last.model_dump_json())["values"].items() if column}


async def submit_and_follow(spec: Spec, *, as_json: bool, detach: bool = False) -> int:
    """Run a spec as a job; exit 0 when it was done well."""
    engine = await connect()
    try:
        job = await engine.submit(spec)
        if detach:
            print(json.dumps({"job": job.id}) if as_json else job.id)
            return 0
        print(f"{job.kind} {job.model}, job {job.id}", file=sys.stderr)
        answer = await follow_to_end(engine, job, Ticker())
    finally:
        await engine.aclose()
    return finish(answer, as_json=as_json)


def finish(answer: dict[str, Any], *, as_json: bool) -> int:
    """Print a job's answer and give the exit code for it."""
    done = answer.get("state") == "done"
    if as_json:
        print(json.dumps(answer))
    elif done:
        print("\n".join(result_lines(RESULT_ADAPTER.validate_python(answer), Path(answer.get("output", "")))))
    if not done:
        text = ": ".join(filter(None, [answer.get("error") or f"the job was {answer.get('state')}", answer.get("remedy")]))
        print(f"explorer: {text}", file=sys.stderr)
    return 0 if done else 1


def _percent(event: Progress) -> str:
    return f"{event.done / event.total:4.0%}" if event.total else "  – "
