"""Events as workers say them, for the screens' tests."""

import math

from explorer.schemas.events import Artifact, Event, Finding, Log, Metric, Progress, State

DEVICE = "the CPU (no MPS: this torch is built without it; no CUDA: no usable GPU or driver)"
PARTS = {"data_ms": 0.2, "forward_ms": 0.775, "backward_ms": 1.225, "optimizer_ms": 0.3}


def training_events(
    steps: int, every: int = 10, upto: int | None = None, since: int = 0, device: str = DEVICE, **extra: float
) -> list[Event]:
    """A training of `steps` that has come from `since` as far as `upto`: falling loss, rising accuracy, a checkpoint a quarter.

    `extra` are further metrics that keep their value.
    """
    events: list[Event] = [
        State(state="running", pid=4321),
        Log(text=f"training on {device}"),
        Log(text="96,042 parameters, 1,437 training samples"),
    ]
    for step in range(since + every, (upto or steps) + 1, every):
        share = step / steps
        loss = 2.3 * math.exp(-6 * share) + 0.04 + 0.03 * math.sin(step) * math.exp(-3 * share)
        message = f"epoch {min(12, 1 + int(share * 12))}/12"
        events.append(Progress(done=step, total=steps, unit="steps", message=message, seconds_left=(steps - step) / 390))
        events.append(
            Metric(
                steps=[step],
                values={
                    "loss": [loss],
                    "lr": [3e-3 * (1 + math.cos(math.pi * share)) / 2],
                    "grad_norm": [0.3 + loss / 2],
                    "samples_per_s": [12400 + step % 90],
                    "rss_bytes": [(412 + step // 200) * 2.0**20],
                }
                | {name: [value] for name, value in extra.items()},
            )
        )
        if step % (10 * every) == 0:
            accuracy = 0.99 - 0.89 * math.exp(-9 * share)
            events.append(Metric(steps=[step], values={name: [value] for name, value in PARTS.items()}))
            events.append(Metric(steps=[step], values={"val_loss": [loss + 0.05], "val_accuracy": [accuracy]}))
        if step % (steps // 8) == 0:
            events.append(a_checkpoint(step))
    return events


def a_checkpoint(step: int) -> Artifact:
    """A checkpoint that was written and found finite."""
    return Artifact(name=f"checkpoints/step-{step}.pt", bytes=1_160_000, step=step)


def an_alarm(step: int = 812, batch: int = 12) -> Finding:
    """NaN in a gradient, stopped before the weights were touched."""
    return Finding(
        severity="error",
        title="NaN in the gradient of conv.weight",
        evidence=f"step {step}, epoch 3, batch {batch}",
        remedy="lower learning_rate, or set clip_grad_norm",
    )


def starved() -> Finding:
    """The data cannot keep up."""
    return Finding(severity="warning", title="data starvation", evidence="step 600: 41% of it", remedy="read the data faster")
