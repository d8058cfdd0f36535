"""The process that runs a package on one compute unit of a Mac: `prove_child PACKAGE PROOF UNITS OUT`.

It prints a JSON object a line as soon as it knows something, and leaves the outputs in OUT. It is a process of its own because
Core ML may hang, and may end the process that calls it (coremltools issue 2758). Never run on a Mac so far: written after the
sources of coremltools 9 and tested with objects of the same names.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from explorer.conversion.inputs import Array, Feed, Proof
from explorer.conversion.proof_file import read_proof
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools, quiet

Say = Callable[[dict[str, Any]], None]
DEVICES = {"MLCPUComputeDevice": "CPU", "MLGPUComputeDevice": "GPU", "MLNeuralEngineComputeDevice": "Neural Engine"}
TIMED_CALLS = 5
COLOURS = {10: "L", 20: "RGB", 30: "BGR", 40: "F"}  # FeatureTypes.proto: GRAYSCALE, RGB, BGR, GRAYSCALE_FLOAT16


def main(arguments: Sequence[str]) -> int:
    package, proof, units, out = arguments
    ct = coremltools()
    stream = sys.stdout

    def say(item: dict[str, Any]) -> None:
        print(json.dumps(item), file=stream, flush=True)

    with quiet():
        unit = getattr(ct.ComputeUnit, units.upper())
        outputs = answers(ct, Path(package), read_proof(Path(proof)), unit, say)
    with Path(out).open("wb") as file:
        np.savez(file, allow_pickle=False, **outputs)
    say({"done": True})
    return 0


def answers(ct: Any, package: Path, proof: Proof, unit: Any, say: Say) -> dict[str, Array]:
    """The outputs of every feed as `INDEX/NAME`; loading, the plan and the time of a call are said on the way."""
    started = time.perf_counter()
    model = ct.models.MLModel(str(package), compute_units=unit)
    say({"load_s": time.perf_counter() - started})
    try:
        say({"operators": placed(_plan(ct, model, unit))})
    except Exception as error:  # needs macOS 14.4; the predictions count without it
        say({"no_plan": f"{type(error).__name__}: {error}"})
    outputs: dict[str, Array] = {}
    for index, got in enumerate(_predictions(model, proof, package)):
        outputs |= {f"{index}/{name}": value for name, value in got.items()}
    say({"call_s": _call_s(model, proof)})
    return outputs


def _plan(ct: Any, model: Any, unit: Any) -> Any:
    return ct.models.compute_plan.MLComputePlan.load_from_path(model.get_compiled_model_path(), compute_units=unit)


def placed(plan: Any) -> list[dict[str, Any]]:
    """Each operator of the plan with the device that Core ML prefers for it and its share of the cost; constants have none."""
    program = plan.model_structure.program
    if program is None:
        return []
    found = []
    for operation in (item for function in program.functions.values() for item in _operations(function.block)):
        usage = plan.get_compute_device_usage_for_mlprogram_operation(operation)
        if usage is None:
            continue
        cost = plan.get_estimated_cost_for_mlprogram_operation(operation)
        found.append(
            {
                "operator": operation.operator_name,
                "output": next((item.name for item in operation.outputs), ""),
                "device": device_name(usage.preferred_compute_device),
                "supported": [device_name(device) for device in usage.supported_compute_devices],
                "cost": None if cost is None else float(cost.weight),
            }
        )
    return found


def _operations(block: Any) -> Iterator[Any]:
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from _operations(inner)


def device_name(device: Any) -> str:
    """CPU, GPU or Neural Engine, by the class that coremltools gives."""
    return DEVICES.get(type(device).__name__, type(device).__name__)


def _predictions(model: Any, proof: Proof, package: Path) -> Iterator[dict[str, Array]]:
    description = model.get_spec().description
    classes: list[str | int] | None = None
    state = model.make_state() if len(description.state) else None
    for feed in proof.feeds:
        if state is not None and not proof.carries_state:
            state = model.make_state()
        given = accepted(feed, description.input)
        got = model.predict(given) if state is None else model.predict(given, state)
        if classes is None and any(isinstance(value, dict) for value in got.values()):
            classes = load_program(package).classes
        yield {name: array for name, value in got.items() if (array := _array(value, classes or [])) is not None}


def accepted(feed: Feed, inputs: Sequence[Any]) -> dict[str, Any]:
    """A feed as `predict` takes it: pictures for image inputs, 32-bit numbers else, at least one dimension."""
    given: dict[str, Any] = {}
    for item in inputs:
        value = feed.inputs[item.name]
        if item.type.WhichOneof("Type") == "imageType":
            given[item.name] = picture(value, COLOURS.get(item.type.imageType.colorSpace, "RGB"))
        else:
            given[item.name] = np.atleast_1d(value.astype(np.int32 if value.dtype.kind in "iub" else np.float32))
    return given


def picture(value: Array, mode: str) -> Any:
    """Pixels (1, C, H, W) in the program's order of channels as a picture of Pillow's, which is always RGB."""
    from PIL import Image

    pixels = np.moveaxis(value[0], 0, -1)
    if mode in ("RGB", "BGR"):
        return Image.fromarray(np.ascontiguousarray(pixels[..., :: -1 if mode == "BGR" else 1], np.uint8))
    return Image.fromarray(pixels[..., 0].astype(np.uint8 if mode == "L" else np.float32))


def _array(value: Any, classes: Sequence[str | int]) -> Array | None:
    """An output as an array: a classifier's probabilities in the order of its classes; None for its label."""
    if isinstance(value, Mapping):
        return np.asarray([value[name] for name in classes], np.float32)
    array = np.asarray(value)
    return array if array.dtype.kind in "fiub" else None


def _call_s(model: Any, proof: Proof) -> float:
    """The median of a few calls on the first feed, which the model has seen before."""
    description = model.get_spec().description
    given = accepted(proof.feeds[0], description.input)
    more = [model.make_state()] if len(description.state) else []
    times = []
    for _ in range(TIMED_CALLS):
        started = time.perf_counter()
        model.predict(dict(given), *more)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
