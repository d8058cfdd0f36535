"""One operator at a time: coremltools' own folding of constants beside the evaluator's rule."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from explorer.inference.coreml.program import constant_value, operation_inputs
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.coreml.rules import RULES


def built(op_type: str, arguments: dict[str, Any], target: str = "iOS17") -> tuple[Any, ...]:
    """The variables that MIL's builder makes of an operator on constants, folded where coremltools can."""
    ct = coremltools()
    with quiet():
        from coremltools.converters.mil.mil import Builder, Function

        with Function({}, opset_version=getattr(ct.target, target)):
            made = getattr(Builder, op_type)(**arguments)
    return tuple(made) if isinstance(made, list | tuple) else (made,)


def ours(variable: Any) -> tuple[Any, ...]:
    """What the rule gives for the operator that made a variable, defaults filled in by coremltools."""
    given = {key: _values(source) for key, source in operation_inputs(variable.op).items()}
    result = RULES[variable.op.op_type](**given)
    return result if isinstance(result, tuple) else (result,)


def _values(source: Any) -> Any:
    return tuple(constant_value(item) for item in source) if isinstance(source, tuple) else constant_value(source)


def assert_folds_alike(op_type: str, arguments: dict[str, Any], target: str = "iOS17", tolerance: float = 1e-5) -> None:
    variables = built(op_type, arguments, target)
    for variable, got in zip(variables, ours(variables[0]), strict=True):
        assert variable.val is not None, "coremltools does not fold this"
        assert tuple(got.shape) == np.shape(variable.val)
        np.testing.assert_allclose(got.numpy(), np.asarray(variable.val), rtol=tolerance, atol=tolerance / 10)


def rule(op_type: str, **arguments: Any) -> Tensor:
    """A rule's only result, for tensors given as numbers, lists or arrays."""
    result = every(op_type, **arguments)[0]
    assert isinstance(result, Tensor)
    return result


def every(op_type: str, **arguments: Any) -> tuple[Any, ...]:
    """All results of a rule; a tuple of arrays stands for a list of values."""
    result = RULES[op_type](**{key: _given(value) for key, value in arguments.items()})
    return result if isinstance(result, tuple) else (result,)


def _given(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_given(item) for item in value)
    return value if isinstance(value, str) else torch.as_tensor(value)


def close(got: Tensor, wanted: Tensor, tolerance: float = 1e-5) -> None:
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got.numpy(), wanted.numpy(), atol=tolerance * max(1.0, float(wanted.abs().max())))


def noise(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
