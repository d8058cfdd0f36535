"""The training job: a spec in, a trained model and its figures out."""

import torch

from explorer.models.sources import resolve, save_model
from explorer.reporter import Reporter
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec
from explorer.training.fit import fit


def run(spec: TrainSpec, report: Reporter) -> TrainResult:
    """Build the model from its seed, train it, write `model.safetensors`, `model.json` and `checkpoint.pt`.

    Goes on from `checkpoint.pt` in the report's folder when there is one. Raises `ExplorerError` for what the user can mend.
    """
    torch.manual_seed(spec.seed)
    model = resolve(spec.source, spec.weights)
    fitted = fit(model.module, spec, report)
    save_model(model.module, report, model.source, spec.data, model.structure)
    return TrainResult(
        device=fitted.device,
        device_reason=fitted.device_reason,
        steps=fitted.steps,
        seconds=fitted.seconds,
        parameters=sum(parameter.numel() for parameter in model.module.parameters()),
        flops_per_sample=fitted.flops_per_sample,
        samples_per_s=fitted.samples_per_s,
        metrics=fitted.metrics,
        model="model.safetensors",
        checkpoint=fitted.checkpoint,
        alarms=fitted.alarms,
    )
