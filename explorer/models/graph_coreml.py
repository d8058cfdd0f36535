"""The operations of an ML Program, with literals as attributes: of the constants only weights keep their names."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from explorer.models.coreml_file import describe, describe_spec
from explorer.models.mil_program import Block, Operation, Value, operations, read_blocks
from explorer.schemas.model_results import GraphResult, Operator

SHOWN_NUMBERS = 16
SHOWN_CHARACTERS = 200


def read(path: Path) -> GraphResult:
    """Raises `ExplorerError` when the package is damaged or holds no ML Program."""
    described = describe(path) if path.is_dir() else describe_spec(path)
    blocks = read_blocks(path)
    literals = {
        operation.name: operation.attributes["val"]
        for operation in operations(blocks)
        if operation.type == "const" and "val" in operation.attributes and not operation.attributes["val"].file
    }
    listed = [operator for block in blocks for operator in _operators(block, "", literals)]
    stored = {tensor.name for tensor in described.tensors}
    return GraphResult(
        source=str(path),
        format=described.format,
        inputs=described.inputs,
        outputs=described.outputs,
        operators=listed,
        weights=list(dict.fromkeys(name for operator in listed for name in operator.inputs if name in stored)),
    )


def _operators(block: Block, outer: str, literals: dict[str, Value]) -> Iterator[Operator]:
    for operation in block.operations:
        if operation.type == "const":
            continue
        yield _operator(operation, outer, literals)
        for nested in operation.blocks:
            yield from _operators(nested, operation.name, literals)


def _operator(operation: Operation, outer: str, literals: dict[str, Value]) -> Operator:
    """Blobs bound to an operation itself are called as its description calls them: by operation and argument."""
    inputs: list[str] = []
    attributes = {key: _words(value) for key, value in operation.attributes.items() if key != "name" and not value.file}
    for key, value in operation.attributes.items():
        if value.file:
            inputs.append(f"{operation.name}.{key}")
    for key, bound in operation.inputs.items():
        for item in bound:
            if isinstance(item, str) and item not in literals:
                inputs.append(item)
            elif isinstance(item, Value) and item.file:
                inputs.append(f"{operation.name}.{key}")
            else:
                attributes[key] = _words(item if isinstance(item, Value) else literals[item])
    return Operator(
        name=operation.name,
        type=operation.type,
        inputs=inputs,
        outputs=operation.outputs,
        attributes=attributes,
        block=outer,
    )


def _words(value: Value) -> str:
    """A number or text as it is, a short list in brackets, of a long one its type and shape."""
    numbers = value.numbers
    if numbers is None or len(numbers) > SHOWN_NUMBERS:
        return f"{value.dtype} {list(value.shape)}"
    if not value.shape and len(numbers) == 1:
        return _word(numbers[0])
    return "[" + ", ".join(_word(item) for item in numbers) + "]"


def _word(item: Any) -> str:
    return f"{item:g}" if isinstance(item, float) else str(item)[:SHOWN_CHARACTERS]
