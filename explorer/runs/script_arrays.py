"""What every script needs that has its samples in arrays: tensors of them, the split, the batches of an epoch."""

import numpy as np

from explorer.datasets.dataset import Array, Parts
from explorer.runs.script_lines import chosen
from explorer.runs.script_piece import Piece

TENSORS = '''
def tensors(inputs: Array, targets: Array) -> Pair:
    """Arrays as torch takes them."""
    return torch.from_numpy(np.ascontiguousarray(inputs)), torch.from_numpy(np.ascontiguousarray(targets))
'''
SPLIT = '''
def split(inputs: Array, targets: Array) -> tuple[Pair, Pair]:
    """Training and held-out samples, the same on every run: HELD_OUT_SHARE of <what>."""
    random = np.random.default_rng(0)
    held_out = np.zeros(len(targets), dtype=bool)
    for label in np.unique(targets):  ##each
        positions = random.permutation(np.flatnonzero(targets == label))  ##each
        held_out[positions[: round(len(positions) * HELD_OUT_SHARE)]] = True  ##each
    wanted = min(len(targets) - 1, max(1, round(len(targets) * HELD_OUT_SHARE)))  ##all
    held_out[random.permutation(len(targets))[:wanted]] = True  ##all
    return tensors(inputs[~held_out], targets[~held_out]), tensors(inputs[held_out], targets[held_out])
'''
BATCHES = '''
def batches(train: Pair, epoch: int) -> Iterator[Pair]:
    """The batches of an epoch, in an order of its own."""  ##!several
    """The batches of an epoch, in an order of its own.  ##several
  ##several
    A last one of a single sample is left out, since batch normalization needs two.  ##several
    """  ##several
    inputs, targets = train
    order = torch.randperm(len(inputs), generator=torch.Generator().manual_seed(SEED + epoch))
    for chosen in order.to(inputs.device).split(BATCH_SIZE):
        if len(chosen) > 1:  ##several
            yield inputs[chosen], targets[chosen]  ##several
        yield inputs[chosen], targets[chosen]  ##!several
'''


def in_memory(reading: Piece, parts: Parts, batch_size: int, share: float) -> Piece:
    """`reading` with what arrays need besides: tensors, the split where one is made, batches."""
    functions = [*reading.functions, TENSORS]
    constants = list(reading.constants)
    if any("split(" in text for text in reading.functions):
        flags = split_flags(_labels(parts), share)
        functions.insert(-1, chosen(SPLIT, flags, what="each class" if "each" in flags else "all"))
    if any("HELD_OUT_SHARE" in text for text in functions):
        constants.append(f"HELD_OUT_SHARE = {share!r}")
    functions.append(chosen(BATCHES, {"several"} if batch_size > 1 else ()))
    return Piece(constants, functions, reading.files, reading.needs)


def split_flags(labels: Array | None, share: float) -> set[str]:
    """A share of each class; of all where there are none, or where every class is too small for a share of it."""
    if labels is None:
        return {"all"}
    _, counts = np.unique(labels, return_counts=True)
    return {"each"} if any(round(int(count) * share) for count in counts) else {"each", "all"}


def _labels(parts: Parts) -> Array | None:
    if parts.train.classes is None or parts.held_out is None:
        return None
    return np.concatenate([parts.train.targets, parts.held_out.targets])


INPUTS = '''
def inputs_of(array: Any) -> Array:
    """<words>"""
    return <expression>
'''
TARGETS = '''
def targets_of(array: Any) -> Array:
    """<words>"""
    array = np.asarray(array)
    array = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array  ##classes
    array = array[:, None] if array.ndim == 1 else array  ##!classes
    return <expression>
'''


def inputs_of(array: Array) -> str:
    """The function that gives inputs like `array` in a dtype that models take."""
    if array.dtype == np.uint8:
        return chosen(INPUTS, (), words="Bytes as 0..1.", expression="np.divide(array, np.float32(255), dtype=np.float32)")
    if array.dtype.kind in "iu":
        return chosen(
            INPUTS, (), words="Integers, such as the indices of tokens.", expression="np.asarray(array, dtype=np.int64)"
        )
    return chosen(INPUTS, (), words="Numbers.", expression="np.asarray(array, dtype=np.float32)")


def targets_of(array: Array, classes: bool) -> str:
    """The function that gives targets like `array` as class numbers or as values."""
    if not classes:
        return chosen(TARGETS, (), words="Values, (N, outputs).", expression="array.astype(np.float32)")
    if array.dtype.kind in "US":
        numbered = "np.unique(array.astype(np.str_), return_inverse=True)[1].astype(np.int64)"
        return chosen(TARGETS, {"classes"}, words="Classes, numbered in alphabetical order.", expression=numbered)
    return chosen(TARGETS, {"classes"}, words="Classes, (N,).", expression="array.astype(np.int64)")
