"""Samples from a folder of images by class: `cats/1.png`, `dogs/7.jpg`, or the same below `train/` and `val/`."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.datasets.dataset import Array, Dataset, Parts
from explorer.datasets.memory import check_room
from explorer.datasets.options import image_size, validation_share
from explorer.datasets.split import held_out_positions, others
from explorer.errors import ExplorerError
from explorer.schemas.data_source import DataSource

if TYPE_CHECKING:
    from PIL import Image

ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"})
HELD_OUT = ("val", "valid", "validation", "test")
GREY = frozenset({"1", "L", "LA", "I", "I;16", "I;16B", "I;16L", "F"})
WIDE = frozenset({"I", "I;16", "I;16B", "I;16L"})
WIDE_MAX, BYTE_MAX = 65535.0, 255.0
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Files:
    """Image files with the number of their class."""

    paths: list[Path]
    classes: Array
    names: tuple[str, ...]


@dataclass(frozen=True)
class Look:
    """What all images become: float32 (channels, height, width)."""

    channels: int
    height: int
    width: int
    scaled: bool


def read_images(folder: Path, source: DataSource) -> Parts:
    """Samples float32 (N, 1 or 3, height, width) in 0..1; one channel where every image is grey.

    Raises `ExplorerError` for a broken image, by name, and for images of several sizes unless `size=` scales them.
    """
    _check_pillow(folder)
    share, size = validation_share(source), image_size(source)
    train, held_out = _split(folder, share)
    look = _look([*train.paths, *(held_out.paths if held_out else [])], size)
    needed = (
        (len(train.paths) + (len(held_out.paths) if held_out else 0)) * look.channels * look.height * look.width * FLOAT_BYTES
    )
    check_room(needed, str(folder), f"scale the images with size={max(1, min(look.height, look.width) // 2)} or give fewer")
    name = str(folder)
    return Parts(_decoded(name, train, look), _decoded(name, held_out, look) if held_out else None)


def _check_pillow(folder: Path) -> None:
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise ExplorerError(f"{folder}: reading images needs Pillow", "pip install 'explorer[images]'") from None


def _split(folder: Path, share: float) -> tuple[Files, Files | None]:
    """Files to train on and held-out ones: the folder's own, or a share of each class."""
    if not (folder / "train").is_dir():
        return _shared(_files(folder), share)
    train = _files(folder / "train")
    own = next((folder / name for name in HELD_OUT if (folder / name).is_dir()), None)
    if own is None or share == 0:
        return _shared(train, share)
    return train, _files(own, train.names)


def _shared(files: Files, share: float) -> tuple[Files, Files | None]:
    held_out = held_out_positions(len(files.paths), share, files.classes)
    if not len(held_out):
        return files, None
    return _taken(files, others(len(files.paths), held_out)), _taken(files, held_out)


def _taken(files: Files, positions: Array) -> Files:
    return Files([files.paths[position] for position in positions], files.classes[positions], files.names)


def _files(folder: Path, names: Sequence[str] | None = None) -> Files:
    """Every image below the folder's own folders, which are the classes, in order of name."""
    found = [item.name for item in sorted(folder.iterdir()) if item.is_dir() and not item.name.startswith(".")]
    if not found:
        raise ExplorerError(f"{folder} has no folders of images in it", "put the images of each class in a folder of its name")
    if names is not None and (unknown := sorted(set(found) - set(names))):
        raise ExplorerError(
            f"{folder / unknown[0]} is a class that there is not in training", f"the classes are {', '.join(names)}"
        )
    order = tuple(names or found)
    paths: list[Path] = []
    classes: list[int] = []
    for name in found:
        images = _images(folder / name)
        if not images:
            raise ExplorerError(f"{folder / name} has no images in it", f"it takes {', '.join(sorted(ENDINGS))}; or remove it")
        paths += images
        classes += [order.index(name)] * len(images)
    return Files(paths, np.array(classes, dtype=np.int64), order)


def _images(folder: Path) -> list[Path]:
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            Path(place, name)
            for name in sorted(files)
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in ENDINGS
        ]
    return found


def _look(paths: Sequence[Path], size: int | None) -> Look:
    """The common size and channels, from the headers of all images."""
    first: tuple[int, int] | None = None
    grey = True
    for path in paths:
        with _image(path) as image:
            grey = grey and image.mode in GREY
            first = first or image.size
            if size is None and image.size != first:
                raise ExplorerError(
                    f"{path} has {image.size[0]} x {image.size[1]} pixels, {paths[0]} has {first[0]} x {first[1]}",
                    f"scale all with size=PIXELS, such as size={min(*image.size, *first)}",
                )
    width, height = (size, size) if size else (first or (1, 1))
    return Look(1 if grey else 3, height, width, size is not None)


def _decoded(name: str, files: Files, look: Look) -> Dataset:
    inputs = np.empty((len(files.paths), look.channels, look.height, look.width), np.float32)
    for index, path in enumerate(files.paths):
        with _image(path) as image:
            inputs[index] = _pixels(image, look)
    return Dataset(name, inputs, files.classes, len(files.names), files.names)


def _pixels(image: "Image.Image", look: Look) -> Array:
    """Channels first, in 0..1. 16-bit grey keeps its depth; transparency is dropped."""
    from PIL import Image

    if look.channels == 1 and image.mode in WIDE:
        image, most = image.convert("F"), WIDE_MAX
    else:
        image, most = image.convert("L" if look.channels == 1 else "RGB"), BYTE_MAX
    if look.scaled and image.size != (look.width, look.height):
        image = image.resize((look.width, look.height), Image.Resampling.BILINEAR)
    pixels: Array = np.divide(np.asarray(image), np.float32(most), dtype=np.float32)
    return pixels[None] if look.channels == 1 else pixels.transpose(2, 0, 1)


@contextmanager
def _image(path: Path) -> Iterator["Image.Image"]:
    """The opened image; whatever Pillow says about a broken one is a sentence with its name."""
    from PIL import Image

    broken: tuple[Any, ...] = (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, OverflowError)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning, module="PIL")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ExplorerError(f"{path} has too many pixels to be a sample", "scale it down or remove it") from None
    except broken as error:
        reason = " ".join(str(error).split())[:120] or type(error).__name__
        raise ExplorerError(
            f"{path} is no image that can be read ({reason.replace(repr(str(path)), 'the file')})", "mend or remove it"
        ) from None
