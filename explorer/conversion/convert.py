"""A conversion from source to proven artifact.

Every conversion is proven before its file gets its name. ONNX: ONNX Runtime against torch. Exported programs: the file loaded
again against torch. Core ML: a float16 package stores its weights in half, so even an exact evaluation of it differs from torch
by that rounding and proves nothing about the graph. So the program is kept as it was right before its values became half, which
must match torch in float32; then the package is evaluated in float16. A way of capturing that converts but fails the first
proof is passed over for the next.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from explorer.conversion.coreml_route import proven_coreml
from explorer.conversion.destination import artifact_name, deliver, destination
from explorer.conversion.failures import Failures
from explorer.conversion.inputs import data_sample, proof_inputs
from explorer.conversion.ladder import Ladder, Made, RouteFunction
from explorer.conversion.onnx_copy import copied_onnx
from explorer.conversion.onnx_route import proven_onnx
from explorer.conversion.ports import Traced, flattened
from explorer.conversion.preflight import details, preflight
from explorer.conversion.proof_file import PROOF_FILE, write_proof
from explorer.conversion.prove_elsewhere import say_where_it_runs
from explorer.conversion.pt2_route import proven_pt2
from explorer.conversion.refusal import placed, refused
from explorer.conversion.route import Route
from explorer.conversion.source import load_source, onnx_source
from explorer.conversion.versions import check_versions
from explorer.errors import ExplorerError
from explorer.files import size_bytes
from explorer.reporter import Reporter
from explorer.schemas.convert_spec import ConvertTarget
from explorer.schemas.events import Finding
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec

ROUTES: dict[ConvertTarget, RouteFunction] = {"onnx": proven_onnx, "coreml": proven_coreml, "pt2": proven_pt2}
TITLES: dict[ConvertTarget, str] = {"onnx": "ONNX", "coreml": "Core ML", "pt2": "an exported program"}
USUAL_STEPS: dict[ConvertTarget, int] = {"onnx": 6, "coreml": 10, "pt2": 5}


def run(spec: ConvertSpec, report: Reporter) -> ConvertResult:
    """Convert `spec.source`, prove the result and leave it as an artifact, and at `spec.output` when given.

    Raises `ExplorerError` when the source cannot be built or converted, or when a check fails, with `reason`, `operator` and
    `module` among its details; no file is left then.
    """
    started = time.monotonic()
    route = Route(report, USUAL_STEPS[spec.target])
    try:
        return _run(spec, report, route, started)
    except ExplorerError as error:
        failed = refused(error)
        failed.result = _failed(spec, route, time.monotonic() - started)
        raise failed from error.__cause__


def _failed(spec: ConvertSpec, route: Route, seconds: float) -> ConvertResult:
    """What was found out by a conversion that leaves no model."""
    return ConvertResult(
        target=spec.target,
        output="",
        bytes=0,
        route=route.steps,
        passed=False,
        checks=route.checks,
        preflight=route.preflight,
        findings=route.findings,
        losses=route.losses,
        seconds=seconds,
    )


def _run(spec: ConvertSpec, report: Reporter, route: Route, started: float) -> ConvertResult:
    target = destination(spec.output, spec.target)
    check_versions(spec.target)
    found: list[Finding] = []
    with _folder(report) as folder:
        existing = onnx_source(spec.source)
        if existing is not None:
            made = copied_onnx(spec, existing, folder, route)
        else:
            made, found = _converted(spec, folder, route, report)
        report.control()
        kept = [_kept(item, report) for item in made.files]
        if (folder / PROOF_FILE).exists():
            _kept(folder / PROOF_FILE, report)
    if target is not None:
        deliver(kept[-1], target)
    report.progress(len(route.steps), len(route.steps), "done", "steps")
    return ConvertResult(
        target=spec.target,
        output=kept[-1].name,
        delivered=None if target is None else str(target),
        bytes=sum(map(size_bytes, kept)),
        route=route.steps,
        passed=all(check.passed for check in made.checks),
        checks=made.checks,
        preflight=found,
        rewrites=made.rewrites,
        findings=route.findings,
        hints=made.hints,
        losses=made.losses,
        ports=made.ports,
        seconds=time.monotonic() - started,
    )


def _converted(spec: ConvertSpec, folder: Path, route: Route, report: Reporter) -> tuple[Made, list[Finding]]:
    """The source through its route."""
    with route.step("load"):
        source = load_source(spec)
        data = spec.data or source.data
    if source.is_script and spec.target == "pt2":
        raise ExplorerError(f"{spec.source} is TorchScript, which torch.export cannot take", "give file.py:factory as the source")
    if source.was_training:
        report.log("eval: layers that behave otherwise in training were put into evaluation mode")
    if spec.image and spec.target != "coreml":
        route.find(
            "warning", f"{TITLES[spec.target]} has no pictures as inputs", "image is left out", "scale the pixels in the model"
        )
    with route.step("run the source"):
        traced = flattened(source, spec, data_sample(data) if spec.check_inputs is None else None)
    for note in traced.notes:
        route.find("info", note)
    try:
        return _made(spec, traced, data, source.was_training, folder, route, report)
    except ExplorerError as error:
        raise placed(error, traced) from error.__cause__


def _made(
    spec: ConvertSpec, traced: Traced, data: str | None, was_training: bool, folder: Path, route: Route, report: Reporter
) -> tuple[Made, list[Finding]]:
    """The flat source through preflight and its route."""
    with route.step("preflight"):
        found = _preflight(traced, spec, was_training, route, report)
    with route.step("prepare the proof"):
        proof = proof_inputs(spec, traced, data)
    for text in proof.skipped:
        route.find("warning", "The source refuses a declared shape", text, "declare what it takes")
    failures = Failures(spec.source, TITLES[spec.target], route, report)
    ladder = Ladder(spec, traced, proof, folder / artifact_name(spec.target), route, report, failures)
    made = ROUTES[spec.target](ladder)
    if spec.target == "coreml":
        write_proof(folder / PROOF_FILE, proof)
        say_where_it_runs(route, report.folder.parent)
    return made, found


def _preflight(traced: Traced, spec: ConvertSpec, was_training: bool, route: Route, report: Reporter) -> list[Finding]:
    """What can be told before anything is converted; the first error refuses the conversion."""
    found = preflight(traced, spec, was_training)
    route.preflight.extend(found)
    for item in found:
        report.finding(item.severity, item.title, item.evidence, item.remedy)
    error = next((item for item in found if item.severity == "error"), None)
    if error is not None:
        message = f"{spec.source} cannot be converted to {TITLES[spec.target]}: {error.title}"
        raise ExplorerError(message, error.remedy, details(error))
    return found


def _kept(item: Path, report: Reporter) -> Path:
    with report.artifact(item.name) as path:
        shutil.move(item, path)
    return report.folder / item.name


@contextmanager
def _folder(report: Reporter) -> Iterator[Path]:
    """A folder beside the artifacts, on the same disk, that goes with the conversion."""
    report.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".converting-", dir=report.folder) as folder:
        yield Path(folder)
