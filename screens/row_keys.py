"""The keys that move a selection, for every screen whose page is one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from screens.widgets.row_view import RowView


class HasRows(Protocol):
    """A screen whose list is `rows`."""

    @property
    def rows(self) -> RowView[Any]: ...


class MovesRows:
    """Actions `up`, `down`, `page_up` and `page_down`."""

    def action_up(self: HasRows) -> None:
        self.rows.move(-1)

    def action_down(self: HasRows) -> None:
        self.rows.move(1)

    def action_page_up(self: HasRows) -> None:
        self.rows.move_page(-1)

    def action_page_down(self: HasRows) -> None:
        self.rows.move_page(1)
