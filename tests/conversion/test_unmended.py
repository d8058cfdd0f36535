"""With `rewrites` off, the proof stops what the converters get wrong (rows of the notes)."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from explorer.conversion import convert as conversion
from explorer.conversion.inputs import Feed, Proof
from explorer.conversion.proof import coreml_float32_check
from explorer.errors import ExplorerError
from explorer.inference.coreml.program import load_program
from explorer.inference.coreml.quiet import coremltools, quiet
from explorer.reporter import QuietReporter
from explorer.schemas.results import ConvertResult
from explorer.schemas.specs import ConvertSpec

HALF, EXACT = "float16 check", "float32 check"


def convert(name: str, precision: str, rewrites: bool, folder: Path) -> ConvertResult:
    spec = ConvertSpec.model_validate(
        {
            "source": f"tests.conversion.cases.sources:{name}",
            "target": "coreml",
            "precision": precision,
            "rewrites": rewrites,
            "dynamic_batch": False,
            "check_samples": 4,
        }
    )
    return conversion.run(spec, QuietReporter(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "name", "precision", "words"),
    [
        (10, "antialias", "float32", EXACT),
        (15, "index_put", "float32", EXACT),
        (25, "finfo_mask", "float16", HALF),
        (26, "hand_rms_norm", "float16", HALF),
        (27, "sum_of_squares", "float16", HALF),
        (27, "log_sum_exp", "float16", HALF),
        (30, "large_integer", "float32", EXACT),
        (37, "branch", "float32", EXACT),
    ],
)
def test_what_is_not_mended_fails_its_proof(
    row: int, name: str, precision: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "_preflight", lambda *_: [])
    with pytest.raises(ExplorerError, match=words):
        convert(name, precision, rewrites=False, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["antialias", "large_integer", "branch"])
def test_the_preflight_tells_before(name: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="cannot be converted to Core ML"):
        convert(name, "float32", rewrites=False, folder=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("antialias", "float32"),
        ("index_put", "float32"),
        ("finfo_mask", "float16"),
        ("hand_rms_norm", "float16"),
        ("log_sum_exp", "float16"),
    ],
)
def test_the_same_mended_passes(name: str, precision: str, tmp_path: Path) -> None:
    result = convert(name, precision, rewrites=True, folder=tmp_path)
    assert result.passed
    assert result.rewrites


@pytest.mark.slow
def test_weights_divided_by_their_scale_are_caught(tmp_path: Path) -> None:
    """Row 45: 120 outputs do not divide by the group of 16; coremltools skips the table but not the scaling (PR#2777)."""
    torch.manual_seed(0)
    module = nn.Linear(64, 120).eval()
    inputs = torch.randn(1, 64)
    ct = coremltools()
    with quiet(), torch.no_grad():
        program = torch.export.export(module, (inputs,)).run_decompositions({})
        types = [ct.TensorType(name="x", shape=(1, 64))]
        model = ct.convert(
            program,
            inputs=types,
            minimum_deployment_target=ct.target.iOS18,
            compute_precision=ct.precision.FLOAT32,
            skip_model_load=True,
        )
        options = {"mode": "uniform", "nbits": 4, "granularity": "per_grouped_channel", "group_size": 16}
        config = ct.optimize.coreml.OpPalettizerConfig(**options, enable_per_channel_scale=True, weight_threshold=0)
        small = ct.optimize.coreml.palettize_weights(model, ct.optimize.coreml.OptimizationConfig(global_config=config))
        for name, item in (("whole", model), ("small", small)):
            item.save(str(tmp_path / f"{name}.mlpackage"))
        expected = module(inputs).numpy()
    checks = []
    for name in ("whole", "small"):
        loaded = load_program(tmp_path / f"{name}.mlpackage")
        output = next(iter(loaded.outputs))
        feed = Feed({"x": inputs.numpy()}, {output: expected}, "random inputs")
        checks.append(coreml_float32_check(loaded, Proof([feed])))
    assert [check.passed for check in checks] == [True, False]
    assert checks[1].max_abs_error > 0.5 * np.abs(expected).max()
