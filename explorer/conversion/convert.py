"""A conversion from source to proven artifact.

Every conversion is proven before its file gets its name. ONNX: ONNX Runtime against torch within 1e-5. Core ML: a float16 package
stores its weights in half, so even an exact evaluation of it differs from torch by that rounding and proves nothing about the
graph. So the captured graph is first converted in float32, which must match torch within 1e-5, then in float16, which is
delivered and evaluated in float16. A way of capturing that converts but fails the first proof is passed over for the next.
"""

import time

from explorer.conversion.coreml_route import proven_coreml
from explorer.conversion.destination import artifact_name, deliver, destination
from explorer.conversion.inputs import proof_inputs
from explorer.conversion.onnx_route import proven_onnx
from explorer.conversion.route import Route
from explorer.files import size_bytes
from explorer.models.sources import resolve
from explorer.reporter import Reporter
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec

ROUTES = {"onnx": proven_onnx, "coreml": proven_coreml}
USUAL_STEPS = {"onnx": 4, "coreml": 7}


def run(spec: ConvertSpec, report: Reporter) -> ConvertResult:
    """Convert `spec.source`, prove the result and leave it as an artifact, and at `spec.output` when given.

    Raises `ExplorerError` when the source cannot be built or converted, or when a check fails; no file is left then.
    """
    started = time.monotonic()
    target = destination(spec.output, spec.target)
    route = Route(report, USUAL_STEPS[spec.target])
    with route.step("load"):
        loaded = resolve(spec.source, spec.weights)
        module = loaded.module.cpu().eval()
    with route.step("run the source"):
        proof = proof_inputs(spec, loaded)
    name = artifact_name(spec.target)
    with report.artifact(name) as path:
        checks = ROUTES[spec.target](spec, module, proof, path, route, report)
        report.control()
    artifact = report.folder / name
    if target is not None:
        deliver(artifact, target)
    report.progress(len(route.steps), len(route.steps), "done", "steps")
    return ConvertResult(
        target=spec.target,
        output=name,
        bytes=size_bytes(artifact),
        route=route.steps,
        passed=all(check.passed for check in checks),
        checks=checks,
        findings=route.findings,
        seconds=time.monotonic() - started,
    )
