"""What a person can do with the conversion that is shown: forms, pages, and the way to other screens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.message import Message

from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec, QuantizeSpec
from screens.convert_half import float16_page, half_title, hints_page, is_harmless
from screens.convert_proof import prove_words
from screens.job_words import short_id
from screens.model_trust import asked_digest, question, trusting
from screens.submitting import Submitting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.schemas.specs import Spec
    from screens.job_detail import JobDetail

LOG_BYTES = 65_536
PAGE_MARGIN = 6


@dataclass
class LogRead(Message):
    """What the converters printed in a conversion."""

    job_id: str
    log: str


class ConvertKeys(Submitting):
    """Mix in; the screen keeps `detail`, the conversion that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.detail: JobDetail | None = None

    # What applies now, for `when` of actions

    @property
    def can_edit(self) -> bool:
        return self.connected and self.asked is not None

    @property
    def can_copy(self) -> bool:
        return self.asked is not None

    @property
    def can_inspect(self) -> bool:
        """Whether there is a file: a result that failed its proof leaves none."""
        done = self.connected and self.detail is not None and self.detail.job.state == "done"
        return done and (self.result is None or self.result.passed)

    @property
    def can_quantize(self) -> bool:
        return self.can_inspect and self.asked is not None and self.asked.target != "pt2"

    @property
    def can_cancel(self) -> bool:
        return self.connected and self.detail is not None and self.detail.job.active

    @property
    def can_read_log(self) -> bool:
        return self.connected and self.detail is not None

    @property
    def can_repair(self) -> bool:
        """Whether float16 breaks something that the conversion was not yet asked to keep in float32."""
        spec, detail = self.asked, self.detail
        if not self.connected or spec is None or detail is None or detail.job.active:
            return False
        failure = detail.failure.message if detail.failure is not None else ""
        losses = self.result.losses if self.result is not None else []
        broken = not all(map(is_harmless, losses)) or "float16 check" in failure
        return broken and spec.target == "coreml" and spec.precision == "float16" and not spec.repair_float16

    @property
    def can_trust(self) -> bool:
        return self.connected and self._trusting() is not None

    @property
    def has_losses(self) -> bool:
        return self.result is not None and bool(self.result.losses)

    @property
    def has_hints(self) -> bool:
        return self.result is not None and bool(self.result.hints)

    # What is known

    @property
    def asked(self) -> ConvertSpec | None:
        spec = self.detail.spec if self.detail is not None else None
        return spec if isinstance(spec, ConvertSpec) else None

    @property
    def result(self) -> ConvertResult | None:
        result = self.detail.result if self.detail is not None else None
        return result if isinstance(result, ConvertResult) else None

    @property
    def prove(self) -> str:
        """How Core ML itself is asked about this conversion."""
        system = self.explorer.inventory.get("os.name") if self.explorer.inventory is not None else None
        on_mac = system is not None and str(system.value).startswith("macOS")
        return prove_words(self.detail.job.id, on_mac) if self.detail is not None else ""

    # What a person does

    def action_new(self) -> None:
        self._ask_conversion(self._latest_training())

    def action_edit(self) -> None:
        if self.asked is not None:
            self._ask_conversion(self.asked.model_dump(exclude={"kind"}))

    def action_repair(self) -> None:
        if self.asked is not None:
            self.submit(self.asked.model_copy(update={"repair_float16": True}))

    def action_trust(self) -> None:
        from screens.dialogs import ConfirmDialog

        failure, spec = (self.detail.failure if self.detail is not None else None), self._trusting()
        if failure is not None and spec is not None:
            asked = question(failure, asked_digest(failure))
            self.app.push_screen(ConfirmDialog(asked), lambda yes: self.submit(spec) if yes else None)

    def action_half(self) -> None:
        if self.result is not None:
            width = self.size.width - PAGE_MARGIN
            self._page(half_title(self.result), float16_page(self.result, self.can_repair, width))

    def action_hints(self) -> None:
        if self.result is not None:
            rows = hints_page(self.result.hints, self.prove, self.size.width - PAGE_MARGIN)
            self._page("Hints for the Neural Engine", rows)

    def action_message(self) -> None:
        if self.detail is not None and self.engine is not None:
            job_id = self.detail.job.id
            self.ask(self.engine.log(job_id, LOG_BYTES), lambda log: LogRead(job_id, log), group="log")

    def on_log_read(self, message: LogRead) -> None:
        from screens.convert_message import message_page

        if self.detail is not None and message.job_id == self.detail.job.id:
            rows = message_page(self.detail.failure, self.detail.notes, message.log, self.size.width - PAGE_MARGIN)
            self._page(f"The converters' own words, job {short_id(message.job_id)}", rows)

    def action_copy(self) -> None:
        """Send the command line to the terminal's clipboard, and show it for a terminal that takes none."""
        from explorer.schemas.specs import spec_to_toml
        from screens.convert_command import command_line

        if self.asked is not None:
            command = command_line(self.asked)
            self.app.copy_to_clipboard(command)
            said = Content.assemble(("The same as TOML, for `explorer run FILE`", "$muted"))
            toml = map(Content, spec_to_toml(self.asked).splitlines())
            self._page("Sent to the terminal's clipboard", [*map(Content, command.splitlines()), Content(""), said, *toml])

    async def action_inspect(self) -> None:
        from screens.model_page import ModelPage
        from screens.models import ModelsScreen

        source = f"job:{self.detail.job.id}" if self.detail is not None else ""
        await self.app.switch_mode("models")
        if isinstance(self.app.screen, ModelsScreen | ModelPage):
            self.app.screen.open_source(source)

    def action_quantize(self) -> None:
        if self.detail is not None:
            self.ask_spec("Quantize", QuantizeSpec, {"source": f"job:{self.detail.job.id}"})

    def action_cancel(self) -> None:
        if self.detail is not None:
            self.ask_cancel(self.detail.job)

    def _trusting(self) -> Spec | None:
        """The same request with a yes to the file that it was refused for."""
        digest = asked_digest(self.detail.failure) if self.detail is not None else ""
        return trusting(self.asked, digest) if digest and self.asked is not None else None

    def _ask_conversion(self, values: dict[str, Any]) -> None:
        from screens.convert_form import ConvertDialog

        self.app.push_screen(ConvertDialog(values), self.submit)

    def _page(self, title: str, rows: Sequence[Content]) -> None:
        from screens.dialogs import TextDialog

        self.app.push_screen(TextDialog(title, rows))

    def _latest_training(self) -> dict[str, Any]:
        """The newest trained or pruned model as a source, else nothing."""
        made = [job for job in self.explorer.jobs.values() if job.kind in ("train", "prune") and job.state == "done"]
        latest = max(made, key=lambda job: job.created, default=None)
        return {} if latest is None else {"source": f"job:{latest.id}"}
