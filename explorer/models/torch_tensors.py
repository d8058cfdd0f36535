"""From a stand-in pickle to a description: tensors by name, shared storages, names that loading would import."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models import checkpoint
from explorer.models.allowlist import DANGEROUS, unknown_names
from explorer.models.bounds import TENSOR_LIMIT, clean
from explorer.models.checkpoint import MODEL_KEYS
from explorer.models.compressed import compression_findings
from explorer.models.dtypes import BITS, bytes_of, elements_of
from explorer.models.pickle_safety import few, findings_of, safety_of
from explorer.models.sharing import Cluster, Slice, clusters
from explorer.models.stub_pickle import Described
from explorer.models.stubs import Storage, Stub, StubTensor
from explorer.models.summary import common_prefixes, is_parameter
from explorer.schemas.events import Finding
from explorer.schemas.model_results import InspectResult, TensorInfo

__all__ = ["MODEL_KEYS", "Contents", "contents_of", "result_of"]

MODULE_TABLES = ("_parameters", "_buffers", "_modules")
NODE_LIMIT = 5_000_000
DEPTH_LIMIT = 100
WASTE_BYTES = 1 << 20


@dataclass(frozen=True)
class Contents:
    """What a pickle holds, without the tensors' values. `buffers` are names that a module's table tells apart."""

    tensors: list[tuple[str, StubTensor]]
    references: list[str]
    buffers: frozenset[str] = frozenset()

    @property
    def unknown(self) -> list[str]:
        return unknown_names(self.references)

    @cached_property
    def slices(self) -> list[Slice]:
        return [_slice(tensor) for _, tensor in self.tensors]

    @cached_property
    def clusters(self) -> list[Cluster]:
        return clusters(self.slices)

    @property
    def infos(self) -> list[TensorInfo]:
        """One of each tensor; a later one of the same bytes names the first."""
        shares = {index: group.members[0] for group in self.clusters for index in group.members[1:]}
        return [
            _info(name, tensor, self.tensors[shares[index]][0] if index in shares else "")
            for index, (name, tensor) in enumerate(self.tensors)
        ]

    @property
    def storage_bytes(self) -> int:
        """Bytes of all storages; one that several tensors share counts once."""
        storages: dict[str, Storage] = {tensor.storage.key: tensor.storage for _, tensor in self.tensors}
        return sum(map(_bytes_of, storages.values()))

    def parameters(self, parts: list[str] | None = None) -> int:
        """Numbers in parameters below `parts`, or in all; overlapping tensors count once, buffers not at all."""
        wanted = {
            index for index, (name, tensor) in enumerate(self.tensors)
            if is_parameter(name, tensor.dtype) and name not in self.buffers and _below(name, parts)
        }  # fmt: skip
        chosen = [self.slices[index] for index in sorted(wanted)]
        return sum(group.elements(chosen) for group in clusters(chosen))

    def bytes_by_dtype(self) -> dict[str, int]:
        """Bytes by element type, the largest first; overlapping tensors count once."""
        sums: dict[str, int] = {}
        for group in self.clusters:
            dtype = self.tensors[group.members[0]][1].dtype
            sums[dtype] = sums.get(dtype, 0) + group.bytes(self.slices)
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def weight_names(self, parts: list[str] | None) -> list[str]:
        """Names of the model's weights, as its state dict calls them."""
        names = [name for name, _ in self.tensors if _below(name, parts)]
        return [name[len(part) + 1 :] for name in names for part in parts if name.startswith(f"{part}.")] if parts else names


def contents_of(described: Described, path: Path) -> Contents:
    """Tensors and names of a pickle. Raises `ExplorerError` when it holds no tensor, or more than any model has."""
    tensors: list[tuple[str, StubTensor]] = []
    buffers: set[str] = set()
    for name, tensor, is_buffer in _walk(described.value):
        tensors.append((name, tensor))
        if is_buffer:
            buffers.add(name)
        if len(tensors) > TENSOR_LIMIT:
            raise ExplorerError(f"{path} holds more than {TENSOR_LIMIT} tensors", "it is no sound model file")
    if tensors:
        return Contents(tensors, described.references, frozenset(buffers))
    dangerous = [name for name in described.references if DANGEROUS.match(name)]
    if dangerous:
        raise ExplorerError(
            f"{path} names {few(dangerous)}, which would run code when loaded; it was not loaded",
            "delete it unless you trust its sender",
        )
    raise ExplorerError(f"{path} is a pickle without tensors", "give a file that torch.save wrote from a model or a state dict")


def result_of(
    path: Path, described: Described, format: str, wrapping: str, held: Mapping[str, int] | None = None
) -> InspectResult:
    """The description of a torch.save file; `wrapping` says how it is stored, `held` the bytes of each storage in it."""
    contents = contents_of(described, path)
    top = described.value
    parts = checkpoint.model_parts(top)
    infos = contents.infos
    names = contents.weight_names(parts)
    return InspectResult(
        source=str(path),
        format=format,
        format_name=f"PyTorch {_kind(top)} ({wrapping})",
        runs_code_on_load=bool(contents.unknown),
        safety=safety_of(contents.references),
        references=contents.references,
        unknown=contents.unknown,
        tensors=infos,
        parameters=contents.parameters(parts),
        bytes=path.stat().st_size,
        bytes_by_dtype=contents.bytes_by_dtype(),
        prefixes=common_prefixes(names),
        contents=checkpoint.contents(top),
        metadata=_metadata(top, contents),
        findings=[
            *findings_of(contents.references, path.name),
            *storage_findings(contents, held),
            *compression_findings([(info.name, info.dtype) for info in infos]),
        ],
    )


