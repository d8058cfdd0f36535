"""An ONNX file as the source: a checked copy of it, or the same in another opset."""

from pathlib import Path
from typing import Any

import numpy as np

from explorer.conversion.destination import artifact_name
from explorer.conversion.inputs import Array, Feed, Proof
from explorer.conversion.ladder import Made
from explorer.conversion.proof import ONNX_RUNTIME, judged
from explorer.conversion.route import Route
from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import quiet
from explorer.inference.onnx_runtime import run_named, session
from explorer.schemas.specs import ConvertSpec

OPEN_SIZE = 2
SEEDS = 3
TYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32, "bool": np.bool_}


def copied_onnx(spec: ConvertSpec, source: Path, folder: Path, route: Route) -> Made:
    """The file in opset `spec.opset` with its check against the original in ONNX Runtime.

    Raises `ExplorerError` when it has another target, is damaged, holds an operator that cannot change its opset, or differs.
    """
    if spec.target != "onnx":
        title = "Core ML" if spec.target == "coreml" else "an exported program"
        raise ExplorerError(
            f"{spec.source} is an ONNX file, which cannot become {title} here",
            "convert the torch model that it was exported from: give file.py:factory or its job as the source",
        )
    if spec.weights is not None:
        raise ExplorerError(f"{spec.source} is a finished model, which takes no weights", "leave out --weights")
    path = folder / artifact_name("onnx")
    with route.step(f"opset {spec.opset}"):
        _write(spec, source, path)
    with route.step("check in ONNX Runtime"):
        proof = _proof(source)
        runner = session(path)
        check = judged(((feed, run_named(runner, feed.inputs)) for feed in proof.feeds), ONNX_RUNTIME, "float32", False)
    if not check.passed:
        error = f"max error {check.max_abs_error:.3g}"
        raise ExplorerError(f"{spec.source} differs from itself in opset {spec.opset} ({error})", "keep its own opset")
    return Made([path], [check], [item.name for item in runner.get_inputs()])


def _write(spec: ConvertSpec, source: Path, path: Path) -> None:
    import onnx
    from onnx import version_converter

    try:
        with quiet():
            model = onnx.load(str(source))
            onnx.checker.check_model(model)
            own = next((item.version for item in model.opset_import if item.domain in ("", "ai.onnx")), None)
            changed = model if own in (None, spec.opset) else version_converter.convert_version(model, spec.opset)
            onnx.save(changed, str(path))
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ExplorerError(f"{spec.source} cannot be written in opset {spec.opset} ({reason})", "keep its own opset") from error


def _proof(source: Path) -> Proof:
    """Seeded inputs of the declared shapes, with open sizes set, and what the original gives for them."""
    runner = session(source)
    feeds = []
    for seed in range(SEEDS):
        generator = np.random.default_rng(seed)
        inputs = {item.name: _value(item, generator) for item in runner.get_inputs()}
        feeds.append(Feed(inputs, run_named(runner, inputs), f"seed {seed}"))
    return Proof(feeds)


def _value(item: Any, generator: np.random.Generator) -> Array:
    kind = item.type.removeprefix("tensor(").removesuffix(")")
    if kind not in TYPES:
        raise ExplorerError(f"the input {item.name} is {item.type}", "that type cannot be checked here")
    shape = [size if isinstance(size, int) else OPEN_SIZE for size in item.shape]
    dtype = np.dtype(TYPES[kind])
    if dtype.kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)
