"""What each layer of a model costs, as a table to sort, with its place on the machine's roofline."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.content import Content

from explorer.schemas import roofline
from explorer.schemas.model_results import LayerCost, LayersResult
from explorer.schemas.quantities import quantity
from explorer.schemas.results import CeilingsResult
from screens.model_tables import ResultTable, cut, cut_front, found_part
from screens.model_words import shape
from screens.result_words import fact_lines, wrapped
from screens.text import NONE, bytes_, count, number, percent, rate, short_count

SHAPE_ROOM, COUNT_ROOM, BYTES_ROOM, SHARE_ROOM = 15, 8, 9, 8
FLOAT_BYTES = 4
DEVICE, DTYPE = "cpu", "float32"  # what the layers are timed on
WHOLE = "(whole)"


class LayersTable(ResultTable[LayerCost]):
    """In the model's order at first; the whole model is its first row."""

    SORTS: ClassVar[tuple[str, ...]] = ("model order", "FLOPs", "parameters", "activation", "latency")
    WHAT = "layer"

    def __init__(self, result: LayersResult, ceilings: CeilingsResult | None) -> None:
        self._result = result
        self._ceilings = ceilings

    def head(self, width: int) -> list[Content]:
        result = self._result
        inputs = ", ".join(shape(dims) for dims in result.input_shapes)
        threads = "" if result.threads is None else f" on {result.threads} thread{'' if result.threads == 1 else 's'}"
        latency = [] if result.latency_ms is None else [f"{number(result.latency_ms)} ms{threads}"]
        figures = [
            f"{short_count(result.parameters)} parameters",
            quantity(result.flops, "FLOP"),
            f"activations {bytes_(result.activation_bytes)}",
            *latency,
        ]
        first = Content.assemble((_short(result.source), "bold"), f" · input {inputs} · batch {result.batch_size}")
        rows = [first.truncate(width, ellipsis=True), *wrapped(Content(" · ".join(figures)), width, "  ")]
        whole = next((item for item in result.layers if not item.name), None)
        limit = self._limit(whole) if whole is not None else ""
        return [*rows, *(wrapped(Content.assemble(("roofline ", "$muted"), limit), width, "  ") if limit else [])]

    def columns(self, width: int) -> Content:
        text = f"{'layer':<{_name_room(width)}} {'type':<{_type_room(width)}} {'output':<{SHAPE_ROOM}}{'params':>{COUNT_ROOM}}"
        return Content.assemble((f"{text}{'FLOP':>{COUNT_ROOM}}{'activ.':>{BYTES_ROOM}}{'time':>{SHARE_ROOM}}", "$muted"))

    def rows(self, sort: str, text: str) -> list[LayerCost]:
        found = [item for item in self._result.layers if text.lower() in f"{item.name} {item.type}".lower()]
        if sort == "FLOPs":
            return sorted(found, key=lambda item: -(item.flops or 0))
        if sort == "parameters":
            return sorted(found, key=lambda item: -item.parameters)
        if sort == "activation":
            return sorted(found, key=lambda item: -item.activation_bytes)
        if sort == "latency":
            return sorted(found, key=lambda item: -(item.latency_ms or 0.0))
        return found

    def key(self, row: LayerCost) -> str:
        return row.name or WHOLE

    def draw(self, row: LayerCost, width: int) -> Content:
        flops = NONE if row.flops is None else short_count(row.flops)
        share = NONE if row.latency_share is None else percent(row.latency_share, 1)
        output = ", ".join(shape(dims) for dims in row.output_shapes)
        figures = f"{short_count(row.parameters):>{COUNT_ROOM}}{flops:>{COUNT_ROOM}}{bytes_(row.activation_bytes):>{BYTES_ROOM}}"
        return Content.assemble(
            (f"{cut_front(row.name or WHOLE, _name_room(width))} ", "" if row.name else "bold"),
            (f"{cut(row.type, _type_room(width))} ", "$muted"),
            f"{cut(output, SHAPE_ROOM)}{figures}",
            (f"{share:>{SHARE_ROOM}}", "$primary"),
        )

    def facts(self, row: LayerCost, width: int) -> list[Content]:
        flops = "no formula" if row.flops is None else quantity(row.flops, "FLOP")
        facts = [
            ("type", row.type),
            ("output", ", ".join(shape(dims) for dims in row.output_shapes)),
            ("parameters", count(row.parameters)),
            ("compute", flops),
            ("activation", bytes_(row.activation_bytes)),
        ]
        if row.latency_ms is not None:
            facts.append(("time", f"{number(row.latency_ms)} ms, {percent(row.latency_share, 1)} of the call"))
        if limit := self._limit(row):
            facts.append(("roofline", limit))
        lines = [line for fact in fact_lines(facts, 10) for line in wrapped(fact, width, " " * 11)]
        return [*wrapped(Content.assemble((row.name or WHOLE, "bold")), width), *lines]

    def about(self, width: int) -> list[Content]:
        rows = found_part(self._result.findings, width)
        rows += [Content("")] if rows else []
        rows += wrapped(Content.assemble((CONVENTION, "$muted")), width)
        if self._ceilings is None:
            return [*rows, *wrapped(Content.assemble((NO_CEILINGS, "$muted")), width)]
        threads = f"The ceilings were measured with {self._ceilings.threads} threads. {MOVED}"
        return [*rows, *wrapped(Content.assemble((threads, "$muted")), width)]

    def _limit(self, row: LayerCost) -> str:
        """Where a layer sits: FLOP a byte, what holds it, the most there, and what it reached. Empty when it cannot be said."""
        moved = self._moved_bytes(row)
        if self._ceilings is None or not row.flops or moved <= 0:
            return ""
        intensity = row.flops / moved
        roof = roofline.attainable(intensity, self._ceilings.ceilings, DEVICE, DTYPE)
        if roof is None:
            return ""
        said = f"{number(float(f'{intensity:.2g}'))} FLOP/B, {roof.bound}-bound, at most {rate(roof.flops_per_s, 'FLOP/s')}"
        if not row.latency_ms:
            return said
        reached = row.flops / (row.latency_ms / 1000)
        return f"{said}; reached {rate(reached, 'FLOP/s')} ({percent(reached / roof.flops_per_s, 1)})"

    def _moved_bytes(self, row: LayerCost) -> int:
        """Weights read once and outputs written once: the least that moves. The whole model writes what all its leaves do."""
        activations = row.activation_bytes if row.name else self._result.activation_bytes
        return row.parameters * FLOAT_BYTES + activations


CONVENTION = "Two FLOP for each multiply-add. Activations are what the layer gives, in one call of the batch."
NO_CEILINGS = "Measure the machine's ceilings (1 Hardware, b) to see each layer on its roofline."
MOVED = "FLOP/B counts weights and outputs as float32, moved once."


def _short(source: str) -> str:
    file, separator, name = source.rpartition(":")
    return f"{Path(file).name}{separator}{name}" if separator and file != "job" else source


def _type_room(width: int) -> int:
    return 20 if width >= 90 else 11


def _name_room(width: int) -> int:
    return max(12, width - _type_room(width) - SHAPE_ROOM - 2 * COUNT_ROOM - BYTES_ROOM - SHARE_ROOM - 2)
