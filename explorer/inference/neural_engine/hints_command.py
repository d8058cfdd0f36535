"""The command that gives the hints on a package."""

from explorer.inference.coreml.program import load_program
from explorer.inference.neural_engine.hints import hints
from explorer.models.sources import resolve_file
from explorer.reporter import Reporter
from explorer.schemas.convert_result import HintsResult
from explorer.schemas.convert_spec import HintsSpec


def run(spec: HintsSpec, report: Reporter) -> HintsResult:
    """Every rule on one package. Raises `ExplorerError` when it is no ML Program."""
    report.progress(0, 1, "reading the program")
    program = load_program(resolve_file(spec.package, ("model.mlpackage",)))
    found = hints(program)
    report.progress(1, 1, "done")
    return HintsResult(package=spec.package, operators=sum(1 for _ in program.steps()), hints=found)
