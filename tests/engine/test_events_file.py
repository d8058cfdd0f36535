"""The append-only file: sequence numbers, torn lines, NaN, long lines."""

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from explorer.engine.events_file import EventReader, EventWriter, last_seq, parse_event, seq_of, tail_events
from explorer.schemas.events import EVENT_ADAPTER, Log, Metric, State


def test_sequence_numbers_rise_and_go_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    first = EventWriter(path)
    assert [first.write(Log(text=text)).seq for text in "ab"] == [1, 2]
    first.close()
    second = EventWriter(path)
    assert second.write(Log(text="c")).seq == 3
    second.close()
    assert [event.seq for event in EventReader(path).read_events()] == [1, 2, 3]


def test_a_torn_last_line_is_not_yet_there_and_the_next_writer_removes_it(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"seq":1,"time":0,"kind":"log","text":"whole"}\n{"seq":2,"ti')
    reader = EventReader(path)
    assert [event.seq for event in reader.read_events()] == [1]
    assert last_seq(path) == 1
    writer = EventWriter(path)
    writer.write(Log(text="after"))
    writer.close()
    assert [event.seq for event in EventReader(path).read_events()] == [1, 2]


def test_a_line_that_is_completed_later_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    line = Log(seq=1, text="x" * 1000).model_dump_json().encode() + b"\n"
    path.write_bytes(line[:500])
    reader = EventReader(path)
    assert reader.read_events() == []
    path.write_bytes(line)
    assert [event.seq for event in reader.read_events()] == [1]
    assert reader.read_events() == []


def test_lines_longer_than_a_chunk_are_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    writer = EventWriter(path)
    writer.write(Log(text="y" * 2**20))
    writer.write(State(state="done"))
    writer.close()
    events = EventReader(path).read_events()
    assert isinstance(events[0], Log)
    assert len(events[0].text) == 2**20
    assert [event.kind for event in tail_events(path)][-1] == "state"


def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"\x00\xff\n{}\n[1]\n" + Log(seq=9, text="good").model_dump_json().encode() + b"\n")
    assert [event.seq for event in EventReader(path).read_events()] == [9]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1))
def test_every_float_survives(values: list[float]) -> None:
    event = Metric(seq=1, steps=list(range(len(values))), values={"loss": values})
    again = EVENT_ADAPTER.validate_json(event.model_dump_json())
    assert isinstance(again, Metric)
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(again.values["loss"], values, strict=True))


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(line: bytes) -> None:
    parse_event(line)
    assert seq_of(line) >= 0


def test_a_missing_file_is_an_empty_one(tmp_path: Path) -> None:
    reader = EventReader(tmp_path / "none")
    assert reader.read_events() == []
    assert not reader.has_more()
    assert tail_events(tmp_path / "none") == []
