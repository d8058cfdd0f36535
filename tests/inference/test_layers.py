"""Costs of layers against numbers worked out by hand. FLOPs are two for each multiply-add."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from explorer.errors import ExplorerError
from explorer.inference.example_inputs import example_inputs
from explorer.inference.layer_flops import count_by_running, count_on_meta
from explorer.inference.layers import run
from explorer.models.sources import LoadedModel, resolve
from explorer.reporter import QuietReporter
from explorer.schemas.model_results import LayerCost, LayersResult
from explorer.schemas.model_specs import LayersSpec

CNN = "samples/digits_cnn.py:digits_cnn"
ENCODER = "samples/tiny_transformer.py:tiny_encoder"
NETS = """
import torch
from torch import nn

class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 50, bias=False)
        self.head.weight = self.embed.weight
    def forward(self, ids):
        return self.head(self.embed(ids))

class Reused(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)
    def forward(self, x):
        return self.act(self.layer(self.layer(x)))

class NeedsValues(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, x):
        return self.layer(x) if x.sum().item() > -1e9 else x

class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)
    def forward(self, x):
        return self.encoder(x)

class Wrong(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
    def forward(self, x):
        return self.layer(x)

def wrong():
    return Wrong(), (torch.rand(1, 5),)

class Spectrum(nn.Module):
    def forward(self, x):
        return torch.fft.rfft(x).abs()

def spectrum():
    return Spectrum(), (torch.rand(1, 8),)
"""


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    return tmp_path


def layers(source: str, **fields: Any) -> LayersResult:
    return run(LayersSpec(source=source, **{"latency": False, **fields}), QuietReporter(Path("artifacts")))


def row(result: LayersResult, name: str) -> LayerCost:
    return next(layer for layer in result.layers if layer.name == name)


def test_flops_of_the_cnn_are_those_counted_by_hand(work: Path) -> None:
    result = layers(CNN, batch_size=3)
    by_hand = {
        "conv1": 2 * 32 * 8 * 8 * 1 * 3 * 3,
        "conv2": 2 * 64 * 8 * 8 * 32 * 3 * 3,
        "conv3": 2 * 64 * 4 * 4 * 64 * 3 * 3,
        "hidden": 2 * 150 * 256,
        "classes": 2 * 10 * 150,
    }
    assert {layer.name: layer.flops for layer in result.layers if layer.flops and layer.name} == {
        name: 3 * flops for name, flops in by_hand.items()
    }
    assert result.flops == 3 * sum(by_hand.values()) == row(result, "").flops
    assert result.uncounted == ["aten._native_batch_norm_legit_no_training", "aten.max_pool2d_with_indices"]


def test_flops_of_the_transformer_hold_its_attention(work: Path) -> None:
    tokens, width, heads, batch = 8, 64, 4, 2
    projections = 2 * tokens * width * (3 * width + width + 2 * width + 2 * width)
    scores_and_mix = 2 * 2 * heads * tokens * tokens * (width // heads)
    embedding, classes = 2 * tokens * 8 * width, 2 * width * 10
    result = layers(ENCODER, batch_size=batch)
    assert row(result, "block1").flops == batch * (projections + scores_and_mix)
    assert result.flops == batch * (embedding + 2 * (projections + scores_and_mix) + classes)


def test_torchs_own_encoder_is_counted_past_its_fused_operator(work: Path) -> None:
    tokens, width, heads, inner = 16, 16, 4, 32
    projections = 2 * tokens * width * (4 * width + 2 * inner)
    attention = 2 * 2 * heads * tokens * tokens * (width // heads)
    assert layers("nets.py:Attention").flops == 2 * (projections + attention)
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_real_run_counts_the_same_as_the_meta_device(work: Path) -> None:
    for source in (CNN, ENCODER):
        loaded = resolve(source)
        module, inputs = loaded.module.eval(), loaded.example_inputs
        meta, real = count_on_meta(module, inputs), count_by_running(module, inputs)
        assert meta.total == real.total > 0
        assert meta.by_module == real.by_module


def test_tied_parameters_count_once(work: Path) -> None:
    result = layers("nets.py:Tied")
    assert result.parameters == 400
    assert [(layer.name, layer.parameters) for layer in result.layers] == [("", 400), ("embed", 400), ("head", 0)]
    assert "the input 1x16 is guessed from Embedding" in [finding.title for finding in result.findings]


def test_shapes_and_bytes_of_outputs(work: Path) -> None:
    result = layers(CNN, batch_size=2)
    conv = row(result, "conv2")
    assert (conv.type, conv.output_shapes, conv.activation_bytes, conv.parameters) == (
        "Conv2d",
        [[2, 64, 8, 8]],
        2 * 64 * 64 * 4,
        18_496,
    )
    assert result.activation_bytes == sum(layer.activation_bytes for layer in result.layers if layer.name)
    assert result.input_shapes == [[2, 1, 8, 8]]


def test_a_layer_called_twice_counts_twice_and_in_place_output_is_free(work: Path) -> None:
    result = layers("nets.py:Reused", batch_size=3)
    assert row(result, "layer").flops == 2 * (2 * 3 * 4 * 4)
    assert row(result, "layer").activation_bytes == 2 * (3 * 4 * 4)
    assert row(result, "act").activation_bytes == 0


def test_a_model_that_needs_values_is_run_for_real_and_said(work: Path) -> None:
    result = layers("nets.py:NeedsValues")
    assert result.flops == 2 * 4 * 2
    assert "counted in a real run: the model cannot run without values" in [finding.title for finding in result.findings]


def test_operators_without_a_formula_are_listed(work: Path) -> None:
    result = layers("nets.py:spectrum")
    assert (result.flops, result.uncounted) == (0, ["aten._fft_r2c"])
    assert "FLOPs leave out what has no formula" in [finding.title for finding in result.findings]


def test_latency_has_shares_and_leaves_the_threads_as_they_were(work: Path) -> None:
    before = torch.get_num_threads()
    result = layers(CNN, batch_size=64, latency=True, threads=1)
    assert torch.get_num_threads() == before
    assert result.threads == 1
    assert result.latency_ms is not None
    assert result.latency_ms > 0
    assert row(result, "").latency_share == 1.0
    shares = [layer.latency_share for layer in result.layers if layer.name]
    assert all(share is not None and 0 < share < 1 for share in shares)
    assert 0.2 < sum(share or 0 for share in shares) <= 1.0
    assert all(layer.latency_ms is None for layer in layers(CNN).layers)


def test_hooks_are_gone_afterwards(work: Path) -> None:
    module = resolve(CNN).module
    count_on_meta(module.eval(), (torch.rand(1, 1, 8, 8),))
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def test_wrong_example_is_one_sentence(work: Path) -> None:
    with pytest.raises(ExplorerError, match=r"nets\.py:wrong fails on 1x5 .*RuntimeError: mat1 and mat2") as caught:
        layers("nets.py:wrong")
    assert "\n" not in str(caught.value)
    assert layers("nets.py:wrong", shapes=["x=1x4"]).flops == 16


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.Linear(7, 2), (1, 7)),
        (nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1)), (1, 3, 224, 224)),
        (nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 26 * 26, 2)), (1, 1, 28, 28)),
        (nn.Conv1d(5, 2, 3), (1, 5, 256)),
        (nn.Conv3d(2, 2, 3), (1, 2, 32, 32, 32)),
        (nn.LSTM(6, 3, batch_first=True), (1, 16, 6)),
        (nn.Sequential(nn.LayerNorm(9), nn.Linear(9, 2)), (1, 9)),
        (nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), (1, 4)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (1, 16, 8)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_inputs_are_guessed_from_the_first_layer(module: nn.Module, shape: tuple[int, ...]) -> None:
    example = example_inputs(LoadedModel(module, (), "net", None, "as_built"), {})
    assert tuple(example.tensors[0].shape) == shape


def test_inputs_of_a_transformers_configuration(work: Path) -> None:
    module = nn.Embedding(11, 4)
    module.config = {"vocab_size": 7, "hidden_size": 4}  # type: ignore[assignment]
    example = example_inputs(LoadedModel(module, (), "net", None, "as_built"), {"input_ids": (2, 3)})
    assert (example.names, example.tensors[0].shape, example.high) == (["input_ids"], (2, 3), 7)
    assert int(example.tensors[0].max()) < 7


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("torch.nn:Identity", "gives no example input: return"),
        ("torch.nn:Bilinear(2, 3, 4)", "takes input1, input2 and gives no example"),
    ],
)
def test_a_model_without_inputs_is_one_sentence(work: Path, source: str, sentence: str) -> None:
    with pytest.raises(ExplorerError, match=sentence):
        layers(source)


def test_shapes_given_are_enough(work: Path) -> None:
    result = layers("torch.nn:Bilinear(2, 3, 4)", shapes=["input1=1x2", "input2=1x3"], batch_size=5)
    assert result.input_shapes == [[5, 2], [5, 3]]
