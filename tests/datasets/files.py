"""Small data files for the tests."""

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from explorer.errors import ExplorerError

SPECIES = ("setosa", "versicolor", "virginica")


def flowers(rows: int = 30) -> list[list[str]]:
    """Rows of two numbers and a species, by species."""
    return [[f"{index / 10:.1f}", f"{index % 3}.5", SPECIES[index * 3 // rows]] for index in range(rows)]


def write_csv(path: Path, rows: Sequence[Sequence[str]], header: str = "", delimiter: str = ",") -> Path:
    text = (header + "\n" if header else "") + "".join(delimiter.join(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_image(path: Path, shade: int = 100, size: tuple[int, int] = (6, 4), mode: str = "RGB") -> Path:
    """An image of one colour; `size` is width and height."""
    path.parent.mkdir(parents=True, exist_ok=True)
    colour: Any = {"RGB": (shade, 0, 255), "RGBA": (shade, 0, 255, 9), "I;16": shade * 257}.get(mode, shade)
    Image.new(mode, size, colour).save(path)
    return path


def write_images(folder: Path, classes: Sequence[str] = ("cats", "dogs"), count: int = 5, mode: str = "RGB") -> Path:
    for number, name in enumerate(classes):
        for index in range(count):
            write_image(folder / name / f"{index}.png", shade=number * 100 + index, mode=mode)
    return folder


def check_sentence(error: ExplorerError) -> None:
    """What is wrong, and what to do, on one line each."""
    assert error.message.strip()
    assert error.remedy.strip()
    assert "\n" not in str(error)


def numbers(count: int = 20, width: int = 3) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(count * width, dtype=np.float64).reshape(count, width)
