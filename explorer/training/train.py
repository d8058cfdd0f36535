"""The training job: a spec in, a trained model and its figures out."""

import os

import torch

from explorer.models.sources import resolve, save_model
from explorer.reporter import Reporter
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec
from explorer.training.accelerator import open_accelerator
from explorer.training.environment import shown_environment
from explorer.training.fit import fit
from explorer.training.parallel import open_group

MODEL = "model.safetensors"


def run(spec: TrainSpec, report: Reporter) -> TrainResult:
    """Build the model from its seed, train it, write `model.safetensors`, `model.json` and `checkpoint.pt`.

    Goes on from `checkpoint.pt` in the report's folder when there is one. Raises `ExplorerError` for what the user can mend.
    In data parallel every process runs this, and the first one alone writes files.
    """
    accelerator = open_accelerator(spec, report, int(os.environ.get("LOCAL_RANK", "0")))
    with open_group(spec, accelerator.kind) as group:
        torch.manual_seed(spec.seed)
        model = resolve(spec.source, spec.weights)
        fitted = fit(model.module, spec, report, accelerator=accelerator, group=group)
        if group.first:
            save_model(model.module, report, model.source, spec.data, model.structure)
    return TrainResult(
        device=fitted.device,
        device_reason=fitted.device_reason,
        processes=group.size,
        steps=fitted.steps,
        seconds=fitted.seconds,
        stopped=fitted.stopped,
        parameters=sum(parameter.numel() for parameter in model.module.parameters()),
        flops_per_sample=fitted.flops_per_sample,
        samples_per_s=fitted.samples_per_s,
        step_ms=fitted.step_ms,
        peak_rss_bytes=fitted.peak_rss_bytes,
        peak_device_bytes=fitted.peak_device_bytes,
        metrics=fitted.metrics,
        best_step=fitted.best_step,
        model=MODEL,
        checkpoint=fitted.checkpoint,
        checkpoints=fitted.checkpoints,
        alarms=fitted.alarms,
        environment=shown_environment(),
        fallback_operators=fitted.fallback_operators,
    )
