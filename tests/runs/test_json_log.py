"""JSON lines of any trainer, and the state of Hugging Face's Trainer."""

import json
import math
import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.runs.logs import FIXTURES, open_run, points_of, read_in_parts, read_points

MIXED = (
    '{"config": {"lr": 0.1}, "seed": 3}\n'
    '{"step": 1, "train": {"loss": 0.5, "acc": 0.25}, "time": 1700000000.0}\n'
    '{"step": 2, "train": {"loss": NaN, "acc": 0.5}, "tags": [1, 2], "done": false}\n'
    "not json at all\n"
    '{"step": 2, "val": {"loss": Infinity}, "note": "words"}\n'
    '{"step": 3, "train": {"loss": null, "acc": "0.75"}}\n'
)


def _points(tmp_path: Path, *records: dict[str, Any]) -> dict[str, list[tuple[int, float]]]:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return read_points(path, "jsonl")


def test_nested_records_of_several_kinds(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(MIXED)
    found = read_points(path, "jsonl")
    assert found["train/loss"] == [(1, 0.5), (2, "nan")]
    assert found["train/acc"] == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert found["val/loss"] == [(2, math.inf)]
    assert not found.keys() & {"tags", "done", "note", "step", "time"}


def test_any_name_for_the_step(tmp_path: Path) -> None:
    for name in ("step", "global_step", "_step", "iteration", "iter", "epoch"):
        assert _points(tmp_path, {name: 3, "loss": 1.0}, {name: 5, "loss": 2.0}) == {"loss": [(3, 1.0), (5, 2.0)]}


def test_the_global_step_counts_more_than_the_epoch(tmp_path: Path) -> None:
    assert _points(tmp_path, {"epoch": 0, "global_step": 7, "loss": 1}, {"epoch": 1, "global_step": 9, "loss": 2}) == {
        "loss": [(7, 1.0), (9, 2.0)]
    }


def test_validation_without_a_step_stands_at_the_last_one(tmp_path: Path) -> None:
    assert _points(tmp_path, {"step": 4, "loss": 1}, {"epoch": 1, "val_loss": 2})["val_loss"] == [(4, 2.0)]


def test_a_step_found_after_epochs_begins_again_by_step(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"epoch": 0, "val_loss": 3}\n')
    run = open_run(path, "jsonl")
    assert points_of(run) == {"val_loss": [(0, 3.0)]}
    with path.open("a") as stream:
        stream.write('{"step": 10, "loss": 1}\n{"epoch": 1, "val_loss": 2}\n')
    assert points_of(run) == {"val_loss": [(0, 3.0), (10, 2.0)], "loss": [(10, 1.0)]}


def test_modes_part_the_metrics(tmp_path: Path) -> None:
    assert _points(tmp_path, {"mode": "train", "iter": 1, "loss": 1}, {"mode": "val", "iter": 1, "loss": 2}) == {
        "train/loss": [(1, 1.0)],
        "val/loss": [(1, 2.0)],
    }


def test_numbers_too_large_for_a_float_are_passed_over(tmp_path: Path) -> None:
    assert _points(tmp_path, {"step": 1, "loss": 10**400, "acc": 1}) == {"acc": [(1, 1.0)]}


def test_a_torn_end_at_every_byte_means_not_yet(tmp_path: Path) -> None:
    content, path = MIXED.encode(), tmp_path / "log.jsonl"
    path.write_bytes(content)
    whole = read_points(path, "jsonl")
    for end in range(len(content)):
        assert read_in_parts(tmp_path / str(end) / "log.jsonl", "jsonl", content, [end]) == whole


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, len(MIXED)), max_size=5))
def test_reading_in_parts_equals_reading_at_once(tmp_path: Path, ends: list[int]) -> None:
    path, whole = tmp_path / "parts.jsonl", tmp_path / "whole.jsonl"
    whole.write_text(MIXED)
    path.unlink(missing_ok=True)
    assert read_in_parts(path, "jsonl", MIXED.encode(), sorted(ends)) == read_points(whole, "jsonl")


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["step", "epoch", "loss", "time", "tag"]), inner),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_json.map(json.dumps) | st.text(max_size=20), max_size=8))
def test_garbage_never_raises(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines) + "\n")
    read_points(path, "jsonl")


def test_hugging_face_history() -> None:
    found = read_points(FIXTURES / "hf" / "trainer_state.json", "trainer_state")
    assert [step for step, _ in found["loss"]] == [4, 8, 12, 16, 20, 24]
    assert [step for step, _ in found["eval_loss"]] == [8, 16, 24]
    assert "train_runtime" not in found


def test_hugging_face_history_agrees_with_its_event_file() -> None:
    events = read_points(FIXTURES / "hf" / "runs" / "1", "tfevents")
    state = read_points(FIXTURES / "hf" / "trainer_state.json", "trainer_state")
    for tag, name in (("train/loss", "loss"), ("train/grad_norm", "grad_norm"), ("eval/loss", "eval_loss")):
        assert [step for step, _ in events[tag]] == [step for step, _ in state[name]]
        assert all(math.isclose(a[1], b[1], rel_tol=1e-6) for a, b in zip(events[tag], state[name], strict=True))


def test_each_checkpoint_adds_its_part(tmp_path: Path) -> None:
    run = open_run(tmp_path, "trainer_state")
    seen = []
    for time_s, checkpoint in enumerate(("checkpoint-12", "checkpoint-24", "")):
        target = tmp_path / checkpoint / "trainer_state.json"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((FIXTURES / "hf" / checkpoint / "trainer_state.json").read_bytes())
        os.utime(target, (1e9 + time_s, 1e9 + time_s))
        seen.append(len(points_of(run)["loss"]))
    assert seen == [3, 6, 6]
    assert run.history.restarts == 0


def test_a_half_written_state_is_not_yet(tmp_path: Path) -> None:
    content, path = (FIXTURES / "hf" / "trainer_state.json").read_bytes(), tmp_path / "trainer_state.json"
    run = open_run(path, "trainer_state")
    for end in range(0, len(content), 7):
        path.write_bytes(content[:end])
        assert points_of(run) == {}
    path.write_bytes(content)
    assert len(points_of(run)["loss"]) == 6


def test_another_history_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "trainer_state.json"
    path.write_text('{"log_history": [{"step": 1, "loss": 1}, {"step": 2, "loss": 1}]}')
    run = open_run(path, "trainer_state")
    run.refresh()
    path.write_text('{"log_history": [{"step": 1, "loss": 2.5}]}')
    assert points_of(run) == {"loss": [(1, 2.5)]}
    assert run.history.restarts == 1
