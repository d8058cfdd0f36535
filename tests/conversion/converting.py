"""One conversion in a test."""

from pathlib import Path
from typing import Any

from explorer.conversion.convert import run
from explorer.reporter import QuietReporter
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec

PORTS = "tests.conversion.ports_models"


def convert(folder: Path, source: str, target: str, **fields: Any) -> tuple[ConvertResult, QuietReporter]:
    """The result of a conversion whose artifacts lie in `folder`; a bare name means a model of ports_models."""
    report = QuietReporter(folder)
    place = source if ":" in source or "/" in source else f"{PORTS}:{source}"
    return run(ConvertSpec.model_validate({"source": place, "target": target, **fields}), report), report
