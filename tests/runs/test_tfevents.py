"""Event files of every writer, read as TensorBoard reads them."""

import json
import math
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.runs.crc32c import masked_crc32c
from tests.runs.logs import (
    FIXTURES,
    accumulated,
    event_bytes,
    open_run,
    points_of,
    quiet,
    read_in_parts,
    read_points,
    tensorboard_x,
    torch_writer,
)

NAME = "events.out.tfevents.1700000000.host"


def test_tensorboard_x_is_read_as_tensorboard_reads_it(tmp_path: Path) -> None:
    writer = tensorboard_x(tmp_path)
    for step in range(400):
        writer.add_scalar("loss", 1 / (step + 1), step)
        writer.add_scalar("train/accuracy", step / 400, step)
        if step % 50 == 0:
            writer.add_scalar("val_loss", 2 / (step + 1), step)
            writer.add_histogram("weights", np.arange(10.0), step)
            writer.add_text("note", "a few words", step)
    writer.close()
    found = read_points(tmp_path, "tfevents")
    assert found == accumulated(tmp_path)
    assert {name: len(points) for name, points in found.items()} == {"loss": 400, "train/accuracy": 400, "val_loss": 8}


def test_torch_writer_is_read_as_tensorboard_reads_it(tmp_path: Path) -> None:
    writer = torch_writer(tmp_path)
    for step in range(300):
        writer.add_scalar("loss", math.nan if step == 7 else math.inf if step == 8 else 0.1 * step, step)
    writer.add_image("image", np.zeros((3, 8, 8)), 0)
    writer.close()
    found = read_points(tmp_path, "tfevents")["loss"]
    assert len(found) == 300
    assert found[7:9] == [(7, "nan"), (8, math.inf)]
    assert found[250] == (250, float(np.float32(25.0)))


@pytest.mark.parametrize("part", ["train", "validation"])
def test_keras_is_read_as_keras_tells_it(part: str) -> None:
    told = json.loads((FIXTURES / "keras" / "history.json").read_text())
    found = read_points(FIXTURES / "keras" / part, "tfevents")
    prefix = "" if part == "train" else "val_"
    for metric in ("loss", "accuracy"):
        assert [step for step, _ in found[f"epoch_{metric}"]] == list(range(5))
        assert [value for _, value in found[f"epoch_{metric}"]] == pytest.approx(told[prefix + metric], rel=1e-6)


def test_tensorflow_2_tensors_are_read_and_other_plugins_passed_over() -> None:
    found = read_points(FIXTURES / "tf2", "tfevents")
    assert found.keys() == {"loss", "double"}
    assert [value for _, value in found["double"]] == pytest.approx([step / 3 for step in range(5)], rel=1e-6)


def test_several_values_in_one_event_are_read() -> None:
    assert read_points(FIXTURES / "tf1", "tfevents") == {
        "a": [(step, step / 2) for step in range(5)],
        "b": [(step, step * 2.0) for step in range(5)],
    }


@pytest.mark.parametrize("log", ["lightning/tensorboard", "hf/runs/1", "tf1"])
def test_recorded_logs_are_read_as_tensorboard_reads_them(log: str) -> None:
    folded = {tag: list(dict(points).items()) for tag, points in accumulated(FIXTURES / log).items()}
    assert read_points(FIXTURES / log, "tfevents") == folded


@pytest.mark.parametrize("count", [3, 200])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int64", "uint8"])
@pytest.mark.parametrize("packed", [False, True])
def test_every_numeric_tensor_is_read(tmp_path: Path, dtype: str, packed: bool, count: int) -> None:
    values = [float(np.array(step % 100 / 4 if "float" in dtype else step % 100, dtype)) for step in range(count)]
    _write_tensors(tmp_path, [np.array(value, dtype) for value in values], packed=packed)
    assert [value for _, value in read_points(tmp_path, "tfevents")["x"]] == values


def test_bfloat16_is_read(tmp_path: Path) -> None:
    with quiet():
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    raw = struct.pack("<f", 1.5)[2:]
    _write_protos(tmp_path, [TensorProto(dtype=14, tensor_shape=TensorShapeProto(), tensor_content=raw)] * 20)
    assert read_points(tmp_path, "tfevents")["x"][-1] == (19, 1.5)


