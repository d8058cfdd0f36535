"""What stands beside the tree: the facts of a tensor and of the file, and what loading the file would run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from explorer.schemas.model_results import ExternalFile, InspectResult, Operator, PortInfo
from screens.model_tree import Node
from screens.model_words import safety_sign, shape
from screens.result_words import fact_lines, finding_rows, heading, wrapped
from screens.text import bytes_, count, quantity

LABEL = 8
USES_SHOWN = 6


def node_rows(node: Node | None, width: int) -> list[Content]:
    """The facts of the selected row."""
    if node is None:
        return []
    tensor = node.tensor
    if tensor is None:
        facts = [("tensors", count(node.tensors)), ("values", count(node.parameters)), ("bytes", count(node.bytes))]
        return [*wrapped(Content.assemble((node.path, "bold")), width), *fact_lines(facts, LABEL)]
    stored = f"{count(tensor.bytes)} ({tensor.bytes / node.parameters:.3g} a value)" if node.parameters else count(tensor.bytes)
    facts = [("shape", shape(tensor.shape)), ("type", tensor.dtype), ("values", count(node.parameters)), ("bytes", stored)]
    if tensor.shares:
        facts.append(("storage", f"that of {tensor.shares}"))
    if tensor.storage_bytes is not None:
        facts.append(("view of", f"a storage of {bytes_(tensor.storage_bytes)}"))
    lines = [row for line in fact_lines(facts, LABEL) for row in wrapped(line, width, " " * (LABEL + 1))]
    return [*wrapped(Content.assemble((tensor.name, "bold")), width), *lines]


def use_rows(operators: Sequence[Operator], width: int) -> list[Content]:
    """The operators that read a tensor."""
    rows = [Content.assemble((f"{item.type} ", "bold"), item.name) for item in operators[:USES_SHOWN]]
    more = [Content.assemble((f"and {len(operators) - USES_SHOWN} more", "$muted"))] if len(operators) > USES_SHOWN else []
    none = [] if rows else [Content.assemble(("no operator reads it by this name", "$muted"))]
    return [heading("USED BY"), *(row.truncate(width, ellipsis=True) for row in rows), *more, *none]


def file_rows(result: InspectResult, width: int) -> list[Content]:
    """Findings, inputs, outputs, what else a checkpoint holds, prefixes, other files, metadata and what the file names."""
    parts: list[list[Content]] = []
    if result.findings:
        parts.append([heading("FINDINGS"), *finding_rows(result.findings, width)])
    for title, ports in (("INPUTS", result.inputs), ("OUTPUTS", result.outputs)):
        if ports:
            parts.append([heading(title), *(row for port in ports for row in wrapped(port_line(port), width, "  "))])
    if result.contents:
        parts.append([heading("ALSO HOLDS"), *_named(result.contents, width)])
    if len(result.bytes_by_dtype) > 1:
        sizes = {dtype: bytes_(size) for dtype, size in result.bytes_by_dtype.items()}
        parts.append([heading("BYTES BY TYPE"), *_named(sizes, width)])
    if result.prefixes:
        names = ", ".join(result.prefixes)
        parts.append([heading("PREFIXES"), *wrapped(Content(f"every name begins with {names}"), width, "  ")])
    if result.external_files:
        parts.append([heading("OTHER FILES"), *(row for item in result.external_files for row in _file(item, width))])
    if result.metadata:
        said = {name: quantity(value, "") for name, value in result.metadata.items()}
        parts.append([heading("METADATA"), *_named(said, width)])
    if result.unknown:
        parts.append([heading("NAMES CODE"), *(row for name in result.unknown for row in _reference(name, result, width))])
    return [row for part in parts for row in [*part, Content("")]][:-1]


def safety_rows(result: InspectResult, width: int) -> list[Content]:
    """What opening and loading the file run: the names in it, those that are allowed and why, and what to do."""
    sign, style = safety_sign(result)
    rows = wrapped(Content.assemble(("✓ opening it here ran no code", "$success")), width, "  ")
    rows += wrapped(Content.assemble((sign, style)), width, "  ")
    rows += wrapped(Content(result.safety), width, "  ")
    known = [name for name in result.references if name not in result.unknown]
    if result.unknown:
        rows += [
            Content(""),
            heading("NOT KNOWN"),
            *_muted("Loading would import or run these. No list of harmless names has them.", width),
        ]
        rows += [row for name in result.unknown for row in wrapped(_unknown(name), width, "    ")]
    if known:
        rows += [Content(""), heading("ALLOWED"), *_muted("These only rebuild tensors, containers and plain values.", width)]
        rows += [row for name in known for row in wrapped(Content.assemble(("✓ ", "$success"), name), width, "    ")]
    if result.runs_code_on_load:
        rows += [Content(""), heading("BEFORE IT IS LOADED"), *wrapped(Content(ASKS), width)]
    if result.findings:
        rows += [Content(""), heading("FINDINGS"), *finding_rows(result.findings, width)]
    return rows


ASKS = (
    "Looking at tensors, values, graph and differences never loads the file. A job that must load it asks for your yes to this "
    "one file, shown with its SHA-256, and loads it in a process of its own. A file that changes is asked about again."
)


def port_line(port: PortInfo) -> Content:
    """Name, shape and type of an input or output."""
    return Content.assemble((port.name, "bold"), f"  {shape(port.shape)} ", (port.dtype, "$muted"))


def _named(values: Mapping[str, str], width: int) -> list[Content]:
    lines = [Content.assemble((f"{name} ", "$muted"), value) for name, value in values.items()]
    return [row for line in lines for row in wrapped(line, width, "  ")]


def _file(item: ExternalFile, width: int) -> list[Content]:
    size = ("✗ missing", "bold $error") if item.bytes is None else (bytes_(item.bytes), "$muted")
    return wrapped(Content.assemble(item.name, "  ", size), width, "  ")


def _reference(name: str, result: InspectResult, width: int) -> list[Content]:
    return wrapped(_unknown(name) if name in result.unknown else Content(name), width, "    ")


def _unknown(name: str) -> Content:
    return Content.assemble(("! ", "bold $warning"), (name, "bold"))


def _muted(text: str, width: int) -> list[Content]:
    return wrapped(Content.assemble((text, "$muted")), width)
