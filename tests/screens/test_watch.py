"""The watch screen by its keys: the list of runs, marks and letters, new points only, what is not there."""

from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.schemas.curves import RunCurves, RunNews
from screens import watch
from screens.app import ExplorerApp
from screens.train import TrainScreen
from screens.watch import WatchScreen
from screens.watch_list import WatchList
from screens.watch_words import age
from tests.fakes import EPOCH, FakeEngine, a_job, connected
from tests.screens.curves import a_curve, a_run
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.test_snapshots import SnapCompare, both_sizes

NOW = EPOCH + 404
LATE = "2 h ago"
Before = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def _no_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "now", lambda: NOW)


def five_runs() -> FakeEngine:
    """Runs of each format, two of them long ago, and a file that is none."""
    engine = FakeEngine()
    for place, form in enumerate(("tfevents", "csv", "jsonl", "trainer_state", "tfevents")):
        run = a_run(f"/logs/exp-{place + 8}", place, upto=1.0 - 0.1 * place)
        hours = (place > 2) * place - (place > 2)
        tell(engine, run.model_copy(update={"format": form, "last_time": EPOCH + 400 - 3600.0 * hours}))
    engine.news.append(RunNews(run=RunCurves(source="/logs/notes.csv", name="notes.csv", problem="it has no column of steps")))
    return engine


def tell(engine: FakeEngine, run: RunCurves) -> None:
    engine.runs[run.source] = run
    engine.news.append(RunNews(run=run))


def news(source: str, step: float, loss: float, **fields: Any) -> RunNews:
    run = RunCurves(
        source=source,
        name=source.rpartition("/")[2],
        first_time=EPOCH,
        last_time=NOW,
        last_step=int(step),
        curves=[a_curve("loss", [step], [loss])],
    )
    return RunNews(run=run, **fields)


@asynccontextmanager
async def watching(engine: FakeEngine, path: str = "/logs", size: tuple[int, int] = (80, 24)) -> Any:
    app = ExplorerApp(connected(engine), watch=path)
    async with app.run_test(size=size) as pilot:
        await until_shown(pilot, "watching /")
        await until(pilot, lambda: not engine.news or screen_of(pilot).board.has_curves)
        yield pilot


def screen_of(pilot: Pilot[Any]) -> WatchScreen:
    screen = pilot.app.screen
    assert isinstance(screen, WatchScreen)
    return screen


def row_of(pilot: Pilot[Any], name: str) -> str:
    return next(row for row in screen_text(pilot).splitlines() if f" {name} " in row)


async def test_the_list_says_name_format_step_age_and_loss() -> None:
    async with watching(five_runs()) as pilot:
        assert row_of(pilot, "exp-8").split() == ["▸", "●", "exp-8", "TensorBoard", "4,000", "4", "s", "ago", "0.2226"]
        assert "HF Trainer" in row_of(pilot, "exp-11")
        assert LATE in row_of(pilot, "exp-11")
        assert "6 runs · 3 written within a minute" in screen_text(pilot)
        await pilot.press("pagedown", "pagedown")
        await until_shown(pilot, "✗ it has no column of steps")


async def test_the_run_written_last_is_drawn_first_and_space_adds_others() -> None:
    async with watching(five_runs()) as pilot:
        assert screen_of(pilot).board.sources == ["/logs/exp-8"]
        await pilot.press("down", "space", "down", "space")
        await until_shown(pilot, "A exp-8  B exp-9  C exp-10")
        assert row_of(pilot, "exp-9").split()[0] == "B"
        await pilot.press("space")
        await until(pilot, lambda: screen_of(pilot).board.sources == ["/logs/exp-8", "/logs/exp-9"])


async def test_enter_draws_one_alone() -> None:
    async with watching(five_runs()) as pilot:
        await pilot.press("down", "space", "down", "enter")
        await until(pilot, lambda: screen_of(pilot).board.sources == ["/logs/exp-10"])


async def test_new_points_go_to_the_board_without_asking_again() -> None:
    engine = five_runs()
    async with watching(engine) as pilot:
        asked = len(engine.queries)
        await engine.log_run(news("/logs/exp-8", 4010, 0.0625))
        await until_shown(pilot, "train 0.0625")
        await until(pilot, lambda: "4,010" in row_of(pilot, "exp-8"))
        assert len(engine.queries) == asked


async def test_news_of_a_run_that_is_not_drawn_change_its_row_only() -> None:
    engine = five_runs()
    async with watching(engine) as pilot:
        await engine.log_run(news("/logs/exp-11", 2900, 0.5))
        await until(pilot, lambda: "2,900" in row_of(pilot, "exp-11"))
        assert "0 s ago" in row_of(pilot, "exp-11")
        assert screen_of(pilot).board.runs[0].last_x == 4000


async def test_what_comes_while_curves_are_on_their_way_is_added_behind_them() -> None:
    engine = five_runs()
    async with watching(engine) as pilot:
        engine.hold_curves.clear()
        await pilot.press("down", "enter")
        await engine.log_run(news("/logs/exp-9", 3700, 0.375))
        await until(pilot, lambda: "3,700" in row_of(pilot, "exp-9"))
        engine.hold_curves.set()
        await until_shown(pilot, "train 0.375")


async def test_a_restarted_log_is_read_again_from_its_beginning() -> None:
    engine = five_runs()
    async with watching(engine) as pilot:
        engine.runs["/logs/exp-8"] = a_run("/logs/exp-8", upto=0.1)
        await engine.log_run(news("/logs/exp-8", 400, 0.75, restarted=True))
        await until(pilot, lambda: screen_of(pilot).board.runs[0].last_x == 400)


