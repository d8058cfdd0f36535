"""What can be said to the training that is shown: pause, checkpoint, learning rate, stop, cancel, resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screens.job_words import short_id
from screens.submitting import Submitting
from screens.text import number
from screens.train_live import LiveTraining

if TYPE_CHECKING:
    from explorer.schemas.jobs import Command
    from screens.train_run import Run
    from screens.train_settings import Settings

FACTOR = 1.25
STOP = (
    "Stop {name} after this step? It ends well: the model is saved with the weights it has by then and the job is done. "
    "To break it off and leave a checkpoint to go on from, cancel it instead (ctrl+x)."
)
CANCEL = (
    "Stop the training of {name}, leaving a checkpoint to go on from (r) but no model? "
    "To end it well and keep the model, stop it instead (x)."
)


class Steering(LiveTraining, Submitting):
    """Mix in to steer the training that is shown."""

    # What applies now, for `when` of actions

    @property
    def shown(self) -> bool:
        return self.run_ is not None

    @property
    def can_pause(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.state == "running"

    @property
    def can_unpause(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.state == "paused"

    @property
    def can_steer(self) -> bool:
        return self.can_pause or self.can_unpause

    @property
    def can_cancel(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.active

    @property
    def can_resume(self) -> bool:
        return self.connected and self.run_ is not None and self.run_.job.resumable and not self.run_.job.active

    @property
    def can_read(self) -> bool:
        return self.connected and self.run_ is not None

    # What a person does

    def action_pause(self) -> None:
        self._say("pause")

    def action_unpause(self) -> None:
        self._say("resume")

    def action_resume(self) -> None:
        self._say("resume")

    def action_checkpoint(self) -> None:
        self._say("checkpoint")
        self.notify("a checkpoint follows at the next step", timeout=3)

    def action_raise_rate(self) -> None:
        self._scale_rate(FACTOR)

    def action_lower_rate(self) -> None:
        self._scale_rate(1 / FACTOR)

    def action_settings(self) -> None:
        from screens.train_settings import SettingsDialog

        run = self.run_
        if run is not None:
            interval = run.spec.log_every_steps if run.spec is not None else None
            self.app.push_screen(SettingsDialog(run.rate, interval), self._set)

    def action_stop(self) -> None:
        self._ask_then("stop", STOP)

    def action_cancel(self) -> None:
        self._ask_then("cancel", CANCEL)

    def _say(self, command: Command) -> None:
        if self.run_ is not None:
            self.control(self.run_.job, command)

    def _ask_then(self, command: Command, question: str) -> None:
        from screens.dialogs import ConfirmDialog

        run = self.run_
        if run is not None:
            asked = question.format(name=f"{run.job.model} (job {short_id(run.job.id)})")
            self.app.push_screen(ConfirmDialog(asked), lambda yes: self.control(run.job, command) if yes else None)

    def _scale_rate(self, factor: float) -> None:
        run = self.run_
        if run is not None:
            run.ask_rate(factor)
            self.draw()
            self.control(run.job, "set", {"learning_rate_factor": factor})
            self._tell(f"learning rate × {factor:g}{_rate_now(run)}")

    def _set(self, found: Settings | None) -> None:
        run = self.run_
        if run is None or not found:
            return
        rate = found.get("learning_rate")
        if rate is not None and run.rate:
            run.ask_rate(rate / run.rate)
            self.draw()
        self.control(run.job, "set", found)
        words = {"learning_rate": "learning rate {}", "log_every_steps": "log every {} steps"}
        self._tell(", ".join(words[name].format(number(value)) for name, value in found.items()))

    def _tell(self, change: str) -> None:
        self.notify(f"{change} from the next step", timeout=4, markup=False)


def _rate_now(run: Run) -> str:
    return f": {number(run.rate)}" if run.rate is not None else ""
