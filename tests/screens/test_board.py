"""The board by its keys: panels, smoothing, zoom and finer points, cursor, axes, several runs, rewinding."""

from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.geometry import Region
from textual.pilot import Pilot

from explorer.schemas.curves import RunCurves
from screens.actions import actions_of, bindings
from screens.app import ExplorerApp
from screens.board_keys import ShowsBoard
from screens.widgets.board import Board
from screens.widgets.plot import Plot
from tests.fakes import EPOCH, FakeEngine, connected
from tests.screens.curves import a_curve, a_run, by_time
from tests.screens.helpers import screen_text, until


class BoardScreen(ShowsBoard):
    """A board and nothing else."""

    SECTION = "board"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("board")]

    def compose_body(self) -> ComposeResult:
        yield Board()


class BoardTest:
    """A board on a screen, the engine behind it, and the pilot that presses its keys."""

    def __init__(self, pilot: Pilot[None], engine: FakeEngine) -> None:
        self.pilot = pilot
        self.engine = engine

    @property
    def board(self) -> Board:
        return self.pilot.app.screen.query_one(Board)

    async def show(self, *runs: RunCurves, total: float | None = 4000) -> str:
        self.engine.runs = {run.source: run for run in runs}
        self.board.show(runs, total)
        await self.pilot.pause()
        return self.text

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        await self.pilot.pause()
        return self.text

    @property
    def text(self) -> str:
        return screen_text(self.pilot)

    def plots(self) -> list[Plot]:
        return [plot for plot in self.board.query(Plot) if plot.display]


@pytest.fixture(params=[(80, 24)])
async def board(request: Any) -> Any:
    engine = FakeEngine()
    app = ExplorerApp(connected(engine))
    async with app.run_test(size=request.param) as pilot:
        await until(pilot, lambda: app.engine is not None)
        await app.push_screen(BoardScreen())
        await pilot.pause()
        yield BoardTest(pilot, engine)


def live(board: Board, source: str, points: Sequence[tuple[float, float]], time: float | None = None) -> None:
    board.add(source, "loss", [x for x, _ in points], [y for _, y in points], time)
    board.update_cells()


# Panels


async def test_two_panels_at_80x24_and_v_shows_the_next(board: BoardTest) -> None:
    await board.show(a_run("a"))
    assert board.board.panels == ["loss", "accuracy"]
    await board.press("v")
    assert board.board.panels == ["lr", "grad_norm"]
    text = await board.press("v")
    assert board.board.panels == ["samples_per_s"]
    assert "samples/s" in text
    await board.press("v")
    assert board.board.panels == ["loss", "accuracy"]


@pytest.mark.parametrize("board", [(120, 40)], indirect=True)
async def test_four_panels_at_120x40(board: BoardTest) -> None:
    await board.show(a_run("a"))
    assert board.board.panels == ["loss", "accuracy", "lr", "grad_norm"]


async def test_held_out_values_lie_beside_those_of_the_training(board: BoardTest) -> None:
    text = await board.show(a_run("a"))
    assert "─ train 0.22" in text
    assert "┄ val 0.27" in text


async def test_a_metric_that_comes_later_gets_its_panel(board: BoardTest) -> None:
    await board.show(RunCurves(source="a", name="a"), total=None)
    assert board.board.panels == []
    live(board.board, "a", [(1, 0.5)])
    await board.pilot.pause()
    assert board.board.panels == ["loss"]
    assert "smooth" in board.text.splitlines()[-1]


# Live points


async def test_points_that_come_are_drawn_and_their_value_is_in_the_legend(board: BoardTest) -> None:
    await board.show(a_run("a", upto=0.5))
    live(board.board, "a", [(2010, 0.125), (2020, 0.0625)])
    await board.pilot.pause()
    assert "train 0.0625" in board.text


async def test_a_run_that_outgrows_its_total_widens_the_axis(board: BoardTest) -> None:
    await board.show(a_run("a"))
    live(board.board, "a", [(4100, 0.5)])
    await board.pilot.pause()
    assert board.text.splitlines()[-2].split()[-1] == "5,000"


async def test_saying_the_total_later_moves_the_points(board: BoardTest) -> None:
    await board.show(a_run("a"), total=None)
    board.board.set_total(16_000)
    await board.pilot.pause()
    assert board.text.splitlines()[-2].split()[-2:] == ["16", "K"]
    assert max(board.plots()[0].curves[0].trace.columns) < 2 * 80 / 4


async def test_rewinding_drops_what_lies_beyond(board: BoardTest) -> None:
    await board.show(a_run("a"))
    board.board.rewind("a", 1000)
    await board.pilot.pause()
    assert board.board.runs[0].last_x == 1000
    live(board.board, "a", [(1010, 0.875)])
    await board.pilot.pause()
    assert "train 0.875" in board.text


