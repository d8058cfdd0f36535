"""The operators of a graph in words: rows of the list and the page of one."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.model_results import GraphResult, Operator
from screens.model_facts import port_line
from screens.model_operators import OperatorRow, uses
from screens.model_words import shape
from screens.result_words import fact_lines, finding_rows, heading, wrapped
from screens.text import count

SHAPE_ROOM, DTYPE_ROOM, TYPE_ROOM = 20, 9, 18
LEAST_FOR_INPUTS = 96
MORE_SHOWN = 20


def graph_head(graph: GraphResult, name: str, order: str, width: int) -> list[Content]:
    """How many operators of which types, and the order they are listed in."""
    kinds: dict[str, int] = {}
    for item in graph.operators:
        kinds[item.type] = kinds.get(item.type, 0) + 1
    most = sorted(kinds.items(), key=lambda item: -item[1])
    types = ", ".join(f"{found} {kind}" for kind, found in most)
    first = Content.assemble((name, "bold"), f" · {count(len(graph.operators))} operators · {order}")
    return [first.truncate(width, ellipsis=True), Content.assemble((types, "$muted")).truncate(width, ellipsis=True)]


def column_names(width: int) -> Content:
    """The heading over the operators."""
    tail = f"{'output':>{SHAPE_ROOM}} {'type':<{DTYPE_ROOM}}"
    inputs = f"{'inputs':<{_input_room(width)}}" if width >= LEAST_FOR_INPUTS else ""
    return Content.assemble((f"{'operator':<{TYPE_ROOM}} {'name':<{_name_room(width)}}{inputs}{tail}", "$muted"))


def operator_line(row: OperatorRow, width: int) -> Content:
    """An operator with its type, name, inputs and the shape it gives; or a module with the number of its operators."""
    node = row.node
    sign = "" if not node.children else "▾ " if row.is_open else "▸ "
    indent = "  " * min(row.depth, 8)
    if node.operator is None:
        inside = f"{count(node.count)} operator{'' if node.count == 1 else 's'}"
        return Content.assemble((f"{indent}{sign}{node.name}  ", "bold"), (inside, "$muted"))
    item = node.operator
    lead = Content(f"{indent}{sign}{item.type}").truncate(max(TYPE_ROOM, len(indent) + TYPE_ROOM - 2), ellipsis=True).plain
    room = TYPE_ROOM + 1 + _name_room(width) - max(TYPE_ROOM, len(lead)) - 1
    name = Content(item.name).truncate(max(4, room - 1), ellipsis=True).plain
    parts = [(lead.ljust(TYPE_ROOM) + " ", "bold"), (name.ljust(room), "")]
    if width >= LEAST_FOR_INPUTS:
        inputs = _input_room(width)
        parts.append((Content(", ".join(item.inputs)).truncate(inputs - 2, ellipsis=True).plain.ljust(inputs), "$muted"))
    gives = item.outputs[0] if item.outputs else None
    dims = "" if gives is None else shape(gives.shape)
    more = f" +{len(item.outputs) - 1}" if len(item.outputs) > 1 else ""
    dims = Content(dims).truncate(SHAPE_ROOM - len(more), ellipsis=True).plain + more
    dtype = "" if gives is None else Content(gives.dtype).truncate(DTYPE_ROOM, ellipsis=True).plain
    return Content.assemble(*parts, f"{dims:>{SHAPE_ROOM}} ", (f"{dtype:<{DTYPE_ROOM}}", "$muted"))


def operator_rows(item: Operator, graph: GraphResult, width: int) -> list[Content]:
    """Everything about one operator: where it is, what it reads and gives, what reads that, its attributes."""
    facts = [("type", item.type), ("module", item.module), ("inside", item.block)]
    rows = [*wrapped(Content.assemble((item.name, "bold")), width), *fact_lines([fact for fact in facts if fact[1]], 8)]
    makers = {port.name: maker for maker in graph.operators for port in maker.outputs}
    rows += [
        Content(""),
        heading("READS"),
        *(row for name in item.inputs for row in wrapped(_read(name, graph, makers), width, "    ")),
    ]
    rows += [Content(""), heading("GIVES"), *(row for port in item.outputs for row in wrapped(port_line(port), width, "    "))]
    readers = list({use.name: use for port in item.outputs for use in uses(graph, port.name)}.values())
    if readers:
        rows += [Content(""), heading("READ BY"), *(_named(use).truncate(width, ellipsis=True) for use in readers[:MORE_SHOWN])]
    if item.attributes:
        lines = [Content.assemble((f"{name} ", "$muted"), value) for name, value in item.attributes.items()]
        rows += [Content(""), heading("ATTRIBUTES"), *(row for line in lines for row in wrapped(line, width, "    "))]
    if graph.findings:
        rows += [Content(""), heading("FINDINGS"), *finding_rows(graph.findings, width)]
    return rows


def _read(name: str, graph: GraphResult, makers: dict[str, Operator]) -> Content:
    """An input and where it comes from."""
    if name in makers:
        return Content.assemble(name, ("  ← ", "$muted"), _named(makers[name]))
    kind = "weight" if name in graph.weights else "input" if any(port.name == name for port in graph.inputs) else ""
    return Content.assemble(name or "left out", (f"  {kind}" if kind else "", "$muted"))


def _named(item: Operator) -> Content:
    return Content.assemble((f"{item.type} ", "bold"), (item.name, "$muted"))


def _input_room(width: int) -> int:
    return (width - TYPE_ROOM - 1 - SHAPE_ROOM - 1 - DTYPE_ROOM) // 2


def _name_room(width: int) -> int:
    left = width - TYPE_ROOM - 1 - SHAPE_ROOM - 1 - DTYPE_ROOM
    return max(8, left - (_input_room(width) if width >= LEAST_FOR_INPUTS else 0))
