from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from explorer.conversion.first_wrong import first_wrong_operation
from explorer.conversion.inputs import ProofInputs, proof_inputs
from explorer.conversion.to_coreml import Way, capture, convert
from explorer.models.sources import resolve
from explorer.schemas.specs import ConvertSpec

SPEC = ConvertSpec(source="samples/tiny_transformer.py:tiny_encoder", target="coreml", data="digits", check_samples=8)
OPEN = Way("torch.export", open_batch=True)


@pytest.fixture
def proof() -> ProofInputs:
    torch.manual_seed(0)
    return proof_inputs(SPEC, resolve(SPEC.source))


def package(module: nn.Module, proof: ProofInputs, way: Way, folder: Path) -> tuple[object, Path]:
    graph = capture(module.eval(), proof.example, way)
    convert(graph, proof.example, way, "float32", folder / "m.mlpackage", SPEC, lambda message: None)
    return graph, folder / "m.mlpackage"


@pytest.mark.parametrize("open_batch", [True, False])
def test_a_right_conversion_has_no_wrong_operation(open_batch: bool, proof: ProofInputs, tmp_path: Path) -> None:
    module = resolve(SPEC.source).module
    graph, path = package(module, proof, Way("torch.export", open_batch), tmp_path)
    assert first_wrong_operation(graph, path, proof) == ""


def test_a_spoiled_weight_is_found_at_its_layer(proof: ProofInputs, tmp_path: Path) -> None:
    module = resolve(SPEC.source).module
    graph = capture(module.eval(), proof.example, OPEN)
    spoiled = resolve(SPEC.source).module
    spoiled.load_state_dict(module.state_dict())
    up = spoiled.get_submodule("block2.up")
    with torch.no_grad():
        up.get_parameter("weight").mul_(1.2)
    _, path = package(spoiled, proof, OPEN, tmp_path)
    found = first_wrong_operation(graph, path, proof)
    linears = [name for name, item in module.named_modules() if isinstance(item, nn.Linear)]
    place = linears.index("block2.up")
    assert found == f"first at linear_{place} (linear)"


def test_a_traced_graph_tells_nothing(proof: ProofInputs, tmp_path: Path) -> None:
    graph, path = package(resolve(SPEC.source).module, proof, Way("torch.jit.trace", open_batch=False), tmp_path)
    assert first_wrong_operation(graph, path, proof) == ""
    assert np.isfinite(proof.expected).all()
