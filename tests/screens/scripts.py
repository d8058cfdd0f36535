"""Events as workers say them, for the screens' tests."""

import math

from explorer.schemas.events import Event, Log, Metric, Progress, State


def training_events(steps: int, every: int = 10, upto: int | None = None) -> list[Event]:
    """A training of `steps` that has come as far as `upto`: falling loss, rising accuracy, a word about the device."""
    events: list[Event] = [
        State(state="running", pid=4321),
        Log(text="training on CPU (MPS: this torch is built without MPS; CUDA: no usable GPU or driver)"),
        Log(text="96,042 parameters, 1,437 training samples"),
    ]
    for step in range(every, (upto or steps) + 1, every):
        share = step / steps
        loss = 2.3 * math.exp(-6 * share) + 0.04 + 0.03 * math.sin(step) * math.exp(-3 * share)
        events.append(Progress(done=step, total=steps, unit="steps", message=f"epoch {1 + int(share * 12)} of 12"))
        events.append(
            Metric(
                steps=[step],
                values={
                    "loss": [loss],
                    "lr": [3e-3 * (1 + math.cos(math.pi * share)) / 2],
                    "samples_per_s": [12400 + step % 90],
                },
            )
        )
        if step % (10 * every) == 0:
            accuracy = 0.99 - 0.89 * math.exp(-9 * share)
            events.append(Metric(steps=[step], values={"val_loss": [loss + 0.05], "val_accuracy": [accuracy]}))
    return events
