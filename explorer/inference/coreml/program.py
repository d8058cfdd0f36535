"""An ML Program read from an .mlpackage into a plain list of steps."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.inference.coreml.registry import Value

UNBOUNDED_BATCH = 64
Name = Any  # a MIL Var: hashable, unique within a program


@dataclass(frozen=True)
class Port:
    """A declared input: None stands for a flexible dimension, `max_batch` for the most that the first one may be."""

    name: str
    shape: tuple[int | None, ...]
    half: bool
    integer: bool
    max_batch: int


@dataclass(frozen=True)
class Result:
    """One output of a step, and whether the program declares it float, half, or boolean (else integer)."""

    variable: Name
    name: str
    kind: str
    half: bool


@dataclass(frozen=True)
class Step:
    """One operation: `inputs` by MIL's names, a tuple for a list of values; `blocks` hold nested steps."""

    name: str
    op_type: str
    inputs: dict[str, Name | tuple[Name, ...]]
    results: list[Result]
    blocks: list["Block"]


@dataclass
class Block:
    """Steps in order, with the variables that go in and come out."""

    inputs: list[Name]
    steps: list[Step]
    outputs: list[Name]


@dataclass
class Program:
    """A loaded program; `constants` are shared by every evaluation, `declares_half` is true when any value is typed float16."""

    path: Path
    inputs: dict[str, Port]
    outputs: list[str]
    body: Block
    constants: dict[Name, Value] = field(repr=False)
    declares_half: bool = False

    def steps(self) -> Iterator[Step]:
        """Every step, nested ones too."""
        return _walk(self.body)


def load_program(package: Path | str) -> Program:
    """Read an .mlpackage; raises `ExplorerError` when it is not one, is damaged or holds no ML Program."""
    path = Path(package)
    model = _model_file(path)
    ct = coremltools()
    try:
        with quiet():
            from coremltools.converters.mil.frontend.milproto import load as milproto

            spec = ct.utils.load_spec(str(model))
            if spec.WhichOneof("Type") != "mlProgram":
                raise ExplorerError(f"{path} holds a {spec.WhichOneof('Type')}, not an ML Program", "convert it again")
            loaded = milproto.load(spec, spec.specificationVersion, file_weights_dir=str(model.parent / "weights"))
    except ExplorerError:
        raise
    except Exception as error:
        raise ExplorerError(f"{path} cannot be read ({_first_line(error)})", "write the package again") from error
    return _program(path, loaded, spec.description)


def _model_file(path: Path) -> Path:
    try:
        manifest = json.loads((path / "Manifest.json").read_text(encoding="utf-8"))
        entry = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]
        return path / "Data" / str(entry["path"])
    except (OSError, ValueError, KeyError, TypeError):
        raise ExplorerError(f"{path} is not an .mlpackage", "give the folder that a Core ML conversion wrote") from None


def _program(path: Path, loaded: Any, description: Any) -> Program:
    function = loaded.functions[description.defaultFunctionName or "main"]
    constants: dict[Name, Value] = {}
    body = _block(list(function.inputs.values()), function, constants)
    ports = [_port(name, variable, description) for name, variable in function.inputs.items()]
    program = Program(path, {port.name: port for port in ports}, [item.name for item in function.outputs], body, constants)
    halves = [result.half for step in program.steps() for result in step.results]
    program.declares_half = any(halves) or any(port.half for port in ports)
    return program


def _block(inputs: list[Name], block: Any, constants: dict[Name, Value]) -> Block:
    steps = []
    for operation in block.operations:
        if operation.op_type == "const":
            constants[operation.outputs[0]] = constant_value(operation.outputs[0])
        else:
            nested = [_block(list(inner.inputs), inner, constants) for inner in operation.blocks]
            results = [_result(variable) for variable in operation.outputs]
            steps.append(Step(operation.name, operation.op_type, operation_inputs(operation), results, nested))
    return Block(inputs, steps, list(block.outputs))


def operation_inputs(operation: Any) -> dict[str, Name | tuple[Name, ...]]:
    """Variables only: control flow also carries Python functions, which the loader makes up."""
    found = {key: tuple(value) if isinstance(value, list | tuple) else value for key, value in operation.inputs.items()}
    return {key: value for key, value in found.items() if not key.startswith("_")}


def _result(variable: Name) -> Result:
    from coremltools.converters.mil.mil import types

    kind = "float" if types.is_float(variable.dtype) else "bool" if types.is_bool(variable.dtype) else "int"
    return Result(variable, variable.name, kind, variable.dtype == types.fp16)


def _port(name: str, variable: Name, description: Any) -> Port:
    from coremltools.converters.mil.mil import types

    shape = tuple(int(size) if isinstance(size, int | np.integer) else None for size in variable.shape)
    declared = next((item for item in description.input if item.name == name), None)
    array = declared.type.multiArrayType if declared is not None else None
    ranges = array.shapeRange.sizeRanges if array is not None else []
    batch = (shape[0] or 0) if shape else 1
    if not batch:
        upper = int(ranges[0].upperBound) if len(ranges) else 1
        batch = upper if upper > 0 else UNBOUNDED_BATCH
    return Port(name, shape, variable.dtype == types.fp16, not types.is_float(variable.dtype), batch)


def constant_value(variable: Name) -> Value:
    value = variable.val
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "U":
        return str(array)
    if array.dtype.kind == "f":
        array = array.astype(np.float32)
    elif array.dtype.kind in "iu" and (array.dtype.itemsize > 1 or array.size == 1):
        array = array.astype(np.int64)
    else:
        array = array.copy()
    return torch.from_numpy(array)


def _walk(block: Block) -> Iterator[Step]:
    for step in block.steps:
        yield step
        for inner in step.blocks:
            yield from _walk(inner)


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__
