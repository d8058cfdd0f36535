"""The proof of a conversion in words: the table, what it does not say, where a difference begins; no widget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from textual.content import Content

from explorer.schemas.results import Check, ConvertResult
from screens.result_words import heading, not_run_on_core_ml, wrapped
from screens.text import NONE, number, percent

MODE_ROOM = 18
COLUMNS = (("max error", 10), ("relative", 10), ("SNR", 8), ("cosine", 9), ("same class", 11))
TITLE_ROOM = 18


def proof_rows(result: ConvertResult, width: int, prove: str) -> list[Content]:
    """Verdict, a table by runtime, and `prove`, how to add what Core ML itself says, where a passed proof lacks that."""
    verdict = ("✓ passed", "bold $success") if result.passed else ("✗ failed", "bold $error")
    rows = [Content.assemble(heading("PROOF"), "  ", verdict)]
    if result.checks:
        rows.append(Content.assemble((f"{'':<{MODE_ROOM}}" + "".join(f"{name:>{room}}" for name, room in COLUMNS), "$muted")))
    for runtime, checks in groupby(result.checks, lambda check: check.runtime):
        rows += [Content.assemble((runtime, "bold")), *(row for check in checks for row in check_rows(check, width))]
    return rows + (not_run_rows(result.checks, width, prove) if result.passed else [])


def check_rows(check: Check, width: int) -> list[Content]:
    """The figures of one check, below them what was tolerated."""
    sign = ("✓ passed ", "$success") if check.passed else ("✗ failed ", "bold $error")
    cells = zip(figures(check), COLUMNS, strict=True)
    figure_row = Content.assemble(sign, f"{check.mode:<{MODE_ROOM - 9}}", "".join(f"{cell:>{room}}" for cell, (_, room) in cells))
    tolerated = Content.assemble((f"  {check.samples} inputs, {check.tolerance}", "$muted"))
    return [figure_row, *wrapped(tolerated, width, "  ")]


def figures(check: Check) -> list[str]:
    """Largest error, relative error, SNR, cosine and class agreement, each with its unit."""
    cosine = NONE if check.cosine is None else f"{check.cosine:.5f}"
    agreement = NONE if check.agreement is None else percent(check.agreement, 1)
    snr = "exact" if check.snr_db == float("inf") else f"{check.snr_db:.0f} dB"
    return [error(check.max_abs_error), error(check.max_rel_error), snr, cosine, agreement]


def error(value: float) -> str:
    """An error in three digits, small ones with their power of ten, so that a column compares at a glance."""
    if not 0 < value < 0.1:
        return number(value)
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def not_run_rows(checks: Sequence[Check], width: int, prove: str) -> list[Content]:
    """That Core ML itself did not run, and the line that adds it; nothing when it ran."""
    missing = not_run_on_core_ml(checks)
    if not missing:
        return []
    rows = wrapped(Content.assemble(("! ", "$warning"), (missing, "$warning")), width, "  ")
    return rows + wrapped(Content.assemble((f"  {prove}", "$muted")), width, "  ")


def prove_words(job_id: str, on_mac: bool) -> str:
    """How Core ML itself is asked: the command here on a Mac, else the one to run there."""
    if on_mac:
        return f"ask Core ML on this Mac:  explorer prove job:{job_id}"
    return f"on a Mac, with this job's folder:  explorer prove {job_id}"


def first_difference_rows(checks: Sequence[Check], width: int) -> list[Content]:
    """Where the values begin to differ, with the module of the source; one line when nowhere."""
    found = [check for check in checks if check.first_difference]
    if not found:
        nowhere = all(check.passed for check in checks)
        return titled("FIRST DIFFERENCE", Content("none beyond the tolerance")) if checks and nowhere else []
    rows: list[Content] = []
    for check in found:
        mark = ("· ", "$muted") if check.passed else ("✗ ", "bold $error")
        rows += wrapped(Content.assemble(mark, (f"{check.mode}  ", "$muted"), check.first_difference), width, "    ")
    return [heading("FIRST DIFFERENCE"), *rows]


def titled(title: str, said: Content) -> list[Content]:
    """A part of one line: its title, and what is said beside it."""
    return [Content.assemble(heading(f"{title:<{TITLE_ROOM}}"), " ", said)]
