"""What a conversion's texts declare: shapes and types of inputs, pictures, labels, metadata."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from explorer.errors import ExplorerError

Dim = int | tuple[int, int]
Shape = tuple[Dim, ...]
DTYPES = {
    "float32": torch.float32, "float16": torch.float16, "float64": torch.float64, "bfloat16": torch.bfloat16,
    "int64": torch.int64, "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "uint8": torch.uint8,
    "bool": torch.bool,
}  # fmt: skip
SIZE = re.compile(r"(\d+)(?:\.\.(\d+))?")
LARGEST_ELEMENTS = 2**28
MOST_SHAPES = 128
LAYOUTS = {"rgb": 3, "bgr": 3, "gray": 1}


@dataclass(frozen=True)
class DeclaredInput:
    """One text of `inputs`: `dtype` None when it names none; several `shapes` are enumerated."""

    name: str
    shapes: list[Shape]
    dtype: torch.dtype | None


@dataclass(frozen=True)
class ImageOptions:
    """A picture as input: the model gets (pixel * scale - mean) / std by channel, in the order of `layout`."""

    layout: str
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    @property
    def channels(self) -> int:
        return LAYOUTS[self.layout]

    @property
    def multipliers(self) -> tuple[float, ...]:
        """What each channel of a pixel is multiplied by."""
        return tuple(self.scale / item for item in _each(self.std, self.channels))

    @property
    def offsets(self) -> tuple[float, ...]:
        """What is added to each channel after that."""
        return tuple(
            -mean / std for mean, std in zip(_each(self.mean, self.channels), _each(self.std, self.channels), strict=True)
        )

    @property
    def is_scalar(self) -> bool:
        """Whether one factor serves every channel, which is all that Core ML's image input takes."""
        return len(set(self.multipliers)) == 1


def declared_inputs(texts: Sequence[str]) -> list[DeclaredInput]:
    """`NAME=SHAPE:DTYPE` each; raises `ExplorerError` naming the text that is none."""
    found = [_input(text) for text in texts]
    names = [item.name for item in found]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ExplorerError(f"inputs declares {twice} twice", "declare each input once, shapes separated by |")
    return found


def _input(text: str) -> DeclaredInput:
    name, equals, rest = text.partition("=")
    shapes, _, dtype = rest.partition(":")
    if not equals or not name.strip() or (dtype.strip() and dtype.strip() not in DTYPES):
        raise ExplorerError(f"{text!r} declares no input", f"write name=1x3x224x224:float32; types are {', '.join(DTYPES)}")
    found = [_shape(item, text) for item in shapes.split("|")]
    if len({len(shape) for shape in found}) > 1 or len(found) > MOST_SHAPES:
        raise ExplorerError(f"{text!r} mixes shapes", f"give at most {MOST_SHAPES} shapes with as many dimensions each")
    if len(found) > 1 and any(isinstance(size, tuple) for shape in found for size in shape):
        raise ExplorerError(f"{text!r} mixes ranges and enumerated shapes", "use one of them")
    return DeclaredInput(name.strip(), found, DTYPES[dtype.strip()] if dtype.strip() else None)


def _shape(text: str, whole: str) -> Shape:
    if text.strip() in ("", "scalar"):
        return ()
    sizes: list[Dim] = []
    for part in text.strip().lower().split("x"):
        match = SIZE.fullmatch(part.strip())
        low, high = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if low < 1 or high < low:
            raise ExplorerError(
                f"{whole!r} has the size {part!r}", "sizes are numbers from 1, ranges low..high, such as 1x3x64..512"
            )
        sizes.append(low if low == high and ".." not in part else (low, high))
    if math.prod(float(size if isinstance(size, int) else size[0]) for size in sizes) > LARGEST_ELEMENTS:
        raise ExplorerError(f"{whole!r} is too large", f"stay below {LARGEST_ELEMENTS} elements")
    return tuple(sizes)


def declared_images(texts: Sequence[str]) -> dict[str, ImageOptions]:
    """`NAME:rgb,scale=1/255,mean=...,std=...` each, by name; pieces that a form cut at commas are joined again."""
    joined: list[str] = []
    for text in texts:
        if joined and ":" not in text:
            joined[-1] += f",{text}"
        else:
            joined.append(text)
    return dict(_image(text) for text in joined)


def _image(text: str) -> tuple[str, ImageOptions]:
    name, colon, rest = text.partition(":")
    layout, *settings = [part.strip() for part in rest.split(",")]
    values = dict(part.partition("=")[::2] for part in settings)
    if not colon or layout not in LAYOUTS or set(values) - {"scale", "mean", "std"}:
        raise ExplorerError(
            f"{text!r} declares no picture",
            "write name:rgb,scale=1/255,mean=0.5/0.5/0.5,std=0.5/0.5/0.5; layouts are rgb, bgr, gray",
        )
    try:
        scale = _ratio(values.get("scale", "1"))
        mean, std = (
            tuple(float(item) for item in values.get(key, start).split("/")) for key, start in (("mean", "0"), ("std", "1"))
        )
    except (ValueError, ZeroDivisionError):
        raise ExplorerError(f"{text!r} has a value that is no number", "write scale=1/255 and mean=0.485/0.456/0.406") from None
    options = ImageOptions(layout, scale, mean, std)
    if any(len(item) not in (1, options.channels) for item in (mean, std)) or 0.0 in std or scale == 0.0:
        raise ExplorerError(
            f"{text!r} does not fit {options.channels} channels",
            "give one value or one for each channel, none of scale and std 0",
        )
    return name.strip(), options


def _ratio(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or "1")


def read_labels(path: str) -> list[str]:
    """The class labels of a text file, a line each; raises `ExplorerError` when there are none or one stands twice."""
    try:
        labels = [line.strip() for line in Path(path).expanduser().read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ExplorerError(
            f"the labels {path} cannot be read ({type(error).__name__})", "give a text file with a label a line"
        ) from None
    if not labels or len(set(labels)) < len(labels):
        raise ExplorerError(
            f"{path} has {'no labels' if not labels else 'a label twice'}", "give a text file with a label a line"
        )
    return labels


def declared_metadata(texts: Sequence[str]) -> dict[str, str]:
    """`KEY=TEXT` each; raises `ExplorerError` naming the text that is none."""
    pairs = [text.partition("=") for text in texts]
    if wrong := next((text for text, pair in zip(texts, pairs, strict=True) if not (pair[0].strip() and pair[1])), None):
        raise ExplorerError(f"{wrong!r} is no metadata", "write author=NAME, license=TEXT, version=TEXT or a key of your own")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _each(values: tuple[float, ...], count: int) -> tuple[float, ...]:
    return values * count if len(values) == 1 else values
