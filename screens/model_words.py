"""A model file in words: heading and the rows of its tensor tree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content

from explorer.schemas.events import Finding
from explorer.schemas.jobs import JobSummary
from explorer.schemas.model_results import InspectResult, TensorInfo
from screens.job_words import short_id
from screens.model_tree import TreeRow
from screens.result_words import wrapped
from screens.text import bytes_, count, short_count

SHAPE_ROOM, DTYPE_ROOM, COUNT_ROOM, BYTES_ROOM = 18, 9, 8, 9
COLUMNS = SHAPE_ROOM + DTYPE_ROOM + COUNT_ROOM + BYTES_ROOM + 4
TYPES_SHOWN = 3
ALMOST_ALL = 0.99  # a few counters in int64 do not make a model of two types


def head_lines(result: InspectResult, job: JobSummary | None, width: int) -> list[Content]:
    """Name (of the `job` when it made the model), format, sizes; then whether it is sound and whether loading it runs code."""
    name = Path(result.source).name if job is None else f"{job.kind} {job.model} ({short_id(job.id)})"
    figures = [
        result.format_name,
        bytes_(result.bytes),
        f"{short_count(result.parameters)} parameters{_by_dtype(result)}",
        f"{count(len(result.tensors))} tensor{'' if len(result.tensors) == 1 else 's'}",
    ]
    first = Content.assemble((name, "bold"), " · " + " · ".join(figures))
    second = Content.assemble(_soundness(result.findings), "   ", safety_sign(result), (f" · {result.safety}", "$muted"))
    return [*wrapped(first, width, "  ")[:2], *wrapped(second, width, "  ")[:2]]


def safety_sign(result: InspectResult) -> tuple[str, str]:
    """Whether loading the file runs code, with its style."""
    if result.runs_code_on_load:
        return "! loading it runs its code", "bold $warning"
    return "✓ loading it runs no code", "$success"


def _soundness(findings: Sequence[Finding]) -> tuple[str, str]:
    for severity, sign, style, word in (("error", "✗", "bold $error", "problem"), ("warning", "!", "bold $warning", "warning")):
        found = sum(item.severity == severity for item in findings)
        if found:
            return f"{sign} {found} {word}{'' if found == 1 else 's'}", style
    return "✓ sound", "$success"


def _by_dtype(result: InspectResult) -> str:
    """The one type, or the share of each in bytes."""
    sizes = sorted(result.bytes_by_dtype.items(), key=lambda item: -item[1])
    if len(sizes) <= 1:
        return "".join(f", {dtype}" for dtype, _ in sizes)
    total = sum(size for _, size in sizes)
    if sizes[0][1] >= ALMOST_ALL * total:
        return f", {sizes[0][0]}"
    left = f" and {len(sizes) - TYPES_SHOWN} more" if len(sizes) > TYPES_SHOWN else ""
    return " in " + ", ".join(f"{dtype} {bytes_(size)}" for dtype, size in sizes[:TYPES_SHOWN]) + left


def column_names(width: int) -> Content:
    """The heading over the tree."""
    room = max(8, width - COLUMNS)
    text = f"{'tensor':<{room}} {'shape':<{SHAPE_ROOM}} {'type':<{DTYPE_ROOM}}{'values':>{COUNT_ROOM}}{'bytes':>{BYTES_ROOM}}"
    return Content.assemble((text, "$muted"))


def tree_line(row: TreeRow, width: int) -> Content:
    """A module with its sums, or a tensor with shape and type."""
    node, room = row.node, max(8, width - COLUMNS)
    sign = "  " if node.tensor is not None else "▾ " if row.is_open else "▸ "
    mark = mark_of(node.tensor)
    indent = "  " * min(row.depth, room // 4)
    label = Content(f"{indent}{sign}{node.name}").truncate(room - len(mark), ellipsis=True)
    sums = f"{short_count(node.parameters):>{COUNT_ROOM}}{bytes_(node.bytes):>{BYTES_ROOM}}"
    if node.tensor is None:
        inside = f"{count(node.tensors)} tensor{'' if node.tensors == 1 else 's'}"
        middle = (f" {inside:<{SHAPE_ROOM}} {'':<{DTYPE_ROOM}}", "$muted")
        return Content.assemble((label.plain.ljust(room), "bold"), middle, (sums, "bold"))
    dims = Content(shape(node.tensor.shape)).truncate(SHAPE_ROOM, ellipsis=True).plain
    dtype = Content(node.tensor.dtype).truncate(DTYPE_ROOM - 1, ellipsis=True).plain
    return Content.assemble(
        label.plain,
        (mark.ljust(room - label.cell_length), "$muted"),
        f" {dims:<{SHAPE_ROOM}} ",
        (f"{dtype:<{DTYPE_ROOM}}", "$muted"),
        sums,
    )


def mark_of(tensor: TensorInfo | None) -> str:
    """A word for a tensor that has no storage of its own."""
    if tensor is None:
        return ""
    return " shared" if tensor.shares else " view" if tensor.storage_bytes is not None else ""


def shape(dims: Sequence[int | str]) -> str:
    """Dimensions as people write them."""
    return " × ".join(str(dim) for dim in dims) if dims else "scalar"
