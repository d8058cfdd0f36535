"""What the scripted worker can do: the source of the spec says how to behave."""

import os
import signal
import sys
import time
from pathlib import Path

from explorer.errors import ExplorerError
from explorer.reporter import Reporter
from explorer.schemas.model_results import InspectResult
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import InspectSpec, TrainSpec


def train(spec: TrainSpec, report: Reporter) -> TrainResult:
    """`source` is `behaviour:argument`, for example `steps:50` or `kill:9`."""
    behaviour, _, argument = spec.source.partition(":")
    sys.stdout.write(f"behaving as {behaviour}\n")
    if behaviour == "steps":
        return _steps(int(argument), report)
    elif behaviour == "kill":
        os.kill(os.getpid(), int(argument))
        time.sleep(10)
    elif behaviour == "allocate":
        _allocate_until_killed()
    elif behaviour == "alarm":
        with report.artifact("checkpoints/10.pt", step=10) as path:
            path.write_text("10")
        report.metric([10, 11], {"loss": [2.0, 1.0], "lr": [0.1, 0.2]})
        report.metric([12], {"loss": [float("nan")]})
        report.finding("info", "a remark", "no alarm")
        report.finding("warning", "the loss stalls", "since step 3")
        report.finding("warning", "the loss diverges", "step 11: smoothed 2, best 1")
        report.finding("error", "NaN in loss", "step 12, epoch 1, batch 12")
        raise ExplorerError("NaN in loss at step 12", "lower learning_rate")
    elif behaviour == "refuse":
        raise ExplorerError("weights.pth does not fit", "give the right class")
    elif behaviour == "crash":
        raise RuntimeError("the step went wrong\nwith a second line")
    elif behaviour == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    elif behaviour == "exit":
        os._exit(int(argument))
    elif behaviour == "long":
        report.log("x" * int(argument))
    elif behaviour == "checkpoint":
        return _until_checkpointed(report)
    return _result(1)


def inspect(spec: InspectSpec, report: Reporter) -> InspectResult:
    path = Path(spec.source)
    if not path.exists():
        raise ExplorerError(f"{path} does not exist", "check the path")
    return InspectResult(
        source=spec.source,
        format="text",
        format_name="text",
        runs_code_on_load=False,
        safety="runs no code",
        parameters=0,
        bytes=path.stat().st_size,
        metadata={"torch_imported": "torch" in sys.modules},
    )


def _steps(count: int, report: Reporter) -> TrainResult:
    """Says what it is asked to do at each step; ends early when asked to stop."""
    for step in range(1, count + 1):
        orders = report.control()
        if orders.checkpoint:
            report.log(f"checkpoint at {step}")
        if orders.learning_rate is not None or orders.learning_rate_factor != 1 or orders.log_every_steps is not None:
            report.log(f"set {orders.learning_rate} x {orders.learning_rate_factor}, every {orders.log_every_steps}")
        report.metric([step], {"loss": [1.0 / step if step != 3 else float("nan")]})
        report.progress(step, count, f"step {step}")
        if orders.stop:
            return _result(step, stopped="asked to stop")
        time.sleep(0.01)
    return _result(count)


def _until_checkpointed(report: Reporter) -> TrainResult:
    """Leaves a checkpoint and waits to be cancelled; ends at once when one is there."""
    checkpoint = report.folder / "checkpoint.pt"
    if checkpoint.exists():
        return _result(int(checkpoint.read_text()))
    with report.artifact("checkpoint.pt") as path:
        path.write_text("41")
    while True:
        report.control()
        time.sleep(0.01)


def _allocate_until_killed() -> None:
    import resource

    limit = 512 * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    blocks = []
    while True:
        blocks.append(bytearray(32 * 2**20))


def _result(steps: int, stopped: str = "") -> TrainResult:
    return TrainResult(
        device="cpu",
        device_reason="scripted",
        steps=steps,
        seconds=0.1,
        stopped=stopped,
        parameters=1,
        metrics={"loss": 0.5},
        model="model.json",
    )
