"""What float16 breaks and what is known about the Neural Engine, in words: a summary each, and a page each; no widget."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.content import Content

from explorer.schemas.convert_result import Hint, PrecisionLoss
from explorer.schemas.results import ConvertResult
from screens.convert_proof import titled
from screens.result_words import wrapped
from screens.text import NONE, count, number

PROBLEMS = {"overflow": "overflows", "nan": "turns NaN", "underflow": "falls to zero", "loss": "loses precision"}
HARMLESS = "none needed"
NOT_MEASURED = "hints, not measurements"
SHOWN_HINTS = 3
PROBLEM_ROOM, LARGEST_ROOM, SNR_ROOM = 17, 10, 9


def float16_summary(result: ConvertResult, width: int) -> list[Content]:
    """One line, and the first value that breaks with its remedy; nothing when float16 was not checked."""
    checks = [check for check in result.checks if check.mode.startswith("float16")]
    if not result.losses:
        held = bool(checks) and all(check.passed for check in checks)
        return titled("FLOAT16", Content(f"holds, SNR {min(check.snr_db for check in checks):.0f} dB")) if held else []
    counts = Counter(PROBLEMS.get(loss.problem, loss.problem) for loss in result.losses)
    said = ", ".join(f"{many} {problem}" for problem, many in counts.items())
    words = (f"mended: {said}", "bold $success") if result.passed else (said, "bold $warning")
    rows = titled("FLOAT16", Content.assemble(words, (" · f shows all", "$muted")))
    return rows + loss_rows(result.losses[0], width, mended=result.passed)


def float16_page(result: ConvertResult, can_repair: bool, width: int) -> list[Content]:
    """Every value that breaks, in the order of the program; in a result that passed they were kept in float32."""
    rows = wrapped(Content("Each value of the float16 program beside the same in float32, on the inputs of the proof."), width)
    rows += wrapped(Content.assemble(("float16 ends at 65,504 and turns to zero below 6.0e-8.", "$muted")), width)
    head = f"  {'problem':<{PROBLEM_ROOM}}{'largest':>{LARGEST_ROOM}}{'SNR':>{SNR_ROOM}}  value and operator"
    rows += [Content(""), Content.assemble((head, "$muted"))]
    rows += [row for loss in result.losses for row in loss_rows(loss, width, mended=result.passed)]
    if result.passed:
        rows += [Content(""), Content.assemble(("✓ ", "$success"), "what matters to an output stays in float32 in this file")]
    elif can_repair:
        rows += [Content(""), *wrapped(Content("→ r on the Convert screen keeps these in float32 and proves again"), width, "  ")]
    return rows


def is_harmless(loss: PrecisionLoss) -> bool:
    """Whether no output suffers from it, as its remedy then says."""
    return loss.remedy.startswith(HARMLESS)


def loss_rows(loss: PrecisionLoss, width: int, mended: bool = False) -> list[Content]:
    """Problem, largest magnitude, SNR and name of one value; below it the module and the remedy."""
    snr = NONE if loss.snr_db is None else f"{loss.snr_db:.0f} dB"
    figures = f"{_magnitude(loss.largest):>{LARGEST_ROOM}}{snr:>{SNR_ROOM}}"
    problem = f"{PROBLEMS.get(loss.problem, loss.problem):<{PROBLEM_ROOM}}"
    sign = ("· ", "$muted") if mended or is_harmless(loss) else ("✗ ", "bold $error")
    first = Content.assemble(sign, problem, figures, "  ", (loss.name, "bold"), f" ({loss.operator})")
    rows = wrapped(first, width, "    ")
    for text in (loss.module and f"in {loss.module}", loss.remedy and f"→ {loss.remedy}"):
        rows += wrapped(Content.assemble((f"    {text}", "$muted")), width, "    ") if text else []
    return rows


def _magnitude(value: float) -> str:
    """Written out where float16 ends, so that it can be told from 65,504 at a glance."""
    return count(value) if 1e3 <= value < 1e7 else number(value)


def hints_summary(hints: Sequence[Hint], width: int) -> list[Content]:
    """How many there are and the first few."""
    if not hints:
        return []
    rows = titled("HINTS", Content.assemble(f"{len(hints)} for the Neural Engine", (f"  {NOT_MEASURED} · h", "$muted")))
    for hint in hints[:SHOWN_HINTS]:
        rows.append(Content.assemble(("· ", "$muted"), hint.title).truncate(width, ellipsis=True))
    return rows


def hints_page(hints: Sequence[Hint], prove: str, width: int) -> list[Content]:
    """Each rule with where it applies, what to do, who said so and when."""
    said = "What published rules say of the Neural Engine about this program: hints, not measurements."
    rows = wrapped(Content(said), width)
    rows += wrapped(Content.assemble((f"Only Core ML knows where an operator runs; {prove}", "$muted")), width, "  ")
    for hint in hints:
        rows += [Content(""), *wrapped(Content.assemble(("· ", "$primary"), (hint.title, "bold")), width, "  ")]
        rows += wrapped(Content(f"  at {hint.where}"), width, "  ") if hint.where else []
        rows += wrapped(Content(f"  → {hint.remedy}"), width, "  ") if hint.remedy else []
        rows += wrapped(Content.assemble((f"  {hint.source}, {hint.date} · rule {hint.rule}", "$muted")), width, "  ")
    return rows


def half_title(result: ConvertResult) -> str:
    """The title of the page of float16."""
    many = len(result.losses)
    became = "mended" if result.passed else "breaks" if many == 1 else "break"
    return f"float16: {many} value{'' if many == 1 else 's'} {became}"
