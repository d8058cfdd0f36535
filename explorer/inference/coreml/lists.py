"""Lists of tensors, held as tuples: a write gives a new list and leaves the old one."""

import torch
from torch import Tensor

from explorer.inference.coreml.registry import Value, rule

DTYPES = {"bool": torch.bool, "int32": torch.int64}


@rule("make_list")
def make_list(*, elem_shape: tuple[Value, ...], init_length: int = 1, dynamic_length: bool = True, dtype: str = "fp32") -> Value:
    """Zeros in every place; a dimension that is open (text, or negative) takes the size 1 until it is written."""
    sizes = [int(size) if isinstance(size, Tensor) and int(size) > 0 else 1 for size in elem_shape]
    return (tuple(torch.zeros(sizes, dtype=DTYPES.get(dtype, torch.float32)) for _ in range(init_length)),)


@rule("list_length")
def list_length(*, ls: tuple[Tensor, ...]) -> Tensor:
    return torch.tensor(len(ls))


@rule("list_read")
def list_read(*, ls: tuple[Tensor, ...], index: int) -> Tensor:
    return ls[index]


@rule("list_write")
def list_write(*, ls: tuple[Tensor, ...], index: int, value: Tensor) -> Value:
    """A list of dynamic length grows to hold the index."""
    longer = [*ls, *[torch.zeros_like(value)] * (index + 1 - len(ls))]
    longer[index] = value
    return (tuple(longer),)


@rule("list_gather")
def list_gather(*, ls: tuple[Tensor, ...], indices: list[int]) -> Tensor:
    return torch.stack([ls[index] for index in indices])


@rule("list_scatter")
def list_scatter(*, ls: tuple[Tensor, ...], indices: list[int], value: Tensor) -> Value:
    written: Value = (ls,)
    for index, item in zip(indices, value, strict=True):
        written = list_write(ls=written[0], index=index, value=item)  # type: ignore[arg-type]
    return written


@rule("classify")
def classify(*, probabilities: Tensor, classes: tuple[Value, ...]) -> tuple[Value, ...]:
    """The most probable class, and the probabilities in the order of the classes."""
    flat = probabilities.reshape(-1)
    return classes[int(flat.argmax())], flat