async def test_only_the_cells_of_a_new_point_are_refreshed(board: BoardTest) -> None:
    await board.show(*(a_run(name, seed, upto=0.5) for seed, name in enumerate("abcdefgh")))
    refreshed: list[Region] = []
    for plot in board.plots():
        plot.refresh = lambda *regions, **_: refreshed.extend(regions)  # type: ignore[method-assign,assignment]
    for name in "abcdefgh":
        board.board.add(name, "loss", [2010], [0.3])
    board.board.update_cells()
    assert refreshed
    assert sum(region.area for region in refreshed if region.y > 0) <= 8 * 4


# Smoothing and scale


async def test_smoothing_cycles_and_is_said_with_its_length(board: BoardTest) -> None:
    await board.show(a_run("a"))
    seen = [await board.press("s") for _ in range(4)]
    lengths = ["40 steps", "150 steps", "400 steps"]
    assert all(f"smoothed over {length}" in text for length, text in zip(lengths, seen, strict=False))
    assert "smoothed" not in seen[3]


async def test_the_values_as_they_are_lie_faintly_behind_the_smoothed_ones(board: BoardTest) -> None:
    await board.show(a_run("a"))
    await board.press("s")
    assert [curve.faint for curve in board.plots()[0].curves] == [False, False, True]
    cells = [style for row in board.plots()[0]._cells for _, style in row]
    assert "$faint" in cells


async def test_a_logarithm_applies_to_losses_and_not_to_accuracy(board: BoardTest) -> None:
    await board.show(a_run("a"))
    text = await board.press("l")
    assert "log scale" in text
    assert [plot.view.log for plot in board.plots()] == [True, False]


# Cursor


async def test_the_cursor_reads_every_curve_at_its_place(board: BoardTest) -> None:
    run = RunCurves(
        source="a", name="a", curves=[a_curve("loss", [0, 1000, 2000], [3.0, 2.0, 1.0]), a_curve("val_accuracy", [1000], [0.75])]
    )
    await board.show(run, total=2000)
    text = await board.press("c")
    assert "step 2,000      loss 1" in text
    text = await board.press(*["left"] * 3)
    assert "loss 2" in text
    assert "accuracy 0.75" in text
    assert "│" in text
    text = await board.press("home")
    assert "loss 3" in text
    assert "accuracy –" in text
    assert "│" not in await board.press("c")


async def test_right_begins_to_read_and_end_goes_to_the_latest_value(board: BoardTest) -> None:
    await board.show(a_run("a", upto=0.5))
    assert "step 2,0" in await board.press("right")
    await board.press("home")
    assert "step 2,0" in await board.press("end")


# Zoom and finer points


async def test_zooming_goes_up_to_the_latest_value_and_0_shows_all(board: BoardTest) -> None:
    await board.show(a_run("a"))
    assert "2,000 to 4,000 steps" in await board.press("z")
    assert "1,500 to 3,500 steps" in await board.press("left")
    assert "0 to 2,000 steps" in await board.press("home")
    assert " to " not in await board.press("0")
    assert not board.board.is_zoomed


async def test_a_window_that_shows_the_latest_value_goes_on_with_it(board: BoardTest) -> None:
    await board.show(a_run("a", upto=0.5))
    assert "1,000 to 3,000 steps" in await board.press("z")
    live(board.board, "a", [(3000, 0.5)])
    assert board.board.window == (1000, 3000)
    live(board.board, "a", [(3010, 0.5)])
    assert board.board.window == (1500, 3500), "a quarter further, so that not every point repaints the chart"


@pytest.mark.parametrize(("key", "shown"), [("home", (0.0, 1000.0)), ("c", (1500.0, 2500.0))])
async def test_a_window_on_what_is_past_and_a_cursor_stay(board: BoardTest, key: str, shown: tuple[float, float]) -> None:
    await board.show(a_run("a", upto=0.5))
    await board.press("z", "z", key)
    live(board.board, "a", [(2600, 0.5)])
    live(board.board, "a", [(3500, 0.5)])
    assert board.board.window == shown


async def test_zooming_keeps_the_cursor_in_its_place(board: BoardTest) -> None:
    await board.show(a_run("a"))
    await board.press("c", *["left"] * 30)
    before = board.plots()[0].cursor_column
    await board.press("z", "z")
    assert board.plots()[0].cursor_column == before