def test_steps_of_every_width_and_below_zero(tmp_path: Path) -> None:
    steps = [-5, 0, 1, 127, 128, 16_383, 16_384, 2**31, 2**40]
    writer = torch_writer(tmp_path)
    for step in steps:
        for _ in range(20):
            writer.add_scalar("loss", 1.0, step)
    writer.close()
    assert [step for step, _ in read_points(tmp_path, "tfevents")["loss"]] == steps


def test_many_tags_of_equal_length_stay_apart(tmp_path: Path) -> None:
    writer = torch_writer(tmp_path)
    for step in range(30):
        for layer in range(90):
            writer.add_scalar(f"layer_{layer:02}", layer + step / 100, step)
    writer.close()
    assert read_points(tmp_path, "tfevents") == accumulated(tmp_path)


def test_times_are_unix_seconds(tmp_path: Path) -> None:
    writer = torch_writer(tmp_path)
    for step in range(20):
        writer.add_scalar("loss", 1.0, step, walltime=1_700_000_000.25 + step)
    writer.close()
    run = open_run(tmp_path, "tfevents")
    run.refresh()
    assert run.history.series["loss"].times.tolist() == [1_700_000_000.25 + step for step in range(20)]


def test_several_files_are_one_run_and_the_later_file_wins(tmp_path: Path) -> None:
    for number, (steps, value) in enumerate([(range(10), 1.0), (range(6, 12), 2.0)]):
        content = event_bytes(lambda writer: [writer.add_scalar("loss", value, s) for s in steps], tmp_path / str(number))  # noqa: B023
        (tmp_path / f"events.out.tfevents.{900 + 200 * number}.host").write_bytes(content)
    found = read_points(tmp_path, "tfevents")["loss"]
    assert found == [(step, 1.0) for step in range(6)] + [(step, 2.0) for step in range(6, 12)]


def test_a_session_that_starts_voids_what_lies_beyond_its_step(tmp_path: Path) -> None:
    first = torch_writer(tmp_path)
    for step in range(10):
        first.add_scalar("loss", 1.0, step)
        first.add_scalar("rare", 1.0, step)
    first.close()
    second = torch_writer(tmp_path, purge_step=5, filename_suffix=".later")
    second.add_scalar("loss", 2.0, 5)
    second.close()
    found = read_points(tmp_path, "tfevents")
    assert [step for step, _ in found["rare"]] == [0, 1, 2, 3, 4]
    assert found["loss"][-1] == (5, 2.0)


def test_a_growing_run_is_read_on(tmp_path: Path) -> None:
    writer, run, said = torch_writer(tmp_path), open_run(tmp_path, "tfevents"), []
    for step in range(100):
        writer.add_scalar("loss", float(step), step)
        writer.flush()
        said.append(len(points_of(run).get("loss", [])))
    writer.close()
    assert said == list(range(1, 101))


def test_a_torn_end_at_every_byte_means_not_yet(tmp_path: Path) -> None:
    content = event_bytes(lambda writer: [writer.add_scalar("loss", s / 3, s) for s in range(12)], tmp_path / "w")
    whole = read_in_parts(tmp_path / "whole" / NAME, "tfevents", content, [])
    for end in range(len(content)):
        path = tmp_path / f"{end}" / NAME
        assert read_in_parts(path, "tfevents", content, [end]) == whole
        path.write_bytes(content[:end])
        torn = open_run(path, "tfevents")
        assert points_of(torn).get("loss", []) == whole["loss"][: len(torn.history.series.get("loss", []))]
        assert "damaged" not in torn.problem


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(0, 3257), max_size=6))
def test_reading_in_parts_equals_reading_at_once(tmp_path: Path, ends: list[int]) -> None:
    source = next((FIXTURES / "keras" / "train").iterdir())
    path = tmp_path / NAME
    path.unlink(missing_ok=True)
    assert read_in_parts(path, "tfevents", source.read_bytes(), sorted(ends)) == read_points(source, "tfevents")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_bytes_never_raise(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(next((FIXTURES / data.draw(st.sampled_from(["tf1", "tf2", "keras/train"]))).iterdir()).read_bytes())
    for place, byte in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=8)):
        content[place] = byte
    path = tmp_path / NAME
    path.write_bytes(bytes(content))
    read_points(path, "tfevents")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=80), max_size=30))
def test_garbage_in_sound_frames_never_raises(tmp_path: Path, messages: list[bytes]) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"".join(map(_framed, messages)))
    read_points(path, "tfevents")


