"""A model's own data goes with it: what was held out in training is what its conversion and its compression are measured on."""

from pathlib import Path

import numpy as np
import pytest

from explorer.compression import prune, quantize
from explorer.conversion import convert
from explorer.datasets.load import load
from explorer.inference import benchmark
from explorer.models.job_files import source_data
from explorer.schemas.paths import absolute_data
from explorer.schemas.specs import BenchmarkSpec, ConvertSpec, PruneSpec, QuantizeSpec, TrainSpec
from explorer.training import train
from tests.compression.conftest import reporter

NET = """
from torch import nn

def net():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 3))
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A model and a table of three kinds that it can learn, in a home of their own; gives the data's text, seen from anywhere."""
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path))
    (tmp_path / "net.py").write_text(NET)
    random = np.random.default_rng(0)
    kinds = np.arange(300) % 3
    rows = random.normal(size=(300, 4)) + kinds[:, None] * 2
    lines = [",".join([*(f"{x:.4f}" for x in row), ("ant", "bee", "cat")[kind]]) for row, kind in zip(rows, kinds, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["a,b,c,d,kind", *lines]) + "\n")
    return absolute_data("table.csv,target=kind,validation=0.3", tmp_path)


def test_held_out_rows_of_a_table_are_those_of_every_later_job(table: str, tmp_path: Path) -> None:
    trained = train.run(
        TrainSpec(source=f"{tmp_path}/net.py:net", data=table, epochs=30, device="cpu", threads=1), reporter(tmp_path, "trained")
    )
    assert trained.metrics["val_accuracy"] > 0.8
    assert source_data("job:trained") == table
    convert.run(ConvertSpec(source="job:trained"), reporter(tmp_path, "onnx"))
    quantized = quantize.run(
        QuantizeSpec(source="job:onnx", data=source_data("job:trained"), max_accuracy_drop=0.1), reporter(tmp_path, "int8")
    )
    assert quantized.checks[0].samples == len(load(table, "test")) == 90
    assert quantized.source_accuracy == pytest.approx(trained.metrics["val_accuracy"])
    pruned = prune.run(
        PruneSpec(source="job:trained", amount=0.3, finetune_epochs=0, device="cpu", threads=1), reporter(tmp_path, "pruned")
    )
    assert pruned.source_accuracy == pytest.approx(trained.metrics["val_accuracy"])
    assert source_data("job:pruned") == table


def test_without_held_out_rows_the_checks_use_training_rows_and_no_accuracy_is_claimed(table: str, tmp_path: Path) -> None:
    text = table.replace("0.3", "0")
    spec = TrainSpec(source=f"{tmp_path}/net.py:net", data=text, epochs=2, device="cpu", threads=1)
    assert not any(name.startswith("val_") for name in train.run(spec, reporter(tmp_path, "trained")).metrics)
    converted = convert.run(ConvertSpec(source="job:trained"), reporter(tmp_path, "onnx"))
    assert converted.passed
    pruning = PruneSpec(source="job:trained", amount=0.3, finetune_epochs=1, device="cpu", threads=1)
    assert prune.run(pruning, reporter(tmp_path, "pruned")).accuracy is None
    quantized = quantize.run(QuantizeSpec(source="job:onnx", data=text), reporter(tmp_path, "int8"))
    assert (quantized.accuracy, quantized.checks[0].samples) == (None, 300)
    measured = benchmark.run(BenchmarkSpec(models=["job:onnx"], data=text, rounds=20), reporter(tmp_path, "measured"))
    assert (measured.samples, measured.variants[0].accuracy) == (0, None)