async def test_a_zoom_into_thinned_curves_asks_for_finer_ones_and_draws_them(board: BoardTest) -> None:
    await board.show(a_run("a", thinned=True))
    fine = a_run("a", points=4000)
    board.engine.runs = {"a": fine}
    await board.press("z")
    await until(board.pilot, lambda: board.board.runs[0].detail)
    query = board.engine.queries[-1]
    assert (query.sources, query.names) == (["a"], board.board.metrics)
    assert (query.start, query.stop, query.axis) == (1000, 4000, "step")
    assert board.plots()[0].curves[0].points is board.board.runs[0].detail["loss"]
    asked = len(board.engine.queries)
    await board.press("left")
    assert len(board.engine.queries) == asked
    live(board.board, "a", [(4001, 0.5)])
    assert board.board.runs[0].whole["loss"].last_x == 4001


async def test_a_zoom_into_complete_curves_asks_for_nothing(board: BoardTest) -> None:
    await board.show(a_run("a"))
    await board.press("z", "z", "left")
    assert board.engine.queries == []


# Time


async def test_t_draws_over_time_and_points_go_on_there(board: BoardTest) -> None:
    run = a_run("a", upto=0.5)
    await board.show(run)
    board.engine.runs = {"a": by_time(run)}
    await board.press("t")
    await until(board.pilot, lambda: board.board.axis_drawn == "time")
    await board.pilot.pause()
    assert board.engine.queries[-1].axis == "time"
    assert "time 0" in board.text
    live(board.board, "a", [(2010, 0.5), (2020, 0.125)], time=EPOCH + 202)
    await board.pilot.pause()
    assert board.board.runs[0].whole["loss"].xs[-2:] == pytest.approx([201, 202])
    assert "train 0.125" in board.text
    board.engine.runs = {"a": run}
    await board.press("t")
    await until(board.pilot, lambda: board.board.axis_drawn == "step")
    assert board.board.runs[0].whole["loss"].xs[-2:] == [2010, 2020]


async def test_runs_without_times_stay_over_steps_and_say_so(board: BoardTest) -> None:
    run = a_run("a")
    await board.show(run)
    board.engine.runs = {"a": run.model_copy(update={"curves": []})}
    await board.press("t")
    await until(board.pilot, lambda: any("no times" in note.message for note in board.pilot.app._notifications))
    assert (board.board.axis, board.board.axis_drawn) == ("step", "step")


async def test_what_came_while_finer_points_were_on_their_way_is_not_lost(board: BoardTest) -> None:
    run = a_run("a", upto=0.5)
    await board.show(run)
    board.board.switch_axis()
    live(board.board, "a", [(2010, 0.125)], time=EPOCH + 201)
    board.board.refine([by_time(run)])
    assert board.board.runs[0].whole["loss"].last_x == pytest.approx(201)


# Several runs


async def test_several_runs_have_letters_and_are_named_above(board: BoardTest) -> None:
    text = await board.show(a_run("runs/first"), a_run("runs/second", 1), a_run("runs/third", 2))
    assert "A first  B second  C third" in text
    rows = text.splitlines()
    plot = "".join(rows[3:13])
    assert {"A", "B", "C"} <= set(plot)


async def test_at_most_eight_runs_are_drawn(board: BoardTest) -> None:
    await board.show(*(a_run(f"r{place}", place) for place in range(9)))
    assert len(board.board.runs) == 8
    assert "H r7" in board.text


async def test_the_cursor_reads_each_of_several_runs(board: BoardTest) -> None:
    await board.show(a_run("a"), a_run("b", 1))
    text = await board.press("c")
    assert "loss     A 0.22" in text
    assert "B 0.15" in text


async def test_without_utf8_and_colour_runs_are_written_in_letters(board: BoardTest, monkeypatch: pytest.MonkeyPatch) -> None:
    for plot in board.board.query(Plot):
        plot._ascii = True
    text = await board.show(a_run("a"), a_run("b", 3))
    body = "\n".join(text.splitlines()[1:-1])
    assert body.isascii()
    assert "AAA" in body
    assert "BBB" in body


# Keys


async def test_keys_apply_only_when_there_is_something_to_draw(board: BoardTest) -> None:
    assert "smooth" not in board.text
    await board.show(a_run("a"))
    footer = board.text.splitlines()[-1]
    assert "s smooth" in footer
    assert "0 whole" not in footer
    assert "0 whole" in (await board.press("z")).splitlines()[-1]


async def test_help_lists_the_keys_of_the_charts(board: BoardTest) -> None:
    text = await board.press("question_mark")
    assert "Charts" in text
    assert "Smooth the curves" in text


def test_no_key_of_the_charts_is_one_of_the_training_or_of_the_watched_runs() -> None:
    keys = {key for action in actions_of("board") for key in action.keys}
    taken = [
        (action.id, key)
        for scope in ("train", "watch", "app")
        for action in actions_of(scope)
        for key in action.keys
        if key in keys
    ]
    assert taken == []
