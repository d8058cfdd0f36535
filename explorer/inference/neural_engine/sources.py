"""Who says a rule, and when it was read there."""

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.inference.coreml.program import Step
from explorer.schemas.convert_result import Hint

SHOWN_NAMES = 3


@dataclass(frozen=True)
class Source:
    """A publication and when it was read, with its version."""

    name: str
    date: str


READ = "read 2026-11-30"
RULES = Source("apple/coreai-models, neural_engine_rules.md", f"{READ} at 86b363d")
ISSUES = Source("apple/coreai-models, common_issues.md", f"{READ} at 86b363d")
TRANSFORMERS = Source("Apple, Deploying Transformers on the Apple Neural Engine", f"{READ}, code at da64000")
GUIDE = Source("coremltools guide", f"{READ} at e0e2f42, 2026-08-18")
HOLLANCE = Source("hollance/neural-engine, which calls itself incomplete and possibly wrong", f"{READ} at d0bb530")
ORION = Source("mechramc/Orion, ane_constraints.md: private interface, M4 Max", f"{READ}, arXiv 2603.06728")


def both(first: Source, *others: Source) -> Source:
    """Several publications that say the same."""
    return Source("; ".join([first.name, *(other.name for other in others)]), first.date)


def hint(rule: str, title: str, where: Sequence[Step | str], remedy: str, source: Source) -> Hint:
    """A hint naming the first few of the operators or values it is about, each once."""
    names = list(dict.fromkeys(f"{item.name} ({item.op_type})" if isinstance(item, Step) else item for item in where))
    rest = len(names) - SHOWN_NAMES
    text = ", ".join(names[:SHOWN_NAMES]) + (f" and {rest} more" if rest > 0 else "")
    return Hint(rule=rule, title=title, where=text, remedy=remedy, source=source.name, date=source.date)
