"""A worker whose training is a loop of a few lines, to see what a group does by itself."""

import os
import sys
import time

from explorer.engine import ranks, worker
from explorer.errors import Cancelled
from explorer.reporter import Reporter
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec

MODULE = "tests.training.parallel_loop"


def train(spec: TrainSpec, report: Reporter) -> TrainResult:
    """`source` says what to do: `steps`, `raise:RANK`, `unused`; `max_steps` how long, `weights` where to leave the weights."""
    import torch

    from explorer.training.parallel import open_group

    behaviour, _, argument = spec.source.partition(":")
    torch.manual_seed(spec.seed)
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2))
    if behaviour == "unused":
        module[2].register_parameter("spare", torch.nn.Parameter(torch.zeros(2)))
    with open_group(spec, "cpu") as group:
        wrapped = group.wrap(module)
        optimizer = torch.optim.SGD(module.parameters(), lr=spec.learning_rate)
        inputs = torch.randn(64, 8, generator=torch.Generator().manual_seed(group.rank))
        checkpoint = report.folder / "checkpoint.pt"
        first = int(checkpoint.read_text()) if checkpoint.exists() else 0
        started = time.monotonic()
        step = first
        try:
            while step < (spec.max_steps or 1):
                orders = group.control(report)
                if orders:
                    said = group.gather([group.rank, orders.checkpoint, orders.learning_rate, orders.learning_rate_factor])
                    report.log(f"orders at {step}: {said}")
                if orders.checkpoint and group.first:
                    with report.artifact("checkpoint.pt") as path:
                        path.write_text(str(step))
                if orders.stop:
                    break
                if behaviour == "raise" and group.rank == int(argument) and step == first + 3:
                    raise ZeroDivisionError("in the step of a rank")
                loss = wrapped(inputs).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                report.metric([step], {"loss": [group.total([loss.item()])[0] / group.size]})
                if behaviour == "slow":
                    time.sleep(0.02)
        except Cancelled:
            report.log(f"cancelled at {step}")
            raise
        seconds = time.monotonic() - started
        weights = torch.cat([parameter.detach().flatten() for parameter in module.parameters()])
        everyone = group.gather({"weights": weights, "pid": os.getpid()})
        difference = max(float((one["weights"] - weights).abs().max()) for one in everyone)
        return TrainResult(
            device="cpu",
            device_reason="scripted",
            steps=step,
            seconds=seconds,
            parameters=weights.numel(),
            metrics={"difference": difference, "size": float(group.size), "steps_per_s": step / seconds},
            model="model.json",
        )


worker.CAPABILITIES["train"] = f"{MODULE}:train"
ranks.MODULE = MODULE

if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:]))
