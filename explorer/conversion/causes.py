"""From a converter's error to one clause: the operator, the module and source line it is in, and what to do."""

import re
from dataclasses import dataclass

from explorer.conversion.messages import RULES, Rule
from explorer.conversion.user_lines import raised_line, user_line

CONVERTED = r"converting '([\w.:]+)' op"
PLACE = r"located at: '([^']+)'"
TERMINAL_CODES = r"\x1b\[[0-9;]*m"
LONGEST_ORIGINAL = 20_000
LOG_HAS_IT = "the job's log has every way that was tried"


@dataclass(frozen=True)
class Cause:
    """Why a conversion failed, in one clause, and what to do about it.

    `operator`, its module `place` and the `line` ("model.py:12") are empty where the text has none. `lacks_rule` is true when the
    converter does not know the operator at all. `original` is all that the converter said.
    """

    message: str
    remedy: str
    operator: str = ""
    place: str = ""
    line: str = ""
    original: str = ""
    lacks_rule: bool = False

    def details(self) -> dict[str, str]:
        """The facts for programs."""
        found = {"reason": self.message, "operator": self.operator, "module": self.place, "line": self.line}
        return {key: value for key, value in found.items() if value}


def explained(error: BaseException) -> Cause:
    """The cause that an error names, or one that it came from."""
    errors = _chain(error)
    text = "\n".join(_said(item) for item in errors)
    for rule in RULES:
        found = rule.search(text)
        if found:
            return _cause(rule, found, text, _line(text, errors))
    if any(isinstance(item, MemoryError) for item in errors):
        return Cause("the memory does not suffice", "close other programs", original=_original(text))
    place, line = _place(text, ""), _line(text, errors)
    return Cause(_first_line(errors[-1]), LOG_HAS_IT, "", place, line, _original(text))


def _cause(rule: Rule, found: re.Match[str], text: str, line: str) -> Cause:
    groups = {key: value for key, value in found.groupdict().items() if value}
    torch_operator = re.search(CONVERTED, text)
    operator = torch_operator.group(1) if torch_operator else groups.get("operator", "")
    place = _place(text, operator)
    where = (f" in {place}" if place else "") + (f" ({line})" if line else "")
    message = rule.message.format(**groups) + where
    return Cause(message, rule.remedy.format(**groups), operator, place, line, _original(text), rule.no_rule)


def _place(text: str, operator: str) -> str:
    """The module path that coremltools prints, without its counter; empty when it only repeats the operator."""
    found = re.search(PLACE, text)
    place = re.sub(r"[/.]?\d+$", "", found.group(1)) if found else ""
    return "" if place in (operator, "if") else place.replace("/", ".")


def _line(text: str, errors: list[BaseException]) -> str:
    """The user's line that a text quotes, else the one that torch was running when it raised."""
    return user_line(text) or next((line for line in map(raised_line, reversed(errors)) if line), "")


def _said(error: BaseException) -> str:
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    return re.sub(TERMINAL_CODES, "", text)


def _original(text: str) -> str:
    return text.strip()[:LONGEST_ORIGINAL]


def _chain(error: BaseException | None) -> list[BaseException]:
    """The error and those that it came from, the innermost last."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in _said(error).splitlines() if line.strip()]
    return lines[0][:200] if lines else type(error).__name__
