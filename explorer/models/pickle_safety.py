"""What loading a pickle would do, judged by the names in it: the sentence and the findings."""

from explorer.models.allowlist import DANGEROUS, is_harmless, unknown_names
from explorer.schemas.events import Finding

SHOWN = 3


def safety_of(references: list[str]) -> str:
    """What loading would do, which names are allowed and why."""
    unknown = unknown_names(references)
    if unknown:
        return f"loading it would import and call {few(unknown)}; read here with stand-ins, nothing was run"
    harmless = list(filter(is_harmless, references))
    if harmless:
        return f"tensors, plain containers and {few(harmless)}, which make plain values: allowed, no code is run"
    return "tensors and plain containers only: torch.load(weights_only=True) reads it without running code"


def findings_of(references: list[str], name: str) -> list[Finding]:
    """An error for names that an attack needs, a warning for other code, a note for values that torch asks about."""
    unknown = unknown_names(references)
    dangerous = [reference for reference in unknown if DANGEROUS.match(reference)]
    evidence = "names in the pickle"
    if dangerous:
        title = f"{name} names {few(dangerous)}, which would run code when loaded"
        remedy = "do not load it; ask its sender for .safetensors"
        return [Finding(severity="error", title=title, evidence=evidence, remedy=remedy)]
    if unknown:
        title = f"loading needs code outside torch's plain tensors: {few(unknown)}"
        remedy = "load it only if you trust it, then save model.state_dict() or .safetensors"
        return [Finding(severity="warning", title=title, evidence=evidence, remedy=remedy)]
    harmless = list(filter(is_harmless, references))
    if harmless:
        title = f"torch.load(weights_only=True) refuses {few(harmless)} until they are allowed"
        remedy = "explorer allows them; elsewhere use torch.serialization.safe_globals"
        return [Finding(severity="info", title=title, evidence=evidence, remedy=remedy)]
    return []


def few(names: list[str]) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(name[:80] for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
