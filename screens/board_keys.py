"""What a screen with a `Board` shares: its keys, and asking the engine for finer curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.message import Message

from explorer.schemas.curves import CurvesAnswer, CurvesQuery
from screens.actions import applies
from screens.base import ExplorerScreen
from screens.widgets.board import Board


@dataclass
class Refined(Message):
    """The engine gave the curves that a board wanted."""

    board: Board
    answer: CurvesAnswer


class ShowsBoard(ExplorerScreen):
    """Mix in, add `*bindings("board")` to `BINDINGS` and yield one `Board`; its keys and its zoom then work."""

    MORE_SECTIONS: ClassVar[tuple[str, ...]] = ("board",)

    @property
    def board(self) -> Board:
        return self.query_one(Board)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return applies(self, "board", action) and super().check_action(action, parameters)

    # What applies now, for `when` of actions

    @property
    def has_curves(self) -> bool:
        return self.is_mounted and self.board.has_curves

    @property
    def has_more_metrics(self) -> bool:
        return self.is_mounted and self.board.has_more_metrics

    @property
    def is_zoomed(self) -> bool:
        return self.is_mounted and self.board.is_zoomed

    @property
    def can_switch_axis(self) -> bool:
        return self.connected and self.has_curves

    # What comes in

    def on_board_zoom_wanted(self, message: Board.ZoomWanted) -> None:
        board = message.board
        if self.engine is None:
            return
        names = [] if message.window is None else board.metrics
        start, stop = message.window or (None, None)
        query = CurvesQuery(sources=board.sources, names=names, axis=message.axis, start=start, stop=stop)
        self.ask(self.engine.curves(query), lambda answer: Refined(board, answer), group="curves")

    def on_refined(self, message: Refined) -> None:
        message.board.refine(message.answer.runs)

    # What a person does

    def action_metrics(self) -> None:
        self.board.next_metrics()

    def action_smooth(self) -> None:
        self.board.smooth()

    def action_log(self) -> None:
        self.board.switch_log()

    def action_zoom_in(self) -> None:
        self.board.zoom(0.5)

    def action_zoom_out(self) -> None:
        self.board.zoom(2.0)

    def action_whole(self) -> None:
        self.board.whole()

    def action_cursor(self) -> None:
        self.board.switch_cursor()

    def action_axis(self) -> None:
        self.board.switch_axis()

    def action_left(self) -> None:
        self.board.move(-1)

    def action_right(self) -> None:
        self.board.move(1)

    def action_begin(self) -> None:
        self.board.go(end=False)

    def action_end(self) -> None:
        self.board.go(end=True)
