"""How often all gradients are looked at before an update."""

import statistics

# Share of a step that a look may cost to be taken at every step, and on average when it costs more.
EVERY_STEP_SHARE = 0.01
AVERAGE_SHARE = 0.005
MEASURED_STEPS = 8


class CheckInterval:
    """Every step where a look is cheap, else every k-th, k a power of two and at most `log_every`.

    The first steps measure look and step, and look each time. Off the CPU a look drains the device, so it
    is taken when a log is due.
    """

    def __init__(self, *, always: bool, log_every: int, on_cpu: bool) -> None:
        self.measuring = on_cpu and not always
        self.every = 1 if always or on_cpu else log_every
        self._follows_log = not on_cpu and not always
        self._most = log_every
        self._looks_s: list[float] = []
        self._steps_s: list[float] = []

    def log_each(self, steps: int) -> None:
        """The log interval is another one."""
        if self._follows_log:
            self.every = steps

    def due(self, step: int) -> bool:
        return step % self.every == 0

    def add(self, look_s: float, step_s: float) -> None:
        """Take in the time of one look and of the step up to it; settles `every` after the first steps."""
        self._looks_s.append(look_s)
        self._steps_s.append(step_s)
        if len(self._looks_s) < MEASURED_STEPS:
            return
        self.measuring = False
        share = statistics.median(self._looks_s) / max(statistics.median(self._steps_s), 1e-9)
        while share > EVERY_STEP_SHARE and self.every * AVERAGE_SHARE < share and 2 * self.every <= self._most:
            self.every *= 2
