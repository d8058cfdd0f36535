"""Checkpoints of plain tensors and numbers, from which a training goes on bit for bit."""

import pickle
from pathlib import Path
from typing import Any

import torch

from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.training.learner import Learner

NAME = "checkpoint.pt"
VERSION = 1


def save_checkpoint(learner: Learner, step: int, loss: float, report: Reporter) -> None:
    """Write the artifact `checkpoint.pt` after `step` steps. The sample order follows from seed and step."""
    scaler = learner.amp.scaler
    state = {
        "version": VERSION,
        "step": step,
        "loss": loss,
        "model": learner.module.state_dict(),
        "optimizer": learner.optimizer.state_dict(),
        "scaler": scaler.state_dict() if scaler else {},
        "random": _random_states(learner.device),
    }
    with report.artifact(NAME) as path:
        torch.save(state, path)


def load_checkpoint(learner: Learner, folder: Path) -> tuple[int, float] | None:
    """Put `folder`'s checkpoint into the learner and give its step and loss; None when there is no checkpoint."""
    path = folder / NAME
    if not path.is_file():
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        learner.module.load_state_dict(state["model"])
        learner.optimizer.load_state_dict(state["optimizer"])
        if learner.amp.scaler and state["scaler"]:
            learner.amp.scaler.load_state_dict(state["scaler"])
        _set_random_states(state["random"])
        return int(state["step"]), float(state["loss"])
    except (pickle.UnpicklingError, RuntimeError, KeyError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ExplorerError(f"{path} does not fit this training ({reason})", "remove it to start afresh") from None


def _random_states(device: str) -> dict[str, Any]:
    states = {"cpu": torch.get_rng_state()}
    if device == "cuda":
        states["cuda"] = torch.cuda.get_rng_state()
    if device == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def _set_random_states(states: dict[str, Any]) -> None:
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
    if "mps" in states and torch.backends.mps.is_available():
        torch.mps.set_rng_state(states["mps"])
