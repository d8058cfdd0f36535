"""Results about model files as a few lines of plain text."""

from collections.abc import Sequence

from explorer.cli.table import table
from explorer.schemas.events import Finding
from explorer.schemas.model_results import (
    DiffResult,
    GraphResult,
    InspectResult,
    LayersResult,
    MatchResult,
    Operator,
    OutputDifference,
    PortInfo,
    TensorChange,
    TensorInfo,
    TensorValues,
    ValuesResult,
    VerifyResult,
)
from explorer.schemas.quantities import quantity

SHOWN_ROWS = 40
BARS = " ▁▂▃▄▅▆▇█"
BAR_COLUMNS = 48


def inspect_lines(result: InspectResult) -> list[str]:
    """Format, size, safety, ports, contents and the first tensors."""
    lines = [
        result.source,
        f"{result.format_name}, {result.bytes:,} bytes, {result.parameters:,} parameters",
        result.safety,
        *_named("weights", _sizes(result.bytes_by_dtype)),
        *_named("prefix", ", ".join(result.prefixes)),
    ]
    lines += [f"input   {_port(port)}" for port in result.inputs] + [f"output  {_port(port)}" for port in result.outputs]
    lines += [f"holds   {key}: {what}" for key, what in result.contents.items()]
    lines += [f"file    {file.name}  {_bytes_or_missing(file.bytes)}" for file in result.external_files]
    rows = [[item.name, shape_text(item.shape), item.dtype, f"{item.bytes:,}", _sharing(item)] for item in result.tensors]
    return [*lines, *_first_rows(rows, "tensors", right=(3,)), *finding_lines(result.findings)]


def values_lines(result: ValuesResult) -> list[str]:
    """One tensor with its histogram, or what a sweep found."""
    if len(result.tensors) == 1 and result.checked == 1:
        return [*_values(result.tensors[0]), *finding_lines(result.findings)]
    head = f"{result.checked:,} tensors, {result.bytes:,} bytes in {result.seconds:.1f} s: "
    rows = [[item.name, f"{item.nans:,} NaN", f"{item.infinities:,} infinite"] for item in result.tensors]
    words = "all finite" if not rows else f"{len(rows):,} hold NaN or infinity"
    return [head + words, *_first_rows(rows, "tensors", right=(1, 2)), *finding_lines(result.findings)]


def diff_lines(result: DiffResult) -> list[str]:
    """Counts, then each kind of difference."""
    counts = (len(result.added), len(result.removed), len(result.reshaped), len(result.changed))
    lines = ["{:,} added, {:,} removed, {:,} reshaped, {:,} changed, ".format(*counts) + f"{result.same:,} the same"]
    lines += _named("names", result.renaming)
    rows = [["added", item.name, shape_text(item.shape), item.dtype, ""] for item in result.added]
    rows += [["removed", item.name, shape_text(item.shape), item.dtype, ""] for item in result.removed]
    rows += [["reshaped", item.name, _arrow(item), _dtypes(item), ""] for item in result.reshaped]
    rows += [["changed", item.name, shape_text(item.shape), _dtypes(item), _change(item)] for item in result.changed]
    return [*lines, *_first_rows(rows, "differences"), *finding_lines(result.findings)]


def verify_lines(result: VerifyResult) -> list[str]:
    """The verdict, then each output."""
    verdict = "the same" if result.same else "different"
    error = "" if result.max_abs_error is None else f", max error {result.max_abs_error:.1e}"
    lines = [
        f"{verdict} on {result.samples:,} inputs{error} (tolerance {result.tolerance:.0e}; {' against '.join(result.runtimes)})"
    ]
    return [*lines, *table([_output(item) for item in result.outputs], right=()), *finding_lines(result.findings)]


def match_lines(result: MatchResult) -> list[str]:
    """Whether the weights fit, and what stands in the way."""
    lines = [
        ("fits" if result.fits else "does not fit")
        + f": {result.matched:,} matched, {len(result.missing):,} missing, {len(result.unexpected):,} unexpected, "
        + f"{len(result.mismatched):,} of another shape"
    ]
    if result.suggestion:
        lines.append(f"try: {result.suggestion}, then {result.suggested_matches or 0:,} match")
    rows = [["missing", name, ""] for name in result.missing] + [["unexpected", name, ""] for name in result.unexpected]
    rows += [["shape", item.name, f"{shape_text(item.found)}, not {shape_text(item.expected)}"] for item in result.mismatched]
    return [*lines, *_first_rows(rows, "names"), *finding_lines(result.findings)]


