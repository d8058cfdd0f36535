"""Weights on disk: read a state dict without running code, put it into a module, write it beside its record."""

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from explorer.errors import ExplorerError
from explorer.models.content import recognise
from explorer.models.hub_folder import weights_of
from explorer.models.resize import resize_to
from explorer.models.safe_loading import load_weights
from explorer.models.shards import SHARD_FORMATS, read_index
from explorer.models.torch_tensors import MODEL_KEYS
from explorer.reporter import Reporter
from explorer.schemas.results import TorchModel

StateDict = dict[str, torch.Tensor]
PREFIXES = ("module.", "_orig_mod.", "model.")
SHOWN = 3


def read_state_dict(path: Path) -> StateDict:
    """Tensors by name from .safetensors, or from .pth/.pt with `weights_only=True`; a checkpoint's model part when it has one.

    The index of several files, and the folder of a hub model, stand for all their tensors.
    """
    kind = recognise(path)
    if kind == "safetensors":
        return _safetensors(path)
    if kind == "hub_folder":
        held = weights_of(path)
        if held is None:
            raise ExplorerError(f"{path} holds no weights", "fetch the model's weights too")
        return read_state_dict(held)
    if kind == "sharded":
        return _sharded(path)
    if kind not in ("torch_zip", "torch_legacy"):
        raise ExplorerError(f"{path.name} is no state dict", "give a .pth, .pt or .safetensors file of weights")
    return _model_part(_torch_load(path), path)


def _safetensors(path: Path) -> StateDict:
    try:
        state: StateDict = load_file(path)
    except SafetensorError as error:
        raise ExplorerError(f"{path.name} is damaged ({error})", "fetch or save it again") from None
    return state


def _sharded(path: Path) -> StateDict:
    """Every file that the index names; one that lies elsewhere is refused."""
    index = read_index(path)
    state: StateDict = {}
    for name in index.files if index else []:
        part = path.with_name(name) if Path(name).name == name else None
        if part is None or recognise(part) not in SHARD_FORMATS:
            raise ExplorerError(f"{path.name} names {name}, which is no file of weights beside it", "fetch the model again")
        state |= read_state_dict(part)
    return state


def _torch_load(path: Path) -> Any:
    try:
        return load_weights(path)
    except pickle.UnpicklingError:
        raise ExplorerError(
            f"{path.name} holds more than tensors, and loading that could run code",
            "save it again as torch.save(model.state_dict(), path)",
        ) from None
    except (RuntimeError, EOFError, ValueError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ExplorerError(f"{path.name} cannot be read ({reason})", "fetch or save it again") from None


def _model_part(loaded: Any, path: Path) -> StateDict:
    if isinstance(loaded, Mapping):
        for key in MODEL_KEYS:
            if isinstance(loaded.get(key), Mapping):
                loaded = loaded[key]
                break
        tensors = {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
        if tensors and len(tensors) == len(loaded):
            return tensors
    raise ExplorerError(f"{path.name} is no state dict", "save it as torch.save(model.state_dict(), path)")


def load_into(module: nn.Module, state: StateDict, structure: str, origin: str) -> None:
    """Put every tensor of `state` into `module`; `structure` "resized", and lazy layers, first take the shapes from `state`.

    Raises `ExplorerError` with how many keys are missing, unexpected or of another shape, and the first of each.
    """
    was_lazy = _give_sizes(module, state)
    if structure == "resized" or was_lazy:
        resize_to(module, state)
    own = module.state_dict()
    problem = _difference(own, state)
    if problem:
        remedy = f"{_prefix_hint(set(own), set(state))}; `explorer match` lists every key"
        raise ExplorerError(f"{origin} does not fit the model ({problem})", remedy)
    module.load_state_dict(state)


def _give_sizes(module: nn.Module, state: StateDict) -> bool:
    """Let lazy layers, which have no sizes before their first call, take those of the state; whether there were any."""
    held = [*module.named_parameters(), *module.named_buffers()]
    lazy = [(name, value) for name, value in held if isinstance(value, UninitializedParameter | UninitializedBuffer)]
    for name, value in lazy:
        if name not in state:
            raise ExplorerError(f"{name} has no size before the model's first call", "give weights that hold it")
        value.materialize(state[name].shape)
    return bool(lazy)


def _difference(own: Mapping[str, torch.Tensor], state: StateDict) -> str:
    shapes = [
        f"{name} is {_shape(state[name])}, not {_shape(own[name])}"
        for name in own
        if name in state and own[name].shape != state[name].shape
    ]
    groups = {
        "missing": [name for name in own if name not in state],
        "unexpected": [name for name in state if name not in own],
        "of another shape": shapes,
    }
    return "; ".join(f"{len(names)} {label}: {_first_few(names)}" for label, names in groups.items() if names)


def _shape(tensor: torch.Tensor) -> str:
    return "x".join(str(size) for size in tensor.shape) or "a scalar"


def _first_few(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _prefix_hint(own: set[str], state: set[str]) -> str:
    for prefix in PREFIXES:
        if {name.removeprefix(prefix) for name in state} == own:
            return f"save the weights with {prefix!r} removed from the start of every name"
        if {prefix + name for name in state} == own:
            return f"save the weights with {prefix!r} put before every name"
    return "give the weights of this very model"


def save_model(
    module: nn.Module, report: Reporter, source: str, data: str | None, structure: Literal["as_built", "resized"] = "as_built"
) -> None:
    """Write the artifacts `model.safetensors` and `model.json`, from which `job:ID` builds the module again."""
    with report.artifact("model.safetensors") as path:
        save_file(separate(module.state_dict()), path)
    record = TorchModel(source=source, weights="model.safetensors", structure=structure, data=data)
    with report.artifact("model.json") as path:
        path.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")


def separate(state: Mapping[str, torch.Tensor]) -> StateDict:
    """Contiguous CPU tensors that share no memory, which safetensors requires; a tied weight is written under each name."""
    seen: set[int] = set()
    result: StateDict = {}
    for name, tensor in state.items():
        plain = tensor.detach().cpu().contiguous()
        address = plain.untyped_storage().data_ptr()
        result[name] = (
            plain.clone() if address in seen or plain.numel() * plain.element_size() < plain.untyped_storage().nbytes() else plain
        )
        seen.add(address)
    return result
