"""Values of Core ML programs, plain and compressed, against what coremltools unpacks them to."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.errors import ExplorerError
from explorer.models.coreml_file import describe
from explorer.models.tensor_reader.coreml_dense import RULES
from explorer.models.tensor_reader.reading import read_values, stored_tensors

WRITE = """
import sys, numpy as np, coremltools as ct
from pathlib import Path
from coremltools.converters.mil import Builder as mb
from coremltools.optimize import coreml as smaller
folder = Path(sys.argv[1])
weight = np.random.default_rng(0).standard_normal((30, 40)).astype(np.float32)
np.save(folder / "weight.npy", weight)
@mb.program(input_specs=[mb.TensorSpec(shape=(1, 40))])
def program(x):
    y = mb.linear(x=x, weight=weight, bias=np.arange(30, dtype=np.float32))
    positive = mb.greater(x=mb.reduce_sum(x=y, axes=[0, 1], keep_dims=False), y=0.0)
    return mb.cond(pred=positive, _true_fn=lambda: mb.relu(x=y), _false_fn=lambda: mb.sigmoid(x=y), name="out")
def made(target, precision):
    return ct.convert(program, minimum_deployment_target=target, compute_precision=precision)
plain = made(ct.target.iOS16, ct.precision.FLOAT32)
half = made(ct.target.iOS18, ct.precision.FLOAT16)
plain.save(str(folder / "plain.mlpackage"))
half.save(str(folder / "half.mlpackage"))
def shrunk(model, function, option, name):
    small = function(model, smaller.OptimizationConfig(option))
    small.save(str(folder / f"{name}.mlpackage"))
    smaller.decompress_weights(small).save(str(folder / f"{name}-dense.mlpackage"))
linear, palettes, pruner = smaller.OpLinearQuantizerConfig, smaller.OpPalettizerConfig, smaller.OpMagnitudePrunerConfig
shrunk(plain, smaller.linear_quantize_weights, linear(mode="linear", weight_threshold=100), "int8")
shrunk(half, smaller.linear_quantize_weights,
    linear(mode="linear", dtype="int4", granularity="per_block", block_size=10, weight_threshold=100), "blocks")
shrunk(plain, smaller.prune_weights, pruner(target_sparsity=0.7, weight_threshold=100), "sparse")
shrunk(half, smaller.prune_weights, pruner(target_sparsity=0.7, weight_threshold=100), "sparse18")
shrunk(plain, smaller.palettize_weights, palettes(mode="uniform", nbits=4, weight_threshold=100), "palette")
shrunk(half, smaller.palettize_weights,
    palettes(mode="uniform", nbits=3, granularity="per_grouped_channel", group_size=10, weight_threshold=100), "palette18")
"""
COMPRESSED = ("int8", "blocks", "sparse", "sparse18", "palette", "palette18")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written by coremltools in a process of its own."""
    folder = tmp_path_factory.mktemp("coreml")
    subprocess.run([sys.executable, "-c", WRITE, str(folder)], check=True, capture_output=True)
    return folder


def test_plain_weights(packages: Path) -> None:
    weight = np.load(packages / "weight.npy")
    np.testing.assert_array_equal(read_values(packages / "plain.mlpackage", "linear_0_weight_0"), weight)
    half = read_values(packages / "half.mlpackage", "linear_0_weight_0_to_fp16")
    np.testing.assert_array_equal(half, weight.astype(np.float16))
    spec = packages / "plain.mlpackage" / "Data" / "com.apple.CoreML" / "model.mlmodel"
    np.testing.assert_array_equal(read_values(spec, "linear_0_bias_0"), np.arange(30))


@pytest.mark.parametrize("name", COMPRESSED)
def test_compressed_weights_are_made_dense_as_coremltools_does(packages: Path, name: str) -> None:
    package = packages / f"{name}.mlpackage"
    tensors = stored_tensors(package)
    described = [tensor.name for tensor in describe(package).tensors]
    assert [tensor.name for tensor in tensors if not tensor.parts] == described
    dense = next(tensor for tensor in tensors if tensor.parts)
    assert set(dense.parts) <= set(described)
    wanted = next(tensor for tensor in stored_tensors(packages / f"{name}-dense.mlpackage") if tensor.shape == (30, 40))
    np.testing.assert_allclose(dense.array(), wanted.array(), atol=2e-3 if dense.dtype == "float16" else 1e-6)


def test_a_weight_file_that_ends_early_is_one_sentence(packages: Path, tmp_path: Path) -> None:
    package = tmp_path / "m.mlpackage"
    subprocess.run(["cp", "-r", str(packages / "plain.mlpackage"), str(package)], check=True)
    file = next(package.rglob("weight.bin"))
    content = file.read_bytes()
    file.write_bytes(content[:1000])
    with pytest.raises(ExplorerError, match="linear_0_weight_0 has a damaged place"):
        read_values(package, "linear_0_weight_0")
    file.write_bytes(content[:32])
    with pytest.raises(ExplorerError, match="where nothing is"):
        read_values(package, "linear_0_weight_0")
    file.unlink()
    with pytest.raises(ExplorerError, match="where nothing is"):
        read_values(package, "linear_0_weight_0")


def test_weights_outside_the_package_are_refused(packages: Path, tmp_path: Path) -> None:
    package = tmp_path / "m.mlpackage"
    subprocess.run(["cp", "-r", str(packages / "plain.mlpackage"), str(package)], check=True)
    spec = next(package.rglob("model.mlmodel"))
    spec.write_bytes(spec.read_bytes().replace(b"@model_path/weights/weight.bin", b"@model_path/../../../../../abc"))
    with pytest.raises(ExplorerError, match="outside the package"):
        read_values(package, "linear_0_weight_0")


def test_vector_tables_by_hand() -> None:
    """Two entries of vectors of two, laid along axis 0: each index becomes two rows."""
    dense = RULES["constexpr_lut_to_dense"](
        {"indices": np.array([[0, 1]]), "lut": np.array([[[[1, 2], [3, 4]]]], np.float32), "vector_axis": np.array(0)}
    )
    assert dense.tolist() == [[1, 3], [2, 4]]
