"""What a checkpoint holds, and putting it back: from it a training goes on bit for bit."""

import random
from typing import Any

import numpy as np
import torch

from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.schemas.specs import TrainSpec
from explorer.training import guards
from explorer.training.accelerator import Accelerator
from explorer.training.guards import Place
from explorer.training.learner import Learner

# A change of these does not make another training of it; all others do.
FREE = {
    "kind", "weights", "epochs", "max_steps", "early_stopping_epochs", "keep_best", "device", "threads", "mps_fallback",
    "mps_high_watermark", "mps_low_watermark", "rendezvous", "backend", "log_every_steps", "time_every_steps",
    "check_gradients", "checkpoint_every_steps", "keep_checkpoints",
}  # fmt: skip
REMEDY = "give it another folder, or remove the checkpoints to start afresh"


def learner_state(learner: Learner) -> dict[str, Any]:
    """Weights, optimizer, rate and gradient scale."""
    scaler = learner.amp.scaler
    return {
        "spec": identity(learner.spec),
        "model": learner.module.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "rate": learner.schedule.state_dict(),
        "scaler": scaler.state_dict() if scaler else {},
    }


def load_learner_state(learner: Learner, state: dict[str, Any], name: str) -> None:
    """Put `learner_state` back; raises when it belongs to another training or model."""
    asked, saved = identity(learner.spec), state["spec"]
    for key in asked:
        if saved.get(key) != asked[key]:
            raise ExplorerError(f"{name} is of another training: its {key} was {saved.get(key)}, not {asked[key]}", REMEDY)
    try:
        learner.module.load_state_dict(state["model"])
        learner.optimizer.load_state_dict(state["optimizer"])
    except (RuntimeError, ValueError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ExplorerError(f"{name} does not fit this model ({reason})", REMEDY) from None
    learner.schedule.load_state_dict(state["rate"])
    if learner.amp.scaler and state["scaler"]:
        learner.amp.scaler.load_state_dict(state["scaler"])


def identity(spec: TrainSpec) -> dict[str, Any]:
    """The options that make a training this one."""
    return {name: value for name, value in spec.model_dump(mode="json").items() if name not in FREE}


def not_finite(learner: Learner) -> str:
    """What holds a NaN or an infinity that it did not begin with; empty when all weights and optimizer state are finite."""
    new = (name for name in guards.not_finite(learner.module.state_dict().items()) if name not in learner.infinite)
    if name := next(new, ""):
        return f"the weights of {name}"
    names = {id(parameter): name for name, parameter in learner.module.named_parameters()}
    for parameter, values in learner.optimizer.state.items():
        tensors = ((key, value) for key, value in values.items() if isinstance(value, torch.Tensor))
        if key := guards.spoilt(tensors):
            return f"the optimizer's {key} of {names.get(id(parameter), 'a parameter')}"
    return ""


def refuse_not_finite(learner: Learner, report: Reporter, place: Place) -> None:
    """End the training rather than keep what is spoilt."""
    if what := not_finite(learner):
        guards.stop(report, f"NaN or infinity in {what}", place)


def generators(accelerator: Accelerator) -> tuple[dict[str, torch.Tensor], Any, Any]:
    """The states of every generator that the model or the user's code may draw from: torch's, Python's, numpy's."""
    return accelerator.random_state(), random.getstate(), np.random.get_state(legacy=False)


def set_generators(accelerator: Accelerator, states: tuple[dict[str, torch.Tensor], Any, Any]) -> None:
    """Undo `generators`."""
    torch_states, python_state, numpy_state = states
    accelerator.set_random_state(torch_states)
    random.setstate(python_state)
    np.random.set_state(numpy_state)


def random_state(accelerator: Accelerator) -> dict[str, Any]:
    """`generators` in tensors and numbers, as a file holds them."""
    torch_states, (version, numbers, gauss), numpy_state = generators(accelerator)
    return {
        "torch": torch_states,
        "python": [version, list(numbers), gauss],
        "numpy": [
            torch.from_numpy(numpy_state["state"]["key"].astype(np.int64)),
            int(numpy_state["state"]["pos"]),
            int(numpy_state["has_gauss"]),
            float(numpy_state["gauss"]),
        ],
    }


def set_random_state(accelerator: Accelerator, state: dict[str, Any]) -> None:
    """Undo `random_state`."""
    version, numbers, gauss = state["python"]
    key, position, has_gauss, cached = state["numpy"]
    numpy_state = ("MT19937", key.numpy().astype(np.uint32), position, has_gauss, cached)
    set_generators(accelerator, (state["torch"], (version, tuple(numbers), gauss), numpy_state))


def seed_all(seed: int) -> None:
    """Start every generator from a seed."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
