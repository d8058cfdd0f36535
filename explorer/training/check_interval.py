"""How often all gradients are looked at before an update."""

import statistics

# Share of a step that a look may cost to be taken at every step.
EVERY_STEP_SHARE = 0.01
MEASURED_STEPS = 8


class CheckInterval:
    """On the CPU every step, elsewhere when a log is due, since a look drains the device.

    With `may_rewind` the first steps measure what a look costs of them: where that is more than a hundredth, `rewinds` is True
    from then on, and none is taken before an update.
    """

    def __init__(self, *, always: bool, log_every: int, on_cpu: bool, may_rewind: bool = False) -> None:
        self.measuring = may_rewind and on_cpu and not always
        self.rewinds = False
        self.every = 1 if always or on_cpu else log_every
        self._follows_log = not on_cpu and not always
        self._looks_s: list[float] = []
        self._steps_s: list[float] = []

    def log_each(self, steps: int) -> None:
        """The log interval is another one."""
        if self._follows_log:
            self.every = steps

    def due(self, step: int) -> bool:
        return not self.rewinds and step % self.every == 0

    @property
    def step_s(self) -> float:
        """The median time of the measured steps."""
        return statistics.median(self._steps_s)

    def add(self, look_s: float, step_s: float) -> None:
        """Take in the time of one look and of the step up to it; settles `rewinds` after the first steps."""
        self._looks_s.append(look_s)
        self._steps_s.append(step_s)
        if len(self._looks_s) == MEASURED_STEPS:
            self.measuring = False
            self.rewinds = statistics.median(self._looks_s) > EVERY_STEP_SHARE * self.step_s
