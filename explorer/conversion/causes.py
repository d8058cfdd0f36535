"""From a converter's error to one clause: the operator, the module it is in and what to do."""

import re
from dataclasses import dataclass

OPERATOR_PATTERNS = (
    r"PyTorch convert function for op '([\w.:]+)' not implemented",
    r"Unsupported fx node ([\w.:]+)",
    r"lowering for Torch `([\w.:]+)` op is not supported",
    r"No ONNX function found for <OpOverload\(op='([\w.:]+)'",
    r"No decompositions registered for .*?'([\w.:]+)'",
)
PLACE = r"located at: '([^']+)'"
BRANCH_MARKS = ("data-dependent", "Could not guard", "Dynamic control flow")
TERMINAL_CODES = r"\x1b\[[0-9;]*m"


@dataclass(frozen=True)
class Cause:
    """Why a conversion failed, in one clause, and what to do about it; `operator` and its module `place` when one has no rule."""

    message: str
    remedy: str
    operator: str = ""
    place: str = ""


def explained(error: BaseException) -> Cause:
    """The cause that an error names, or one that it came from."""
    errors = _chain(error)
    text = "\n".join("\n".join([str(item), *getattr(item, "__notes__", [])]) for item in errors)
    operator = next((match.group(1) for match in (re.search(item, text) for item in OPERATOR_PATTERNS) if match), "")
    if operator:
        place = _place(text, operator)
        where = f" in {place}" if place else ""
        remedy = "replace that operator in the model"
        return Cause(f"there is no rule for the operator {operator}{where}", remedy, operator, place)
    if any(mark in text for mark in BRANCH_MARKS):
        return Cause("it branches on values, which a graph cannot", "replace the `if` by torch.where")
    return Cause(_first_line(errors[-1]), "the job's log has every way that was tried")


def _place(text: str, operator: str) -> str:
    """The module path that coremltools prints, without its counter; empty when it only repeats the operator."""
    found = re.search(PLACE, text)
    place = re.sub(r"/?\d+$", "", found.group(1)) if found else ""
    return "" if place == operator else place


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error and those that it came from, the innermost last."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _first_line(error: BaseException) -> str:
    text = re.sub(TERMINAL_CODES, "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
