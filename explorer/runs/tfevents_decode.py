"""Scalars of many event records at once.

Records of one metric differ only in the bytes of time, step and value. So records of equal length are laid out as a table, those
equal in all other bytes are decoded column by column, and only what is left is decoded one by one.
"""

from dataclasses import dataclass, field

import numpy as np

from explorer.runs.columns import Batch, Column, Floats, Integers, column, joined
from explorer.runs.tfevents_event import Layout, Scalar, Span, layout_of, number_at, varint
from explorer.runs.tfevents_records import LONG_BYTES, Bytes, Records, message_holds, rows_of

# A kind of record with fewer members is decoded one by one; so is what is left after some rounds.
WORTH_A_TABLE = 8
ROUNDS = 8
# Longer messages hold no scalar alone, so there are few of them.
LONGEST_IN_TABLE = 4096


@dataclass(slots=True)
class Decoded:
    """Pieces of columns with the numbers of their records, by metric; sessions that start (record, step); damaged records."""

    pieces: dict[str, list[tuple[Integers, Column]]] = field(default_factory=dict)
    sessions: list[tuple[int, int]] = field(default_factory=list)
    damaged: int = 0

    def add(self, tag: str, records: Integers, points: Column) -> None:
        self.pieces.setdefault(tag, []).append((records, points))


def decode(data: bytes, records: Records) -> Decoded:
    """Every scalar in the records of a chunk."""
    found = Decoded()
    order = np.argsort(np.minimum(records.lengths, LONG_BYTES).astype(np.uint16), kind="stable")  # a radix sort
    bounds = np.flatnonzero(np.diff(records.lengths[order])) + 1
    for group in np.split(order, bounds) if len(order) else []:
        length = int(records.lengths[group[0]])
        if len(group) >= WORTH_A_TABLE and 0 < length <= LONGEST_IN_TABLE:
            group = _decode_tables(data, records.starts, length, group, found)
        for record in group.tolist():
            _decode_one(data, record, int(records.starts[record]), length, found)
    return found


def batches(found: Decoded) -> list[Batch]:
    """Columns in the order of the log, parted where a session started: what lies beyond its first step was written in vain."""
    whole = {tag: _in_order(pieces) for tag, pieces in found.pieces.items()}
    if not found.sessions:
        return [Batch({tag: points for tag, (_, points) in whole.items()})] if whole else []
    sessions = sorted(found.sessions)
    edges = [-1, *(record for record, _ in sessions), np.iinfo(np.int64).max]
    cuts = [None, *(step - 1 for _, step in sessions)]
    return [Batch(_between(whole, *edges[n : n + 2]), cut) for n, cut in enumerate(cuts)]


def _decode_tables(data: bytes, starts: Integers, length: int, group: Integers, found: Decoded) -> Integers:
    """Decode kinds with many members; gives the records that are left."""
    for _ in range(ROUNDS):
        if len(group) < WORTH_A_TABLE:
            break
        table = rows_of(data, starts[group], length)
        left = np.ones(len(group), np.bool_)
        for members in _kinds(table, layout_or_none(table[0].tobytes())):
            left[members[_decode_kind(data, starts, group[members], table[members], found)]] = False
        if left[0]:
            _decode_one(data, int(group[0]), int(starts[group[0]]), length, found)
            left[0] = False
        group = group[left]
    return group


def _kinds(table: Bytes, layout: Layout | None) -> list[Integers]:
    """Rows by what they hold outside the bytes that change in the first row; none when that one is no guide."""
    if layout is None or not layout.scalars or layout.starts_session:
        return []
    hashes = _hashes(_constant(table, layout))
    if (hashes == hashes[0]).all():
        return [np.arange(len(table))]
    order = np.argsort(hashes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(hashes[order])) + 1)
    return [members for members in groups if len(members) >= WORTH_A_TABLE]


