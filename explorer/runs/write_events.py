"""A run as a TensorBoard event file: TFRecord framing around `Event` messages, many encoded at once.

A record is length (uint64), masked CRC-32C of it, the message, masked CRC-32C of that, all little-endian
(tensorflow/core/lib/io/record_writer). A message is `Event` of tensorboard/compat/proto/event.proto: wall_time = 1 (double),
step = 2 (int64), file_version = 3 (string) or summary = 5, whose value = 1 has tag = 1 and simple_value = 2 (float).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from explorer import home
from explorer.runs.write_rows import Floats, Integers, Series

VERSION = b"brain.Event:2"
BLOCK_EVENTS = 65_536
HEAD_BYTES, TAIL_BYTES = 12, 4
_POLYNOMIAL = 0x82F63B78  # CRC-32C (Castagnoli), reflected
_MASK = 0xA282EAD8

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]


def write_events(series: Mapping[str, Series], folder: Path) -> None:
    """Write one event file into `folder`, in order of steps. Values become float32, as in all of TensorBoard; no time is 0."""
    folder.mkdir(parents=True)
    first_time = min((float(np.nanmin(item.times)) for item in series.values() if np.isfinite(item.times).any()), default=0.0)
    path = folder / f"events.out.tfevents.{int(first_time):010d}.{home.host_name()}.explorer"
    with path.open("wb") as stream:
        stream.write(_framed(b"\x09" + np.float64(first_time).tobytes() + b"\x1a" + _sized(VERSION)))
        for block in _blocks(series):
            stream.write(block)


def _blocks(series: Mapping[str, Series]) -> Iterator[bytes]:
    """Records in order of step, then of metric."""
    if not series:
        return
    steps = np.concatenate([item.steps for item in series.values()])
    tags = np.repeat(np.arange(len(series)), [len(item.steps) for item in series.values()])
    values = np.concatenate([item.values for item in series.values()])
    times = np.nan_to_num(np.concatenate([item.times for item in series.values()]), nan=0.0)
    names = [name.encode() for name in series]
    order = np.lexsort((tags, steps))
    for start in range(0, len(order), BLOCK_EVENTS):
        chosen = order[start : start + BLOCK_EVENTS]
        yield _block(names, tags[chosen], steps[chosen], values[chosen], times[chosen])


def _block(names: list[bytes], tags: Integers, steps: Integers, values: Floats, times: Floats) -> bytes:
    """Records of equal length are encoded as the rows of one table, then laid where they belong."""
    step_bytes = _varint_bytes(steps)
    overhead = HEAD_BYTES + TAIL_BYTES + 9 + 1
    fixed = np.array([overhead + len(_summary_head(name)) + 4 for name in names])
    lengths = fixed[tags] + step_bytes
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    out = np.zeros(int(lengths.sum()), np.uint8)
    for tag, width in np.unique(np.stack([tags, step_bytes], axis=1), axis=0).tolist():
        group = np.flatnonzero((tags == tag) & (step_bytes == width))
        table = _records(_summary_head(names[tag]), width, steps[group], values[group], times[group])
        out[starts[group][:, None] + np.arange(table.shape[1])] = table
    return out.tobytes()


def _records(summary: bytes, step_bytes: int, steps: Integers, values: Floats, times: Floats) -> Bytes:
    """A record in each row: one tag, steps of one width."""
    count = len(steps)
    with np.errstate(over="ignore"):
        floats = values.astype("<f4")
    message = np.concatenate(
        [
            np.full((count, 1), 0x09, np.uint8),
            times.astype("<f8").view(np.uint8).reshape(count, 8),
            np.full((count, 1), 0x10, np.uint8),
            _varints(steps, step_bytes),
            np.broadcast_to(np.frombuffer(summary, np.uint8), (count, len(summary))),
            floats.view(np.uint8).reshape(count, 4),
        ],
        axis=1,
    )
    head = np.frombuffer(_head(message.shape[1]), np.uint8)
    tail = _masked(_crc32c(message)).astype("<u4").view(np.uint8).reshape(count, TAIL_BYTES)
    return np.concatenate([np.broadcast_to(head, (count, HEAD_BYTES)), message, tail], axis=1)


def _summary_head(name: bytes) -> bytes:
    """Summary up to the four bytes of its value."""
    value = b"\x0a" + _sized(name) + b"\x15"
    outer = b"\x0a" + _varint(len(value) + 4)
    return b"\x2a" + _varint(len(outer) + len(value) + 4) + outer + value


def _framed(message: bytes) -> bytes:
    row = np.frombuffer(message, np.uint8)[None]
    return _head(len(message)) + message + _masked(_crc32c(row)).astype("<u4").tobytes()


def _head(length: int) -> bytes:
    size = length.to_bytes(8, "little")
    return size + _masked(_crc32c(np.frombuffer(size, np.uint8)[None])).astype("<u4").tobytes()


def _sized(text: bytes) -> bytes:
    return _varint(len(text)) + text


def _varint(value: int) -> bytes:
    return _varints(np.array([value]), int(_varint_bytes(np.array([value]))[0])).tobytes()


def _varint_bytes(values: Integers) -> Integers:
    """How many bytes each varint takes; a negative one takes all ten."""
    widths = sum((values >> shift > 0).astype(np.int64) for shift in range(7, 63, 7)) + 1
    return np.where(values < 0, 10, widths)


def _varints(values: Integers, width: int) -> Bytes:
    """Base-128 varints of one width, the lowest seven bits first."""
    unsigned = values.astype(np.uint64)[:, None]
    groups = (unsigned >> (np.arange(width, dtype=np.uint64) * np.uint64(7))) & np.uint64(0x7F)
    groups[:, :-1] |= np.uint64(0x80)
    return groups.astype(np.uint8)


def _crc_table() -> Words:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> np.uint32(1)) ^ (table & np.uint32(1)) * np.uint32(_POLYNOMIAL)
    return table


_TABLE = _crc_table()


def _crc32c(table: Bytes) -> Words:
    """CRC-32C of each row."""
    crc = np.full(len(table), 0xFFFFFFFF, np.uint32)
    for column in table.T:
        crc = _TABLE[(crc ^ column) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return ~crc


def _masked(crc: Words) -> Words:
    """Rotated and shifted, as TFRecord stores it, since a CRC over data that holds CRCs is weak."""
    return ((crc >> np.uint32(15)) | (crc << np.uint32(17))) + np.uint32(_MASK)
