"""What was asked of a conversion, in words: labelled rows beside the proof, or one paragraph above it; no widget."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec
from screens.job_words import find_job, short_id
from screens.result_words import heading, wrapped
from screens.text import NONE, count

TARGETS = {"onnx": "ONNX", "coreml": "Core ML", "pt2": "exported program (.pt2)"}
LABEL_ROOM = 14
EXAMPLE, NEEDED = "as the model's example", "where needed"
UNSAID = (NONE, EXAMPLE, NEEDED)
Fact = tuple[str, str]


def target_words(spec: ConvertSpec) -> str:
    """The format with what matters of it, such as `Core ML float16, iOS17`."""
    if spec.target == "coreml":
        return f"Core ML {spec.precision}, {spec.deployment_target}"
    return f"ONNX opset {spec.opset}" if spec.target == "onnx" else TARGETS[spec.target]


def asked_rows(spec: ConvertSpec, jobs: dict[str, JobSummary], width: int) -> list[Content]:
    """A labelled row for each value."""
    rows = [heading("ASKED")]
    for label, value in asked_facts(spec, jobs):
        rows += wrapped(Content.assemble((f"{label:<{LABEL_ROOM}}", "$muted"), value), width, " " * LABEL_ROOM)
    return rows


def made_rows(result: ConvertResult | None, width: int) -> list[Content]:
    """What was replaced in the model, and the ports of what was written."""
    if result is None:
        return []
    rewritten = [row for text in result.rewrites for row in wrapped(Content.assemble(("· ", "$muted"), text), width, "  ")]
    ports = [row for text in result.ports for row in wrapped(Content(text), width, "  ")]
    rows = [heading("REWRITTEN"), *rewritten] if rewritten else []
    between = [Content("")] if rewritten and ports else []
    return [*rows, *between, *([heading("INPUTS AND OUTPUTS"), *ports] if ports else [])]


def asked_paragraph(spec: ConvertSpec, jobs: dict[str, JobSummary], width: int) -> list[Content]:
    """The same values in running text, without those that say nothing special."""
    rows = [heading("ASKED")]
    for label, value in asked_facts(spec, jobs):
        item = Content.assemble((f"{label} ", "$muted"), value)
        if value in UNSAID:
            continue
        if rows[-1].cell_length + 2 + item.cell_length <= width:
            rows[-1] = Content.assemble(rows[-1], "  ", item)
        else:
            rows += wrapped(Content.assemble("  ", item), width, "    ")
    return rows


def asked_facts(spec: ConvertSpec, jobs: dict[str, JobSummary]) -> list[Fact]:
    """The values that bear on this format, in the order in which people think of them."""
    facts = [("source", named(spec.source, jobs))]
    facts += [("weights", named(spec.weights, jobs))] if spec.weights else []
    facts += [("target", TARGETS[spec.target]), *_inputs(spec), ("flexible", _flexible(spec))]
    facts += _coreml(spec) if spec.target == "coreml" else _onnx(spec) if spec.target == "onnx" else []
    facts += [("metadata", item) for item in spec.metadata]
    facts.append(("rewrites", NEEDED if spec.rewrites else "switched off"))
    facts += [("trusted", f"the file of SHA-256 {digest[:12]}…") for digest in spec.trust]
    return [*facts, *_proof(spec), *([("also at", spec.output)] if spec.output else [])]


def named(source: str, jobs: dict[str, JobSummary]) -> str:
    """A source as it was typed; a job by what it made."""
    job = find_job(source, jobs)
    return source if job is None else f"{job.kind} {job.model} ({short_id(job.id)})"


def _inputs(spec: ConvertSpec) -> list[Fact]:
    given = [("inputs" if place == 0 else "", port_words(item)) for place, item in enumerate(spec.inputs)]
    return given or [("inputs", EXAMPLE)]


def port_words(text: str) -> str:
    """`image=1x3x32x32:float32` as `image 1 × 3 × 32 × 32 float32`."""
    name, _, rest = text.partition("=")
    shapes, _, dtype = rest.partition(":")
    return " ".join(part for part in (name, shapes.replace("x", " × ").replace("|", " or "), dtype) if part)


def _flexible(spec: ConvertSpec) -> str:
    """What of the inputs' shapes stays open."""
    ranges = [f"{item.partition('=')[0]} {size}" for item in spec.inputs for size in _sizes(item) if ".." in size]
    several = [f"{item.partition('=')[0]} in {item.count('|') + 1} shapes" for item in spec.inputs if "|" in item]
    batch = ["batch 1..64" if spec.target == "coreml" else "batch"] if spec.dynamic_batch else []
    return ", ".join(ranges + several or batch) or NONE


def _sizes(port: str) -> list[str]:
    return port.partition("=")[2].partition(":")[0].replace("|", "x").split("x")


def _coreml(spec: ConvertSpec) -> list[Fact]:
    kept = ", ".join(spec.keep_float32) or NONE
    half = [("keep float32", f"{kept}, and what breaks" if spec.repair_float16 and spec.keep_float32 else kept)]
    if spec.repair_float16 and not spec.keep_float32:
        half = [("keep float32", "what breaks in float16")]
    units = [] if spec.compute_units == "all" else [("runs on", spec.compute_units.replace("_", " "))]
    used = [("image", spec.image), ("labels", [spec.labels] if spec.labels else []), ("state", spec.state)]
    return [
        ("precision", spec.precision),
        *(half if spec.precision == "float16" else []),
        ("deployment", spec.deployment_target),
        *units,
        *((label, ", ".join(values)) for label, values in used if values),
    ]


def _onnx(spec: ConvertSpec) -> list[Fact]:
    exporter = [] if spec.exporter == "auto" else [("exporter", spec.exporter)]
    beside = [("weights in", "a file beside it")] if spec.external_data == "always" else []
    return [("opset", str(spec.opset)), *exporter, *beside, *([("compare", "every layer")] if spec.layers else [])]


def _proof(spec: ConvertSpec) -> list[Fact]:
    origin = spec.check_inputs or spec.data
    samples = f"at most {count(spec.check_samples)} samples"
    return [("proof", f"{samples} of {origin}" if origin else samples)]
