"""The tree of the opened model with its selected row, and what stands beside it."""

from __future__ import annotations

from textual.content import Content

from explorer.schemas.model_results import InspectResult, TensorInfo
from screens.model_facts import file_rows, node_rows, use_rows
from screens.model_jobs import StartsModelJobs
from screens.model_operators import uses
from screens.model_tree import Node, TreeRow, leaf_path, modules_above, open_at_first, rows
from screens.model_tree import tree as tree_of
from screens.model_values import value_rows
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView

SIDE_WIDTH = 38  # what `models.tcss` leaves inside the side pane


class ShowsModel(StartsModelJobs):
    """Mix in with a `RowView` named `tree`, `Columns` above it and `Lines` named `facts` in a `side`."""

    def __init__(self) -> None:
        super().__init__()
        self._root: Node = tree_of([])
        self._open: set[str] = set()
        self._filter = ""
        self._file_rows: list[Content] | None = None
        self._on_tensor = False

    def learn(self, result: InspectResult) -> None:
        super().learn(result)
        self._root = tree_of(result.tensors)
        self._open, self._filter, self._file_rows = open_at_first(self._root), "", None

    @property
    def tensor(self) -> TensorInfo | None:
        row = self.tensors.selected if self.opened and self.is_mounted else None
        return row.node.tensor if row is not None else None

    def on_row_view_selected(self, event: RowView.Selected) -> None:
        self.draw_side()
        if self._on_tensor != (self.tensor is not None):
            self._on_tensor = not self._on_tensor
            self.refresh_bindings()

    def action_fold(self) -> None:
        row = self.tensors.selected
        if row is not None and row.is_open and not self._filter:
            self._set_open(row.node.path, False)
        elif row is not None and row.parent:
            self.tensors.select(row.parent)

    def action_unfold(self) -> None:
        row = self.tensors.selected
        if row is not None and row.node.tensor is None:
            self._set_open(row.node.path, True)

    def action_search(self) -> None:
        from screens.widgets.search_line import SearchLine

        self.app.push_screen(SearchLine(self._filter, self._search))

    # What is shown

    @property
    def tensors(self) -> RowView[TreeRow]:
        found: RowView[TreeRow] = self.query_one("#tree", RowView)
        return found

    def show_tensor(self, name: str) -> None:
        """Select a tensor of the opened model and open the modules that hold it."""
        self._filter, self._starting = "", False
        self._open = self._open | modules_above(name)
        self.fill_tree()
        self.tensors.select(leaf_path(name))

    def _set_open(self, path: str, is_open: bool) -> None:
        if not self._filter:
            self._open = self._open | {path} if is_open else self._open - {path}
            self.fill_tree()

    def _search(self, text: str) -> None:
        self._filter = text
        self.fill_tree()

    def fill_tree(self) -> None:
        view = self.tensors
        view.fill(rows(self._root, self._open, self._filter))
        found = f"  / {self._filter}" if self._filter else ""
        if self._filter and not view.items:
            found += "  (no tensor has this in its name)"
        self.query_one(Columns).override(Content.assemble((found[:60], "bold $primary")) if found else None)

    def draw_side(self) -> None:
        if self.result is None or not self.opened:
            return
        if self._file_rows is None:
            self._file_rows = file_rows(self.result, SIDE_WIDTH)
        row = self.tensors.selected
        facts = self.tensor_rows(row.node if row else None, SIDE_WIDTH)
        self.query_one("#facts", Lines).show([*facts, Content(""), *self._file_rows])

    def tensor_rows(self, node: Node | None, width: int) -> list[Content]:
        """The facts of a row with what has been read of its tensor: its values, and the operators that use it."""
        found = node_rows(node, width)
        tensor = node.tensor if node is not None else None
        if tensor is None:
            return found
        if tensor.name in self.values:
            found += [Content(""), *value_rows(self.values[tensor.name], width)]
        if self.graph is not None:
            found += [Content(""), *use_rows(uses(self.graph, tensor.name), width)]
        return found
