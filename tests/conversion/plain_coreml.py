"""coremltools called plainly, without the ladder: packages to diagnose."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from explorer.conversion.half_repair import keeps_float32
from explorer.inference.coreml.quiet import coremltools, quiet


def package(
    module: nn.Module,
    inputs: Sequence[Tensor],
    path: Path,
    capture: Literal["trace", "export"] = "trace",
    precision: Literal["float16", "float32"] = "float32",
    keep: Sequence[str] = (),
) -> Path:
    """Write `module` as a package; inputs are called x0, x1 and so on, the output out. What `keep` names stays in float32."""
    ct = coremltools()
    with quiet(), torch.no_grad():
        if capture == "trace":
            graph = torch.jit.trace(module.eval(), tuple(inputs), check_trace=False)  # type: ignore[no-untyped-call]
        else:
            graph = torch.export.export(module.eval(), tuple(inputs)).run_decompositions({})
        kept = keeps_float32(keep)
        half = ct.transform.FP16ComputePrecision(lambda op: not kept(op)) if keep else ct.precision.FLOAT16
        model = ct.convert(
            graph,
            inputs=[
                ct.TensorType(name=f"x{at}", shape=tuple(item.shape), dtype=np.float32 if item.is_floating_point() else np.int32)
                for at, item in enumerate(inputs)
            ],
            outputs=[ct.TensorType(name="out", dtype=np.float32 if "out" in keep else None)],
            minimum_deployment_target=ct.target.iOS17,
            compute_precision=half if precision == "float16" else ct.precision.FLOAT32,
            skip_model_load=True,
        )
        model.save(str(path))
    return path


def feed(inputs: Sequence[Tensor]) -> dict[str, Any]:
    """The inputs by the names that `package` gives them."""
    return {f"x{at}": item.numpy() for at, item in enumerate(inputs)}
