"""Inputs and outputs of a conversion: names, shapes and types, from the source's example and from what the user declares."""

import copy
import dataclasses
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from explorer.conversion.declared import DeclaredInput, Dim, ImageOptions, Shape, declared_images, declared_inputs
from explorer.conversion.flat import Adapter, Flat
from explorer.conversion.source import Source
from explorer.conversion.structure import Path, filled, leaves
from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import quiet
from explorer.inference.torch_settings import plain_attention
from explorer.models.sources import LoadedModel
from explorer.models.user_code import blamed, is_out_of_memory
from explorer.schemas.specs import ConvertSpec

__all__ = ["Dim", "ImageOptions", "InputPort", "Shape", "Traced", "exported", "flattened", "opened", "run_flat", "shape_words"]

MAX_BATCH = 64
EXAMPLE_SEED = 0
NARROW = (torch.float16, torch.bfloat16, torch.float64)


@dataclass(frozen=True)
class InputPort:
    """One input: several `shapes` are enumerated, (low, high) is a range; `dtype` is what the converted model takes."""

    name: str
    shapes: list[Shape]
    dtype: torch.dtype
    image: ImageOptions | None = None

    @property
    def shape(self) -> Shape:
        return self.shapes[0]

    @property
    def is_fixed(self) -> bool:
        return len(self.shapes) == 1 and all(isinstance(size, int) for size in self.shape)

    def words(self) -> str:
        """Such as image 1x3x64..512x64..512 float32."""
        shapes = " | ".join(map(shape_words, self.shapes))
        return f"{self.name} {shapes} {str(self.dtype).removeprefix('torch.')}{f' {self.image.layout}' if self.image else ''}"


@dataclass(frozen=True)
class Traced:
    """A flat `module` (tensors by position in, a tuple of tensors out) with its ports and an example for each.

    `original` is what the user wrote; `notes` say what was changed to fit; `tied` are groups of (input, dimension) that
    always have one size; `exports` keeps what was exported in fixed shapes, by the identity of the module.
    """

    module: nn.Module
    inputs: list[InputPort]
    examples: tuple[Tensor, ...]
    outputs: list[str]
    original: nn.Module
    notes: list[str] = field(default_factory=list)
    tied: list[list[tuple[int, int]]] = field(default_factory=list)
    output_types: list[torch.dtype] = field(default_factory=list)
    open_batch: bool = False
    exports: dict[int, torch.export.ExportedProgram] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_fixed(self) -> bool:
        return all(port.is_fixed for port in self.inputs)


def flattened(loaded: Source | LoadedModel, spec: ConvertSpec, sample: Tensor | None = None) -> Traced:
    """The source with named ports; `sample` is an example input where the source has none or data gives a better one.

    Raises `ExplorerError` when no example is known, a declaration does not fit, or the source fails on its example.
    """
    source = loaded if isinstance(loaded, Source) else Source(loaded.module, loaded.example_inputs)
    declared = declared_inputs(spec.inputs)
    template = _template(source, spec, declared, sample)
    found = list(leaves(template))
    names = _input_names(source.module, [path for path, _ in found], spec, declared)
    images = declared_images(spec.image)
    for name in {*images, *(item.name for item in declared)} - set(names):
        raise ExplorerError(f"{spec.source} has no input {name}", f"its inputs are {', '.join(names)}")
    whole = spec.target == "coreml"
    pairs = [
        _port(
            name, tensor, next((item for item in declared if item.name == name), None), images.get(name) if whole else None, whole
        )
        for name, (_, tensor) in zip(names, found, strict=True)
    ]
    notes = [f"{port.name} is {_dtype(tensor.dtype)}; the Core ML program takes {_dtype(port.dtype)}"
             for (port, _, _), (_, tensor) in zip(pairs, found, strict=True) if tensor.dtype in NARROW and whole]  # fmt: skip
    module = source.module
    if whole and any(item.dtype in NARROW for item in module.state_dict().values()):
        module = copy.deepcopy(module).float()
        notes.append("weights in another precision than float32 were made float32 first")
    flat = Flat(module, template, [adapter for _, adapter, _ in pairs], whole)
    examples = tuple(example for _, _, example in pairs)
    raw = _first_run(flat, examples, spec)
    return Traced(
        flat, [port for port, _, _ in pairs], examples, _output_names(raw, spec), module, notes,
        _tied(flat, [port for port, _, _ in pairs], examples),
        [torch.int32 if whole and item.dtype == torch.bool else item.dtype for _, item in leaves(raw)],
    )  # fmt: skip


