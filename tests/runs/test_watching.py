"""News of the runs below a path: everything once, then what is new only."""

import json
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import ExplorerError
from explorer.runs import watching
from explorer.runs.library import Library
from explorer.runs.watching import Watch
from explorer.schemas.curves import RunNews
from tests.runs.logs import FIXTURES, torch_writer


@pytest.fixture(autouse=True)
def look_for_runs_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "FIND_EVERY_S", 0.0)
    monkeypatch.setattr(watching, "FIND_SHARE", 1e9)


def _news(watch: Watch) -> list[RunNews]:
    return [RunNews.model_validate_json(line) for line in watch.batch().split(b"\n") if line]


def _append(path: Path, *records: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("a") as stream:
        stream.write("".join(json.dumps(record) + "\n" for record in records))


def _xs(news: RunNews) -> dict[str, list[float]]:
    return {curve.name: curve.xs for curve in news.run.curves}


def test_all_at_first_then_only_what_is_new(tmp_path: Path) -> None:
    _append(tmp_path / "a" / "log.jsonl", {"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5})
    watch = Watch(str(tmp_path), Library())
    (first,) = _news(watch)
    assert (first.run.name, first.run.source) == ("a/log.jsonl", str(tmp_path / "a" / "log.jsonl"))
    assert _xs(first) == {"loss": [1.0, 2.0]}
    assert _news(watch) == []
    _append(tmp_path / "a" / "log.jsonl", {"step": 3, "loss": 0.25, "acc": 1.0})
    (second,) = _news(watch)
    assert _xs(second) == {"loss": [3.0], "acc": [3.0]}
    assert (second.restarted, second.run.last_step, second.run.curves[0].count) == (False, 3, 1)


def test_steps_that_go_back_come_again(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    _append(log, *({"step": step, "loss": 1.0} for step in range(10)))
    watch = Watch(str(tmp_path), Library())
    _news(watch)
    _append(log, {"step": 5, "loss": 2.0}, {"step": 6, "loss": 2.0})
    (news,) = _news(watch)
    assert _xs(news) == {"loss": [5.0, 6.0]}
    assert not news.restarted


def test_a_metric_that_only_lost_points_is_said_by_a_restart(tmp_path: Path) -> None:
    (tmp_path / "artifacts").mkdir()
    (tmp_path / "spec.json").write_text("{}")
    log = tmp_path / "events.jsonl"

    def say(**event: Any) -> None:
        with log.open("a") as stream:
            stream.write(json.dumps({"seq": 1, "time": 1.0, **event}, separators=(",", ":")) + "\n")

    say(kind="metric", steps=[1, 2, 3], values={"loss": [1, 1, 1]})
    say(kind="metric", steps=[3], values={"val_loss": [1]})
    watch = Watch(str(tmp_path), Library())
    _news(watch)
    say(kind="state", state="running")
    say(kind="metric", steps=[2], values={"loss": [5]})
    (news,) = _news(watch)
    assert news.restarted
    assert _xs(news) == {"loss": [1.0, 2.0]}


def test_a_file_begun_again_is_said(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    _append(log, {"step": 1, "loss": 1.0}, {"step": 2, "loss": 1.0})
    watch = Watch(str(log), Library())
    _news(watch)
    log.write_text('{"step": 1, "loss": 9}\n')
    (news,) = _news(watch)
    assert news.restarted
    assert news.run.curves[0].ys == [9.0]


def test_runs_come_and_go_and_an_empty_path_says_so(tmp_path: Path) -> None:
    watch = Watch(str(tmp_path), Library())
    (empty,) = _news(watch)
    assert "has no run yet" in empty.run.problem
    _append(tmp_path / "log.jsonl", {"step": 1, "loss": 1.0})
    no_longer_empty, new = _news(watch)
    assert (no_longer_empty.gone, no_longer_empty.run.source) == (True, str(tmp_path))
    assert new.run.name == "log.jsonl"
    (tmp_path / "log.jsonl").unlink()
    gone, empty_again = _news(watch)
    assert (gone.gone, gone.run.name) == (True, "log.jsonl")
    assert "has no run yet" in empty_again.run.problem


def test_event_files_are_followed_as_they_grow(tmp_path: Path) -> None:
    writer, watch = torch_writer(tmp_path / "run"), Watch(str(tmp_path), Library())
    said: list[float] = []
    for step in range(50):
        writer.add_scalar("loss", 1.0, step)
        writer.flush()
        said += [x for news in _news(watch) for curve in news.run.curves for x in curve.xs]
    writer.close()
    assert said == list(range(50))


def test_much_comes_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "BATCH_BYTES", 2000)
    for number in range(12):
        _append(tmp_path / str(number) / "log.jsonl", *({"step": step, "loss": 1.0} for step in range(50)))
    watch = Watch(str(tmp_path), Library())
    names: list[str] = []
    while True:
        part = _news(watch)
        assert len(part) <= 4
        names += [news.run.name for news in part]
        if not watch.behind:
            break
    assert sorted(names) == sorted(f"{number}/log.jsonl" for number in range(12))


def test_many_runs_have_fewer_points_each(tmp_path: Path) -> None:
    for number in range(16):
        _append(tmp_path / str(number) / "log.jsonl", *({"step": step, "loss": step % 7} for step in range(3000)))
    watch = Watch(str(tmp_path), Library())
    assert all(len(curve.xs) <= 1024 for news in _news(watch) for curve in news.run.curves)


def test_many_metrics_have_fewer_points_each(tmp_path: Path) -> None:
    names = [f"layer_{number}" for number in range(400)]
    _append(tmp_path / "log.jsonl", *({"step": step, **dict.fromkeys(names, step % 7)} for step in range(700)))
    (news,) = _news(Watch(str(tmp_path), Library()))
    assert len(news.run.curves) == 400
    assert all(curve.count == 700 and len(curve.xs) <= 500 for curve in news.run.curves)


def test_two_watchers_have_cursors_of_their_own(tmp_path: Path) -> None:
    log, library = tmp_path / "log.jsonl", Library()
    _append(log, {"step": 1, "loss": 1.0})
    fast, slow = Watch(str(log), library), Watch(str(log), library)
    _news(fast), _news(slow)
    for step in (2, 3):
        _append(log, {"step": step, "loss": 1.0})
        assert _xs(_news(fast)[0]) == {"loss": [float(step)]}
    assert _xs(_news(slow)[0]) == {"loss": [2.0, 3.0]}


def test_recorded_logs_can_all_be_watched() -> None:
    news = _news(Watch(str(FIXTURES), Library()))
    assert len(news) == 9
    assert all(item.run.curves and not item.run.problem for item in news)


def test_nowhere_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="does not exist"):
        Watch(str(tmp_path / "nowhere"), Library())
