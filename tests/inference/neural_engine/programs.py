"""Small programs for the Neural Engine's rules: built with MIL's builder, converted from torch, or put together by hand."""

import itertools
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from explorer.inference.coreml.program import Block, Program, Result, Step, load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.coreml.registry import Value
from tests.inference.coreml.packages import built_package

Body = Callable[..., Any]


def builder() -> Any:
    """MIL's builder."""
    coremltools()
    with quiet():
        from coremltools.converters.mil import Builder
    return Builder


def program(
    body: Body, *shapes: Sequence[int], precision: Literal["FLOAT16", "FLOAT32"] = "FLOAT16", target: str = "iOS17"
) -> Program:
    """`body` of MIL operators on inputs of these shapes, converted, written and read back."""
    mb = builder()
    opset = getattr(coremltools().target, target)
    built = mb.program(input_specs=[mb.TensorSpec(tuple(shape)) for shape in shapes], opset_version=opset)(body)
    with tempfile.TemporaryDirectory() as folder:
        return load_program(built_package(built, Path(folder) / "m.mlpackage", precision, target))


def numbers(*shape: int) -> np.ndarray:
    """Small weights."""
    return (np.random.default_rng(0).normal(size=shape) * 0.1).astype(np.float32)


def conv(x: Any, channels: int, kernel: Sequence[int] = (3, 3), **options: Any) -> Any:
    """A convolution that keeps height and width at stride 1."""
    return builder().conv(x=x, weight=numbers(channels, x.shape[1], *kernel), pad_type="same", **options)


def good_network() -> Program:
    """What the rules have nothing to say against."""
    mb = builder()

    def body(x: Any) -> Any:
        x = mb.relu(x=conv(x, 32))
        x = mb.max_pool(x=x, kernel_sizes=[2, 2], strides=[2, 2], pad_type="valid")
        x = mb.add(x=mb.relu(x=conv(x, 64)), y=conv(x, 64, strides=[1, 1]))
        x = mb.clip(x=conv(x, 64, strides=[2, 2]), alpha=0.0, beta=float(np.finfo(np.float32).max))
        return mb.linear(x=mb.reduce_mean(x=x, axes=[2, 3], keep_dims=False), weight=numbers(10, 64))

    return program(body, (1, 3, 64, 64))


@dataclass(eq=False)
class Made:
    """A value of a program by hand."""

    name: str
    shape: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        coremltools()
        from coremltools.converters.mil.mil import types

        return types.fp16


def by_hand(*steps: tuple[str, dict[str, Any], tuple[int, ...]]) -> Program:
    """Operators one after another, each with its constants and the shape of its result."""
    value: Any = Made("x", (1, 4, 8, 16))
    first, made = value, []
    constants: dict[Any, Value] = {}
    for index, (op_type, given, shape) in enumerate(steps):
        inputs = {"x": value}
        for key, number in given.items():
            inputs[key] = Made(f"{key}_{index}", ())
            constants[inputs[key]] = torch.tensor(number)
        value = Made(f"value_{index}", shape)
        made.append(Step(f"{op_type}_{index}", op_type, inputs, [Result(value, value.name, "float", True, "fp16")], []))
    return Program(Path("none"), {}, [value.name], Block([first], made, [value]), constants)


def traced(
    module: nn.Module,
    shape: Sequence[Any],
    target: str = "iOS18",
    change: Callable[[Any], Any] = lambda model: model,
    **more: Any,
) -> Program:
    """A torch module as a program; `change` may compress the converted model."""
    ct = coremltools()
    with tempfile.TemporaryDirectory() as folder, quiet(), torch.no_grad():
        example = torch.zeros([size if isinstance(size, int) else 2 for size in shape])
        graph = torch.jit.trace(module.eval(), (example,))  # type: ignore[no-untyped-call]
        kinds = [ct.TensorType(name="x", shape=tuple(shape), dtype=np.float16)]
        options = {"minimum_deployment_target": getattr(ct.target, target), "skip_model_load": True, **more}
        model = change(ct.convert(graph, inputs=kinds, outputs=[ct.TensorType(dtype=np.float16)], **options))
        path = Path(folder) / "m.mlpackage"
        model.save(str(path))
        return load_program(path)


def compressed(how: str, **options: Any) -> Program:
    """A linear layer of 64 x 64 with its weights stored as `how` says."""
    optimize = coremltools().optimize.coreml
    settings = {
        "linear": (optimize.OpLinearQuantizerConfig, optimize.linear_quantize_weights),
        "palette": (optimize.OpPalettizerConfig, optimize.palettize_weights),
        "magnitude": (optimize.OpMagnitudePrunerConfig, optimize.prune_weights),
    }
    config, change = settings[how]
    whole = optimize.OptimizationConfig(global_config=config(weight_threshold=0, **options))
    torch.manual_seed(0)
    return traced(nn.Linear(64, 64), (1, 64), change=lambda model: change(model, whole))


class Counting(nn.Module):
    """Keeps the sum of what it was given."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1, 64))

    def forward(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total * 2


def counting() -> Program:
    """A program with a state that it writes."""
    ct = coremltools()
    state = ct.StateType(wrapped_type=ct.TensorType(shape=(1, 64), dtype=np.float16), name="total")
    return traced(Counting(), (1, 64), states=[state])


class Flat(nn.Module):
    """Makes a vector of each sample, by the size that it asks for."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], 64) * 2


def open_batch() -> Program:
    """A program with a batch of 1 to 8."""
    return traced(Flat(), (coremltools().RangeDim(1, 8), 4, 16), "iOS17")


def repeated(value: Any, *layers: Callable[[Any], Any]) -> Any:
    """One layer after another."""
    return list(itertools.accumulate(layers, lambda one, layer: layer(one), initial=value))[-1]


class PitchLike(nn.Module):
    """The shape of a small pitch detector: log, wide kernels along frequency, two maps of other sizes out."""

    def __init__(self) -> None:
        super().__init__()
        wide = nn.Conv2d(8, 8, (3, 39), padding="same")
        self.contour = nn.Sequential(nn.Conv2d(4, 8, 5, padding=2), nn.BatchNorm2d(8), nn.ReLU(), wide)
        self.note = nn.Conv2d(8, 1, (7, 7), stride=(1, 3), padding=3)

    def forward(self, x: Tensor) -> Tensor:
        map_ = torch.sigmoid(self.contour(torch.log(x * x + 1e-6)))
        return torch.cat([torch.sigmoid(self.note(map_)).flatten(1), map_.mean(1).flatten(1)], 1)