def storage_findings(contents: Contents, held: Mapping[str, int] | None) -> list[Finding]:
    """Storages that the file lacks or cut short, tensors that reach beyond theirs, and views that keep a big storage alive."""
    storages = {tensor.storage.key: tensor.storage for _, tensor in contents.tensors}
    findings = [*_short(storages, held), *_beyond(contents)]
    used = sum(group.bytes(contents.slices) for group in contents.clusters)
    if contents.storage_bytes > used + max(used, WASTE_BYTES):
        title = f"the tensors show {used:,} of {contents.storage_bytes:,} stored bytes"
        findings.append(
            Finding(severity="info", title=title, evidence="views of larger storages", remedy="save tensor.clone() instead")
        )
    return findings


def _short(storages: Mapping[str, Storage], held: Mapping[str, int] | None) -> list[Finding]:
    if held is None:
        return []
    lost = [key for key, storage in storages.items() if storage.location != "meta" and held.get(key, -1) < _bytes_of(storage)]
    if not lost:
        return []
    title = f"the archive lacks {len(lost)} of {len(storages)} storages, or holds them cut short"
    return [Finding(severity="error", title=title, evidence=f"data/{few(lost)}", remedy="fetch or save it again")]


def _beyond(contents: Contents) -> list[Finding]:
    names = [
        name for name, tensor in contents.tensors
        if tensor.storage.dtype in BITS and _slice(tensor).end > _bytes_of(tensor.storage)
    ]  # fmt: skip
    if not names:
        return []
    title = f"{few(names)} reaches beyond its storage"
    return [Finding(severity="error", title=title, evidence="offset and strides", remedy="do not load it; save it again")]


def _below(name: str, parts: list[str] | None) -> bool:
    return parts is None or any(name.startswith(f"{part}.") for part in parts)


def _slice(tensor: StubTensor) -> Slice:
    bits = BITS.get(tensor.dtype, 8)
    start = tensor.offset * bits // 8
    elements = elements_of(tensor.shape)
    end = start + -(-tensor.span * bits // 8)
    return Slice(tensor.storage.key, start, end, elements, bytes_of(tensor.dtype, elements), (tensor.shape, tensor.stride))


def _bytes_of(storage: Storage) -> int:
    return bytes_of(storage.dtype, storage.elements)


def _walk(root: Any) -> Iterator[tuple[str, StubTensor, bool]]:
    """Tensors in the order of the file under dotted names, and whether a table of buffers holds them; each container once."""
    pending: list[tuple[tuple[str, ...], Any, bool]] = [((), root, False)]
    seen: set[int] = set()
    for _ in range(NODE_LIMIT):
        if not pending:
            return
        names, value, is_buffer = pending.pop()
        if isinstance(value, StubTensor):
            yield clean(".".join(names)) or "tensor", value, is_buffer
        elif isinstance(value, dict | list | tuple | Stub) and id(value) not in seen and len(names) < DEPTH_LIMIT:
            seen.add(id(value))
            children = [
                (names if key in MODULE_TABLES else (*names, clean(key)), child, is_buffer or key == "_buffers")
                for key, child in _children(value)
                if isinstance(child, StubTensor | dict | list | tuple | Stub)
            ]
            pending.extend(reversed(children))


def _children(value: Any) -> Sequence[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, Stub):
        state = list(value.state.items()) if isinstance(value.state, dict) else [("state", value.state)]
        return [*enumerate(value.args), *state, *value.items.items(), *enumerate(value.values)]
    return list(enumerate(value))


def _info(name: str, tensor: StubTensor, shares: str) -> TensorInfo:
    shape = list(tensor.shape)
    size = bytes_of(tensor.dtype, elements_of(shape))
    whole = _bytes_of(tensor.storage)
    return TensorInfo(
        name=name, shape=shape, dtype=tensor.dtype, bytes=size, shares=shares, storage_bytes=whole if whole > size else None
    )


def _kind(top: Any) -> str:
    if isinstance(top, Stub):
        return f"module {clean(top.name, 200)}"
    if isinstance(top, StubTensor):
        return "tensor"
    if isinstance(top, dict):
        if checkpoint.LIGHTNING_KEY in top:
            return "Lightning checkpoint"
        return "checkpoint" if _holds_more(top) else "state dict"
    return "objects"


def _holds_more(top: dict[Any, Any]) -> bool:
    """A quantized state dict has tuples and dtypes between its tensors and is one all the same."""
    return any(isinstance(value, dict | Stub) for value in top.values()) or not any(
        isinstance(value, StubTensor) for value in top.values()
    )


def _metadata(top: Any, contents: Contents) -> dict[str, Any]:
    saved_on = sorted({tensor.storage.location for _, tensor in contents.tensors})
    keys = {"keys": [clean(key, 100) for key in list(top)[:100]]} if checkpoint.is_checkpoint(top) else {}
    return {**checkpoint.scalars(top), "storage_bytes": contents.storage_bytes, "saved_on": saved_on[:100], **keys}
