"""Every command runs in a home of its own, against an engine process with scripted workers."""

from pathlib import Path

import pytest

from tests.conftest import StartEngine


@pytest.fixture(autouse=True)
def scripted(explorer_home: Path, start_engine: StartEngine) -> None:
    """The home is set, and an engine started from here has scripted workers."""
