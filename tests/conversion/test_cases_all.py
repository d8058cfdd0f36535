"""Every case: right, or refused in a sentence that names operator and module; never silently wrong."""

import re
import sys

import pytest

from tests.conversion.cases.architectures import ARCHITECTURES
from tests.conversion.cases.case import RIGHT
from tests.conversion.cases.judge import Verdict
from tests.conversion.cases.notes import NOTES
from tests.conversion.cases.reports import REPORTS
from tests.conversion.cases.table import Row, counts, judged, refusals, summary

FEWEST_CORE_ML, FEWEST_ONNX = 50, 57


@pytest.mark.slow
@pytest.mark.timeout(3600)
# The plain scripts beside ours leave it to the garbage collector to remove coremltools' temporary folders.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_every_case_is_right_or_refused_and_never_silently_wrong() -> None:
    """One test, so that the table is made once however the tests are spread."""
    groups = {
        title: judged(cases, _say) for title, cases in (("notes", NOTES), ("architectures", ARCHITECTURES), ("reports", REPORTS))
    }
    rows = [row for group in groups.values() for row in group]
    for line in (*(summary(title, group) for title, group in groups.items()), summary("all", rows), *refusals(rows)):
        _say(line)
    assert [row.case.name for row in rows if "wrong" in (row.verdicts["Core ML"].word, row.verdicts["ONNX"].word)] == []
    assert counts(groups["notes"])["Core ML"]["right"] >= FEWEST_CORE_ML
    assert counts(groups["notes"])["ONNX"]["right"] >= FEWEST_ONNX
    everything = counts(rows)
    assert everything["Core ML"]["right"] > max(everything["plain trace"]["right"], everything["plain export"]["right"])
    assert everything["ONNX"]["right"] > everything["plain onnx"]["right"]
    assert [line for row in rows for line in _unexpected(row)] == []


def _unexpected(row: Row) -> list[str]:
    expected = {"Core ML": row.case.coreml, "ONNX": row.case.onnx}
    verdicts = {name: row.verdicts[name] for name in expected}
    return [
        f"{row.case.name}, {name}: {verdict.word} {verdict.text} {verdict.details}"
        for name, verdict in verdicts.items()
        if not (verdict.word == RIGHT if expected[name] == RIGHT else _refused_well(verdict, expected[name]))
    ]


def _refused_well(verdict: Verdict, operator: str) -> bool:
    """One sentence, with the operator and its module among the facts."""
    details = verdict.details or {}
    told = bool(details.get("operator")) and bool(details.get("module"))
    return verdict.word == "refused" and "\n" not in verdict.text and told and bool(re.search(operator, verdict.text))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
