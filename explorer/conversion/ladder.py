"""What every route shares: the source with its ports, its proof, the way's log and the artifact's path."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from explorer.conversion.failures import Failures
from explorer.conversion.inputs import Feed, Proof, merged
from explorer.conversion.localise import Difference, located
from explorer.conversion.ports import MAX_BATCH, Traced, opened, shape_words
from explorer.conversion.rewrites import rewritten
from explorer.conversion.rewrites.rule import Target
from explorer.conversion.route import Route
from explorer.inference.coreml.program import Program
from explorer.reporter import Reporter
from explorer.schemas.convert_result import Check, Hint, PrecisionLoss
from explorer.schemas.specs import ConvertSpec


@dataclass
class Made:
    """What a route made: files in the order to deliver them, the last being the model; its checks and what else was learned."""

    files: list[Path]
    checks: list[Check]
    ports: list[str] = field(default_factory=list)
    rewrites: list[str] = field(default_factory=list)
    hints: list[Hint] = field(default_factory=list)
    losses: list[PrecisionLoss] = field(default_factory=list)


@dataclass(frozen=True)
class Ladder:
    """One conversion on its way: `path` is where the result is written."""

    spec: ConvertSpec
    traced: Traced
    proof: Proof
    path: Path
    route: Route
    report: Reporter
    failures: Failures

    def variants(self) -> list[Traced]:
        """The ports to try, best first: with an open batch size where the model may have one, then as they are."""
        wide = opened(self.traced) if self.opens() else None
        return [self.traced] if wide is None else [wide, self.traced]

    def opens(self) -> bool:
        """Whether an open batch is asked for and means something: every output has the samples first."""
        spec = self.spec
        if not spec.dynamic_batch or spec.inputs or spec.labels or spec.state:
            return False
        feed = self.proof.feeds[0]
        size = next(iter(feed.inputs.values())).shape[:1] if feed.inputs else ()
        return all(value.shape[:1] == size and value.ndim > 0 for value in feed.expected.values())

    def proof_of(self, traced: Traced) -> Proof:
        """The feeds for these ports: samples joined where the batch size is open."""
        return merged(self.proof) if traced.open_batch else self.proof

    def port_words(self, traced: Traced) -> list[str]:
        """Inputs and outputs as text; sizes of outputs are those that the source gave in the proof."""
        return [*(port.words() for port in traced.inputs), *(self._output_words(name, traced) for name in traced.outputs)]

    def _output_words(self, name: str, traced: Traced) -> str:
        given = [feed.expected[name] for feed in self.proof.feeds if name in feed.expected]
        if len({value.ndim for value in given}) != 1:
            return name
        ranges = [(min(sizes), max(sizes)) for sizes in zip(*(value.shape for value in given), strict=True)]
        if traced.open_batch:
            ranges[0] = (1, MAX_BATCH)
        sizes = tuple(low if low == high else (low, high) for low, high in ranges)
        return f"{name} {shape_words(sizes)} {given[0].dtype}"

    def say_batch(self, traced: Traced, most: int | None = None) -> None:
        """Tell what became of the batch size that was asked to be open."""
        if traced.open_batch and most is not None:
            self.route.find(
                "info", f"The batch size is open from 1 to {most}", "", "dynamic_batch = false suits the Neural Engine better"
            )
        elif not traced.open_batch and self.opens():
            self.route.find("info", "The batch size is fixed at 1", "the model does not work with an open batch size")

    def rewritten(self, module: nn.Module, traced: Traced, target: Target) -> tuple[nn.Module, list[str]]:
        """The module with its patterns replaced and what was, or as it is when that is not asked for."""
        # A state is found by the name of its buffer, which a changed copy does not keep.
        if not self.spec.rewrites or self.spec.state or isinstance(traced.original, torch.jit.ScriptModule):
            return module, []
        with self.route.step("rewrites"):
            changed, lines = rewritten(module, traced.examples, target)
        for line in lines:
            self.report.log(f"rewritten: {line}")
        return changed, lines

    def located(self, check: Check, model: Path | Program, proof: Proof, module: nn.Module) -> tuple[Check, dict[str, str]]:
        """A failed check with the first value that differs, where that can be told, and the facts about it."""
        try:
            found = self._first(model, proof, module)
        except Exception as error:  # the model is wrong already; that its fault cannot be told must not hide it
            self.report.log(f"the first wrong value cannot be told: {error}", "warning")
            return check, {}
        if found is None:
            return check, {}
        operator = found.operator or found.source_operator
        return check.model_copy(update={"first_difference": str(found)}), {"operator": operator, "module": found.module}

    def _first(self, model: Path | Program, proof: Proof, module: nn.Module) -> Difference | None:
        for feed in _worst_first(proof.feeds):
            values = [torch.from_numpy(value.copy()) for value in feed.inputs.values()]
            found = located(module, values, model, feed.inputs, self.traced.original)
            if found is not None:
                return found
        return None


def _worst_first(feeds: list[Feed]) -> list[Feed]:
    """A few feeds of different kinds: the mirrored ones show frozen branches, the ends of shapes show frozen sizes."""
    kinds: dict[str, Feed] = {}
    for feed in feeds:
        kinds.setdefault(feed.origin.split(" ")[0], feed)
    return list(kinds.values())[:6]


RouteFunction = Callable[[Ladder], Made]
