"""A model file in words: heading, rows of its tensor tree, the facts of a tensor and of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import InspectResult, PortInfo
from screens.job_words import short_id
from screens.model_tree import Node, TreeRow
from screens.result_words import fact_lines, finding_rows, heading, wrapped
from screens.text import bytes_, count, quantity, short_count

SHAPE_ROOM, DTYPE_ROOM, COUNT_ROOM, BYTES_ROOM = 18, 9, 8, 9
COLUMNS = SHAPE_ROOM + DTYPE_ROOM + COUNT_ROOM + BYTES_ROOM + 4
REFERENCES_SHOWN = 6


def head_lines(result: InspectResult, job: JobSummary | None, width: int) -> list[Content]:
    """Name (of the `job` when it made the model), format, size, parameters; and whether loading it runs code."""
    name = Path(result.source).name if job is None else f"{job.kind} {job.model} ({short_id(job.id)})"
    figures = [
        result.format_name,
        bytes_(result.bytes),
        f"{short_count(result.parameters)} parameters",
        f"{count(len(result.tensors))} tensors",
    ]
    sign, style = (
        ("! loading it can run code", "bold $warning") if result.runs_code_on_load else ("✓ loading it runs no code", "$success")
    )
    named, left = result.references[:REFERENCES_SHOWN], len(result.references) - REFERENCES_SHOWN
    names = f" · names {', '.join(named)}" + (f" and {left} more" if left > 0 else "") if named else ""
    first = Content.assemble((name, "bold"), " · " + " · ".join(figures))
    second = Content.assemble((sign, style), (f" · {result.safety}{names}", "$muted"))
    return [*wrapped(first, width, "  "), *wrapped(second, width, "  ")]


def column_names(width: int) -> Content:
    """The heading over the tree."""
    room = max(8, width - COLUMNS)
    text = f"{'tensor':<{room}} {'shape':<{SHAPE_ROOM}} {'type':<{DTYPE_ROOM}}{'values':>{COUNT_ROOM}}{'bytes':>{BYTES_ROOM}}"
    return Content.assemble((text, "$muted"))


def tree_line(row: TreeRow, width: int) -> Content:
    """A module with its sums, or a tensor with shape and type."""
    node, room = row.node, max(8, width - COLUMNS)
    sign = "  " if node.tensor is not None else "▾ " if row.is_open else "▸ "
    label = Content(f"{'  ' * min(row.depth, room // 4)}{sign}{node.name}").truncate(room, ellipsis=True)
    sums = f"{short_count(node.parameters):>{COUNT_ROOM}}{bytes_(node.bytes):>{BYTES_ROOM}}"
    if node.tensor is None:
        inside = f"{count(node.tensors)} tensor{'' if node.tensors == 1 else 's'}"
        middle = (f" {inside:<{SHAPE_ROOM}} {'':<{DTYPE_ROOM}}", "$muted")
        return Content.assemble((label.plain.ljust(room), "bold"), middle, (sums, "bold"))
    dims = Content(shape(node.tensor.shape)).truncate(SHAPE_ROOM, ellipsis=True).plain
    return Content.assemble(
        label.plain.ljust(room), f" {dims:<{SHAPE_ROOM}} ", (f"{node.tensor.dtype:<{DTYPE_ROOM}}", "$muted"), sums
    )


def node_rows(node: Node | None, width: int) -> list[Content]:
    """The facts of the selected row."""
    if node is None:
        return []
    tensor = node.tensor
    if tensor is None:
        facts = [("tensors", count(node.tensors)), ("values", count(node.parameters)), ("bytes", count(node.bytes))]
        return [*wrapped(Content.assemble((node.path, "bold")), width), *fact_lines(facts, 8)]
    stored = f"{count(tensor.bytes)} ({tensor.bytes / node.parameters:.3g} a value)" if node.parameters else count(tensor.bytes)
    facts = [("shape", shape(tensor.shape)), ("type", tensor.dtype), ("values", count(node.parameters)), ("bytes", stored)]
    return [*wrapped(Content.assemble((tensor.name, "bold")), width), *fact_lines(facts, 8)]


def file_rows(result: InspectResult, width: int) -> list[Content]:
    """Findings, inputs, outputs, metadata and what the file names."""
    parts: list[list[Content]] = []
    if result.findings:
        parts.append([heading("FINDINGS"), *finding_rows(result.findings, width)])
    for title, ports in (("INPUTS", result.inputs), ("OUTPUTS", result.outputs)):
        if ports:
            parts.append([heading(title), *(row for port in ports for row in wrapped(port_line(port), width, "  "))])
    if result.metadata:
        facts = [Content.assemble((f"{name} ", "$muted"), quantity(value, "")) for name, value in result.metadata.items()]
        parts.append([heading("METADATA"), *(row for fact in facts for row in wrapped(fact, width, "  "))])
    if result.references:
        parts.append([heading("NAMES CODE"), *(Content(name) for name in result.references)])
    return [row for part in parts for row in [*part, Content("")]][:-1]


def port_line(port: PortInfo) -> Content:
    """Name, shape and type of an input or output."""
    return Content.assemble((port.name, "bold"), f"  {shape(port.shape)} ", (port.dtype, "$muted"))


def shape(dims: Sequence[int | str]) -> str:
    """Dimensions as people write them."""
    return " × ".join(str(dim) for dim in dims) if dims else "scalar"
