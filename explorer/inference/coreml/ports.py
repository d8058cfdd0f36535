"""Inputs and states as a package declares them, and arrays made to fit them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from explorer.errors import ExplorerError

UNBOUNDED_BATCH = 64
CHANNELS = {"RGB": 3, "BGR": 3, "GRAYSCALE": 1, "GRAYSCALE_FLOAT16": 1}
Array = NDArray[Any]


@dataclass(frozen=True)
class Port:
    """A declared input: None stands for a flexible dimension, `max_batch` for the most that the first one may be.

    `bounds` are the least and most of each dimension (-1 for no end), `shapes` what is enumerated, `image` the colour layout.
    """

    name: str
    shape: tuple[int | None, ...]
    half: bool
    integer: bool
    max_batch: int
    bounds: tuple[tuple[int, int], ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    image: str = ""


@dataclass(frozen=True)
class State:
    """What a program keeps between calls; zeros at first."""

    name: str
    variable: Any
    shape: tuple[int, ...]
    half: bool
    integer: bool


def port_of(name: str, variable: Any, description: Any) -> Port:
    from coremltools.converters.mil.mil import types

    shape = tuple(int(size) if isinstance(size, int | np.integer) else None for size in variable.shape)
    declared = next((item for item in description.input if item.name == name), None)
    bounds, shapes, image = _declared(declared, shape)
    batch = (shape[0] or 0) if shape else 1
    if not batch:
        upper = bounds[0][1] if bounds else max((one[0] for one in shapes), default=1)
        batch = upper if upper > 0 else UNBOUNDED_BATCH
    half, integer = variable.dtype == types.fp16, not types.is_float(variable.dtype)
    return Port(name, shape, half, integer, batch, bounds, shapes, image)


def _declared(
    declared: Any, shape: tuple[int | None, ...]
) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, ...], ...], str]:
    """Bounds, enumerated shapes and colour layout."""
    if declared is None:
        return (), (), ""
    if declared.type.WhichOneof("Type") == "imageType":
        image = declared.type.imageType
        layout = image.ColorSpace.Name(image.colorSpace)
        head = tuple(size or 1 for size in shape[:-2])
        sizes = tuple((*head, size.height, size.width) for size in image.enumeratedSizes.sizes)
        if image.HasField("imageSizeRange"):
            spans = (image.imageSizeRange.heightRange, image.imageSizeRange.widthRange)
            return (*((size, size) for size in head), *(_span(span) for span in spans)), (), layout
        return (), sizes, layout
    array = declared.type.multiArrayType
    shapes = tuple(tuple(int(size) for size in one.shape) for one in array.enumeratedShapes.shapes)
    return tuple(_span(one) for one in array.shapeRange.sizeRanges), shapes, ""


def _span(declared: Any) -> tuple[int, int]:
    return int(declared.lowerBound), int(declared.upperBound)


def fitted(port: Port, given: Array, path: object) -> Tensor:
    """The feed as a float32 or int64 tensor; raises `ExplorerError` when its shape is none that the package declares."""
    array = np.asarray(given)
    if array.dtype.kind not in "fiub":
        raise ExplorerError(f"input {port.name} of {path} takes numbers, given {array.dtype}")
    if port.image:
        array = _picture(port, array)
    if not _fits(port, array.shape):
        raise ExplorerError(f"input {port.name} of {path} is {_wanted(port)}, given {_text(array.shape)}")
    value = torch.from_numpy(np.ascontiguousarray(array, np.int64 if port.integer else np.float32).reshape(array.shape))
    return value


def _picture(port: Port, array: Array) -> Array:
    """8-bit pixels (H, W, 3) as RGB, or (H, W), laid out as the program takes them: (1, C, H, W), in its order of channels.

    Arrays of the declared rank are taken as they are. Scale and bias are steps of the program.
    """
    channels = CHANNELS.get(port.image, 0)
    if array.dtype != np.uint8 or array.ndim == len(port.shape) or not channels:
        return array
    if channels == 1:
        return array[None, None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[-1] != channels:
        return array
    ordered = array[..., ::-1] if port.image == "BGR" else array
    return np.moveaxis(ordered, -1, 0)[None]


def _fits(port: Port, shape: tuple[int, ...]) -> bool:
    if len(shape) != len(port.shape) or any(
        want not in (None, got) for want, got in zip(port.shape, shape, strict=True)
    ):  # fmt: skip
        return False
    if port.shapes:
        return shape in port.shapes
    return all(low <= got and (high < 0 or got <= high) for (low, high), got in zip(port.bounds, shape, strict=False))


def _wanted(port: Port) -> str:
    if port.shapes:
        return " or ".join(_text(shape) for shape in port.shapes[:8])
    ends = port.bounds if len(port.bounds) == len(port.shape) else ((0, -1),) * len(port.shape)
    parts = []
    for size, (low, high) in zip(port.shape, ends, strict=True):
        parts.append(str(size) if size is not None else f"{low}..{high}" if high > 0 else "?")
    return "x".join(parts)


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "a scalar"
