"""Walking the graphs of an ONNX file: nodes, and the tensors in initializers, Constant nodes and nested graphs."""

from dataclasses import dataclass, field

from explorer.models.bounds import TENSOR_LIMIT, clean
from explorer.models.dtypes import BITS, bytes_of, elements_of
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.model_results import TensorInfo

DTYPES = (
    "undefined", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "float64",
    "uint32", "uint64", "complex64", "complex128", "bfloat16",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4", "float4_e2m1fn", "float8_e8m0fnu",
    "uint2", "int2",
)  # fmt: skip
DEPTH_LIMIT = 32
OPERATOR_LIMIT = 10_000
LOCATION_LIMIT = 10_000
SIZE_LIMIT = 1 << 62


@dataclass(frozen=True)
class External:
    """Where a tensor lies outside the file; `length` is -1 for the rest of that file."""

    location: str
    offset: int
    length: int


@dataclass
class Found:
    """What the walk has found. `places` says by number which tensors lie in other files, `short` which hold wrong bytes."""

    tensors: list[TensorInfo] = field(default_factory=list)
    operators: dict[str, int] = field(default_factory=dict)
    locations: dict[str, None] = field(default_factory=dict)
    places: dict[int, External] = field(default_factory=dict)
    short: list[str] = field(default_factory=list)
    sparse: int = 0


def walk(wire: Wire, graph: Span, found: Found, depth: int) -> None:
    """GraphProto: nodes 1, initializers 5, sparse initializers 15."""
    if depth > DEPTH_LIMIT:
        raise WireError(f"graphs nested deeper than {DEPTH_LIMIT}")
    for number, _, value in wire.fields(graph):
        if isinstance(value, tuple) and number == 1:
            _node(wire, value, found, depth)
        elif isinstance(value, tuple) and number == 5:
            _tensor(wire, value, found, "")
        elif isinstance(value, tuple) and number == 15:
            found.sparse += 1
            _tensor(wire, wire.first(value, 1) or (0, 0), found, "")


def walk_functions(wire: Wire, found: Found) -> set[str]:
    """Walk the functions that the file defines (field 25: name 1, nodes 7, domain 10); their names with their domains."""
    names: set[str] = set()
    for function in wire.spans(wire.whole, 25):
        domain = clean(wire.text(wire.first(function, 10)))
        names.add(f"{domain}.{clean(wire.text(wire.first(function, 1)))}")
        for node in wire.spans(function, 7):
            _node(wire, node, found, 0)
    return names


def _node(wire: Wire, node: Span, found: Found, depth: int) -> None:
    """NodeProto: output 2, operator 4, attributes 5, domain 7."""
    parts: dict[int, Span] = {}
    attributes: list[Span] = []
    for number, _, value in wire.fields(node):
        if isinstance(value, tuple):
            parts.setdefault(number, value)
            if number == 5:
                attributes.append(value)
    operator = clean(wire.text(parts.get(4)), 200)
    domain = clean(wire.text(parts.get(7)), 200)
    name = f"{domain}.{operator}" if domain not in ("", "ai.onnx") else operator
    if name not in found.operators and len(found.operators) >= OPERATOR_LIMIT:
        raise WireError(f"more than {OPERATOR_LIMIT} kinds of operators")
    found.operators[name] = found.operators.get(name, 0) + 1
    output = clean(wire.text(parts.get(2))) if operator == "Constant" else ""
    for attribute in attributes:
        _attribute(wire, attribute, found, output, depth)


def _attribute(wire: Wire, attribute: Span, found: Found, output: str, depth: int) -> None:
    """AttributeProto: tensor 5, graph 6, graphs 11, sparse tensor 22."""
    for number, _, value in wire.fields(attribute):
        if not isinstance(value, tuple):
            continue
        if number == 5 and output:
            _tensor(wire, value, found, output)
        elif number == 22 and output:
            found.sparse += 1
            _tensor(wire, wire.first(value, 1) or (0, 0), found, output)
        elif number in (6, 11):
            walk(wire, value, found, depth + 1)


def _tensor(wire: Wire, tensor: Span, found: Found, name: str) -> None:
    """TensorProto: sizes 1, element type 2, name 8, raw bytes 9, keys and values of external data 13."""
    shape: list[int] = []
    code, raw = 0, -1
    external: dict[str, str] = {}
    for number, _, value in wire.fields(tensor):
        if number == 1:
            shape.extend([value] if isinstance(value, int) else wire.packed(value))
        elif number == 2 and isinstance(value, int):
            code = value
        elif number == 8 and isinstance(value, tuple):
            name = name or clean(wire.text(value))
        elif number == 9 and isinstance(value, tuple):
            raw = value[1] - value[0]
        elif number == 13 and isinstance(value, tuple):
            external[clean(wire.text(wire.first(value, 1)), 20)] = clean(wire.text(wire.first(value, 2)))
    if any(not 0 <= size < SIZE_LIMIT for size in shape) or len(shape) > 64:
        raise WireError(f"tensor {name[:100]} has a wrong shape")
    dtype = DTYPES[code] if code < len(DTYPES) else f"type {code}"
    _add(found, TensorInfo(name=name, shape=shape, dtype=dtype, bytes=bytes_of(dtype, elements_of(shape))), raw, external)


def _add(found: Found, tensor: TensorInfo, raw: int, external: dict[str, str]) -> None:
    if len(found.tensors) >= TENSOR_LIMIT:
        raise WireError(f"more than {TENSOR_LIMIT} tensors")
    if external.get("location"):
        place = External(external["location"], _number(external, "offset", 0), _number(external, "length", -1))
        if len(found.locations) >= LOCATION_LIMIT:
            raise WireError(f"more than {LOCATION_LIMIT} external files")
        found.locations[place.location] = None
        found.places[len(found.tensors)] = place
    elif raw >= 0 and raw != tensor.bytes and tensor.dtype in BITS:
        found.short.append(tensor.name)
    found.tensors.append(tensor)


def _number(external: dict[str, str], key: str, default: int) -> int:
    text = external.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else default