def run_flat(module: nn.Module, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The outputs of a flat module without gradients, its chatter dropped."""
    with quiet(), torch.no_grad(), plain_attention():
        found: tuple[Tensor, ...] = module(*inputs)
    return found


def exported(traced: Traced, module: nn.Module, dynamic_shapes: Any = None) -> torch.export.ExportedProgram:
    """torch.export of a flat module; in fixed shapes it is made once, for preflight and conversion."""
    if dynamic_shapes is None and id(module) in traced.exports:
        return traced.exports[id(module)]
    with quiet(), torch.no_grad(), plain_attention():
        program = torch.export.export(module, traced.examples, dynamic_shapes=dynamic_shapes)
    if dynamic_shapes is None:
        traced.exports[id(module)] = program
    return program


def opened(traced: Traced) -> Traced | None:
    """The same with an open batch size, 1 to MAX_BATCH, where every input has one; None where it cannot have."""
    sizes = {example.shape[0] if example.ndim else 0 for example in traced.examples}
    if len(sizes) != 1 or 0 in sizes or any(not port.is_fixed or port.image for port in traced.inputs):
        return None
    ports = [dataclasses.replace(port, shapes=[((1, MAX_BATCH), *port.shape[1:])]) for port in traced.inputs]
    # With one sample torch takes the batch size for a constant.
    examples = tuple(torch.cat([item, item]) if len(item) == 1 else item for item in traced.examples)
    tied = [[(index, 0) for index in range(len(ports))]]
    return dataclasses.replace(traced, inputs=ports, examples=examples, tied=tied, open_batch=True, exports={})


def _template(source: Source, spec: ConvertSpec, declared: list[DeclaredInput], sample: Tensor | None) -> Any:
    """Positional and keyword arguments of an example call."""
    given = (source.args, source.kwargs)
    count = sum(1 for _ in leaves(given))
    if sample is not None and count <= 1:
        return ((sample,), {}) if not count else _with(given, sample)
    if count:
        return given
    if not declared:
        raise ExplorerError(
            f"{spec.source} gives no example input",
            "return (module, (tensor,)) from the factory, give data, or declare the shape: --inputs input=1x3x224x224",
        )
    tensors = {item.name: _made(item, source.module) for item in declared}
    known = _parameters(source.module)
    if set(tensors) <= set(known) and len(declared) > 1:
        return (), tensors
    return tuple(tensors.values()), {}


def _with(given: Any, sample: Tensor) -> Any:
    """The arguments with the sample as their only tensor, where it has that tensor's shape."""
    own = next(tensor for _, tensor in leaves(given))
    if own.shape[1:] != sample.shape[1:]:
        return given
    return filled(given, [sample])


def _made(item: DeclaredInput, module: nn.Module) -> Tensor:
    dtype = item.dtype or torch.float32
    return _random(_example_shape(item.shapes[0], None), dtype, _vocabulary(module))


def _random(shape: Sequence[int], dtype: torch.dtype, high: int) -> Tensor:
    generator = torch.Generator().manual_seed(EXAMPLE_SEED)
    if dtype.is_floating_point:
        return torch.randn(tuple(shape), generator=generator).to(dtype)
    return torch.randint(0, 2 if dtype == torch.bool else high, tuple(shape), generator=generator).to(dtype)


def _vocabulary(module: nn.Module) -> int:
    """Below how many an integer is safe for every embedding."""
    return min((item.num_embeddings for item in module.modules() if isinstance(item, nn.Embedding)), default=2)


def _parameters(module: nn.Module) -> list[str]:
    if isinstance(module, torch.jit.ScriptModule):
        schema: Any = getattr(module.forward, "schema", None)
        return [item.name for item in schema.arguments[1:]] if schema else []
    try:
        items = inspect.signature(module.forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [item.name for item in items if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)]


def _input_names(module: nn.Module, paths: list[Path], spec: ConvertSpec, declared: list[DeclaredInput]) -> list[str]:
    """A name for each tensor: a single one is `input_name`; else parameters of forward with the keys below them."""
    if len(paths) == 1:
        return [declared[0].name if len(declared) == 1 else spec.input_name]
    known = _parameters(module)
    named = [_joined((known[int(path[1])] if int(path[1]) < len(known) else f"input_{path[1]}", *path[2:])) if path[0] == "0"
             else _joined(path[1:]) for path in paths]  # fmt: skip
    # With the words of their container left out where the rest is enough: batch_ids becomes ids.
    short = [_joined(path[-1:]) for path in paths]
    if all(len(path) > 2 and not path[-1].isdecimal() for path in paths) and len(set(short)) == len(short):
        named = short
    names = _unique(named)
    wanted = [item.name for item in declared]
    return wanted if len(wanted) == len(names) and not set(wanted) & set(names) else names


def _output_names(raw: Any, spec: ConvertSpec) -> list[str]:
    paths = [path for path, _ in leaves(raw)]
    if not paths:
        raise ExplorerError(f"{spec.source} gives no tensor", "return one from forward")
    if len(paths) == 1:
        key = "" if not paths[0] or paths[0][-1].isdecimal() or "output_name" in spec.model_fields_set else _joined(paths[0])
        return [key or spec.output_name]
    return _unique([_joined(path) if not path[0].isdecimal() else _joined((spec.output_name, *path)) for path in paths])


def _joined(path: Path) -> str:
    text = re.sub(r"\W+", "_", "_".join(path)).strip("_") or "value"
    return text if not text[0].isdecimal() else f"_{text}"


def _unique(names: list[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        found.append(name if name not in found else next(f"{name}_{n}" for n in range(1, 10_000) if f"{name}_{n}" not in found))
    return found


def _port(
    name: str, tensor: Tensor, declared: DeclaredInput | None, image: ImageOptions | None, coreml: bool
) -> tuple[InputPort, Adapter, Tensor]:
    """A port, what the source needs done to its values, and an example that fits both."""
    if tensor.is_complex():
        raise ExplorerError(f"the input {name} is complex", "take real and imaginary parts as two inputs")
    shapes: list[Shape] = declared.shapes if declared else [tuple(int(size) for size in tensor.shape)]
    if len(shapes[0]) != tensor.ndim:
        raise ExplorerError(
            f"the input {name} has {tensor.ndim} dimensions, {len(shapes[0])} are declared", "declare as many sizes"
        )
    dtype = (declared.dtype if declared else None) or tensor.dtype
    example = tensor.detach().cpu().to(dtype)
    wanted = _example_shape(shapes[0], tuple(tensor.shape))
    if tuple(example.shape) != wanted:
        example = _like(example, wanted)
    port_dtype = _core_dtype(dtype) if coreml else dtype
    scalar = coreml and not wanted
    if image is not None:
        _check_image(name, example, image)
        example = pixels(example, image)
    port = InputPort(name, [(1,)] if scalar else shapes, port_dtype, image)
    kept = None if port_dtype == tensor.dtype or (coreml and tensor.dtype in NARROW) else tensor.dtype
    example = example.to(port_dtype)
    return port, Adapter(kept, image, scalar), example.reshape(1) if scalar else example.contiguous()


def _core_dtype(dtype: torch.dtype) -> torch.dtype:
    return torch.float32 if dtype.is_floating_point else torch.int32


def _like(example: Tensor, shape: Sequence[int]) -> Tensor:
    if example.is_floating_point() or example.dtype == torch.bool:
        return _random(shape, example.dtype, 2)
    generator = torch.Generator().manual_seed(EXAMPLE_SEED)
    low, high = (int(example.min()), int(example.max())) if example.numel() else (0, 1)
    return torch.randint(low, high + 1, tuple(shape), generator=generator).to(example.dtype)


def _example_shape(shape: Shape, given: tuple[int, ...] | None) -> tuple[int, ...]:
    """Sizes within the declared ones, the given ones where they fit; at least 2 where open, since torch fixes a size of 1."""
    sizes = []
    for index, size in enumerate(shape):
        if isinstance(size, int):
            sizes.append(size)
        else:
            low, high = size
            wanted = given[index] if given else max(low, min(high, 8))
            sizes.append(min(max(wanted, low, min(2, high)), high))
    return tuple(sizes)


def _check_image(name: str, example: Tensor, image: ImageOptions) -> None:
    if example.ndim != 4 or example.shape[:2] != (1, image.channels) or not example.is_floating_point():
        given = "x".join(map(str, example.shape))
        raise ExplorerError(
            f"the input {name} is {given}, not a picture of 1x{image.channels}xHxW", "choose the layout that fits it"
        )


def pixels(example: Tensor, image: ImageOptions) -> Tensor:
    """Pixels 0 to 255 whose scaled values are nearest to the example."""
    shape = (1, image.channels, 1, 1)
    pixels = (example.float() - torch.tensor(image.offsets).reshape(shape)) / torch.tensor(image.multipliers).reshape(shape)
    return pixels.round().clamp(0, 255)


def _first_run(flat: Flat, examples: Sequence[Tensor], spec: ConvertSpec) -> Any:
    values = [adapter.apply(value) for adapter, value in zip(flat.adapters, examples, strict=True)]
    shapes = ", ".join("x".join(map(str, item.shape)) or "scalar" for item in examples)
    blame = blamed(f"{spec.source} fails on its example input of {shapes}", "check its example input")
    with blame, quiet(), torch.no_grad(), plain_attention():
        return flat.called(values)


def _tied(flat: Flat, ports: Sequence[InputPort], examples: Sequence[Tensor]) -> list[list[tuple[int, int]]]:
    """Open dimensions with one range that the source accepts together only, found by making one of them larger."""
    open_dims = [
        (index, axis) for index, port in enumerate(ports) for axis, size in enumerate(port.shape) if isinstance(size, tuple)
    ]
    groups: list[list[tuple[int, int]]] = []
    for place in open_dims:
        group = next(
            (
                item
                for item in groups
                if _same_range(item[0], place, ports) and not _independent(item[0], place, flat, ports, examples)
            ),
            None,
        )
        if group is None:
            groups.append([place])
        else:
            group.append(place)
    return groups


def _same_range(first: tuple[int, int], second: tuple[int, int], ports: Sequence[InputPort]) -> bool:
    return first[0] != second[0] and ports[first[0]].shape[first[1]] == ports[second[0]].shape[second[1]]


def _independent(
    first: tuple[int, int], second: tuple[int, int], flat: Flat, ports: Sequence[InputPort], examples: Sequence[Tensor]
) -> bool:
    """Whether the source runs when only the second dimension is another."""
    index, axis = second
    low, high = ports[index].shape[axis] if isinstance(ports[index].shape[axis], tuple) else (1, 1)  # type: ignore[misc]
    size = examples[index].shape[axis]
    other = size + 1 if size < high else size - 1
    if other < low or examples[first[0]].shape[first[1]] != size:
        return True
    changed = list(examples)
    changed[index] = torch.cat([examples[index], examples[index].narrow(axis, 0, 1)], axis).narrow(axis, 0, other)
    try:
        run_flat(flat, changed)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return False
    return True


def shape_words(shape: Shape) -> str:
    """Such as 1..64x10."""
    return "x".join(map(_size_words, shape)) or "scalar"


def _size_words(size: Dim) -> str:
    return str(size) if isinstance(size, int) else f"{size[0]}..{size[1]}"


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