async def test_a_removed_log_is_said_and_its_curves_stay() -> None:
    engine = five_runs()
    async with watching(engine) as pilot:
        await engine.log_run(RunNews(run=RunCurves(source="/logs/exp-8", name="exp-8"), gone=True))
        await until(pilot, lambda: "removed" in row_of(pilot, "exp-8"))
        assert screen_of(pilot).board.has_curves


async def test_a_run_that_appears_later_gets_a_row() -> None:
    engine = FakeEngine()
    async with watching(engine) as pilot:
        run = a_run("/logs/new", upto=0.2)
        engine.runs["/logs/new"] = run
        await engine.log_run(RunNews(run=run))
        await until(pilot, lambda: screen_of(pilot).board.has_curves)
        assert "new" in screen_text(pilot)


async def test_an_empty_folder_says_what_is_looked_for(tmp_path: Any) -> None:
    async with watching(FakeEngine(), str(tmp_path)) as pilot:
        text = screen_text(pilot)
        assert "No run in it or in the folders below yet." in text
        assert "events.out.tfevents" in text
        assert "trainer_state.json" in text


async def test_a_path_that_does_not_exist_is_said() -> None:
    async with watching(FakeEngine(), "/no/such/path") as pilot:
        assert "There is no such path." in screen_text(pilot)


async def test_what_the_engine_says_of_the_path_itself_is_no_row(tmp_path: Any) -> None:
    engine, path = FakeEngine(), str(tmp_path)
    async with watching(engine, path) as pilot:
        await engine.log_run(RunNews(run=RunCurves(source=path, name=tmp_path.name, problem="no run below it")))
        await until(pilot, lambda: screen_of(pilot).found.runs)
        assert "No run in it or in the folders below yet." in screen_text(pilot)
        tell(engine, a_run(f"{path}/first"))
        await engine.log_run(RunNews(run=RunCurves(source=path, name=tmp_path.name), gone=True))
        await until(pilot, lambda: screen_of(pilot).board.has_curves)
        assert list(screen_of(pilot).found.runs) == [f"{path}/first"]


async def test_a_file_that_is_no_log_is_said(tmp_path: Any) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("nothing")
    engine = FakeEngine()
    async with watching(engine, str(path)) as pilot:
        await engine.log_run(RunNews(run=RunCurves(source=str(path), name="notes.txt", problem="it is no log")))
        await until_shown(pilot, "✗ it is no log")


async def test_what_cannot_be_read_cannot_be_marked() -> None:
    async with watching(five_runs()) as pilot:
        await pilot.press("pagedown", "pagedown", "space")
        await pilot.pause()
        assert screen_of(pilot).found.shown == ["/logs/exp-8"]
        assert any("no column of steps" in note.message for note in pilot.app._notifications)


async def test_it_is_a_page_of_train_and_escape_goes_back_there() -> None:
    async with watching(five_runs()) as pilot:
        await pilot.press("1")
        await until_shown(pilot, "CUDA")
        await pilot.press("3")
        await until_shown(pilot, "watching /logs")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, TrainScreen))


async def test_opening_a_training_of_ours_leads_to_it() -> None:
    engine = five_runs()
    job = a_job("7f3a")
    async with watching(engine) as pilot:
        await pilot.app.open_job(job)
        await until(pilot, lambda: isinstance(pilot.app.screen, TrainScreen))
        assert pilot.app.screen.run_.job.id == "7f3a"


async def test_a_tiny_terminal_does_not_crash() -> None:
    async with watching(five_runs()) as pilot:
        await pilot.resize_terminal(20, 5)
        await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await until_shown(pilot, "learning rate")


def test_at_most_eight_runs_are_drawn() -> None:
    found = WatchList()
    found.take(RunNews(run=a_run(f"r{place}")) for place in range(9))
    found.shown = []
    assert [found.toggle(f"r{place}") for place in range(9)] == [True] * 8 + [False]


def test_runs_stand_by_name_with_numbers_by_value_and_unreadable_ones_last() -> None:
    found = WatchList()
    found.take(RunNews(run=RunCurves(source=name, name=name, last_step=1)) for name in ("run-10", "run-9", "b"))
    found.take([RunNews(run=RunCurves(source="a", name="a", problem="it is empty"))])
    assert [run.name for run in found.ordered()] == ["b", "run-9", "run-10", "a"]


@pytest.mark.parametrize(("seconds", "words"), [(4, "4 s ago"), (150, "2 min ago"), (7300, "2 h ago"), (200_000, "2 d ago")])
def test_ages(seconds: float, words: str) -> None:
    assert age(NOW - seconds, NOW) == words


# What it looks like


def snap(snap_compare: SnapCompare, engine: FakeEngine, size: tuple[int, int], path: str, *keys: str) -> bool:
    async def before(pilot: Pilot[Any]) -> None:
        await until_shown(pilot, "watching ")
        await until(pilot, lambda: not engine.news or screen_of(pilot).board.has_curves)
        await until(pilot, lambda: getattr(pilot.app, "machine", ""))
        await pilot.press(*keys)
        await pilot.pause(0.4)

    return snap_compare(ExplorerApp(connected(engine), watch=path), terminal_size=size, run_before=before)


@both_sizes
def test_picture_of_one_run(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, five_runs(), size, "/logs")


@both_sizes
def test_picture_of_three_runs(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, five_runs(), size, "/logs", "down", "space", "down", "space")


@both_sizes
def test_picture_of_smoothing_logarithm_and_cursor(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, five_runs(), size, "/logs", "s", "s", "l", "z", "c", *["left"] * 20)


@both_sizes
def test_picture_of_nothing_to_watch(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, FakeEngine(), size, "/")


@both_sizes
def test_picture_without_colours(snap_compare: SnapCompare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap(snap_compare, five_runs(), size, "/logs", "down", "space", "down", "space", "c")
