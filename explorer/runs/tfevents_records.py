"""TFRecord framing: length (uint64), masked CRC-32C of it, the message, masked CRC-32C of that, all little-endian.

Checksums of lengths are all checked, once for each distinct length, since a wrong one loses everything behind it. Those of
messages are checked for one message of each kind in a chunk: all of a million would take longer than reading them.
"""

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.runs.columns import Integers
from explorer.runs.crc32c import masked_crc32c

HEAD_BYTES = 12
FRAME_BYTES = 16
# So many records show the pattern of lengths; a shorter run of it is not worth a guess.
SAMPLE_RECORDS = 64
WORTH_A_GUESS = 1024
LONG_BYTES = 65_535

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Records:
    """Whole records of a chunk: where messages start and how long they are. `end` is where the next record starts.

    `damaged`: what comes there is no record. `needed_bytes`: how long the record there is, when the chunk ends inside it.
    """

    starts: Integers
    lengths: Integers
    end: int
    damaged: bool = False
    needed_bytes: int = 0


def split_records(data: bytes) -> Records:
    """The records of a chunk that begins at a record."""
    offsets, end = _walk(data)
    lengths = np.diff(np.append(offsets, end)) - FRAME_BYTES
    wrong = np.flatnonzero(~_lengths_hold(data, offsets, lengths))
    if len(wrong):
        first = int(wrong[0])
        return Records(offsets[:first] + HEAD_BYTES, lengths[:first], int(offsets[first]), damaged=True)
    damaged = len(data) - end >= HEAD_BYTES and not _length_holds(data, end)
    needed = struct.unpack_from("<Q", data, end)[0] + FRAME_BYTES if len(data) - end >= HEAD_BYTES and not damaged else 0
    return Records(offsets + HEAD_BYTES, lengths, end, damaged, needed)


def message_holds(data: bytes, start: int, length: int) -> bool:
    """Whether the checksum of the message is right."""
    stored: int = struct.unpack_from("<I", data, start + length)[0]
    return masked_crc32c(data[start : start + length]) == stored


def rows_of(data: bytes, starts: Integers, length: int) -> Bytes:
    """Stretches of equal length as the rows of a table."""
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(data, np.uint8), length)
    return np.ascontiguousarray(windows[starts])


def _walk(data: bytes) -> tuple[Integers, int]:
    """Where each whole record begins, and where the last ends.

    Each length says where the next record is. As lengths mostly repeat in a short pattern, its repetition is guessed and then
    checked for many records at once; where no pattern holds for long, the walk is record by record.
    """
    parts: list[Integers] = []
    at, few = 0, SAMPLE_RECORDS
    while True:
        places, at = _walk_some(data, at, few)
        parts.append(np.array(places, np.int64))
        if len(places) < few:
            return np.concatenate(parts), at
        strides = np.diff([*places, at])
        guessed = _guess(data, at, strides[-_period(strides[-SAMPLE_RECORDS:]) :])
        if len(guessed) > 1:
            parts.append(guessed[:-1])
            at = int(guessed[-1])
        few = SAMPLE_RECORDS if len(guessed) > WORTH_A_GUESS else min(8 * few, 32_768)


def _walk_some(data: bytes, at: int, count: int) -> tuple[list[int], int]:
    """The next records, at most `count`."""
    length_at = struct.Struct("<Q").unpack_from
    places: list[int] = []
    add, size = places.append, len(data)
    last = size - FRAME_BYTES
    while at <= last and count:
        following = at + length_at(data, at)[0] + FRAME_BYTES
        if following > size:
            break
        add(at)
        at = following
        count -= 1
    return places, at


def _period(strides: Integers) -> int:
    """The shortest pattern that repeats in all of them; none is as long as they are."""
    for period in range(1, len(strides) // 2 + 1):
        if (strides[period:] == strides[:-period]).all():
            return period
    return len(strides)


def _guess(data: bytes, at: int, strides: Integers) -> Integers:
    """Where records begin while the pattern holds, and where the first begins of which that is not known."""
    total = int(strides.sum())
    count = (len(data) - at - HEAD_BYTES) // total if total else 0
    if len(strides) >= SAMPLE_RECORDS or count < 1:
        return np.array([at])
    offsets = np.cumsum(strides) - strides
    places = (at + total * np.arange(count)[:, None] + offsets).ravel()
    lengths = rows_of(data, places, 8).view("<i8")[:, 0]
    wrong = np.flatnonzero(lengths != np.tile(strides - FRAME_BYTES, count))
    return places[: int(wrong[0]) + 1] if len(wrong) else np.append(places, at + total * count)


def _lengths_hold(data: bytes, offsets: Integers, lengths: Integers) -> npt.NDArray[np.bool_]:
    if not len(offsets):
        return np.ones(0, np.bool_)
    stored = rows_of(data, offsets + 8, 4).view("<u4")[:, 0]
    short = np.minimum(lengths, LONG_BYTES)  # a table by length is faster than sorting them
    wanted = np.zeros(LONG_BYTES + 1, np.uint32)
    for length in np.flatnonzero(np.bincount(short)).tolist():
        wanted[length] = _length_checksum(length)
    holds = np.asarray(stored == wanted[short])
    for index in np.flatnonzero(short == LONG_BYTES).tolist():
        holds[index] = stored[index] == _length_checksum(int(lengths[index]))
    return holds


def _length_checksum(length: int) -> int:
    return masked_crc32c(struct.pack("<Q", length))


def _length_holds(data: bytes, at: int) -> bool:
    stored: int = struct.unpack_from("<I", data, at + 8)[0]
    return masked_crc32c(data[at : at + 8]) == stored
