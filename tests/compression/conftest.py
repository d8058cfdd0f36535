"""A trained digits CNN in a home of its own, converted to both formats: what every test here compresses."""

from pathlib import Path

import pytest

from explorer.conversion import convert
from explorer.reporter import QuietReporter
from explorer.schemas.specs import ConvertSpec, TrainSpec
from explorer.training import train

TRAINED, ONNX, COREML = "job:trained", "job:onnx", "job:coreml"


def reporter(home: Path, job: str) -> QuietReporter:
    return QuietReporter(home / "jobs" / job / "artifacts")


@pytest.fixture(scope="session")
def jobs_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three jobs: `trained`, and its conversions `onnx` and `coreml`."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLORER_HOME", str(home))
        train.run(TrainSpec(epochs=8, device="cpu", threads=1, checkpoint_every_steps=0), reporter(home, "trained"))
        convert.run(ConvertSpec(source=TRAINED, target="onnx"), reporter(home, "onnx"))
        convert.run(ConvertSpec(source=TRAINED, target="coreml"), reporter(home, "coreml"))
    return home


@pytest.fixture
def home(jobs_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home with the trained model, as `EXPLORER_HOME`."""
    monkeypatch.setenv("EXPLORER_HOME", str(jobs_home))
    return jobs_home
