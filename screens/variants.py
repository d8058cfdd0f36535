"""What the Lab compares: the models that jobs made, by lineage, with sizes against the first of their kind; no widget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from explorer.schemas.jobs import JobSummary
from explorer.schemas.results import BenchmarkResult, ConvertResult, PruneResult, QuantizeResult, TrainResult, Variant
from explorer.schemas.specs import ConvertSpec, PruneSpec
from screens.job_detail import JobDetail
from screens.job_words import find_job

KINDS = ("train", "convert", "quantize", "prune")
JOB_KINDS = (*KINDS, "benchmark")


@dataclass
class Model:
    """One model that a job made; `size_ratio` is against the first file of its format in its family, itself 1.

    `steps` are the compressions on the way to it, such as "pruned 50%" and "int8".
    """

    job: JobSummary
    detail: JobDetail
    name: str
    format: str
    bytes: int | None
    depth: int = 0
    family: str = ""
    size_ratio: float | None = None
    accuracy: float | None = None
    measured: Variant | None = None
    steps: list[str] = field(default_factory=list)

    @property
    def can_benchmark(self) -> bool:
        return self.format == "ONNX"

    @property
    def can_quantize(self) -> bool:
        return self.job.kind == "convert"

    @property
    def can_prune(self) -> bool:
        return self.job.kind in ("train", "prune")


def models(details: Iterable[JobDetail], jobs: dict[str, JobSummary]) -> list[Model]:
    """Every finished model as a forest in depth-first order, each family together, newest family first."""
    found = {detail.job.id: model for detail in details if (model := _model(detail)) is not None}
    children: dict[str, list[Model]] = {}
    for model in sorted(found.values(), key=lambda item: item.job.created):
        children.setdefault(_parent(model, found, jobs), []).append(model)
    ordered: list[Model] = []
    for root in reversed(children.get("", [])):
        family = _walk(root, children)
        _compare_sizes(family)
        ordered += family
    return ordered


def with_benchmark(found: list[Model], result: BenchmarkResult | None, jobs: dict[str, JobSummary]) -> None:
    """Put the rows of the latest comparison beside the models that it measured."""
    measured = {}
    for variant in result.variants if result is not None else []:
        job = find_job(variant.source, jobs)
        if job is not None:
            measured[job.id] = variant
    for model in found:
        model.measured = measured.get(model.job.id)
        if model.measured is not None and model.measured.accuracy is not None:
            model.accuracy = model.measured.accuracy


def variant_names(chosen: list[Model]) -> list[str]:
    """A short name for each model of a comparison, from the steps that made it."""
    return [" + ".join(model.steps) or "base" for model in chosen]


def _model(detail: JobDetail) -> Model | None:
    """The model of a finished job; None when it made none."""
    job, result = detail.job, detail.result
    match result:
        case TrainResult():
            accuracy = next((value for name, value in result.metrics.items() if "acc" in name and "train" not in name), None)
            return Model(job, detail, job.model, "weights", detail.artifacts.get(result.model), accuracy=accuracy)
        case ConvertResult():
            format_ = "ONNX" if result.target == "onnx" else "Core ML"
            precision = f" {detail.spec.precision}" if isinstance(detail.spec, ConvertSpec) and format_ == "Core ML" else ""
            return Model(job, detail, f"{format_}{precision}", format_, result.bytes)
        case QuantizeResult():
            format_ = "ONNX" if result.output.endswith(".onnx") else "Core ML"
            name = "int8" if result.method == "static_int8" else "int8 weights"
            return Model(job, detail, name, format_, result.bytes, accuracy=result.accuracy, steps=["int8"])
        case PruneResult():
            name = _pruned_name(detail, result)
            return Model(job, detail, name, "weights", result.bytes, accuracy=result.accuracy, steps=[name])
        case _:
            return None


def _pruned_name(detail: JobDetail, result: PruneResult) -> str:
    if result.method == "l1_unstructured":
        return f"{result.zero_share:.0%} zeros"
    amount = f" {detail.spec.amount:.0%}" if isinstance(detail.spec, PruneSpec) else ""
    return f"pruned{amount}"


def _parent(model: Model, found: dict[str, Model], jobs: dict[str, JobSummary]) -> str:
    """The nearest job above that made a model still here."""
    for name in model.job.parents:
        job = find_job(f"job:{name}", jobs)
        if job is not None and job.id in found and job.id != model.job.id:
            return job.id
    return ""


def _walk(root: Model, children: dict[str, list[Model]]) -> list[Model]:
    """The family of a root in depth-first order; each learns its depth and the steps that led to it."""
    ordered: list[Model] = []
    pending = [root]
    while pending:
        model = pending.pop()
        model.family = root.job.id
        ordered.append(model)
        for child in reversed(children.get(model.job.id, [])):
            child.depth, child.steps = model.depth + 1, [*model.steps, *child.steps]
            pending.append(child)
    return ordered


def _compare_sizes(family: list[Model]) -> None:
    first: dict[str, int] = {}
    for model in sorted(family, key=lambda item: (item.job.kind not in ("train", "convert"), item.depth, item.job.created)):
        if model.bytes:
            first.setdefault(model.format, model.bytes)
            model.size_ratio = model.bytes / first[model.format]
