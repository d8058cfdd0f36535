"""A conversion's ports in coremltools' words: tensors, pictures, ranges, shapes, states; and what describes a package."""

from typing import Any

import numpy as np
import torch

from explorer.conversion.declared import ImageOptions, declared_metadata, read_labels
from explorer.conversion.ports import InputPort, Traced
from explorer.errors import ExplorerError
from explorer.schemas.specs import ConvertSpec

MACOS = {"macOS12": "iOS15", "macOS13": "iOS16", "macOS14": "iOS17", "macOS15": "iOS18", "macOS26": "iOS26"}
STATEFUL = ("iOS18", "iOS26")
FIELDS = {"author": "author", "license": "license", "version": "version", "description": "short_description"}
LAYOUTS = {"rgb": "RGB", "bgr": "BGR", "gray": "GRAYSCALE"}


def deployment_target(spec: ConvertSpec) -> str:
    """The iOS name of the system; both names stand for one file version."""
    return MACOS.get(spec.deployment_target, spec.deployment_target)


def core_inputs(ct: Any, traced: Traced) -> list[Any]:
    """A fresh type for each input; dimensions that always have one size share one range."""
    ranges: dict[tuple[int, int], Any] = {}
    for group in traced.tied:
        low, high = _range(traced.inputs[group[0][0]], group[0][1])
        default = 1 if traced.open_batch else int(traced.examples[group[0][0]].shape[group[0][1]])
        ranges |= dict.fromkeys(group, ct.RangeDim(low, high, default=default))
    return [_type(ct, port, _shape(ct, index, port, ranges)) for index, port in enumerate(traced.inputs)]


def _range(port: InputPort, axis: int) -> tuple[int, int]:
    size = port.shape[axis]
    return size if isinstance(size, tuple) else (size, size)


def _shape(ct: Any, index: int, port: InputPort, ranges: dict[tuple[int, int], Any]) -> Any:
    if len(port.shapes) > 1:
        return ct.EnumeratedShapes(shapes=[list(shape) for shape in port.shapes], default=list(port.shapes[0]))
    return tuple(ranges.get((index, axis), size) for axis, size in enumerate(port.shape))


def _type(ct: Any, port: InputPort, shape: Any) -> Any:
    if port.image is None:
        return ct.TensorType(name=port.name, shape=shape, dtype=np.int32 if port.dtype == torch.int32 else None)
    layout = getattr(ct.colorlayout, LAYOUTS[port.image.layout])
    scale, bias = _scaling(port.image)
    return ct.ImageType(name=port.name, shape=shape, scale=scale, bias=bias, color_layout=layout)


def _scaling(image: ImageOptions) -> tuple[float, Any]:
    """What Core ML itself does to pixels: a factor for all channels and a bias for each; nothing where the factors differ."""
    if not image.is_scalar:
        return 1.0, [0.0] * image.channels if image.channels > 1 else 0.0
    bias = list(image.offsets)
    return image.multipliers[0], bias if image.channels > 1 else bias[0]


def check_declared(spec: ConvertSpec, traced: Traced, scores: int | None) -> None:
    """Raise `ExplorerError` for a state that there is not, a system without state, or labels that do not fit `scores` classes."""
    if spec.state and deployment_target(spec) not in STATEFUL:
        raise ExplorerError(f"{spec.deployment_target} has no state", "choose --deployment-target iOS18")
    buffers = dict(traced.original.named_buffers())
    if missing := next((name for name in spec.state if name not in buffers), None):
        raise ExplorerError(f"{spec.source} has no buffer {missing}", f"its buffers are {', '.join(buffers) or 'none'}")
    if spec.labels:
        count = len(read_labels(spec.labels))
        if count != scores or len(traced.outputs) > 1:
            given = "several outputs" if len(traced.outputs) > 1 else f"{scores or 'no'} scores"
            raise ExplorerError(
                f"{spec.labels} has {count} labels, {spec.source} gives {given}", "give a label for each score of one output"
            )


def core_states(ct: Any, spec: ConvertSpec, traced: Traced) -> list[Any]:
    """The buffers that the program keeps between calls."""
    buffers = dict(traced.original.named_buffers())
    return [
        ct.StateType(wrapped_type=ct.TensorType(shape=tuple(buffers[name].shape), dtype=np.float16), name=name)
        for name in spec.state
    ]


def described(model: Any, spec: ConvertSpec) -> None:
    """Put the metadata of the spec, and where the package came from, into it."""
    model.short_description = f"converted by explorer from {spec.source}"
    model.user_defined_metadata["explorer.source"] = spec.source
    if spec.compute_units != "all":
        model.user_defined_metadata["explorer.compute_units"] = spec.compute_units
    for key, text in declared_metadata(spec.metadata).items():
        if key in FIELDS:
            setattr(model, FIELDS[key], text)
        else:
            model.user_defined_metadata[key] = text
