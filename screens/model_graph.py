"""The graph of a model as a list of operators: fold, find, and go from a tensor to its use and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.events import Mount

from explorer.schemas.model_results import GraphResult, Operator
from screens import model_operators as operators
from screens.actions import bindings
from screens.model_operator_words import column_names, graph_head, operator_line, operator_rows
from screens.model_operators import OperatorRow
from screens.model_page import ModelPage
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView


class GraphPage(ModelPage):
    """The operators of `graph`; with `tensor`, the first that reads it is selected. `to_tensor` shows a weight in the tree."""

    SECTION = "graph"
    CSS_PATH = "model_graph.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("graph")]

    def __init__(self, graph: GraphResult, name: str, to_tensor: Callable[[str], None], tensor: str = "") -> None:
        super().__init__()
        self.graph = graph
        self._model = name
        self._to_tensor = to_tensor
        self._tensor = tensor
        self._by_module = False
        self._filter = ""
        self._top = operators.by_block(graph)
        self._open = operators.open_at_first(self._top)

    def compose_body(self) -> ComposeResult:
        yield Lines(["", ""], id="head")
        yield Columns(column_names, id="columns")
        yield RowView[OperatorRow](lambda row: row.node.key, operator_line, id="rows")

    # What applies now, for `when` of actions

    @property
    def has_modules(self) -> bool:
        return operators.has_modules(self.graph)

    @property
    def has_weight(self) -> bool:
        return bool(self._weights)

    @property
    def has_uses(self) -> bool:
        return bool(self._tensor) and len(operators.uses(self.graph, self._tensor)) > 1

    @property
    def can_fold(self) -> bool:
        return self.filled and not self._filter

    # What a person does

    def action_enter(self) -> None:
        row: OperatorRow | None = self.rows.selected
        if row is None:
            return
        if row.node.operator is None:
            self._set_open(row.node.key, not row.is_open)
        else:
            from screens.dialogs import TextDialog

            rows = operator_rows(row.node.operator, self.graph, self.size.width - 6)
            self.app.push_screen(TextDialog(f"Operator of {self._model}", rows))

    def action_fold(self) -> None:
        row: OperatorRow | None = self.rows.selected
        if row is not None and row.is_open:
            self._set_open(row.node.key, False)
        elif row is not None and row.parent:
            self.rows.select(row.parent)

    def action_unfold(self) -> None:
        row: OperatorRow | None = self.rows.selected
        if row is not None and row.node.children:
            self._set_open(row.node.key, True)

    def action_group(self) -> None:
        self._by_module = not self._by_module
        self._top = operators.by_module(self.graph) if self._by_module else operators.by_block(self.graph)
        wanted = self.rows.selected_key
        self._open = operators.open_at_first(self._top)
        self.draw()
        self._show_operator(wanted)

    def action_search(self) -> None:
        from screens.widgets.search_line import SearchLine

        self.app.push_screen(SearchLine(self._filter, self._search))

    def action_next_use(self) -> None:
        names = [item.name for item in operators.uses(self.graph, self._tensor)]
        here = names.index(self.rows.selected_key) if self.rows.selected_key in names else -1
        self._show_operator(names[(here + 1) % len(names)])

    def action_tensor(self) -> None:
        weights = self._weights
        if weights:
            self.app.pop_screen()
            self._to_tensor(self._tensor if self._tensor in weights else weights[0])

    # What is shown

    @property
    def _weights(self) -> list[str]:
        """The stored tensors that the selected operator reads."""
        operator = self._operator
        known = set(self.graph.weights)
        return [name for name in operator.inputs if name in known] if operator is not None else []

    @property
    def _operator(self) -> Operator | None:
        row: OperatorRow | None = self.rows.selected if self.is_mounted else None
        return row.node.operator if row is not None else None

    def on_mount(self, event: Mount) -> None:
        first = operators.uses(self.graph, self._tensor)[:1] if self._tensor else []
        self.call_after_refresh(self._begin, first[0].name if first else "")

    def _begin(self, name: str) -> None:
        self.draw()
        if name:
            self._show_operator(name)
        self.refresh_bindings()

    def draw(self) -> None:
        order = "by module" if self._by_module else "in order"
        uses = f", the uses of {self._tensor} with u" if self.has_uses else ""
        self.query_one("#head", Lines).show(graph_head(self.graph, self._model, f"{order}{uses}", self.size.width - 2))
        self.rows.fill(operators.rows(self._top, self._open, self._filter))
        found = f"/ {self._filter}" + ("" if self.filled else "  (no operator has this in its name, type or inputs)")
        self.query_one(Columns).override(Content.assemble((f"  {found}", "bold $primary")) if self._filter else None)

    def _show_operator(self, name: str) -> None:
        """Open what an operator is in, and select it."""
        above = next((keys for node, keys in operators.walk(self._top) if node.key == name), ())
        self._open |= set(above)
        self._filter = ""
        self.draw()
        self.rows.select(name)

    def _set_open(self, key: str, is_open: bool) -> None:
        if not self._filter:
            self._open = self._open | {key} if is_open else self._open - {key}
            self.draw()

    def _search(self, text: str) -> None:
        self._filter = text
        self.draw()
