"""Small packages for the evaluator's tests, converted by coremltools itself."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from explorer.inference.coreml.quiet import coremltools, quiet


def traced_package(
    module: nn.Module,
    examples: Sequence[Tensor],
    path: Path,
    precision: Literal["FLOAT32", "FLOAT16"] = "FLOAT32",
    target: str = "iOS17",
    shape: Sequence[Any] | None = None,
) -> Path:
    """`module`, traced on `examples` and converted; `shape` may make the first input flexible."""
    ct = coremltools()
    with quiet(), torch.no_grad():
        graph = torch.jit.trace(module.eval(), tuple(examples))  # type: ignore[no-untyped-call]
        shapes = [tuple(item.shape) for item in examples]
        shapes[0] = tuple(shape) if shape is not None else shapes[0]
        types = [None if item.is_floating_point() else int for item in examples]
        model = ct.convert(
            graph,
            inputs=[
                ct.TensorType(name=f"x{index}", shape=size, dtype=kind)
                for index, (size, kind) in enumerate(zip(shapes, types, strict=True))
            ],
            outputs=[ct.TensorType(name="y")],
            minimum_deployment_target=getattr(ct.target, target),
            compute_precision=getattr(ct.precision, precision),
            skip_model_load=True,
        )
        model.save(str(path))
    return path


def built_package(function: Any, path: Path, precision: Literal["FLOAT32", "FLOAT16"] = "FLOAT32", target: str = "iOS17") -> Path:
    """A program of the MIL builder as a package."""
    ct = coremltools()
    with quiet():
        ct.convert(
            function,
            minimum_deployment_target=getattr(ct.target, target),
            compute_precision=getattr(ct.precision, precision),
            skip_model_load=True,
        ).save(str(path))
    return path
