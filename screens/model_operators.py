"""The operators of a graph as rows to fold: nested blocks below their operator, or all below the modules they came from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from explorer.schemas.model_results import GraphResult, Operator

OPEN_LIMIT = 400
LEVELS = 64


@dataclass
class OperatorNode:
    """An operator with its nested blocks, or (without one) a module; `count` is of the operators in it."""

    name: str
    key: str
    operator: Operator | None = None
    children: list[OperatorNode] = field(default_factory=list)
    count: int = 0


@dataclass(frozen=True)
class OperatorRow:
    """A node in view, `depth` levels in; `parent` is the key of what it is in."""

    node: OperatorNode
    depth: int
    is_open: bool
    parent: str


def by_block(graph: GraphResult) -> list[OperatorNode]:
    """The operators in order, those of a nested block below the operator that has it."""
    nodes = {item.name: OperatorNode(item.name, item.name, item, count=1) for item in graph.operators}
    top: list[OperatorNode] = []
    for item in graph.operators:
        above = nodes.get(item.block) if item.block and item.block != item.name else None
        (above.children if above is not None else top).append(nodes[item.name])
    return _reachable(top, nodes)


def by_module(graph: GraphResult) -> list[OperatorNode]:
    """The modules in the order of their first operator, each with its operators; what is of no module stays at the top."""
    root = OperatorNode("", "")
    modules: dict[str, OperatorNode] = {"": root}
    for node in by_block(graph):
        path = node.operator.module if node.operator is not None else ""
        _module(path, modules).children.append(node)
    for module in reversed(list(modules.values())):
        module.count = sum(child.count for child in module.children)
    return root.children


def has_modules(graph: GraphResult) -> bool:
    """Whether any operator says which module it came from."""
    return any(item.module for item in graph.operators)


def rows(top: Sequence[OperatorNode], opened: set[str], text: str = "") -> list[OperatorRow]:
    """What is in view; with `text`, every operator whose name, type, inputs or module holds it, without folds."""
    if text:
        return [OperatorRow(node, 0, False, "") for node, _ in walk(top) if _has(node.operator, text.lower())]
    found: list[OperatorRow] = []
    stack = [(node, 0, "") for node in reversed(top)]
    while stack:
        node, depth, parent = stack.pop()
        is_open = bool(node.children) and node.key in opened
        found.append(OperatorRow(node, depth, is_open, parent))
        if is_open:
            stack += [(child, depth + 1, node.key) for child in reversed(node.children)]
    return found


def walk(top: Sequence[OperatorNode]) -> Iterator[tuple[OperatorNode, tuple[str, ...]]]:
    """Every node in order with the keys of those above it."""
    stack: list[tuple[OperatorNode, tuple[str, ...]]] = [(node, ()) for node in reversed(top)]
    while stack:
        node, above = stack.pop()
        yield node, above
        stack += [(child, (*above, node.key)) for child in reversed(node.children)]


def open_at_first(top: Sequence[OperatorNode]) -> set[str]:
    """Everything while it is a list to scroll through, else nothing."""
    nodes = [node for node, _ in walk(top)]
    return {node.key for node in nodes if node.children} if len(nodes) <= OPEN_LIMIT else set()


def uses(graph: GraphResult, name: str) -> list[Operator]:
    """The operators that read a tensor of this name, in order."""
    return [item for item in graph.operators if name in item.inputs]


def _module(path: str, modules: dict[str, OperatorNode]) -> OperatorNode:
    """The node of a module, made with all modules above it."""
    parts = path.split(".", LEVELS) if path else []
    node = modules[""]
    for end, name in enumerate(parts, start=1):
        key = ".".join(parts[:end])
        if key not in modules:
            modules[key] = OperatorNode(name, f"module:{key}")
            node.children.append(modules[key])
        node = modules[key]
    return node


def _reachable(top: list[OperatorNode], nodes: dict[str, OperatorNode]) -> list[OperatorNode]:
    """Blocks that are in each other in a circle stand at the top; counts are summed from below."""
    order = [node for node, _ in walk(top)]
    seen = {node.key for node in order}
    for node in nodes.values():
        if node.key not in seen:
            node.children = []
            top.append(node)
            seen.add(node.key)
    for node in reversed(order):
        node.count = 1 + sum(child.count for child in node.children)
    return top


def _has(operator: Operator | None, text: str) -> bool:
    if operator is None:
        return False
    named = (operator.name, operator.type, operator.module, *operator.inputs, *(port.name for port in operator.outputs))
    return any(text in name.lower() for name in named)
