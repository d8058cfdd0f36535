"""The pruning job: remove weights, fine-tune what is left, and say truthfully what that saves."""

import copy
import gzip
from dataclasses import dataclass
from typing import Literal

import safetensors.torch
import torch
from torch import nn

from explorer.compression import structural, unstructured
from explorer.compression.budget import check_accuracy
from explorer.compression.structural import Inputs, tensors
from explorer.datasets.load import read
from explorer.errors import ExplorerError
from explorer.inference.findings import Findings
from explorer.models.sources import LoadedModel, resolve, save_model, source_data
from explorer.models.weights import load_into, separate
from explorer.reporter import Reporter
from explorer.schemas.results import PruneResult
from explorer.schemas.specs import PruneSpec, TrainSpec
from explorer.training.evaluate import evaluate_dataset
from explorer.training.fit import fit
from explorer.training.fit_check import check_outputs

Structure = Literal["as_built", "resized"]
KEPT_AS = "model.safetensors"


@dataclass(frozen=True)
class Stored:
    """What a module's weights file takes: bytes as written, and gzipped."""

    bytes: int
    gzip_bytes: int


def run(spec: PruneSpec, report: Reporter) -> PruneResult:
    """Prune the model and write `model.safetensors` with `model.json`, from which `job:ID` gives the very same outputs.

    Raises `ExplorerError` when the model cannot be pruned that way, or loses more accuracy than `max_accuracy_drop`.
    """
    source = resolve(spec.source, spec.weights)
    data = spec.data or source.data or source_data(spec.weights or spec.source)
    before = _accuracy(source.module, data, report)
    report.log(f"pruning {spec.amount:.0%} of {spec.source}")
    cut = _pruned(spec, source, data)
    after_cut = _accuracy(cut.module, data, report)
    after = _finetuned(spec, source, cut.module, data, report) if spec.method == "structural" else after_cut
    if spec.max_accuracy_drop is not None:
        check_accuracy(before, after, spec.max_accuracy_drop, "lower --amount or raise --finetune-epochs")
    _save(spec, source, cut.module, data, report)
    was, now = stored(source.module), stored(cut.module)
    findings = Findings(report)
    _say_savings(spec, source, cut, was, now, findings)
    return PruneResult(
        method=spec.method,
        model=KEPT_AS,
        source_parameters=structural.parameters(source.module),
        parameters=structural.parameters(cut.module),
        zero_share=unstructured.zero_share(cut.module),
        source_bytes=was.bytes,
        bytes=now.bytes,
        source_gzip_bytes=was.gzip_bytes,
        gzip_bytes=now.gzip_bytes,
        source_accuracy=before,
        pruned_accuracy=after_cut,
        accuracy=after,
        findings=findings.found,
    )


def stored(module: nn.Module) -> Stored:
    """What the module takes as a safetensors file."""
    content = safetensors.torch.save(separate(module.state_dict()))
    return Stored(len(content), len(gzip.compress(content)))


def _pruned(spec: PruneSpec, source: LoadedModel, data: str | None) -> structural.Cut:
    if spec.method == "structural":
        if data is None and spec.finetune_epochs:
            raise ExplorerError("no data is known to fine-tune on", "name it with --data, or give --finetune-epochs 0")
        return structural.without_channels(source.module, _example(source, data), spec.amount)
    module = copy.deepcopy(source.module)
    unstructured.zero_smallest(module, spec.amount)
    return structural.Cut(module, [], "")


def _example(source: LoadedModel, data: str | None) -> Inputs:
    """The model's own example inputs, else a sample of the data."""
    if source.example_inputs:
        return source.example_inputs
    if data is None:
        raise ExplorerError(
            f"{source.source} gives no example input", "return (module, (tensor,)) from the factory, or name --data"
        )
    return (torch.from_numpy(read(data).train.inputs[:1]),)


def _finetuned(spec: PruneSpec, source: LoadedModel, module: nn.Module, data: str | None, report: Reporter) -> float | None:
    """Train the pruned module in place and give its held-out accuracy."""
    if data is not None and spec.finetune_epochs:
        values = {
            "source": source.source,
            "data": data,
            "epochs": spec.finetune_epochs,
            "learning_rate": spec.learning_rate,
            "batch_size": spec.batch_size,
            "device": spec.device,
            "threads": spec.threads,
            "seed": spec.seed,
        }
        fit(module, TrainSpec.model_validate(values), report, checkpoints=False)
    return _accuracy(module, data, report)


def _accuracy(module: nn.Module, data: str | None, report: Reporter) -> float | None:
    """Held-out accuracy, 0..1; None without held-out data or classes."""
    if data is None:
        return None
    held_out = read(data).held_out
    if held_out is None:
        return None
    check_outputs(module, held_out)
    return evaluate_dataset(module, held_out, report).get("accuracy")


def _save(spec: PruneSpec, source: LoadedModel, module: nn.Module, data: str | None, report: Reporter) -> None:
    """Write the model, once the same weights in a freshly built one have given the very same outputs."""
    structure: Structure = "resized" if spec.method == "structural" else source.structure
    inputs = _example(source, data)
    fresh = resolve(source.source).module.eval()
    load_into(fresh, separate(module.state_dict()), structure, source.source)
    with torch.no_grad():
        outputs = zip(tensors(module.eval()(*inputs)), tensors(fresh(*inputs)), strict=True)
        same = all(torch.equal(kept, loaded) for kept, loaded in outputs)
    if not same:
        raise ExplorerError(
            f"the pruned {source.source} gives other outputs once it is loaded again",
            "make forward() depend on inputs and saved weights alone",
        )
    save_model(module, report, source.source, data, structure)


def _say_savings(spec: PruneSpec, source: LoadedModel, cut: structural.Cut, was: Stored, now: Stored, findings: Findings) -> None:
    sizes = f"{was.bytes:,} bytes before, {now.bytes:,} after; gzipped {was.gzip_bytes:,} and {now.gzip_bytes:,}"
    if spec.method == "l1_unstructured":
        findings.add(
            "warning",
            f"{unstructured.zero_share(cut.module):.0%} of the weights are zero, yet the model is no smaller and no faster",
            f"{sizes}: a zero is stored and multiplied like any weight, only a compressed download shrinks",
            "use structural pruning for a smaller and faster model",
        )
        return
    ratio = structural.parameters(cut.module) / structural.parameters(source.module)
    findings.add("info", f"{ratio:.2f} of the parameters are left", sizes)
    if cut.fixed:
        findings.add(
            "warning",
            f"{len(cut.fixed)} layers kept their width, which the code counts on",
            f"{', '.join(cut.fixed)}: {cut.reason}",
            "take widths from tensors in forward() to prune them too",
        )
