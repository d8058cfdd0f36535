"""From the text that names a model to a module that runs."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.models.factories import build, normalised
from explorer.models.job_files import MODEL_FILES, PREFIX, model_record, resolve_file, source_data, trained_model
from explorer.models.weights import load_into, read_state_dict, save_model

__all__ = ["LoadedModel", "resolve", "resolve_file", "save_model", "source_data"]


@dataclass(frozen=True)
class LoadedModel:
    """A built module; `source` is the factory that builds it again, `data` what its weights were trained on."""

    module: nn.Module
    example_inputs: tuple[torch.Tensor, ...]
    source: str
    data: str | None
    structure: Literal["as_built", "resized"]


def resolve(source: str, weights: str | None = None) -> LoadedModel:
    """Build the model that `source` names (`file.py:factory`, `package.module:factory`, `job:ID`) and load its weights.

    `weights` is a state dict file or `job:ID`, and goes before those of a `job:` source.
    """
    if source.startswith(PREFIX):
        factory, trained = trained_model(source)
        return resolve(factory, weights or str(trained))
    _refuse_file(source)
    module, inputs = build(source)
    name = normalised(source)
    if weights is None:
        return LoadedModel(module, inputs, name, None, "as_built")
    path = resolve_file(weights, MODEL_FILES)
    record = model_record(path)
    structure = record.structure if record else "as_built"
    load_into(module, read_state_dict(path), structure, weights)
    return LoadedModel(module, inputs, name, record.data if record else None, structure)


def _refuse_file(source: str) -> None:
    """A file holds weights or a finished graph, never the class that torch needs."""
    if source.endswith(".py") or not os.path.exists(Path(source).expanduser()):  # quiet where the text is too long for a path
        return
    raise ExplorerError(
        f"{source} holds no class to build the model from", "give file.py:factory as the source and this file as its weights"
    )
