"""Every engine test has a home of its own."""

from pathlib import Path

import pytest

from explorer import home
from explorer.engine.jobs import JobFolder
from tests.conftest import ROOT, StartEngine

__all__ = ["ROOT", "StartEngine", "job_folder"]


@pytest.fixture(autouse=True)
def own_home(explorer_home: Path) -> None:
    """The home is set before anything asks for it."""


def job_folder(job_id: str) -> JobFolder:
    return JobFolder(home.jobs_folder() / job_id)
