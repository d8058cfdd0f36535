"""The Lab: make a model smaller and faster, and see in one table what it cost and brought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.message import Message

from explorer.schemas.jobs import JobRemoved, JobSummary
from explorer.schemas.results import BenchmarkResult
from explorer.schemas.specs import BenchmarkSpec, ConvertSpec, PruneSpec, QuantizeSpec
from screens.actions import bindings
from screens.ceilings import KnowsCeilings
from screens.job_detail import JobDetail, read_detail
from screens.lab_words import job_rows, model_facts, null_rows
from screens.row_keys import MovesRows
from screens.submitting import Submitting
from screens.variants import JOB_KINDS, Model, models, variant_names, with_benchmark
from screens.widgets.columns import Columns
from screens.widgets.lines import Lines
from screens.widgets.row_view import RowView
from screens.widgets.variant_table import column_names, model_row

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.engine.client import Engine

EMPTY = (
    "No model yet to make smaller.  3 then n trains one, 4 then n converts it.",
    "Then z stores it in eight bits, p removes channels, b measures what that brings.",
)
LAB_KINDS = ("quantize", "prune", "benchmark")


@dataclass
class DetailsRead(Message):
    """What finished jobs left."""

    details: list[JobDetail]


class LabScreen(MovesRows, KnowsCeilings, Submitting):
    """Every model that jobs made, by lineage, with the latest comparison of their speed."""

    SECTION = "lab"
    CSS_PATH = "lab.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("lab")]

    def __init__(self) -> None:
        super().__init__()
        self._details: dict[str, JobDetail] = {}
        self._marked: set[str] = set()
        self._wanted = ""

    def compose_body(self) -> ComposeResult:
        yield Lines(EMPTY, id="empty")
        with Container(id="body"):
            yield Columns(column_names, id="columns")
            yield RowView[Model](lambda model: model.job.id, self._row, id="table")
            yield Lines([], id="null")
            yield Lines([], id="job")
            with VerticalScroll(id="facts", can_focus=False):
                yield Lines([])

    # What applies now, for `when` of actions

    @property
    def filled(self) -> bool:
        return self.selected is not None

    @property
    def can_mark(self) -> bool:
        return self.selected is not None and self.selected.can_benchmark

    @property
    def can_cancel(self) -> bool:
        job = self._lab_job()
        return self.connected and job is not None and job.active

    @property
    def selected(self) -> Model | None:
        """The model of the selected row."""
        return self.rows.selected

    # What comes in

    def engine_changed(self, engine: Engine | None) -> None:
        self._read()
        self.read_ceilings()
        self._draw()

    def jobs_changed(self, changes: list[JobSummary | JobRemoved]) -> None:
        for change in changes:
            if isinstance(change, JobRemoved):
                self._details.pop(change.id, None)
                self._marked.discard(change.id)
        self._read()
        self.read_ceilings()
        self._draw()

    def ceilings_changed(self) -> None:
        self._draw_facts()

    def show_job(self, job: JobSummary) -> None:
        """Select the model that this job makes, as soon as it is there."""
        self._wanted = job.id
        self._draw()

    def on_details_read(self, message: DetailsRead) -> None:
        self._details |= {detail.job.id: detail for detail in message.details}
        self._draw()

    def on_row_view_selected(self, event: RowView.Selected) -> None:
        self._draw_facts()
        self.refresh_bindings()

    def on_resize(self, event: Resize) -> None:
        self.call_after_refresh(self._draw)

    # What a person does

    def action_mark(self) -> None:
        if self.selected is not None:
            self._marked ^= {self.selected.job.id}
            self.rows.redraw()
            self.rows.move(1)

    def action_quantize(self) -> None:
        self.ask_spec("Quantize", QuantizeSpec, self._source(lambda model: model.can_quantize))

    def action_prune(self) -> None:
        self.ask_spec("Prune", PruneSpec, self._source(lambda model: model.can_prune))

    def action_convert(self) -> None:
        self.ask_spec("New conversion", ConvertSpec, self._source(lambda model: model.can_prune))

    def action_benchmark(self) -> None:
        chosen = self._to_compare()
        values = {"models": [f"job:{model.job.id}" for model in chosen], "names": variant_names(chosen)}
        self.ask_spec("Benchmark: the first is the baseline", BenchmarkSpec, values)

    def action_details(self) -> None:
        from screens.dialogs import TextDialog

        if self.selected is not None:
            rows = model_facts(self.selected, self.explorer.jobs, self.size.width - 6, self.ceilings)
            self.app.push_screen(TextDialog(f"{self.selected.job.model}: {self.selected.name}", rows))

    def action_cancel(self) -> None:
        job = self._lab_job()
        if job is not None:
            self.ask_cancel(job)

    # What is shown

    @property
    def rows(self) -> RowView[Model]:
        found: RowView[Model] = self.query_one("#table", RowView)
        return found

    def _row(self, model: Model, width: int) -> Content:
        return model_row(model, model.job.id in self._marked, width)

    def _source(self, fits: Callable[[Model], bool]) -> dict[str, Any]:
        """The selected model when it fits, else the newest that fits in its family, else the newest of all."""
        chosen, found = self.selected, [model for model in self.rows.items if fits(model)]
        if chosen is not None and fits(chosen):
            return {"source": f"job:{chosen.job.id}"}
        family = [model for model in found if chosen is not None and model.family == chosen.family]
        best = max(family or found, key=lambda model: model.job.created, default=None)
        return {} if best is None else {"source": f"job:{best.job.id}"}

    def _to_compare(self) -> list[Model]:
        """The marked models in the order of the table, else every ONNX file of the selected family."""
        marked = [model for model in self.rows.items if model.job.id in self._marked]
        chosen = self.selected
        return marked or [
            model for model in self.rows.items if model.can_benchmark and chosen is not None and model.family == chosen.family
        ]

    def _lab_job(self) -> JobSummary | None:
        """The job of the Lab that is active, else the last one when it failed."""
        found = [job for job in self.explorer.jobs.values() if job.kind in LAB_KINDS]
        last = max(found, key=lambda job: (job.state == "running", job.active, job.created), default=None)
        return last if last is not None and (last.active or last.state in ("failed", "lost")) else None

    def _benchmark(self) -> JobDetail | None:
        """The latest finished comparison."""
        found = [detail for detail in self._details.values() if isinstance(detail.result, BenchmarkResult)]
        return max(found, key=lambda detail: detail.job.created, default=None)

    def _read(self) -> None:
        """Read what newly finished jobs left."""
        new = [
            job
            for job in self.explorer.jobs.values()
            if job.kind in JOB_KINDS and job.state == "done" and job.id not in self._details
        ]
        if new and self.engine is not None:
            self.ask(_read_all(self.engine, new), DetailsRead, group="details")

    def _draw(self) -> None:
        benchmark = self._benchmark()
        found = models(self._details.values(), self.explorer.jobs)
        compared = benchmark.result if benchmark is not None and isinstance(benchmark.result, BenchmarkResult) else None
        with_benchmark(found, compared, self.explorer.jobs)
        job = self._lab_job()
        self.query_one("#empty").display = not found and job is None
        self.query_one("#body").display = bool(found) or job is not None
        width = max(20, self.size.width - 2)
        self.query_one("#null", Lines).show(null_rows(compared, benchmark.job if benchmark else None, width))
        self.query_one("#job", Lines).show(job_rows(job, width))
        self.rows.fill(found)
        if self._wanted in {model.job.id for model in found}:
            self.rows.select(self._wanted)
            self._wanted = ""
        self._draw_facts()
        self.refresh_bindings()

    def _draw_facts(self) -> None:
        chosen, area = self.selected, self.query_one("#facts")
        width = max(20, self.size.width - 4)
        area.query_one(Lines).show(model_facts(chosen, self.explorer.jobs, width, self.ceilings) if chosen is not None else [])


async def _read_all(engine: Engine, jobs: list[JobSummary]) -> list[JobDetail]:
    return [await read_detail(engine, job) for job in jobs]
