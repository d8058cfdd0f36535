"""Seeded values for a proof: like the example where that says something, else normal ones; and the shapes to try them in."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from explorer.conversion.ports import InputPort, Traced

LARGEST_ELEMENTS = 2**22
Sizes = tuple[int, ...]


def like(example: Tensor, port: InputPort, shape: Sequence[int], seed: int) -> Tensor:
    """Values of `shape` from the range that the example shows: pixels, bits, integers between its ends, uniform or normal."""
    generator = torch.Generator().manual_seed(seed)
    if port.image is not None:
        return torch.randint(0, 256, tuple(shape), generator=generator).to(port.dtype)
    if not example.is_floating_point():
        low, high = (int(example.min()), int(example.max())) if example.numel() else (0, 0)
        return torch.randint(low, max(high, low + 1) + 1, tuple(shape), generator=generator).to(example.dtype)
    values = example.float()
    low_value, high_value = (float(values.min()), float(values.max())) if values.numel() else (0.0, 0.0)
    if low_value == 0.0 and high_value == 1.0 and bool(((values == 0) | (values == 1)).all()):
        return torch.randint(0, 2, tuple(shape), generator=generator).to(example.dtype)
    if low_value >= 0.0 and high_value > low_value:
        return (torch.rand(tuple(shape), generator=generator) * (high_value - low_value) + low_value).to(example.dtype)
    normal = torch.randn(tuple(shape), generator=generator)
    if values.numel() > 8 and high_value > low_value:
        normal = normal * values.std() + values.mean()
    return normal.to(example.dtype)


def flipped(values: Sequence[Tensor], ports: Sequence[InputPort]) -> list[Tensor] | None:
    """The inputs with the sign of every float turned, pictures as negatives; None when there is nothing to turn."""
    if not any(item.is_floating_point() for item in values):
        return None
    return [
        (255 - item if port.image else -item) if item.is_floating_point() else item
        for item, port in zip(values, ports, strict=True)
    ]


def extremes(traced: Traced) -> list[tuple[str, list[Sizes]]]:
    """Shapes of all inputs at the ends of what is declared, each with a name; enumerated shapes go by their position."""
    ports = traced.inputs
    if all(port.is_fixed for port in ports) or traced.open_batch:
        return []
    count = max(len(port.shapes) for port in ports)
    if count > 1:
        return [("enumerated shape", _at(ports, traced, index, _ends(ports, traced, "high"))) for index in range(count)]
    found = [("smallest shape", _at(ports, traced, 0, _ends(ports, traced, "low")))]
    found.append(("largest shape", _at(ports, traced, 0, _ends(ports, traced, "high"))))
    if len(_places(ports)) > 1:
        found.append(("mixed shape", _at(ports, traced, 0, _ends(ports, traced, "mixed"))))
    return list({str(shapes): (name, shapes) for name, shapes in found}.values())


def _places(ports: Sequence[InputPort]) -> list[tuple[int, int]]:
    return [(index, axis) for index, port in enumerate(ports) for axis, size in enumerate(port.shape) if isinstance(size, tuple)]


def _ends(ports: Sequence[InputPort], traced: Traced, which: str) -> dict[tuple[int, int], int]:
    """A size for each open dimension; tied ones get the same."""
    found: dict[tuple[int, int], int] = {}
    for number, group in enumerate(traced.tied or [[place] for place in _places(ports)]):
        low, high = _range(ports, group[0])
        size = low if which == "low" or (which == "mixed" and number % 2) else high
        found |= dict.fromkeys(group, size)
    return found


def _range(ports: Sequence[InputPort], place: tuple[int, int]) -> tuple[int, int]:
    size = ports[place[0]].shape[place[1]]
    return size if isinstance(size, tuple) else (size, size)


def _at(ports: Sequence[InputPort], traced: Traced, position: int, ends: dict[tuple[int, int], int]) -> list[Sizes]:
    sizes = dict(ends)
    while True:
        shapes = [
            tuple(
                size if isinstance(size, int) else sizes[index, axis]
                for axis, size in enumerate(port.shapes[min(position, len(port.shapes) - 1)])
            )
            for index, port in enumerate(ports)
        ]
        if max(math.prod(shape) for shape in shapes) <= LARGEST_ELEMENTS or not _shrunk(sizes, ports, traced):
            return shapes


def _shrunk(sizes: dict[tuple[int, int], int], ports: Sequence[InputPort], traced: Traced) -> bool:
    """Halve the largest open size, with those tied to it, above its lower end; False when none can shrink."""
    able = [place for place in sizes if sizes[place] > _range(ports, place)[0]]
    if not able:
        return False
    largest = max(able, key=lambda place: sizes[place])
    group = next((item for item in traced.tied if largest in item), [largest])
    size = max(sizes[largest] // 2, _range(ports, largest)[0])
    sizes.update(dict.fromkeys(group, size))
    return True
