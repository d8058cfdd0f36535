"""The way a conversion went: its steps with seconds, and what was found on it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from explorer.reporter import Reporter
from explorer.schemas.convert_result import Check, PrecisionLoss
from explorer.schemas.events import Finding, Severity


class Route:
    """`steps` holds lines such as "torch.export 0.6 s", failed ones too; `findings` what was said on the way.

    `preflight`, the `checks` that failed and the `losses` of float16 are kept for the answer of a conversion that fails.
    """

    def __init__(self, report: Reporter, expected_steps: int) -> None:
        self.steps: list[str] = []
        self.findings: list[Finding] = []
        self.preflight: list[Finding] = []
        self.checks: list[Check] = []
        self.losses: list[PrecisionLoss] = []
        self._report = report
        self._expected = expected_steps

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time one step; before it begins the job may pause or be cancelled."""
        self._report.control()
        self.say(name)
        started = time.monotonic()
        try:
            yield
        except Exception:
            self._add(f"{name} failed after {time.monotonic() - started:.1f} s")
            raise
        self._add(f"{name} {time.monotonic() - started:.1f} s")

    def say(self, message: str) -> None:
        """Say what is being done now, without a new step."""
        done = len(self.steps)
        self._report.progress(done, max(self._expected, done + 1), message, "steps")

    def find(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        """Say a finding and keep it for the result."""
        self._report.finding(severity, title, evidence, remedy)
        self.findings.append(Finding(severity=severity, title=title, evidence=evidence, remedy=remedy))

    def _add(self, text: str) -> None:
        self.steps.append(text)
        self._report.log(text)
