"""A real worker process whose one capability writes down the environment that torch started in."""

import json
import os
import sys

from explorer.engine import worker
from explorer.reporter import Reporter
from explorer.schemas.results import TrainResult
from explorer.schemas.specs import TrainSpec

RECORD = "environment.json"


def train(spec: TrainSpec, report: Reporter) -> TrainResult:
    """Whether torch was imported before the job came, and the variables at the time it was."""
    warm = "torch" in sys.modules
    import torch

    with report.artifact(RECORD) as path:
        path.write_text(json.dumps({"warm": warm, "pid": os.getpid(), "environment": torch.STARTED_IN}))  # type: ignore[attr-defined]
    return TrainResult(
        device="cpu", device_reason="recorded", steps=1, seconds=0.1, parameters=1, metrics={}, model="model.safetensors"
    )


if __name__ == "__main__":
    worker.CAPABILITIES["train"] = "tests.engine.recording_worker:train"
    sys.exit(worker.main(sys.argv[1:]))
