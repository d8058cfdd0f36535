"""Every engine test has a home of its own."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from explorer import home
from explorer.engine.jobs import JobFolder
from tests.conftest import ROOT, StartEngine

__all__ = ["ROOT", "StartEngine", "job_folder", "until"]


@pytest.fixture(autouse=True)
def own_home(explorer_home: Path) -> None:
    """The home is set before anything asks for it."""


def job_folder(job_id: str) -> JobFolder:
    return JobFolder(home.jobs_folder() / job_id)


async def until(condition: Callable[[], bool], timeout_s: float = 5.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, "waited too long"
        await asyncio.sleep(0.02)
