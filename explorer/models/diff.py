"""What differs between the tensors of two models, also of different formats."""

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.models.comparison import change
from explorer.models.job_files import resolve_file
from explorer.models.pairing import Pair, Pairing, paired
from explorer.models.renaming import Renaming
from explorer.models.tensor_reader.decoding import is_decodable
from explorer.models.tensor_reader.reading import stored_tensors
from explorer.reporter import Reporter
from explorer.schemas.events import Finding
from explorer.schemas.model_results import DiffResult, TensorChange
from explorer.schemas.model_specs import DiffSpec

ARTIFACTS = ("model.safetensors", "model.onnx", "model.mlpackage")


@dataclass
class _Found:
    """What the comparison has found so far."""

    same: int = 0
    reshaped: list[TensorChange] = field(default_factory=list)
    changed: list[TensorChange] = field(default_factory=list)
    types: Counter[str] = field(default_factory=Counter)
    unread: list[ExplorerError] = field(default_factory=list)


def run(spec: DiffSpec, report: Reporter) -> DiffResult:
    """Tensors are paired by name, a common prefix set aside, else by shape and values; types may differ.

    Raises `ExplorerError` when a file is no model. Tensors whose values cannot be read are compared by their bytes when they
    are of one type, else by shape, and a finding says so.
    """
    first, second = (resolve_file(source, ARTIFACTS) for source in (spec.first, spec.second))
    pairing = paired(stored_tensors(first), stored_tensors(second), report.control)
    found = _compared(pairing.pairs, spec.tolerance, report)
    found.changed.sort(key=lambda item: -(item.relative or 0.0))
    return DiffResult(
        first=spec.first,
        second=spec.second,
        same=found.same,
        added=[tensor.info for tensor in pairing.second_only],
        removed=[tensor.info for tensor in pairing.first_only],
        reshaped=found.reshaped,
        changed=found.changed,
        renaming=_words(pairing.renaming, first, second),
        findings=_findings(pairing, found),
    )


def _compared(pairs: list[Pair], tolerance: float, report: Reporter) -> _Found:
    found = _Found()
    total, done = sum(first.bytes for first, _ in pairs), 0
    for pair in pairs:
        report.control()
        report.progress(done, total, pair[0].name, "bytes")
        _compare(pair, tolerance, found, report)
        done += pair[0].bytes
    report.progress(total, total, "", "bytes")
    return found


def _compare(pair: Pair, tolerance: float, found: _Found, report: Reporter) -> None:
    first, second = pair
    shapes = {"shape": list(first.shape), "other_shape": list(second.shape), "dtype": first.dtype, "other_dtype": second.dtype}
    difference = TensorChange(name=first.name, **shapes)
    if first.shape != second.shape:
        found.reshaped.append(difference)
        return
    if first.dtype != second.dtype:
        found.types[f"{first.dtype} to {second.dtype}"] += 1
    try:
        measured = change(first, second, report.control)
    except ExplorerError as error:
        found.unread.append(error)
        if first.dtype == second.dtype and first.place is not None and not is_decodable(first.dtype):
            found.changed.append(difference)
        return
    if measured.max_abs <= tolerance:
        found.same += 1
    else:
        found.changed.append(difference.model_copy(update=asdict(measured)))


def _words(renaming: Renaming, first: Path, second: Path) -> str:
    sides = ((renaming.first, first.name), (renaming.second, second.name))
    return ", ".join(f"{prefix!r} set aside in the names of {name}" for prefix, name in sides if prefix)


def _findings(pairing: Pairing, found: _Found) -> list[Finding]:
    findings = []
    if pairing.by_value:
        title = f"{pairing.by_value} tensors were paired by shape and values, since their names differ"
        example = pairing.pairs[-1]
        findings.append(Finding(severity="info", title=title, evidence=f"such as {example[0].name} with {example[1].name}"))
    if not pairing.pairs:
        title = "the models share neither names nor values of tensors"
        findings.append(Finding(severity="warning", title=title, remedy="`explorer verify` compares what they compute"))
    if found.types:
        counts = ", ".join(f"{count} from {kinds}" for kinds, count in found.types.most_common())
        findings.append(Finding(severity="info", title=f"types changed: {counts}", evidence="values were compared all the same"))
    if found.unread:
        first = found.unread[0]
        title = f"how far {len(found.unread)} tensors are apart cannot be said"
        findings.append(Finding(severity="warning", title=title, evidence=first.message, remedy=first.remedy))
    return findings
