"""From a stand-in pickle to a description: tensors by name, shared storages, names that loading would import."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer.errors import ExplorerError
from explorer.models.dtypes import BITS, bytes_of, elements_of, is_weight
from explorer.models.stub_pickle import Described
from explorer.models.stubs import MAKERS, STORAGES, Storage, Stub, StubTensor
from explorer.schemas.events import Finding
from explorer.schemas.results import InspectResult, TensorInfo

MODEL_KEYS = ("state_dict", "model_state_dict", "model_state", "model", "ema")
MODULE_TABLES = ("_parameters", "_buffers", "_modules")
NODE_LIMIT = 5_000_000
SHOWN = 3

PLAIN = {
    *MAKERS,
    *(f"torch.{name}" for name in [*STORAGES, *BITS, "Size", "device", "strided"]),
    "torch.serialization._get_layout",
    "torch.storage.UntypedStorage",
    "torch.storage.TypedStorage",
    "torch.storage._LegacyStorage",
}

# What an attack needs. Only for the wording of a finding: every name outside PLAIN already counts as code.
DANGEROUS = re.compile(
    r"^(os|posix|nt|subprocess|sys|shutil|socket|importlib|runpy|pty|ctypes|code|pickle|webbrowser|asyncio|multiprocessing|"
    r"operator|functools|types|marshal|pip|urllib|http|tempfile|signal|threading|bdb|pdb|timeit|cProfile|profile|trace)\b"
    r"|^(builtins|__builtin__)\.(eval|exec|compile|open|getattr|setattr|__import__|breakpoint|input|globals|apply|execfile)$"
)


@dataclass(frozen=True)
class Contents:
    """What a pickle holds, without the tensors' values."""

    tensors: list[tuple[str, StubTensor]]
    code: list[str]
    dangerous: list[str]

    @property
    def infos(self) -> list[TensorInfo]:
        return [_info(name, tensor) for name, tensor in self.tensors]


def contents_of(described: Described, path: Path) -> Contents:
    """Tensors and foreign names of a pickle. Raises `ExplorerError` when it holds no tensor."""
    code = [name for name in described.references if name not in PLAIN]
    dangerous = [name for name in code if DANGEROUS.match(name)]
    tensors = list(_walk(described.value))
    if tensors:
        return Contents(tensors, code, dangerous)
    if dangerous:
        raise ExplorerError(
            f"{path} names {_few(dangerous)}, which would run code when loaded; it was not loaded",
            "delete it unless you trust its sender",
        )
    raise ExplorerError(f"{path} is a pickle without tensors", "give a file that torch.save wrote from a model or a state dict")


def result_of(path: Path, described: Described, format: str, wrapping: str) -> InspectResult:
    """The description of a torch.save file; `wrapping` says how it is stored."""
    contents = contents_of(described, path)
    top = described.value
    kind = _kind(top, contents)
    return InspectResult(
        source=str(path),
        format=format,
        format_name=f"PyTorch {kind} ({wrapping})",
        runs_code_on_load=bool(contents.code),
        safety=_safety(contents),
        references=contents.code,
        tensors=contents.infos,
        parameters=count_parameters(_model_tensors(top, contents.tensors)),
        bytes=path.stat().st_size,
        metadata=_metadata(top, contents.tensors),
        findings=_findings(contents, path),
    )


def count_parameters(tensors: list[tuple[str, StubTensor]]) -> int:
    """Numbers in weights; a tensor under two names counts once."""
    views = {(tensor.storage.key, tensor.offset, tensor.shape): tensor for _, tensor in tensors if is_weight(tensor.dtype)}
    return sum(elements_of(list(tensor.shape)) for tensor in views.values())


def storage_bytes(tensors: list[tuple[str, StubTensor]]) -> int:
    """Bytes of all storages; one that several tensors share counts once."""
    storages: dict[str, Storage] = {tensor.storage.key: tensor.storage for _, tensor in tensors}
    return sum(bytes_of(storage.dtype, storage.elements) for storage in storages.values())


def _walk(root: Any) -> Iterator[tuple[str, StubTensor]]:
    """Tensors in the order of the file under dotted names; without recursion, and each container once."""
    pending: list[tuple[tuple[Any, ...], Any]] = [((), root)]
    seen: set[int] = set()
    for _ in range(NODE_LIMIT):
        if not pending:
            return
        names, value = pending.pop()
        if isinstance(value, StubTensor):
            yield ".".join(str(name) for name in names) or "tensor", value
        elif isinstance(value, dict | list | tuple | Stub) and id(value) not in seen and len(names) < 100:
            seen.add(id(value))
            children = [(names if key in MODULE_TABLES else (*names, key), child) for key, child in _children(value)]
            pending.extend(reversed(children))


def _children(value: Any) -> list[tuple[Any, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, Stub):
        state = list(value.state.items()) if isinstance(value.state, dict) else [("state", value.state)]
        return [*enumerate(value.args), *state, *value.items.items(), *enumerate(value.values)]
    return list(enumerate(value))


def _info(name: str, tensor: StubTensor) -> TensorInfo:
    shape = list(tensor.shape)
    return TensorInfo(name=name[:500], shape=shape, dtype=tensor.dtype, bytes=bytes_of(tensor.dtype, elements_of(shape)))


def _kind(top: Any, contents: Contents) -> str:
    if isinstance(top, Stub):
        return f"module {top.name}"
    if isinstance(top, StubTensor):
        return "tensor"
    if isinstance(top, dict) and all(isinstance(value, StubTensor) for value in top.values()):
        return "state dict"
    return "checkpoint" if isinstance(top, dict) else "objects"


def _model_tensors(top: Any, tensors: list[tuple[str, StubTensor]]) -> list[tuple[str, StubTensor]]:
    """The model's part of a checkpoint; all tensors when no part is named so."""
    if isinstance(top, dict):
        for key in MODEL_KEYS:
            if isinstance(top.get(key), dict | Stub):
                return [(name, tensor) for name, tensor in tensors if name.startswith(f"{key}.")]
    return tensors


def _metadata(top: Any, tensors: list[tuple[str, StubTensor]]) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "storage_bytes": storage_bytes(tensors),
        "saved_on": sorted({tensor.storage.location for _, tensor in tensors}),
    }
    if isinstance(top, dict) and not all(isinstance(value, StubTensor) for value in top.values()):
        metadata["keys"] = [str(key)[:100] for key in top][:100]
        plain = {str(key): value for key, value in top.items() if isinstance(value, bool | int | float | str)}
        metadata.update({key[:100]: value[:200] if isinstance(value, str) else value for key, value in list(plain.items())[:50]})
    return metadata


def _safety(contents: Contents) -> str:
    if not contents.code:
        return "tensors and plain containers only: torch.load(weights_only=True) reads it without running code"
    return f"loading it would import and call {_few(contents.code)}; read here with stand-ins, nothing was run"


def _findings(contents: Contents, path: Path) -> list[Finding]:
    if contents.dangerous:
        title = f"{path.name} names {_few(contents.dangerous)}, which would run code when loaded"
        return [
            Finding(
                severity="error",
                title=title,
                evidence="names in the pickle",
                remedy="do not load it; ask its sender for .safetensors",
            )
        ]
    if contents.code:
        title = f"loading needs code outside torch's plain tensors: {_few(contents.code)}"
        remedy = "load it only if you trust it, then save model.state_dict() or .safetensors"
        return [Finding(severity="warning", title=title, evidence="names in the pickle", remedy=remedy)]
    return []


def _few(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
