"""The operators that the reference evaluator has rules for, of coremltools' registry and of a program."""

from collections.abc import Iterable
from pathlib import Path

from explorer.inference.coreml.program import Program, load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.coreml.rules import CONTROL_FLOW, RULES

RANDOM = "Core ML's generator is not published, so no value can be checked: make the random numbers outside and pass them in"


def registry_ops() -> list[str]:
    """The core operators that coremltools can write, sorted."""
    coremltools()
    with quiet():
        from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry
    return sorted(SSAOpRegistry.core_ops)


def supported() -> list[str]:
    """The operators that can be evaluated, sorted."""
    return sorted(RULES.keys() | CONTROL_FLOW)


def missing(package: Path | str | Program | None = None) -> list[str]:
    """The operators of a package, or of the whole registry, that cannot be evaluated."""
    if package is None:
        return without_rule(registry_ops())
    return missing_in(package if isinstance(package, Program) else load_program(package))


def missing_in(program: Program) -> list[str]:
    """The operators of a program that cannot be evaluated, sorted."""
    return without_rule({step.op_type for step in program.steps()})


def reasons() -> dict[str, str]:
    """Why an operator has no rule."""
    random = ("random_bernoulli", "random_categorical", "random_normal", "random_uniform")
    return {**dict.fromkeys(random, RANDOM), "_const_symbolic": "never in a file: coremltools uses it while it converts"}


def without_rule(names: Iterable[str]) -> list[str]:
    """Those of `names` that cannot be evaluated, sorted."""
    return sorted(name for name in names if name not in RULES and name not in CONTROL_FLOW)
