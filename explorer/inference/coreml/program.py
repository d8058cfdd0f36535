"""An ML Program read from an .mlpackage into a plain list of steps."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from explorer.errors import ExplorerError
from explorer.inference.coreml.package import function_description, read_package
from explorer.inference.coreml.ports import Port, State, port_of
from explorer.inference.coreml.registry import Value

Name = Any  # a MIL Var: hashable, unique within a program

__all__ = ["Block", "Name", "Port", "Program", "Result", "State", "Step", "constant_value", "load_program", "operation_inputs"]


@dataclass(frozen=True)
class Result:
    """One output of a step: `kind` is float, bool, int or other, `dtype` MIL's name such as fp16; `half` says that it is fp16."""

    variable: Name
    name: str
    kind: str
    half: bool
    dtype: str = ""


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
    """A loaded program; `constants` are shared by every evaluation, `declares_half` is true when any value is typed float16.

    `functions` names all that the package holds, `function` the one loaded here; `classes` are a classifier's labels.
    """

    path: Path
    inputs: dict[str, Port]
    outputs: list[str]
    body: Block
    constants: dict[Name, Value] = field(repr=False)
    declares_half: bool = False
    states: dict[str, State] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    function: str = "main"
    classes: list[str | int] = field(default_factory=list)
    decoded: dict[Name, Any] = field(default_factory=dict, repr=False, compare=False)
    plans: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def steps(self) -> Iterator[Step]:
        """Every step, nested ones too."""
        return _walk(self.body)


def load_program(package: Path | str, function: str | None = None) -> Program:
    """Read a function of an .mlpackage, its default one unless named.

    Raises `ExplorerError` when it is not one, is damaged, lacks its weights or holds no ML Program.
    """
    path = Path(package)
    loaded, spec = read_package(path)
    names = list(loaded.functions)
    chosen = function or spec.description.defaultFunctionName or ("main" if "main" in names else names[0])
    if chosen not in names:
        raise ExplorerError(f"{path} has no function {chosen}", f"it has {', '.join(names)}")
    try:
        return _program(path, loaded.functions[chosen], function_description(spec, chosen), names, chosen)
    except (ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        raise ExplorerError(f"{path} cannot be read ({error})", "write the package again") from error


def program_in_memory(function: Any, name: str) -> Program:
    """A function of a program that coremltools holds, as it stands now: what changes it later leaves this copy alone.

    `name` stands for the file in messages. What only a written package declares (bounds, enumerated shapes) is missing.
    """
    from coremltools.proto import Model_pb2

    return _program(Path(name), function, Model_pb2.ModelDescription(), ["main"], "main")


def _program(path: Path, function: Any, description: Any, names: list[str], chosen: str) -> Program:
    constants: dict[Name, Value] = {}
    states = {name: State(name, item, *_state_type(item)) for name, item in function.inputs.items() if _is_state(item)}
    tensors = {name: variable for name, variable in function.inputs.items() if name not in states}
    body = _block(list(tensors.values()), function, constants)
    ports = [port_of(name, variable, description) for name, variable in tensors.items()]
    program = Program(
        path, {port.name: port for port in ports}, [item.name for item in function.outputs], body, constants,
        states=states, functions=names, function=chosen,
    )  # fmt: skip
    halves = [result.half for step in program.steps() for result in step.results]
    program.declares_half = any(halves) or any(port.half for port in ports)
    program.classes = _classes(program)
    return program


def _is_state(variable: Name) -> bool:
    from coremltools.converters.mil.mil import types

    return bool(types.is_state(variable.sym_type))


def _state_type(variable: Name) -> tuple[tuple[int, ...], bool, bool]:
    """Shape, whether it is half, whether it holds integers."""
    from coremltools.converters.mil.mil import types

    inner = variable.sym_type.wrapped_type()
    dtype = inner.get_primitive()
    return tuple(int(size) for size in inner.get_shape()), dtype == types.fp16, not types.is_float(dtype)


def _classes(program: Program) -> list[str | int]:
    step = next((step for step in program.steps() if step.op_type == "classify"), None)
    found = program.constants.get(step.inputs["classes"]) if step is not None else None
    return [item if isinstance(item, str) else int(np.asarray(item)) for item in found] if isinstance(found, tuple) else []


def _block(inputs: list[Name], block: Any, constants: dict[Name, Value]) -> Block:
    steps = []
    for operation in block.operations:
        if operation.op_type == "const":
            # coremltools leaves some behind that nothing reads, whose value may be none that there is a type for.
            if _is_read(operation.outputs[0]):
                constants[operation.outputs[0]] = constant_value(operation.outputs[0])
        else:
            nested = [_block(list(inner.inputs), inner, constants) for inner in operation.blocks]
            results = [_result(variable) for variable in operation.outputs]
            steps.append(Step(operation.name, operation.op_type, operation_inputs(operation), results, nested))
    return Block(inputs, steps, list(block.outputs))


def _is_read(variable: Name) -> bool:
    return bool(variable.child_ops or variable.consuming_blocks)


def operation_inputs(operation: Any) -> dict[str, Name | tuple[Name, ...]]:
    """Variables only: control flow also carries Python functions, which the loader makes up."""
    found = {key: tuple(value) if isinstance(value, list | tuple) else value for key, value in operation.inputs.items()}
    return {key: value for key, value in found.items() if not key.startswith("_") and value is not None}


def _result(variable: Name) -> Result:
    from coremltools.converters.mil.mil import types

    if not (types.is_tensor(variable.sym_type) or types.is_scalar(variable.sym_type)):
        return Result(variable, variable.name, "other", False)
    dtype = variable.dtype
    kind = "float" if types.is_float(dtype) else "bool" if types.is_bool(dtype) else "int" if types.is_int(dtype) else "other"
    return Result(variable, variable.name, kind, dtype == types.fp16, types.builtin_to_string(dtype))


def constant_value(variable: Name) -> Value:
    value = variable.val
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) or hasattr(value, "ls"):
        return tuple(_listed(item) for item in (value.ls if hasattr(value, "ls") else value))
    return _constant(np.asarray(value))


def _listed(item: Any) -> Value:
    return item if isinstance(item, str) else _constant(np.asarray(item))


def _constant(array: np.ndarray[Any, Any]) -> Value:
    """Floats as float32 and integers as int64, but stored 8-bit weights as they are."""
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
