"""Findings said at once and kept for the result."""

from explorer.reporter import Reporter
from explorer.schemas.events import Finding, Severity


class Findings:
    """Passes each finding on to the reporter and keeps it in `found`."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self.found: list[Finding] = []

    def add(self, severity: Severity, title: str, evidence: str = "", remedy: str = "") -> None:
        self._report.finding(severity, title, evidence, remedy)
        self.found.append(Finding(severity=severity, title=title, evidence=evidence, remedy=remedy))
