"""Released models in two formats, and pairs that only look alike. Fetched with pip; skipped with the reason when that fails."""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from explorer.inference.verify import run
from explorer.models.trust import sha256
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import VerifyResult
from explorer.schemas.model_specs import VerifySpec

pytestmark = pytest.mark.slow

SILERO = "silero_vad/data"
PITCH = "basic_pitch/saved_models/icassp_2022"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheels of basic-pitch and silero-vad."""
    folder = tmp_path_factory.mktemp("wheels")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(folder)]
    fetched = subprocess.run([*command, "basic-pitch==0.4.0", "silero-vad==6.2.3"], capture_output=True, text=True, timeout=300)
    if fetched.returncode:
        pytest.skip(f"the models cannot be fetched: {fetched.stderr.strip().splitlines()[-1:]}")
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
    return folder


def verified(first: Path, second: Path, tolerance: float, shapes: Sequence[str] = (), samples: int = 8) -> VerifyResult:
    trust = [sha256(path) for path in (first, second) if path.suffix == ".jit"]
    spec = VerifySpec(
        first=str(first), second=str(second), tolerance=tolerance, trust=trust, shapes=list(shapes), samples=samples
    )
    return run(spec, QuietReporter(first.parent))


def test_basic_pitch_onnx_equals_its_core_ml_package(models: Path) -> None:
    result = verified(models / PITCH / "nmp.onnx", models / PITCH / "nmp.mlpackage", 1e-4)
    assert result.same, result
    assert len(result.outputs) == 3
    assert all(item.snr_db is not None and item.snr_db > 80 for item in result.outputs)
    assert any("on an all-zero input only" in finding.title for finding in result.findings)


def test_basic_pitch_differs_by_no_more_than_rounding_on_its_worst_inputs(models: Path) -> None:
    """Its logarithm of a band without energy makes 1e-7 into 1e-3 within ONNX Runtime alone; that is said."""
    result = verified(models / PITCH / "nmp.onnx", models / PITCH / "nmp.mlpackage", 1e-4, samples=30)
    assert result.same or any("is of the size of rounding" in finding.title for finding in result.findings), result


@pytest.mark.parametrize(
    "name", ["silero_vad.onnx", "silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx", "silero_vad_openvino_16k.onnx"]
)
def test_silero_torchscript_equals_its_onnx(models: Path, name: str) -> None:
    script, onnx = models / SILERO / "silero_vad.jit", models / SILERO / name
    for first, second in ((script, onnx), (onnx, script)):
        result = verified(first, second, 1e-5)
        assert result.same, result
        assert result.inputs[0].shape == [1, 512]


@pytest.mark.parametrize("first", ["silero_vad.jit", "silero_vad.onnx"])
def test_the_half_model_of_silero_is_another_one(models: Path, first: str) -> None:
    result = verified(models / SILERO / first, models / SILERO / "silero_vad_half.onnx", 1e-2)
    assert not result.same
    assert result.outputs[0].max_abs_error is not None
    assert result.outputs[0].max_abs_error > 0.05


def test_only_the_right_context_makes_silero_equal(models: Path) -> None:
    """Windows of 576 samples without the context of the call before are another function than the script."""
    script, onnx = models / SILERO / "silero_vad.jit", models / SILERO / "silero_vad.onnx"
    right = verified(script, onnx, 1e-5, ["x=1x512"])
    assert right.same
    assert any("gets the last 64 values" in finding.title for finding in right.findings)
