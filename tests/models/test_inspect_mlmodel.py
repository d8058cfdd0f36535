"""Neural networks of Core ML, written by hand as protocol buffers, and by coremltools' own classes in a process of its own."""

import json
import struct
import subprocess
import sys
from pathlib import Path

from explorer.models.coreml_layers import LAYERS, WEIGHTS
from tests.models.files import field, inspect, integer_field

WRITE = """
import sys
from coremltools.proto import Model_pb2
model = Model_pb2.Model(specificationVersion=4)
network = model.neuralNetwork
convolution = network.layers.add(name="conv")
convolution.convolution.outputChannels, convolution.convolution.kernelChannels = 4, 3
convolution.convolution.kernelSize.extend([2, 2])
convolution.convolution.weights.floatValue.extend([0.0] * 48)
convolution.convolution.bias.float16Value = b"\\0" * 8
dense = network.layers.add(name="dense").innerProduct
dense.inputChannels, dense.outputChannels = 6, 5
dense.weights.rawValue, dense.weights.quantization.numberOfBits = b"\\0" * 15, 4
both = network.layers.add(name="rnn").biDirectionalLSTM
for _ in range(2):
    both.weightParams.add().inputGateWeightMatrix.floatValue.extend([0.0] * 7)
network.layers.add(name="own").custom.className = "OwnLayer"
branch = network.layers.add(name="if").branch
branch.ifBranch.layers.add(name="inner").scale.scale.floatValue.extend([1.0] * 3)
open(sys.argv[1], "wb").write(model.SerializeToString())
"""


def test_layers_weights_and_their_sizes(tmp_path: Path) -> None:
    path = tmp_path / "m.mlmodel"
    subprocess.run([sys.executable, "-c", WRITE, str(path)], check=True, capture_output=True)
    result = inspect(path)
    assert (result.format, result.format_name) == ("coreml_spec", "Core ML neural network")
    assert [(tensor.name, tensor.shape, tensor.dtype, tensor.bytes) for tensor in result.tensors] == [
        ("conv.weights", [4, 3, 2, 2], "float32", 192),
        ("conv.bias", [4], "float16", 8),
        ("dense.weights", [5, 6], "uint4", 15),
        ("rnn.inputGateWeightMatrix", [7], "float32", 28),
        ("rnn.inputGateWeightMatrix.1", [7], "float32", 28),
        ("inner.scale", [3], "float32", 12),
    ]
    assert result.parameters == 48 + 4 + 30 + 14 + 3
    assert result.metadata["operators"] == {
        "convolution": 1, "innerProduct": 1, "biDirectionalLSTM": 1, "custom": 1, "branch": 1, "scale": 1,
    }  # fmt: skip
    assert result.metadata["targets"] == "iOS 13, macOS 10.15 and later"
    assert (result.references, result.unknown) == (["OwnLayer"], ["OwnLayer"])
    assert [finding.title for finding in result.findings] == [
        "compressed: quantized, palettized or sparse weights",
        "needs classes of its own: OwnLayer",
    ]


def test_the_tables_are_those_of_coremltools() -> None:
    code = (
        "import json; from coremltools.proto import NeuralNetwork_pb2 as nn\n"
        "layer = nn.NeuralNetworkLayer.DESCRIPTOR.oneofs_by_name['layer']\n"
        "print(json.dumps({str(f.number): [f.name, [g.number for g in f.message_type.fields if g.message_type and "
        "g.message_type.name == 'WeightParams']] for f in layer.fields}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    written = {int(number): value for number, value in json.loads(done.stdout.splitlines()[-1]).items()}
    assert {number: name for number, (name, _) in written.items()} == LAYERS
    direct = {number: [path[0] for path, _ in paths if len(path) == 1] for number, paths in WEIGHTS.items()}
    assert {number: fields for number, fields in direct.items() if fields} == {
        number: fields for number, (_, fields) in written.items() if fields
    }


def weights(count: int) -> bytes:
    return field(1, struct.pack(f"<{count}f", *([0.0] * count)))


def network(name: str, count: int) -> bytes:
    layer = field(1, name.encode()) + field(250, field(2, weights(count)))
    return integer_field(1, 1) + field(500, field(1, layer))


def test_the_models_of_a_pipeline_are_walked(tmp_path: Path) -> None:
    pipeline = field(1, network("a", 3)) + field(1, network("b", 4))
    (tmp_path / "m.mlmodel").write_bytes(integer_field(1, 1) + field(202, pipeline))
    result = inspect(tmp_path / "m.mlmodel")
    assert result.format_name == "Core ML pipeline"
    assert [(tensor.name, tensor.shape) for tensor in result.tensors] == [("a.bias", [3]), ("b.bias", [4])]


def test_a_neural_network_in_a_package(tmp_path: Path) -> None:
    data = tmp_path / "m.mlpackage" / "Data"
    data.mkdir(parents=True)
    (data / "m.mlmodel").write_bytes(network("a", 3))
    manifest = {"rootModelIdentifier": "x", "itemInfoEntries": {"x": {"path": "m.mlmodel"}}}
    (data.parent / "Manifest.json").write_text(json.dumps(manifest))
    result = inspect(data.parent)
    assert (result.format, result.format_name, result.parameters) == ("mlpackage", "Core ML neural network", 3)
