"""Reading what a program keeps between calls; writing it is the evaluator's own work."""

from torch import Tensor

from explorer.inference.coreml.registry import rule


@rule("read_state")
def read_state(*, input: Tensor) -> Tensor:
    return input
