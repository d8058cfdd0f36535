"""The append-only `events.jsonl`: one writer, any number of readers, a torn last line means "not yet"."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.schemas.events import EVENT_ADAPTER, Event

CHUNK_BYTES = 262_144
_SEQ = re.compile(rb'^\{"seq":(\d+),')


class EventWriter:
    """Appends events with rising `seq`. Only the holder of the job's lock may make one, or the rank that speaks for it."""

    def __init__(self, path: Path, heard: Callable[[Event], None] | None = None) -> None:
        self._heard = heard
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        self._torn = False
        self.catch_up()

    def write(self, event: Event) -> Event:
        """Append one event in a single system call and give it back with its `seq`. A full disk loses the event, not the job."""
        numbered = event.model_copy(update={"seq": self.last_seq + 1})
        line = (b"\n" if self._torn else b"") + numbered.model_dump_json().encode() + b"\n"
        try:
            self._torn = os.write(self._fd, line) != len(line)
        except OSError:
            self._torn = True
        self.last_seq += 1
        if self._heard:
            self._heard(numbered)
        return numbered

    def catch_up(self) -> None:
        """Go on behind what another process wrote meanwhile in this one's name."""
        self.last_seq = last_seq(self._path)
        self._torn = False
        _cut_torn_tail(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class EventReader:
    """Reads whole lines from where it last stopped; `offset` is in bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self.offset = 0

    def has_more(self) -> bool:
        try:
            return self._path.stat().st_size > self.offset
        except FileNotFoundError:
            return False

    def read_lines(self, limit_bytes: int = CHUNK_BYTES) -> list[bytes]:
        """The next complete lines, without their ends; empty when there is nothing new yet."""
        data = self._read(limit_bytes)
        while data and b"\n" not in data and (more := self._read(limit_bytes)):
            data += more
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line for line in lines if line]

    def _read(self, limit_bytes: int) -> bytes:
        try:
            with self._path.open("rb") as stream:
                stream.seek(self.offset)
                data = stream.read(limit_bytes)
        except FileNotFoundError:
            return b""
        self.offset += len(data)
        return data

    def read_events(self) -> list[Event]:
        """The next complete events; lines that are not events are passed over."""
        return [event for line in self.read_lines() if (event := parse_event(line)) is not None]


def parse_event(line: bytes) -> Event | None:
    """The event in a line, or None when the line is damaged or of an unknown kind."""
    try:
        return EVENT_ADAPTER.validate_json(line)
    except ValueError:
        return None


def seq_of(line: bytes) -> int:
    """The sequence number of a line; 0 when it has none."""
    match = _SEQ.match(line)
    return int(match.group(1)) if match else 0


def is_metric(line: bytes) -> bool:
    """Whether a line holds values over steps, told from its beginning."""
    return b'"kind":"metric"' in line[:80]


def tail_events(path: Path) -> list[Event]:
    """The last events of a file: at least 64 KiB of it, and back to a whole final line however long that is."""
    return [event for line in _tail_lines(path) if (event := parse_event(line)) is not None]


def first_event(path: Path) -> Event | None:
    """The first event, or None when there is none yet."""
    try:
        with path.open("rb") as stream:
            return parse_event(stream.readline())
    except FileNotFoundError:
        return None


def last_seq(path: Path) -> int:
    """The highest `seq` in the file; 0 for none."""
    return max((seq_of(line) for line in _tail_lines(path)), default=0)


def json_line(value: Any) -> bytes:
    """A value as one line of JSON."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _tail_lines(path: Path, wanted_bytes: int = 65_536) -> list[bytes]:
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return []
    with path.open("rb") as stream:
        while True:
            start = max(0, size - wanted_bytes)
            stream.seek(start)
            lines = stream.read(size - start).split(b"\n")
            whole = lines[:-1] if start == 0 else lines[1:-1]
            if whole or start == 0:
                return [line for line in whole if line]
            wanted_bytes *= 4


def _cut_torn_tail(fd: int) -> None:
    """Remove a half-written last line, left by a writer that was killed."""
    size = os.fstat(fd).st_size
    end = size
    while end > 0:
        start = max(0, end - 65_536)
        newline = os.pread(fd, end - start, start).rfind(b"\n")
        if newline >= 0:
            end = start + newline + 1
            break
        end = start
    if end < size:
        os.ftruncate(fd, end)
