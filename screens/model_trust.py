"""A yes to one file that runs its own code when it is loaded: what the engine's refusal says, and the question."""

from __future__ import annotations

import re

from explorer.schemas.events import Failure
from explorer.schemas.specs import Spec

# The remedy of `explorer.models.trust.require_trust` names the SHA-256 that it computed.
ASKED = re.compile(r"--trust ([0-9a-f]{64})\b")
DIGITS_SHOWN = 12


def asked_digest(failure: Failure | None) -> str:
    """The SHA-256 of the file that a job refused to load; empty when it failed for another reason."""
    found = ASKED.search(failure.remedy) if failure is not None else None
    return found.group(1) if found else ""


def question(failure: Failure, digest: str) -> str:
    """What a person says yes to."""
    return (
        f"{failure.message}.\n\nSHA-256  {digest[:DIGITS_SHOWN]}…\n\n"
        "Load this one file in a process of its own, with your rights? Say yes only if you know who made it."
    )


def trusting(spec: Spec, digest: str) -> Spec | None:
    """The same request with a yes to the file of this SHA-256; None when the request cannot carry one or has it already."""
    known = getattr(spec, "trust", None)
    if not isinstance(known, list) or digest in known:
        return None
    return spec.model_copy(update={"trust": [*known, digest]})
