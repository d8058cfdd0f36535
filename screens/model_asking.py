"""What a person can ask about the opened model and have answered at once: values, graph, fit; safety and facts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.message import Message

from explorer.errors import ExplorerError
from explorer.schemas.model_results import GraphResult, InspectResult, MatchResult, TensorInfo, TensorValues, ValuesResult
from explorer.schemas.model_specs import GraphSpec, MatchSpec, ValuesSpec
from explorer.schemas.specs import Spec
from screens.job_words import find_job, short_id
from screens.submitting import Submitting

if TYPE_CHECKING:
    from explorer.engine.client import Engine
    from explorer.schemas.results import JobResult

WEIGHTS = ("torch_zip", "torch_legacy", "safetensors", "sharded", "hub_folder")
GRAPHS = ("onnx", "mlpackage", "coreml_spec", "exported_program")


@dataclass
class Answered(Message):
    """An answer about the model of `source`; `tensor` is what it was asked for."""

    spec: Spec
    source: str
    result: JobResult
    tensor: str = ""


@dataclass
class NotAnswered(Message):
    """A question that could not be answered."""

    error: ExplorerError


class AsksAboutModels(Submitting):
    """Mix in below a screen that says what is `opened`, which `tensor` is selected, and shows trouble with `say`."""

    def __init__(self) -> None:
        super().__init__()
        self.result: InspectResult | None = None
        self.graph: GraphResult | None = None
        self.values: dict[str, TensorValues] = {}

    def learn(self, result: InspectResult) -> None:
        """Another model is opened."""
        self.result, self.graph, self.values = result, None, {}

    if TYPE_CHECKING:  # what the screen gives

        @property
        def opened(self) -> bool:
            """Whether a model is opened and in view."""

        @property
        def tensor(self) -> TensorInfo | None:
            """The selected tensor."""

        @property
        def folder(self) -> Path:
            """Where files are looked for first."""

        def say(self, message: str, remedy: str = "", trouble: bool = True) -> None:
            """Show a sentence above the model until the next."""

        def draw_side(self) -> None:
            """Show what is known of the selected row."""

        def show_tensor(self, name: str) -> None:
            """Select a tensor."""

    # Names of the opened model

    @property
    def source(self) -> str:
        return self.result.source if self.opened and self.result is not None else ""

    @property
    def model_name(self) -> str:
        """The model in few words: its file, or the job that made it."""
        job = find_job(self.source, self.explorer.jobs)
        return Path(self.source).name if job is None else f"{job.kind} {job.model} ({short_id(job.id)})"

    # What applies now, for `when` of actions

    @property
    def can_compare(self) -> bool:
        return self.opened and self.connected

    @property
    def can_read_values(self) -> bool:
        return self.can_compare and self.tensor is not None

    @property
    def can_read_graph(self) -> bool:
        return self.can_compare and self.result is not None and self.result.format in GRAPHS

    @property
    def can_find_uses(self) -> bool:
        return self.can_read_graph and self.tensor is not None

    @property
    def can_match(self) -> bool:
        return self.can_compare and self.result is not None and self.result.format in WEIGHTS

    # What a person does

    def action_values(self) -> None:
        if self.result is not None and self.tensor is not None:
            spec = ValuesSpec(source=self.result.source, tensor=self.tensor.name)
            self.say(f"reading the values of {self.tensor.name} …", trouble=False)
            self.answer(spec, self.result.source, self.tensor.name)

    def action_graph(self) -> None:
        self._show_graph("")

    def action_uses(self) -> None:
        if self.tensor is not None:
            self._show_graph(self.tensor.name)

    def action_match(self) -> None:
        from screens.widgets.spec_form import SpecDialog

        form = SpecDialog("Lay the weights against a module", MatchSpec, {"weights": self.source})
        self.app.push_screen(form, self._match)

    def action_safety(self) -> None:
        from screens.model_facts import safety_rows

        if self.result is not None:
            self._page(f"Safety of {self.model_name}", safety_rows(self.result, self.size.width - 6))

    def action_facts(self) -> None:
        from screens.model_facts import file_rows

        if self.result is not None:
            self._page(self.result.source, file_rows(self.result, self.size.width - 6))

    # Questions and answers

    def answer(self, spec: Spec, source: str, tensor: str = "") -> None:
        """Ask at once, keep no job."""
        if self.engine is not None:
            self.run_worker(self._answered(self.engine, spec, source, tensor), group="answer", exclusive=True)

    def on_not_answered(self, message: NotAnswered) -> None:
        self.say(message.error.message, message.error.remedy)

    def on_answered(self, message: Answered) -> None:
        if self.result is None or message.source != self.result.source:
            return
        self.say("")
        match message.result:
            case ValuesResult():
                self._show_values(message.result)
            case GraphResult():
                self.graph = message.result
                self._show_graph(message.tensor)
            case MatchResult():
                from screens.model_result import ResultPage

                self.app.push_screen(ResultPage(result=message.result, spec=message.spec))

    async def _answered(self, engine: Engine, spec: Spec, source: str, tensor: str) -> None:
        try:
            self.post_message(Answered(spec, source, await engine.answer(spec), tensor))
        except ExplorerError as error:
            self.post_message(NotAnswered(error))

    def _show_values(self, found: ValuesResult) -> None:
        """Beside the tree where there is room, else on a page."""
        self.values |= {item.name: item for item in found.tensors}
        self.draw_side()
        if not self.has_class("-wide") and found.tensors:
            from screens.model_values import value_rows

            rows = value_rows(found.tensors[0], min(72, self.size.width - 6), rows=6)
            self._page(found.tensors[0].name, rows)

    def _show_graph(self, tensor: str) -> None:
        """The graph's page, once it is read."""
        if self.graph is None:
            self.say("reading the graph …", trouble=False)
            self.answer(GraphSpec(source=self.source), self.source, tensor)
            return
        from screens.model_graph import GraphPage

        self.draw_side()
        self.app.push_screen(GraphPage(self.graph, self.model_name, self.show_tensor, tensor))

    def _match(self, spec: Spec | None) -> None:
        if spec is not None and self.result is not None:
            self.say("building the module without memory …", trouble=False)
            self.answer(spec, self.result.source)

    def _page(self, title: str, rows: list[Any]) -> None:
        from screens.dialogs import TextDialog

        self.app.push_screen(TextDialog(title, rows))
