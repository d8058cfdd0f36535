"""The command that lists which operators the reference evaluator knows."""

from explorer.inference.coreml.coverage import missing, reasons, registry_ops, supported, without_rule
from explorer.inference.coreml.program import load_program
from explorer.models.sources import resolve_file
from explorer.reporter import Reporter
from explorer.schemas.convert_result import OperatorsResult
from explorer.schemas.convert_spec import OperatorsSpec

__all__ = ["missing", "registry_ops", "run", "supported"]


def run(spec: OperatorsSpec, report: Reporter) -> OperatorsResult:
    """Known and missing operator types, of coremltools' registry or of one package."""
    if spec.package is None:
        names = registry_ops()
    else:
        program = load_program(resolve_file(spec.package, ("model.mlpackage",)))
        names = sorted({step.op_type for step in program.steps()})
    absent = without_rule(names)
    for name in absent:
        report.log(f"{name}: {reasons().get(name, 'no rule yet')}")
    return OperatorsResult(package=spec.package, known=[name for name in names if name not in absent], missing=absent)
