"""A Core ML package by the first way that both converts and passes its proof."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from explorer.conversion.failures import Failures
from explorer.conversion.first_wrong import first_wrong_operation
from explorer.conversion.inputs import ProofInputs
from explorer.conversion.proof import coreml_float16_check, coreml_float32_check, summary
from explorer.conversion.route import Route
from explorer.conversion.to_coreml import MAX_BATCH, Capture, Way, capture, convert, ways
from explorer.errors import ExplorerError
from explorer.files import remove
from explorer.reporter import Reporter
from explorer.schemas.results import Check
from explorer.schemas.specs import ConvertSpec


def proven_coreml(
    spec: ConvertSpec, module: nn.Module, proof: ProofInputs, path: Path, route: Route, report: Reporter
) -> list[Check]:
    """Write the package at `path` and give its checks: float32 of the graph, and float16 of the package when that is asked.

    Raises `ExplorerError` naming the operator or the failed check when no way works.
    """
    failures = Failures(spec.source, "Core ML", route, report)
    climb = _Climb(spec, proof, route, report, failures)
    hopeless: set[Capture] = set()
    with tempfile.TemporaryDirectory() as folder:
        exact = path if spec.precision == "float32" else Path(folder) / "float32.mlpackage"
        for way in ways(spec):
            if way.capture in hopeless:
                continue
            try:
                graph, check = climb.exact(module, way, exact)
            except Exception as error:
                remove(exact)
                if failures.broke(str(way), error).operator:
                    hopeless.add(way.capture)
                continue
            if failures.passed(check):
                climb.say_batch(way)
                return [check] if exact == path else [check, climb.half(graph, way, path)]
            remove(exact)
    raise failures.error()


@dataclass(frozen=True)
class _Climb:
    """The steps of one way."""

    spec: ConvertSpec
    proof: ProofInputs
    route: Route
    report: Reporter
    failures: Failures

    def exact(self, module: nn.Module, way: Way, path: Path) -> tuple[Any, Check]:
        """The captured graph, written in float32 at `path`, and the check of that."""
        with self.route.step(str(way)):
            graph = capture(module, self.proof.example, way)
        with self.route.step("convert in float32"):
            convert(graph, self.proof.example, way, "float32", path, self.spec, self.route.say)
        with self.route.step("check in float32"):
            check = coreml_float32_check(path, self.proof)
            return graph, check if check.passed else self._located(graph, check, path)

    def _located(self, graph: Any, check: Check, path: Path) -> Check:
        """The failed check with the first operation that differs, where that can be told."""
        if check.first_difference:
            return check
        try:
            where = first_wrong_operation(graph, path, self.proof)
        except (RuntimeError, AssertionError, TypeError, ValueError, ExplorerError) as error:
            self.report.log(f"the first wrong operation cannot be told: {error}", "warning")
            return check
        return check.model_copy(update={"first_difference": where})

    def half(self, graph: Any, way: Way, path: Path) -> Check:
        """Write the float16 package that is delivered and check it; raises `ExplorerError` when it fails."""
        with self.route.step("convert in float16"):
            convert(graph, self.proof.example, way, "float16", path, self.spec, self.route.say)
        with self.route.step("check in float16"):
            check = coreml_float16_check(path, self.proof)
        if self.failures.passed(check):
            return check
        evidence = f"{check.first_difference}; {summary(check)}" if check.first_difference else summary(check)
        self.route.find("error", "The model does not hold in float16", evidence, "convert with precision float32")
        why = check.first_difference or summary(check)
        raise ExplorerError(f"{self.spec.source} fails its float16 check: {why}", "convert with precision float32")

    def say_batch(self, way: Way) -> None:
        if way.open_batch:
            title, remedy = (
                f"The batch size is open from 1 to {MAX_BATCH}",
                "dynamic_batch = false suits the Neural Engine better",
            )
            self.route.find("info", title, str(way), remedy)
        elif self.spec.dynamic_batch:
            self.route.find("info", "The batch size is fixed at 1", "the model does not work with an open batch size")
