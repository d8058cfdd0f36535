"""What became of the ways that did not work, and the one sentence that sums it up."""

from dataclasses import dataclass, field

from explorer.conversion.causes import Cause, explained
from explorer.conversion.proof import summary
from explorer.conversion.route import Route
from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.schemas.results import Check

WRONG_REMEDY = "look for a branch on values, large integers or an assignment by index in the model"


@dataclass(frozen=True)
class Wrong:
    """A check that failed, with the facts about where it did."""

    check: Check
    details: dict[str, str]


@dataclass
class Failures:
    """`causes` of the ways that broke and `wrong` checks of those that ran but differed, in the order tried."""

    source: str
    target: str
    route: Route
    report: Reporter
    causes: list[Cause] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)

    def broke(self, way: str, error: Exception) -> Cause:
        """Keep the cause of a way that raised and say it; the converter's own words go to the log."""
        cause = explained(error)
        self.causes.append(cause)
        self.report.log(f"{way}: {cause.message}", "warning")
        if cause.original and cause.original.strip() != cause.message:
            self.report.log(cause.original)
        return cause

    def passed(self, check: Check, details: dict[str, str] | None = None) -> bool:
        """Say a check; keep it when it failed."""
        self.report.log(summary(check), "info" if check.passed else "warning")
        if not check.passed:
            self.wrong.append(Wrong(check, details or {}))
            self.route.checks.append(check)
        return check.passed

    def error(self) -> ExplorerError:
        """A wrong result first, else an operator without a rule (best with its place), else the first cause."""
        if self.wrong:
            wrong = next((item for item in self.wrong if item.details), self.wrong[0])
            check = wrong.check
            self.route.find("error", f"The {self.target} result differs from its source", summary(check))
            error = f"max error {check.max_abs_error:.3g}"
            evidence = f"{error}, {check.first_difference}" if check.first_difference else error
            message = f"{self.source} converts to {self.target} but fails its {check.mode} check ({evidence})"
            return ExplorerError(message, WRONG_REMEDY, {"reason": message, **wrong.details})
        cause = max(self.causes, key=lambda item: (bool(item.operator), bool(item.place)))
        message = f"{self.source} cannot be converted to {self.target}: {cause.message}"
        return ExplorerError(message, cause.remedy, cause.details())
