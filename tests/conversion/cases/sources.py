"""The cases as model sources: `tests.conversion.cases.sources:NAME`."""

from collections.abc import Callable

import torch

from tests.conversion.cases.architectures import ARCHITECTURES
from tests.conversion.cases.case import Built
from tests.conversion.cases.notes import NOTES
from tests.conversion.cases.reports import REPORTS

CASES = {case.name: case for case in (*NOTES, *ARCHITECTURES, *REPORTS)}


def __getattr__(name: str) -> Callable[[], Built]:
    """A factory that gives the same weights every time."""
    if name not in CASES:
        raise AttributeError(name)

    def factory() -> Built:
        torch.manual_seed(0)
        return CASES[name].build()

    return factory
