"""torch to ONNX through torch's exporters."""

from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from explorer.conversion.ports import Traced
from explorer.conversion.to_coreml import dynamic_shapes
from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import quiet
from explorer.inference.torch_settings import plain_attention
from explorer.schemas.specs import ConvertSpec

Exporter = Literal["dynamo", "torchscript"]
LARGEST_FILE_BYTES = 2**31 - 2**20
NEWEST_TORCHSCRIPT_OPSET = 20


def export_onnx(module: nn.Module, traced: Traced, exporter: Exporter, path: Path, spec: ConvertSpec) -> list[Path]:
    """Write a flat `module` as an ONNX file, and its weights beside it where one file cannot hold them; the model is last.

    Open dimensions are named by what they are: "batch", or the input and its axis. Raises what torch raises for a model that it
    cannot export.
    """
    external = spec.external_data == "always" or weight_bytes(module) > LARGEST_FILE_BYTES
    if exporter == "torchscript":
        return _old_export(module, traced, path, spec, external)
    with quiet(), plain_attention():
        program = torch.onnx.export(
            module,
            traced.examples,
            dynamo=True,
            opset_version=spec.opset,
            input_names=[port.name for port in traced.inputs],
            output_names=traced.outputs,
            dynamic_shapes=_named_shapes(traced),
            verbose=False,
        )
        if program is None:
            raise ExplorerError(f"{spec.source} gave no ONNX program", "try another opset")
        _drop_notes(program.model)
        program.model.metadata_props["explorer.source"] = spec.source
        program.model.metadata_props.update(_metadata(spec))
        program.save(str(path), external_data=external)
    return _files(path)


def weight_bytes(module: nn.Module) -> int:
    """Bytes of all parameters and buffers."""
    return sum(item.numel() * item.element_size() for item in module.state_dict().values())


def dimension_names(traced: Traced) -> list[dict[int, str]]:
    """A name for each open dimension by input and axis; those that always have one size share it."""
    found: list[dict[int, str]] = [{} for _ in traced.inputs]
    for group in traced.tied:
        first = group[0]
        name = "batch" if traced.open_batch else f"{traced.inputs[first[0]].name}_{first[1]}"
        for index, axis in group:
            found[index][axis] = name
    for index, port in enumerate(traced.inputs):
        if len(port.shapes) > 1:
            axes = [axis for axis, sizes in enumerate(zip(*port.shapes, strict=True)) if len(set(sizes)) > 1]
            found[index] = {axis: f"{port.name}_{axis}" for axis in axes}
    return found


def _named_shapes(traced: Traced) -> Any:
    if dynamic_shapes(traced) is None:
        return None
    return (tuple(dimension_names(traced)),)


def _old_export(module: nn.Module, traced: Traced, path: Path, spec: ConvertSpec, external: bool) -> list[Path]:
    """The exporter that traces, which takes models that dynamo cannot."""
    if spec.opset > NEWEST_TORCHSCRIPT_OPSET:
        raise ExplorerError(f"torch's TorchScript exporter ends at opset {NEWEST_TORCHSCRIPT_OPSET}", "choose a lower opset")
    names = [port.name for port in traced.inputs]
    with quiet(), torch.no_grad(), plain_attention():
        if isinstance(traced.original, torch.jit.ScriptModule):
            module = torch.jit.trace(module, traced.examples, check_trace=False)  # type: ignore[no-untyped-call]
        torch.onnx.export(
            module,
            traced.examples,
            str(path),
            dynamo=False,
            opset_version=spec.opset,
            input_names=names,
            output_names=traced.outputs,
            dynamic_axes={name: axes for name, axes in zip(names, dimension_names(traced), strict=True) if axes} or None,
            external_data=external,
        )
        _describe(path, spec, external)
    return _files(path)


def _describe(path: Path, spec: ConvertSpec, external: bool) -> None:
    """Put the source into a file that the old exporter wrote, its weights into one file beside it, and its notes away."""
    import onnx

    model = onnx.load(str(path))
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    for key, value in {"explorer.source": spec.source, **_metadata(spec)}.items():
        model.metadata_props.add(key=key, value=value)
    for item in path.parent.iterdir():
        item.unlink()
    onnx.save(model, str(path), save_as_external_data=external, location=f"{path.name}.data" if external else None)


def _metadata(spec: ConvertSpec) -> dict[str, str]:
    from explorer.conversion.declared import declared_metadata

    return declared_metadata(spec.metadata)


def _files(path: Path) -> list[Path]:
    """What lies in the folder of the model, the model last."""
    return [*sorted(item for item in path.parent.iterdir() if item != path), path]


def _drop_notes(model: Any) -> None:
    """Remove the exporter's notes on each node: no runtime reads them, and they hold stack traces with this machine's paths."""
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
