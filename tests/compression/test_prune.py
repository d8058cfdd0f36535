from pathlib import Path

import pytest
import torch

from explorer.compression import prune
from explorer.conversion import convert
from explorer.datasets.load import load
from explorer.errors import ExplorerError
from explorer.models.sources import resolve
from explorer.reporter import QuietReporter
from explorer.schemas.results import PruneResult
from explorer.schemas.specs import ConvertSpec, PruneSpec
from explorer.training.fit import fit
from tests.compression.conftest import TRAINED, reporter


@pytest.fixture(scope="module")
def smaller(jobs_home: Path) -> PruneResult:
    """The trained model without half its channels, kept as `job:smaller`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLORER_HOME", str(jobs_home))
        spec = PruneSpec(source=TRAINED, finetune_epochs=10, learning_rate=3e-3, device="cpu", max_accuracy_drop=0.01)
        return prune.run(spec, reporter(jobs_home, "smaller"))


def test_structural_pruning_halves_the_model_and_fine_tuning_brings_accuracy_back(smaller: PruneResult) -> None:
    assert smaller.parameters <= 0.5 * smaller.source_parameters
    assert smaller.bytes <= 0.5 * smaller.source_bytes
    assert smaller.gzip_bytes < smaller.source_gzip_bytes
    assert smaller.source_accuracy is not None
    assert smaller.pruned_accuracy is not None
    assert smaller.accuracy is not None
    assert smaller.accuracy > smaller.pruned_accuracy
    assert smaller.accuracy >= smaller.source_accuracy - 0.01


def test_a_pruned_model_loads_again_bit_for_bit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fine-tuning left in memory and what `job:ID` gives answer every test image alike."""
    kept: list[torch.nn.Module] = []

    def keeping(module: torch.nn.Module, *rest: object, **options: object) -> None:
        fit(module, *rest, **options)  # type: ignore[arg-type]
        kept.append(module)

    monkeypatch.setattr(prune, "fit", keeping)
    prune.run(PruneSpec(source=TRAINED, finetune_epochs=1, device="cpu"), reporter(home, "again"))
    loaded = resolve("job:again")
    inputs = torch.from_numpy(load("digits", "test").inputs)
    assert (loaded.structure, loaded.data) == ("resized", "digits")
    with torch.no_grad():
        assert torch.equal(loaded.module.eval()(inputs), kept[0](inputs))


@pytest.mark.usefixtures("home", "smaller")
def test_a_pruned_model_is_a_source_like_any_other(tmp_path: Path) -> None:
    converted = convert.run(ConvertSpec(source="job:smaller", target="onnx"), QuietReporter(tmp_path / "onnx"))
    assert converted.passed
    again = prune.run(
        PruneSpec(source="job:smaller", amount=0.25, finetune_epochs=0, device="cpu"), QuietReporter(tmp_path / "again")
    )
    assert again.parameters < 0.8 * again.source_parameters


@pytest.mark.usefixtures("home")
def test_unstructured_pruning_is_shown_as_no_smaller_and_no_faster(tmp_path: Path) -> None:
    report = QuietReporter(tmp_path)
    result = prune.run(PruneSpec(source=TRAINED, method="l1_unstructured", amount=0.5), report)
    assert result.zero_share == pytest.approx(0.5, abs=1e-4)
    assert result.parameters == result.source_parameters
    assert 0.98 <= result.bytes / result.source_bytes <= 1.02
    assert result.bytes == (tmp_path / result.model).stat().st_size
    assert result.gzip_bytes < 0.75 * result.source_gzip_bytes
    [(severity, title)] = report.findings
    assert severity == "warning"
    assert "no smaller and no faster" in title
    assert "gzipped" in result.findings[0].evidence
    assert result.accuracy == result.pruned_accuracy


@pytest.mark.usefixtures("home")
def test_an_accuracy_budget_fails_the_job_and_writes_nothing(tmp_path: Path) -> None:
    spec = PruneSpec(source=TRAINED, method="l1_unstructured", amount=0.98, max_accuracy_drop=0.01)
    with pytest.raises(ExplorerError, match=r"held-out accuracy fell from .* where 0\.01 is allowed"):
        prune.run(spec, QuietReporter(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_transformer_is_pruned_around_its_attention_and_says_so(home: Path) -> None:
    report = reporter(home, "encoder")
    spec = PruneSpec(source="samples/tiny_transformer.py:tiny_encoder", data="digits", finetune_epochs=1, device="cpu")
    result = prune.run(spec, report)
    assert result.parameters <= 0.5 * result.source_parameters
    assert ("warning", "2 layers kept their width, which the code counts on") in report.findings
    assert "block1.qkv, block2.qkv" in result.findings[1].evidence
    assert resolve("job:encoder").module.get_parameter("block1.up.weight").shape == (64, 32)


@pytest.mark.usefixtures("home")
def test_what_cannot_lose_a_channel_is_refused_in_one_sentence(tmp_path: Path) -> None:
    spec = PruneSpec(source="tests.compression.nets:names_its_width", finetune_epochs=0)
    with pytest.raises(ExplorerError, match=r"no layer of NamesItsWidth can lose channels.*l1_unstructured") as caught:
        prune.run(spec, QuietReporter(tmp_path))
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("home")
def test_fine_tuning_needs_data(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="no data is known"):
        prune.run(PruneSpec(source="samples/digits_cnn.py:digits_cnn"), QuietReporter(tmp_path))
