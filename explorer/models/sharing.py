"""Tensors that lie in the same storage: which overlap, and what they hold together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Slice:
    """Where a tensor lies: bytes `start` to `end` of a storage hold its `elements`; `layout` is its shape and strides."""

    storage: str
    start: int
    end: int
    elements: int
    bytes: int
    layout: tuple[object, ...] = ()


@dataclass
class Cluster:
    """Tensors whose bytes overlap, by their places in the list; counted once."""

    end: int
    start: int
    members: list[int] = field(default_factory=list)

    def elements(self, slices: Sequence[Slice]) -> int:
        """Numbers held together: no more than fit the bytes that they cover, and no layout twice."""
        distinct = _distinct(slices[index] for index in self.members)
        largest = max(distinct, key=lambda item: item.bytes)
        fitting = (self.end - self.start) * largest.elements // max(1, largest.bytes)
        return min(sum(item.elements for item in distinct), max(fitting, largest.elements))

    def bytes(self, slices: Sequence[Slice]) -> int:
        distinct = _distinct(slices[index] for index in self.members)
        return min(sum(item.bytes for item in distinct), max(self.end - self.start, *(item.bytes for item in distinct), 0))


def clusters(slices: Sequence[Slice]) -> list[Cluster]:
    """Groups of overlapping tensors; one that overlaps none is a group of its own."""
    order = sorted(range(len(slices)), key=lambda index: (slices[index].storage, slices[index].start, index))
    groups: list[Cluster] = []
    previous = None
    for index in order:
        item = slices[index]
        if previous != item.storage or item.start >= groups[-1].end:
            groups.append(Cluster(end=item.end, start=item.start))
        previous = item.storage
        groups[-1].members.append(index)
        groups[-1].end = max(groups[-1].end, item.end)
    for group in groups:
        group.members.sort()
    return groups


def _distinct(slices: Iterable[Slice]) -> list[Slice]:
    """One of each place and layout."""
    return list({(item.start, item.end, item.layout): item for item in slices}.values())
