"""Tensors by the modules that their dotted names spell, with sums; no widget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from explorer.schemas.model_results import TensorInfo

OPEN_AT_FIRST = 40
LEVELS = 64  # a name of a million dots is a broken file, not a deep model


@dataclass
class Node:
    """A module with the sums over everything below it, or a leaf with its tensor."""

    name: str
    path: str
    tensor: TensorInfo | None = None
    children: dict[str, Node] = field(default_factory=dict)
    parameters: int = 0
    bytes: int = 0
    tensors: int = 0


@dataclass(frozen=True)
class TreeRow:
    """A node in view, `depth` levels in; `parent` is the path of its module."""

    node: Node
    depth: int
    is_open: bool
    parent: str


def tree(tensors: Iterable[TensorInfo]) -> Node:
    """The root over all tensors. A name that is both a tensor and a module gives two rows."""
    root = Node("", "")
    for tensor in tensors:
        _add(root, tensor)
    return root


def rows(root: Node, opened: set[str], text: str = "") -> list[TreeRow]:
    """What is in view: what opened modules hold; with `text`, the tensors whose name holds it, below their modules."""
    if text:
        root = tree(leaf for leaf in leaves(root) if text.lower() in leaf.name.lower())
    found: list[TreeRow] = []
    stack = [(child, 0, "") for child in reversed(root.children.values())]
    while stack:
        node, depth, parent = stack.pop()
        is_open = node.tensor is None and (bool(text) or node.path in opened)
        found.append(TreeRow(node, depth, is_open, parent))
        if is_open:
            stack += [(child, depth + 1, node.path) for child in reversed(node.children.values())]
    return found


def open_at_first(root: Node) -> set[str]:
    """The modules to show open: level after level while it stays a screenful."""
    opened: set[str] = set()
    level = [child for child in root.children.values() if child.tensor is None]
    shown = len(root.children)
    while level and shown + sum(len(node.children) for node in level) <= OPEN_AT_FIRST:
        opened |= {node.path for node in level}
        shown += sum(len(node.children) for node in level)
        level = [child for node in level for child in node.children.values() if child.tensor is None]
    return opened


def leaf_path(name: str) -> str:
    """The path of a tensor's row; a module of the same name has another."""
    return f"={name}"


def modules_above(name: str) -> set[str]:
    """The paths of the modules that hold a tensor."""
    parts = name.split(".", LEVELS)[:-1]
    return {".".join(parts[: end + 1]) for end in range(len(parts))}


def leaves(root: Node) -> Iterator[TensorInfo]:
    """Every tensor below, in order."""
    stack = [root]
    while stack:
        node = stack.pop()
        if node.tensor is not None:
            yield node.tensor
        stack += reversed(node.children.values())


def _add(root: Node, tensor: TensorInfo) -> None:
    *modules, last = tensor.name.split(".", LEVELS)
    size = math.prod(tensor.shape)
    node, path = root, ""
    _count(root, tensor, size)
    for name in modules:
        path = f"{path}.{name}" if path else name
        node = node.children.setdefault(f"{name}/", Node(name, path))
        _count(node, tensor, size)
    node.children[last] = Node(last, leaf_path(tensor.name), tensor, {}, size, tensor.bytes, 1)


def _count(node: Node, tensor: TensorInfo, size: int) -> None:
    """Storage that an earlier tensor has is counted there."""
    node.tensors += 1
    if not tensor.shares:
        node.parameters, node.bytes = node.parameters + size, node.bytes + tensor.bytes
