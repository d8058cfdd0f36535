import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from tests.models.files import inspect

WRITE = """
import sys, numpy as np, coremltools as ct
from coremltools.converters.mil import Builder as mb
@mb.program(input_specs=[mb.TensorSpec(shape=(1, 40))])
def program(x):
    weight, bias = np.random.rand(30, 40).astype(np.float32), np.zeros(30, np.float32)
    return mb.relu(x=mb.linear(x=x, weight=weight, bias=bias), name="out")
model = ct.convert(program, minimum_deployment_target=ct.target.iOS16, compute_precision=ct.precision.FLOAT32)
model.short_description = "a layer"
model.save(sys.argv[1])
config = ct.optimize.coreml.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=100)
ct.optimize.coreml.linear_quantize_weights(model, ct.optimize.coreml.OptimizationConfig(config)).save(sys.argv[2])
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A float32 package and its int8 twin, written by coremltools in a process of its own (it takes seconds to import)."""
    folder = tmp_path_factory.mktemp("coreml")
    paths = (folder / "plain.mlpackage", folder / "int8.mlpackage")
    subprocess.run([sys.executable, "-c", WRITE, *map(str, paths)], check=True, capture_output=True)
    return paths


def test_package_ports_weights_and_operators(packages: tuple[Path, Path]) -> None:
    result = inspect(packages[0])
    assert (result.format, result.format_name, result.runs_code_on_load) == ("mlpackage", "Core ML ML Program", False)
    assert [(port.name, port.shape, port.dtype) for port in result.inputs] == [("x", [1, 40], "float32")]
    assert [(port.name, port.dtype) for port in result.outputs] == [("out", "float32")]
    assert [(tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors] == [
        ([30, 40], "float32", 4800),
        ([30], "float32", 120),
    ]
    assert result.parameters == 1230
    assert result.metadata["operators"]["linear"] == 1
    assert result.metadata["specification_version"] == 7
    assert result.metadata["description"] == "a layer"
    assert result.bytes == sum(file.stat().st_size for file in packages[0].rglob("*") if file.is_file())


def test_quantized_package_shows_its_int8_weights(packages: tuple[Path, Path]) -> None:
    result = inspect(packages[1])
    assert ([30, 40], "int8", 1200) in [(tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors]


def test_bare_specification_is_recognised(packages: tuple[Path, Path]) -> None:
    result = inspect(packages[0] / "Data" / "com.apple.CoreML" / "model.mlmodel")
    assert (result.format, result.parameters) == ("coreml_spec", 1230)


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        ("not json", "damaged Manifest"),
        ("[]", "damaged Manifest"),
        (json.dumps({"rootModelIdentifier": "a", "itemInfoEntries": {"a": {"path": "../../secret"}}}), "outside itself"),
        (json.dumps({"rootModelIdentifier": "a", "itemInfoEntries": {"a": {"path": "model.mlmodel"}}}), "lacks model.mlmodel"),
    ],
)
def test_broken_package_is_one_sentence(tmp_path: Path, manifest: str, sentence: str) -> None:
    package = tmp_path / "x.mlpackage"
    package.mkdir()
    (package / "Manifest.json").write_text(manifest)
    with pytest.raises(ExplorerError, match=sentence):
        inspect(package)


def test_garbage_specification_is_one_sentence(tmp_path: Path) -> None:
    inner = tmp_path / "x.mlpackage" / "Data"
    inner.mkdir(parents=True)
    (inner / "m").write_bytes(b"\x08\x01\xff\xff\xff\xff\xff")
    (inner.parent / "Manifest.json").write_text(json.dumps({"rootModelIdentifier": "a", "itemInfoEntries": {"a": {"path": "m"}}}))
    with pytest.raises(ExplorerError, match="cut off or damaged"):
        inspect(inner.parent)


def test_targets_weight_file_and_traces_of_compression(packages: tuple[Path, Path]) -> None:
    plain, compressed = map(inspect, packages)
    weights = packages[0] / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    assert plain.metadata["targets"] == "iOS 16, macOS 13 and later"
    assert [(file.name, file.bytes) for file in plain.external_files] == [("weights/weight.bin", weights.stat().st_size)]
    assert plain.findings == []
    (finding,) = compressed.findings
    assert (finding.title, finding.evidence) == (
        "compressed: quantized, palettized or sparse weights",
        "1 constexpr_affine_dequantize",
    )


def test_a_missing_weight_file_is_an_error(packages: tuple[Path, Path], tmp_path: Path) -> None:
    copy = tmp_path / "x.mlpackage"
    shutil.copytree(packages[0], copy)
    next(copy.rglob("weight.bin")).unlink()
    assert [finding.title for finding in inspect(copy).findings] == ["weight file weights/weight.bin is missing"]