def _decode_kind(data: bytes, starts: Integers, records: Integers, table: Bytes, found: Decoded) -> Integers:
    """Decode the rows that are like the first; gives their numbers within the table."""
    layout = layout_or_none(table[0].tobytes())
    usable = layout is not None and layout.scalars and all(scalar.element != "varint" for scalar in layout.scalars)
    if layout is None or not usable or not message_holds(data, int(starts[records[0]]), table.shape[1]):
        return np.zeros(0, np.int64)
    constant = _constant(table, layout)
    like = np.flatnonzero((constant == constant[0]).all(axis=1) & _steps_end(table, layout.step))
    rows = table[like]
    steps, times = _steps(rows, layout.step), _doubles(rows, layout.wall_time)
    for scalar in layout.scalars:
        found.add(scalar.tag, records[like], column(steps, _numbers(rows, scalar), times))
    return like


def _decode_one(data: bytes, record: int, start: int, length: int, found: Decoded) -> None:
    message = data[start : start + length]
    layout = layout_or_none(message)
    if layout is None:
        found.damaged += 1
        return
    step = varint(message, *layout.step) if layout.step else 0
    if layout.starts_session:
        found.sessions.append((record, step))
    time = float(_doubles(np.frombuffer(message, np.uint8)[None], layout.wall_time)[0])
    for scalar in layout.scalars:
        found.add(scalar.tag, np.array([record]), column([step], [number_at(message, scalar, 0)], [time]))


def layout_or_none(message: bytes) -> Layout | None:
    """The layout of a message, None when it is damaged."""
    try:
        return layout_of(message, 0, len(message))
    except (ValueError, IndexError):
        return None


def _constant(table: Bytes, layout: Layout) -> Bytes:
    """The table with the changing bytes zeroed."""
    constant = table.copy()
    for first, last in filter(None, [layout.wall_time, layout.step, *(scalar.span for scalar in layout.scalars)]):
        constant[:, first:last] = 0
    return constant


def _hashes(table: Bytes) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """A number for each row, equal for equal rows."""
    words = -(-table.shape[1] // 8)
    padded = np.zeros((len(table), words * 8), np.uint8)
    padded[:, : table.shape[1]] = table
    weights = np.random.default_rng(0).integers(1, 2**63, words, np.uint64) | np.uint64(1)
    total = np.zeros(len(table), np.uint64)
    for word, weight in zip(padded.view("<u8").T, weights, strict=True):
        total = total * np.uint64(31) + word * weight
    return total


def _steps_end(table: Bytes, span: Span | None) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Whether the step is a varint of just this width."""
    if span is None:
        return np.ones(len(table), np.bool_)
    first, last = span
    return np.asarray((table[:, first : last - 1] >= 0x80).all(axis=1) & (table[:, last - 1] < 0x80))


def _steps(rows: Bytes, span: Span | None) -> Integers:
    steps = np.zeros(len(rows), np.uint64)
    for shift, place in enumerate(range(*span)) if span else ():
        steps |= (rows[:, place] & np.uint8(0x7F)).astype(np.uint64) << np.uint64(7 * shift)
    return steps.view(np.int64)


def _doubles(rows: Bytes, span: Span | None) -> Floats:
    if span is None:
        return np.zeros(len(rows))
    return np.ascontiguousarray(rows[:, slice(*span)]).view("<f8")[:, 0]


def _numbers(rows: Bytes, scalar: Scalar) -> Floats:
    raw = np.ascontiguousarray(rows[:, slice(*scalar.span)])
    if scalar.element == "bfloat16":
        return (raw.view("<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)[:, 0].astype(np.float64)
    return np.asarray(raw.view(scalar.element)[:, 0], np.float64)


def _in_order(pieces: list[tuple[Integers, Column]]) -> tuple[Integers, Column]:
    records = np.concatenate([numbers for numbers, _ in pieces])
    points = joined([points for _, points in pieces])
    if len(pieces) == 1:
        return records, points
    order = np.argsort(records, kind="stable")
    return records[order], Column(points.steps[order], points.values[order], points.times[order])


def _between(whole: dict[str, tuple[Integers, Column]], after: int, before: int) -> dict[str, Column]:
    chosen = {tag: np.flatnonzero((records > after) & (records < before)) for tag, (records, _) in whole.items()}
    return {
        tag: Column(points.steps[index], points.values[index], points.times[index])
        for tag, (_, points) in whole.items()
        if len(index := chosen[tag])
    }
