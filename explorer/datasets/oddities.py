"""What is odd about samples: worth a warning, no reason to refuse them."""

from typing import NamedTuple

import numpy as np

from explorer.datasets.dataset import Array, Parts

STOPS = "training stops at the first loss that is not finite; fill or remove these samples"
SPOILS = "no validation can be finite with them; fill or remove these samples"


class Oddity(NamedTuple):
    """A finding about the data: what, the evidence, and what can be done."""

    title: str
    evidence: str
    remedy: str


def oddities(parts: Parts) -> list[Oddity]:
    """NaN and infinities, by count and first sample; classes with a single sample; classes that are missing where others are."""
    found = []
    for name, part in (("", parts.train), ("held-out ", parts.held_out)):
        for what, array in (("inputs", part.inputs), ("targets", part.targets)) if part is not None else ():
            if oddity := _not_finite(array, name + what, STOPS if part is parts.train else SPOILS):
                found.append(oddity)
    if parts.train.classes is not None and parts.train.targets.ndim == 1:
        found += _rare(parts)
    return found


def _not_finite(array: Array, what: str, remedy: str) -> Oddity | None:
    if array.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        if np.isfinite(array.sum(dtype=np.float64)):  # a sum is spoilt by any one of them
            return None
    wrong = ~np.isfinite(array.reshape(len(array), -1))
    count = int(wrong.sum())
    if not count:
        return None
    rows = wrong.any(axis=1)
    return Oddity(
        f"one number of the {what} is NaN or infinite" if count == 1 else f"{count:,} numbers of the {what} are NaN or infinite",
        f"in {int(rows.sum()):,} of {len(array):,} samples, the first is sample {int(rows.argmax())}",
        remedy,
    )


def _rare(parts: Parts) -> list[Oddity]:
    labels = parts.train.targets
    if labels.min() < 0:
        return []
    counts = np.bincount(labels, minlength=parts.train.classes or 0)
    names = parts.train.class_names or tuple(str(number) for number in range(len(counts)))
    single = [names[number] for number in np.flatnonzero(counts == 1)]
    missing = [names[number] for number in np.flatnonzero(counts == 0)]
    found = []
    if single:
        found.append(
            Oddity(
                f"{_classes(single)} a single training sample", ", ".join(single[:10]), "nothing is held out of it; add samples"
            )
        )
    if missing:
        found.append(
            Oddity(f"{_classes(missing)} no training sample", ", ".join(missing[:10]), "they cannot be learned; add samples")
        )
    return found


def _classes(names: list[str]) -> str:
    return "one class has" if len(names) == 1 else f"{len(names)} classes have"
