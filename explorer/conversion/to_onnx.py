"""torch to ONNX through torch's dynamo exporter."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from explorer.errors import ExplorerError
from explorer.inference.coreml.quiet import quiet
from explorer.schemas.specs import ConvertSpec

LARGEST_FILE_BYTES = 2**31 - 2**20


def export_onnx(module: nn.Module, example: Tensor, open_batch: bool, path: Path, spec: ConvertSpec) -> None:
    """Write `module` as one ONNX file; `example` holds one sample, the open dimension is named "batch".

    Raises `ExplorerError` for weights that one file cannot hold, and whatever torch raises for a model that it cannot export.
    """
    size = sum(item.numel() * item.element_size() for item in module.state_dict().values())
    if size > LARGEST_FILE_BYTES:
        raise ExplorerError(f"{spec.source} has {size / 2**30:.1f} GiB of weights", "one ONNX file holds at most 2 GiB")
    with quiet():
        program = torch.onnx.export(
            module,
            # With one sample torch takes the batch size for a constant.
            (torch.cat([example, example]) if open_batch else example,),
            dynamo=True,
            opset_version=spec.opset,
            input_names=[spec.input_name],
            output_names=[spec.output_name],
            dynamic_shapes=({0: "batch"},) if open_batch else None,
            verbose=False,
        )
        if program is None:
            raise ExplorerError(f"{spec.source} gave no ONNX program", "try another opset")
        _drop_notes(program.model)
        program.model.metadata_props["explorer.source"] = spec.source
        program.save(str(path), external_data=False)


def _drop_notes(model: Any) -> None:
    """Remove the exporter's notes on each node: no runtime reads them, and they hold stack traces with this machine's paths."""
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
        node.doc_string = None
