"""A large encoder: the time of the bare script, and the time of the proof."""

import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from explorer.conversion.convert import run
from explorer.conversion.rewrites import decompositions
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.reporter import QuietReporter
from explorer.schemas.specs import ConvertSpec
from tests.inference.coreml.architectures import EncoderLayer

WIDTH, LAYERS, HEADS, WORDS, LENGTH = 768, 12, 12, 61_000, 128


class LargeEncoder(nn.Module):
    """132 million parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*[EncoderLayer(WIDTH, HEADS) for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.head(self.layers(self.embedding(x)).mean(1))
        return scores


def large() -> tuple[nn.Module, tuple[Tensor, ...]]:
    torch.manual_seed(0)
    return LargeEncoder().eval(), (torch.randint(0, WORDS, (1, LENGTH)),)


def bare(folder: Path) -> None:
    """What a person would write."""
    module, inputs = large()
    ct = coremltools()
    with quiet(), torch.no_grad():
        program = torch.export.export(module, inputs).run_decompositions({})
        ct.convert(program, minimum_deployment_target=ct.target.iOS17, skip_model_load=True).save(str(folder / "bare.mlpackage"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_large_encoder_converts_as_fast_as_the_bare_script_and_is_proven(tmp_path: Path) -> None:
    decompositions("coreml")  # imports, for both
    ratios, proofs = [], []
    for trial in range(3):
        script_s = _seconds(lambda: bare(tmp_path))
        report = QuietReporter(tmp_path / str(trial))
        spec = ConvertSpec(source="tests.conversion.test_speed:large", target="coreml", dynamic_batch=False)
        result = run(spec, report)
        assert result.passed
        steps = {
            text.rpartition(" ")[0].rpartition(" ")[0]: float(text.split()[-2])
            for text in result.route
            if re.search(r" s$", text)
        }
        proof_s = sum(value for name, value in steps.items() if name.startswith(("check", "prepare the proof", "run the source")))
        loading_s = steps["load"]
        convert_s = sum(steps.values()) - proof_s - loading_s - steps.get("hints", 0.0)
        ratios.append(convert_s / (script_s - loading_s))
        proofs.append(proof_s)
    print(f"ratios {[round(ratio, 2) for ratio in ratios]}, proofs {[round(proof, 1) for proof in proofs]} s")  # noqa: T201
    assert statistics.median(ratios) <= 1.15
    assert statistics.median(proofs) < 30.0


def _seconds(action: Callable[[], None]) -> float:
    started = time.monotonic()
    action()
    return time.monotonic() - started