def test_damage_is_said_and_what_came_before_is_kept(tmp_path: Path) -> None:
    content = event_bytes(lambda writer: [writer.add_scalar("loss", 1.0, s) for s in range(100)], tmp_path / "w")
    path = tmp_path / NAME
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes(200) + content[middle + 200 :])
    run = open_run(path, "tfevents")
    assert 30 < len(points_of(run)["loss"]) < 60
    assert "is damaged at byte" in run.problem


def test_damaged_messages_are_passed_over_and_counted(tmp_path: Path) -> None:
    path = tmp_path / NAME
    content = event_bytes(lambda writer: writer.add_scalar("loss", 1.0, 3), tmp_path / "w")
    path.write_bytes(content + _framed(b"\xff" * 20) + content)
    run = open_run(path, "tfevents")
    assert points_of(run) == {"loss": [(3, 1.0)]}
    assert run.problem == f"1 damaged records of {NAME} were passed over"


def test_a_shorter_file_begins_the_run_again(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(event_bytes(lambda writer: [writer.add_scalar("loss", 1.0, s) for s in range(50)], tmp_path / "w1"))
    run = open_run(tmp_path, "tfevents")
    assert len(points_of(run)["loss"]) == 50
    path.write_bytes(event_bytes(lambda writer: [writer.add_scalar("other", 1.0, s) for s in range(3)], tmp_path / "w2"))
    assert points_of(run).keys() == {"other"}
    assert run.history.restarts == 1


def test_a_replaced_file_begins_the_run_again(tmp_path: Path) -> None:
    path, longer = tmp_path / NAME, tmp_path / "longer"
    path.write_bytes(event_bytes(lambda writer: writer.add_scalar("loss", 1.0, 1), tmp_path / "w1"))
    run = open_run(tmp_path, "tfevents")
    run.refresh()
    longer.write_bytes(event_bytes(lambda writer: [writer.add_scalar("other", 1.0, s) for s in range(9)], tmp_path / "w2"))
    os.replace(longer, path)
    assert points_of(run).keys() == {"other"}


def test_a_removed_file_takes_its_points_along(tmp_path: Path) -> None:
    for number, tag in enumerate(["one", "two"]):
        content = event_bytes(lambda writer: writer.add_scalar(tag, 1.0, 1), tmp_path / str(number))  # noqa: B023
        (tmp_path / f"events.out.tfevents.{900 + number}.host").write_bytes(content)
    run = open_run(tmp_path, "tfevents")
    assert points_of(run).keys() == {"one", "two"}
    (tmp_path / "events.out.tfevents.900.host").unlink()
    assert points_of(run).keys() == {"two"}


def test_a_record_longer_than_what_is_read_at_once_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / NAME
    scalar = event_bytes(lambda writer: writer.add_scalar("loss", 1.0, 3), tmp_path / "w")
    head = struct.pack("<Q", 11 * 2**20)
    image = head + struct.pack("<I", masked_crc32c(head)) + bytes(11 * 2**20 + 4)
    half = len(image) // 2
    assert read_in_parts(path, "tfevents", image + scalar, [half]) == {"loss": [(3, 1.0)]}


def _framed(message: bytes) -> bytes:
    head = struct.pack("<Q", len(message))
    return head + struct.pack("<I", masked_crc32c(head)) + message + struct.pack("<I", masked_crc32c(message))


def _write_tensors(folder: Path, values: list[Any], *, packed: bool) -> None:
    with quiet():
        from tensorboard.util.tensor_util import make_tensor_proto
    protos = [make_tensor_proto(value) for value in values]
    for proto, value in zip(protos, values, strict=True):
        if packed:
            _pack(proto, value)
    _write_protos(folder, protos)


def _pack(proto: Any, value: Any) -> None:
    proto.ClearField("tensor_content")
    for name in ("float_val", "double_val", "int_val", "int64_val", "half_val"):
        proto.ClearField(name)
    if value.dtype == np.float16:
        proto.half_val.append(int(value.view(np.uint16)))
    else:
        field = {"float32": "float_val", "float64": "double_val", "int64": "int64_val"}.get(str(value.dtype), "int_val")
        getattr(proto, field).append(value.item())


def _write_protos(folder: Path, protos: list[Any]) -> None:
    with quiet():
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
    with (folder / NAME).open("wb") as stream:
        for step, proto in enumerate(protos):
            value = Summary.Value(tag="x", tensor=proto, metadata=metadata)
            stream.write(_framed(Event(wall_time=1.7e9, step=step, summary=Summary(value=[value])).SerializeToString()))
