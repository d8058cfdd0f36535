"""The layers of a Core ML neural network, and what each stores of weights.

Field numbers: https://github.com/apple/coremltools/blob/main/mlmodel/format/NeuralNetwork.proto
"""

from collections.abc import Iterator

from explorer.models.bounds import clean
from explorer.models.coreml_layers import LAYERS, WEIGHTS
from explorer.models.dtypes import bytes_of, elements_of
from explorer.models.wire import Span, Wire, WireError
from explorer.schemas.model_results import TensorInfo

DEPTH_LIMIT = 16
CONVOLUTION, INNER_PRODUCT, EMBEDDING, EMBEDDING_ND, CUSTOM = 100, 140, 150, 1040, 500
BRANCH, LOOP = 605, 615
NESTED = {BRANCH: (1, 2), LOOP: (3, 4)}


class Network:
    """What the walk has found: tensors in order, layers by type, classes that custom layers need."""

    def __init__(self) -> None:
        self.tensors: list[TensorInfo] = []
        self.layers: dict[str, int] = {}
        self.custom: dict[str, None] = {}


def walk_network(wire: Wire, network: Span, found: Network, depth: int = 0) -> None:
    """NeuralNetwork: layers 1."""
    if depth > DEPTH_LIMIT:
        raise WireError(f"networks nested deeper than {DEPTH_LIMIT}")
    for layer in wire.spans(network, 1):
        _layer(wire, layer, found, depth)


def _layer(wire: Wire, layer: Span, found: Network, depth: int) -> None:
    """NeuralNetworkLayer: name 1, its type and parameters in one field from 100 on."""
    name, number, parameters = "", 0, (0, 0)
    for field, _, value in wire.fields(layer):
        if field == 1 and isinstance(value, tuple):
            name = clean(wire.text(value))
        elif field >= 100 and isinstance(value, tuple):
            number, parameters = field, value
    kind = LAYERS.get(number, f"layer {number}")
    found.layers[kind] = found.layers.get(kind, 0) + 1
    if number == CUSTOM:
        found.custom[clean(wire.text(wire.first(parameters, 10)))] = None
    for path, label in WEIGHTS.get(number, ()):
        found.tensors.extend(_tensors(wire, parameters, path, f"{name}.{label}", number))
    for field in NESTED.get(number, ()):
        nested = wire.first(parameters, field)
        if nested is not None:
            walk_network(wire, nested, found, depth + 1)


def _tensors(wire: Wire, parameters: Span, path: tuple[int, ...], name: str, number: int) -> Iterator[TensorInfo]:
    for place, weights in enumerate(_all(wire, parameters, path)):
        dtype, elements = _stored(wire, weights)
        if elements:
            shape = _shape(wire, parameters, number, elements) if name.endswith(".weights") else [elements]
            yield TensorInfo(name=f"{name}.{place}" if place else name, shape=shape, dtype=dtype, bytes=bytes_of(dtype, elements))


def _all(wire: Wire, span: Span, path: tuple[int, ...]) -> Iterator[Span]:
    """Every message at a path of field numbers: a bidirectional layer has its weights twice."""
    for nested in wire.spans(span, path[0]):
        if len(path) > 1:
            yield from _all(wire, nested, path[1:])
        else:
            yield nested


def _stored(wire: Wire, weights: Span) -> tuple[str, int]:
    """WeightParams: float32 in 1, float16 bytes in 2, packed bits in 30 with their number in 40 > 1, int8 bytes in 31."""
    found = {number: value for number, _, value in wire.fields(weights) if isinstance(value, tuple) and value[1] > value[0]}
    lengths = {number: span[1] - span[0] for number, span in found.items()}
    if 1 in lengths:
        return "float32", lengths[1] // 4
    if 2 in lengths:
        return "float16", lengths[2] // 2
    if 31 in lengths:
        return "int8", lengths[31]
    bits = wire.integer(found[40], 1) if 40 in found else 8
    return (f"uint{bits}", lengths[30] * 8 // bits) if 30 in lengths and 1 <= bits <= 8 else ("unknown", 0)


def _shape(wire: Wire, parameters: Span, number: int, elements: int) -> list[int]:
    """The layer's own sizes where they fit the number of elements, else one dimension."""
    first, second = wire.integer(parameters, 1), wire.integer(parameters, 2)
    if number == CONVOLUTION:
        shape = [first, second, *wire.integers(parameters, 20)]
    elif number in (INNER_PRODUCT, EMBEDDING, EMBEDDING_ND):
        shape = [second, first]
    else:
        return [elements]
    return shape if len(shape) < 8 and max(shape) < 1 << 40 and elements_of(shape) == elements else [elements]
