"""Which tensor of one model is which of another: by name, by name without a prefix, and else by shape and values."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from explorer.errors import ExplorerError
from explorer.models.comparison import distance, sample
from explorer.models.renaming import Renaming, best_renaming, renamed
from explorer.models.tensor_reader.decoding import Array
from explorer.models.tensor_reader.stored import StoredTensor

LEAST_ELEMENTS = 2  # a single number says nothing
MANY_ELEMENTS = 64  # fewer are near by chance
NEAR, NEAR_OF_FEW = 0.5, 0.02  # relative distance: unrelated tensors are about 1 apart, one pruned by 70 % is 0.4 from itself
MOST_ALIKE = 500  # tensors of one shape
Tensors = Mapping[str, StoredTensor]
Pair = tuple[StoredTensor, StoredTensor]


@dataclass(frozen=True)
class Pairing:
    """Pairs in the order of the first model, the last `by_value` of them found by their values, and what is left of each side."""

    pairs: list[Pair]
    by_value: int
    first_only: list[StoredTensor]
    second_only: list[StoredTensor]
    renaming: Renaming


def paired(first: list[StoredTensor], second: list[StoredTensor], step: Callable[[], object]) -> Pairing:
    """Names go first; values are read only of tensors whose names the other side lacks."""
    left, right = _by_name(first), _by_name(second)
    shapes = [{name: tensor.shape for name, tensor in side.items()} for side in (left, right)]
    change_of_names = best_renaming(*shapes)
    left, right = renamed(left, change_of_names.first), renamed(right, change_of_names.second)
    named = [(tensor, right[name]) for name, tensor in left.items() if name in right]
    lonely = [tensor for name, tensor in left.items() if name not in right]
    others = [tensor for name, tensor in right.items() if name not in left]
    found = _by_value(lonely, others, step)
    taken = {id(tensor) for pair in found for tensor in pair}
    return Pairing(
        pairs=[*named, *found],
        by_value=len(found),
        first_only=[tensor for tensor in lonely if id(tensor) not in taken],
        second_only=[tensor for tensor in others if id(tensor) not in taken],
        renaming=change_of_names,
    )


def _by_name(tensors: list[StoredTensor]) -> dict[str, StoredTensor]:
    """Dense weights go before the compressed parts that make them; a name that stands twice means its first tensor."""
    parts = {part for tensor in tensors if tensor.problem is None for part in tensor.parts}
    named: dict[str, StoredTensor] = {}
    for tensor in tensors:
        if tensor.name not in parts and not (tensor.parts and tensor.problem is not None):
            named.setdefault(tensor.name, tensor)
    return named


def _by_value(first: list[StoredTensor], second: list[StoredTensor], step: Callable[[], object]) -> list[Pair]:
    by_shape: defaultdict[tuple[int, ...], list[StoredTensor]] = defaultdict(list)
    for tensor in second:
        by_shape[tensor.shape].append(tensor)
    groups: defaultdict[tuple[int, ...], list[StoredTensor]] = defaultdict(list)
    for tensor in first:
        if tensor.shape in by_shape and tensor.elements >= LEAST_ELEMENTS:
            groups[tensor.shape].append(tensor)
    return [pair for shape, group in groups.items() for pair in _of_one_shape(group, by_shape[shape], step)]


def _of_one_shape(first: list[StoredTensor], second: list[StoredTensor], step: Callable[[], object]) -> list[Pair]:
    """The nearest pairs first, each tensor once; equal ones, as biases of zeros are, in the order of the files."""
    left, right = _sampled(first[:MOST_ALIKE], step), _sampled(second[:MOST_ALIKE], step)
    limit = NEAR if first[0].elements >= MANY_ELEMENTS else NEAR_OF_FEW
    candidates = [
        (apart, one, other)
        for one, (_, values) in enumerate(left)
        for other, (_, others) in enumerate(right)
        if (apart := distance(values, others)) <= limit
    ]
    chosen: dict[int, int] = {}
    for _, one, other in sorted(candidates):
        if one not in chosen and other not in chosen.values():
            chosen[one] = other
    return [(left[one][0], right[other][0]) for one, other in sorted(chosen.items())]


def _sampled(tensors: list[StoredTensor], step: Callable[[], object]) -> list[tuple[StoredTensor, Array]]:
    """Those that can be read, with a sample of each."""
    found: list[tuple[StoredTensor, Array]] = []
    for tensor in tensors:
        step()
        try:
            found.append((tensor, sample(tensor)))
        except ExplorerError:
            continue
    return found
