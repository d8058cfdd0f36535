"""Fixtures of the screens' tests: an app on a `FakeEngine`, driven by keys."""

import time
from collections.abc import Callable

import pytest

from screens.app import ExplorerApp
from tests.fakes import FakeEngine, connected


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """UTC and UTF-8, whatever the machine says."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    time.tzset()


@pytest.fixture
def app_on() -> Callable[[FakeEngine], ExplorerApp]:
    """Makes the app that a given engine answers."""
    return lambda engine: ExplorerApp(connected(engine))
