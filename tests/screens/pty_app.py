"""The program on a `FakeEngine`, or a bare Textual app, to run on a pseudo-terminal: `python -m tests.screens.pty_app MODE`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes import FakeEngine


FEEDERS: list[asyncio.Task[None]] = []  # the loop itself keeps only a weak reference


def bare() -> None:
    """The smallest Textual app: what the first frame is compared with."""
    from textual.app import App, ComposeResult
    from textual.widgets import Static

    class Bare(App[None]):
        def compose(self) -> ComposeResult:
            yield Static("ready")

    Bare().run()


def main(mode: str) -> int:
    if mode == "bare":
        bare()
        return 0
    from screens.app import run

    return run(lambda: connect(mode), watch="/logs" if mode == "watch" else None)


async def connect(mode: str) -> FakeEngine:
    """The scripted engine of a mode, made after the first paint as the real one is."""
    from explorer.schemas.curves import RunNews
    from tests.fakes import FakeEngine, a_job, a_sample

    if mode == "hardware":
        samples = [a_sample(second, 40 + 5 * (second % 7) - 11 * (second % 3), (600 + second) * 10**7) for second in range(60)]
        return FakeEngine(samples=samples, sample_interval_s=1.0)
    if mode == "mac":
        from tests.screens.machines import a_busy_second, a_full_mac, measured_events, measured_job

        samples = [a_busy_second(second) for second in range(60)]
        events = {"c3f1": measured_events()}
        return FakeEngine([measured_job()], events=events, inventory=a_full_mac(), samples=samples, sample_interval_s=1.0)
    if mode == "train":
        engine = FakeEngine([a_job("7f3a")])
        FEEDERS.append(asyncio.create_task(feed(engine)))
        return engine
    if mode == "watch":
        from tests.screens.curves import a_long_run

        engine = FakeEngine()
        for place in range(8):
            run = a_long_run(f"/logs/run-{place}", place)
            engine.runs[run.source] = run
            await engine.log_run(RunNews(run=run))
        FEEDERS.append(asyncio.create_task(feed_runs(engine)))
        return engine
    return FakeEngine()


async def feed_runs(engine: FakeEngine) -> None:
    """Every run logs four metrics, ten times a second, from half of its million steps on."""
    from explorer.schemas.curves import RunNews
    from tests.screens.curves import more_of

    for tick in range(400):
        for run in engine.runs.values():
            await engine.log_run(RunNews(run=more_of(run, tick)))
        await asyncio.sleep(0.1)


async def feed(engine: FakeEngine) -> None:
    """Events as a worker says them, ten times a second, for a run of 40 seconds."""
    from tests.screens.scripts import training_events

    for event in training_events(steps=4000, every=10):
        await engine.say("7f3a", event)
        if event.kind == "progress":
            await asyncio.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
