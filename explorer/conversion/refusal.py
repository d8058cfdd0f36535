"""The facts of a refused conversion for programs: reason, operator, module and line, as far as they can be found out."""

from explorer.conversion.ports import Traced
from explorer.conversion.tape import Value, recorded
from explorer.errors import ExplorerError

BRANCH = "branches on values"
WHOLE_MODEL = "the model"


def refused(error: ExplorerError) -> ExplorerError:
    """The same with the facts that a refusal's JSON always has."""
    details = {"reason": error.message, "operator": "", "module": "", **error.details}
    return ExplorerError(error.message, error.remedy, details)


def placed(error: ExplorerError, traced: Traced) -> ExplorerError:
    """The same with the module, where operator or line are known and the source, run once more, tells whose they are."""
    details = dict(error.details)
    if BRANCH in error.message and not details.get("operator"):
        details["operator"] = "if"
    if details.get("operator") and not details.get("module"):
        value = _found(traced, details["operator"].rpartition(":")[2], details.get("line", ""))
        if value is not None:
            details["module"] = value.place or WHOLE_MODEL
            details.setdefault("line", value.line)
    return ExplorerError(error.message, error.remedy, details)


def _found(traced: Traced, operator: str, line: str) -> Value | None:
    """What the source computed with that operator, else on that line."""
    try:
        values = recorded(traced.module, traced.examples, traced.original).values
    except Exception:  # the user's own code, which was run well before, but under no dispatch mode
        return None
    by_operator = (value for value in values if value.operator == operator)
    by_line = (value for value in values if line and value.line == line)
    return next(by_operator, next(by_line, None))
