"""From a conversion's source to a module with its arguments: factories, jobs and files, each right or one clear sentence."""

import os
import pickle
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.content import recognise
from explorer.models.factories import called
from explorer.models.job_files import MODEL_FILES, PREFIX, model_record, resolve_file, source_data, trained_model
from explorer.models.safe_loading import load_weights
from explorer.models.trust import require_trust
from explorer.models.user_code import blamed
from explorer.models.weights import load_into, read_state_dict
from explorer.schemas.specs import ConvertSpec

AS_WEIGHTS = "give file.py:factory as the source and this file as its weights"
ONNX_FILES = ("model.onnx",)


@dataclass(frozen=True)
class Source:
    """A module on the CPU in evaluation mode, and the arguments of an example call (nested in any way; none when unknown).

    `data` names what its weights were trained on; `was_training` says that the factory left the module in training mode.
    """

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    data: str | None = None
    was_training: bool = False

    @property
    def is_script(self) -> bool:
        return isinstance(self.module, torch.jit.ScriptModule)


def load_source(spec: ConvertSpec) -> Source:
    """The module that `spec.source` names with the weights of `spec.weights`; raises `ExplorerError` for what has no class."""
    found = _file(spec) if _is_file(spec.source) else _built(spec.source, spec.weights)
    # A factory's module in training mode is what torch makes by default; only one with layers that differ matters.
    training = any(item.training and _differs_in_training(item) for item in found.module.modules())
    module = found.module if isinstance(found.module, torch.fx.GraphModule) else found.module.cpu().eval()
    data = found.data or source_data(spec.source if spec.source.startswith(PREFIX) else spec.weights)
    return Source(module, found.args, found.kwargs, data, training)


def onnx_source(source: str) -> Path | None:
    """The ONNX file that a source names, itself or a job's artifact; None for anything else."""
    if source.startswith(PREFIX):
        try:
            return resolve_file(source, ONNX_FILES)
        except ExplorerError:
            return None
    return Path(source).expanduser() if _is_file(source) and recognise(Path(source).expanduser()) == "onnx" else None


def _is_file(source: str) -> bool:
    return not source.endswith(".py") and not source.startswith(PREFIX) and os.path.exists(Path(source).expanduser())


def _built(source: str, weights: str | None) -> Source:
    if source.startswith(PREFIX):
        factory, trained = trained_model(source)
        return _built(factory, weights or str(trained))
    module, args, kwargs = _parts(called(source)[0], source)
    if weights is None:
        return Source(module, args, kwargs)
    path = resolve_file(weights, MODEL_FILES)
    record = model_record(path)
    load_into(module, read_state_dict(path), record.structure if record else "as_built", weights)
    return Source(module, args, kwargs, record.data if record else None)


def _parts(built: Any, source: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    """What a factory gave: a module; with its arguments, a dict being keywords; or with positional ones and keywords."""
    pieces = built if isinstance(built, tuple) else (built,)
    module, given, more = (*pieces, (), {})[:3] if len(pieces) < 2 else (*pieces, {})[:3]
    if not isinstance(module, nn.Module) or len(pieces) > 3 or not isinstance(more, dict):
        raise ExplorerError(
            f"{source} gave {type(built).__name__}, not a module",
            "return a torch.nn.Module, or a module and its example inputs",
        )
    if isinstance(given, dict):
        return module, (), {**given, **more}
    args = tuple(given) if type(given) in (tuple, list) else (given,)
    return module, args, more


def _file(spec: ConvertSpec) -> Source:
    """A file or folder as the source."""
    path = Path(spec.source).expanduser()
    kind = recognise(path)
    if spec.weights is not None and kind not in ("hub_folder", "sharded", "safetensors"):
        raise ExplorerError(f"{spec.source} is a finished model, which takes no weights", "leave out --weights")
    if kind == "exported_program":
        return _exported(spec, path)
    if kind == "torchscript":
        return _script(spec, path)
    if kind in ("torch_zip", "torch_legacy"):
        return _pickled(spec, path)
    raise ExplorerError(f"{spec.source} {_why_not(kind)}", _remedy(kind))


def _why_not(kind: str) -> str:
    return {
        "hub_folder": "holds weights and a config.json but no class to build the model from",
        "sharded": "is an index of weights without the class of the model",
        "safetensors": "is a state dict: weights without the class of the model",
        "gguf": "holds quantized weights for llama.cpp, not a torch model",
        "mlpackage": "is a Core ML package already",
        "coreml_spec": "is a Core ML model already",
        "aoti_package": "is compiled machine code, which has no graph left",
    }.get(kind, "is no torch model")


def _remedy(kind: str) -> str:
    if kind == "hub_folder":
        return "write a factory that builds the model, give it as the source and this folder as its weights"
    if kind in ("mlpackage", "coreml_spec", "aoti_package", "gguf"):
        return "convert the torch model that it was made from"
    return AS_WEIGHTS


def _pickled(spec: ConvertSpec, path: Path) -> Source:
    """A file of torch.save: a state dict is refused, a whole module needs trust."""
    try:
        load_weights(path)
    except pickle.UnpicklingError:
        require_trust(path, spec.trust, "a pickle of more than tensors")
    except (RuntimeError, EOFError, ValueError) as error:
        raise ExplorerError(f"{path} cannot be read ({str(error).splitlines()[0][:100]})", "fetch or save it again") from None
    else:
        raise ExplorerError(f"{spec.source} is a state dict: weights without the class of the model", AS_WEIGHTS)
    with blamed(f"{spec.source} cannot be loaded", "run where the classes that it names can be imported"):
        module = torch.load(path, map_location="cpu", weights_only=False)
    if not isinstance(module, nn.Module):
        raise ExplorerError(f"{spec.source} holds a {type(module).__name__}, not a module", AS_WEIGHTS)
    return Source(module)


def _exported(spec: ConvertSpec, path: Path) -> Source:
    require_trust(path, spec.trust, "torch.export.load")
    with blamed(f"{spec.source} cannot be loaded", "save it again with this torch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.export.load(str(path))
        module = program.module(check_guards=False)
    args, kwargs = program.example_inputs or ((), {})
    return Source(module, args, kwargs)


def _script(spec: ConvertSpec, path: Path) -> Source:
    require_trust(path, spec.trust, "TorchScript")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        try:
            return Source(torch.jit.load(str(path), map_location="cpu"))  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise ExplorerError(
                f"{path} cannot be loaded ({str(error).splitlines()[0][:100]})", "save it again with this torch"
            ) from None


def _differs_in_training(module: nn.Module) -> bool:
    return isinstance(
        module, nn.modules.batchnorm._BatchNorm | nn.modules.dropout._DropoutNd | nn.modules.instancenorm._InstanceNorm
    )