def layers_lines(result: LayersResult) -> list[str]:
    """The table of layers under its totals."""
    latency = "" if result.latency_ms is None else f", {result.latency_ms:.3f} ms on {result.threads} thread"
    shapes = ", ".join(map(shape_text, result.input_shapes))
    head = (
        f"batch {result.batch_size}, inputs {shapes}: {result.parameters:,} parameters, {quantity(result.flops, 'FLOP')}{latency}"
    )
    rows = [["layer", "type", "output", "parameters", "FLOPs", "activation", "latency"]]
    rows += [
        [
            item.name or "(whole)",
            item.type,
            ", ".join(map(shape_text, item.output_shapes)),
            f"{item.parameters:,}",
            "–" if item.flops is None else quantity(item.flops, "FLOP"),
            f"{item.activation_bytes:,} B",
            "–" if item.latency_share is None else f"{item.latency_share:.1%}",
        ]
        for item in result.layers
    ]
    uncounted = _named("not counted", ", ".join(result.uncounted))
    return [head, *table(rows, right=(3, 4, 5, 6)), *uncounted, *finding_lines(result.findings)]


def graph_lines(result: GraphResult) -> list[str]:
    """Every operator, nested blocks indented."""
    lines = [f"{result.format}, {len(result.operators):,} operators"]
    lines += [f"input   {_port(port)}" for port in result.inputs] + [f"output  {_port(port)}" for port in result.outputs]
    depths: dict[str, int] = {}
    for item in result.operators:
        depths[item.name] = depths.get(item.block, -1) + 1 if item.block else 0
        lines.append("  " * depths[item.name] + operator_text(item))
    return lines + finding_lines(result.findings)


def operator_text(item: Operator) -> str:
    """Such as `relu_2  Relu(conv_1) -> 1 x 8 x 8 float32`."""
    outputs = ", ".join(f"{shape_text(port.shape)} {port.dtype}".strip() for port in item.outputs)
    return f"{item.name}  {item.type}({', '.join(item.inputs)})" + (f" -> {outputs}" if outputs else "")


def shape_text(shape: Sequence[int | str]) -> str:
    """Such as `1 x 8 x 8`, or "scalar"."""
    return " x ".join(map(str, shape)) if shape else "scalar"


def finding_lines(findings: Sequence[Finding]) -> list[str]:
    """A line each: severity, title, and the remedy when there is one."""
    return [f"{item.severity}: {item.title}" + (f" ({item.remedy})" if item.remedy else "") for item in findings]


def _values(item: TensorValues) -> list[str]:
    lines = [f"{item.name}  {shape_text(item.shape)} {item.dtype}, {item.elements:,} elements"]
    figures = {"min": item.minimum, "max": item.maximum, "mean": item.mean, "std": item.std, "norm": item.norm}
    lines.append("  ".join(f"{name} {value:.6g}" for name, value in figures.items() if value is not None))
    lines.append(f"zeros {item.zeros:,}  NaN {item.nans:,}  infinite {item.infinities:,}")
    if item.histogram:
        lines.append(f"{item.edges[0]:.4g} {_bars(item.histogram)} {item.edges[-1]:.4g}")
    return lines


def _bars(counts: Sequence[int]) -> str:
    """Counts as one row of bars, neighbours added up so that they fit."""
    step = -(-len(counts) // BAR_COLUMNS)
    sums = [sum(counts[start : start + step]) for start in range(0, len(counts), step)]
    most = max(sums) or 1
    return "".join(BARS[0 if not count else max(1, round(count / most * (len(BARS) - 1)))] for count in sums)


def _output(item: OutputDifference) -> list[str]:
    names = item.name if item.name == item.other_name else f"{item.name} / {item.other_name}"
    if item.max_abs_error is None:
        return [names, f"{shape_text(item.shape)}, not {shape_text(item.other_shape)}", "", "", ""]
    return [
        names,
        shape_text(item.shape),
        f"max error {item.max_abs_error:.1e}",
        "" if item.snr_db is None else f"SNR {item.snr_db:.0f} dB",
        "" if item.agreement is None else f"same class on {item.agreement:.1%}",
    ]


def _change(item: TensorChange) -> str:
    told = {"max": item.max_abs, "mean": item.mean_abs, "relative": item.relative}
    return ", ".join(f"{name} {value:.2e}" for name, value in told.items() if value is not None)


def _arrow(item: TensorChange) -> str:
    return f"{shape_text(item.shape)} -> {shape_text(item.other_shape)}"


def _dtypes(item: TensorChange) -> str:
    return item.dtype if item.dtype == item.other_dtype else f"{item.dtype} -> {item.other_dtype}"


def _sharing(item: TensorInfo) -> str:
    if item.shares:
        return f"shares {item.shares}"
    return "" if item.storage_bytes is None else f"view of {item.storage_bytes:,}"


def _port(port: PortInfo) -> str:
    return f"{port.name} {shape_text(port.shape)} {port.dtype}".rstrip()


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{dtype} {size:,} bytes" for dtype, size in sizes.items())


def _bytes_or_missing(size_bytes: int | None) -> str:
    return "missing" if size_bytes is None else f"{size_bytes:,} bytes"


def _named(name: str, text: str) -> list[str]:
    return [f"{name:<7} {text}"] if text else []


def _first_rows(rows: list[list[str]], what: str, right: tuple[int, ...] = ()) -> list[str]:
    lines = table(rows[:SHOWN_ROWS], right=right) if rows else []
    return lines + ([f"and {len(rows) - SHOWN_ROWS:,} more {what}; --json lists all"] if len(rows) > SHOWN_ROWS else [])
