"""The table of all cases: explorer beside the bare scripts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.conversion.cases import plain
from tests.conversion.cases.case import Case
from tests.conversion.cases.judge import Verdict, ours, scripted

Column = Callable[[Case], Verdict]
COLUMNS: dict[str, Column] = {
    "Core ML": lambda case: ours(case, "coreml"),
    "plain trace": lambda case: scripted(case, plain.trace, ".mlpackage"),
    "plain export": lambda case: scripted(case, plain.export, ".mlpackage"),
    "ONNX": lambda case: ours(case, "onnx"),
    "plain onnx": lambda case: scripted(case, plain.onnx, ".onnx"),
}
MARKS = {"right": "right", "refused": "refused", "wrong": "WRONG"}


@dataclass(frozen=True)
class Row:
    """A case with a verdict for each column."""

    case: Case
    verdicts: dict[str, Verdict]

    def __str__(self) -> str:
        words = "".join(f"{MARKS[verdict.word]:14}" for verdict in self.verdicts.values())
        return f"{self.case.name:24}{words}{self.case.report}"


def judged(cases: Iterable[Case], say: Callable[[str], None] = lambda line: None) -> list[Row]:
    """Every case through every column, said line by line."""
    found = []
    say(f"{'':24}{''.join(f'{name:14}' for name in COLUMNS)}report")
    for case in cases:
        found.append(Row(case, {name: column(case) for name, column in COLUMNS.items()}))
        say(str(found[-1]))
    return found


def counts(rows: list[Row]) -> dict[str, dict[str, int]]:
    """For each column how many are right, refused and wrong."""
    return {
        name: {word: sum(row.verdicts[name].word == word for row in rows) for word in ("right", "refused", "wrong")}
        for name in COLUMNS
    }


def summary(title: str, rows: list[Row]) -> str:
    """One line of counts: right/refused/wrong of each column."""
    parts = [f"{name} {'/'.join(str(number) for number in found.values())}" for name, found in counts(rows).items()]
    return f"{title}, {len(rows)} cases, right/refused/wrong: {', '.join(parts)}"


def refusals(rows: list[Row]) -> list[str]:
    """What explorer refuses, in its own words."""
    return [
        f"{row.case.name}, {name}: {row.verdicts[name].text}"
        for name in ("Core ML", "ONNX")
        for row in rows
        if row.verdicts[name].word != "right"
    ]
