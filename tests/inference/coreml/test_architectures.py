"""The eight architectures in every system's form."""

import statistics
import sys
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch

from explorer.inference.coreml.evaluate import Evaluator, evaluate
from explorer.inference.coreml.program import load_program
from tests.inference.coreml.architectures import ARCHITECTURES, package_of

LIMIT = 3.0
RUNS = 15


def assert_right(name: str, target: str, precision: Literal["FLOAT32", "FLOAT16"], folder: Path) -> None:
    torch.manual_seed(0)
    module, example = ARCHITECTURES[name]()
    with torch.no_grad():
        expected = module.eval()(example).numpy()
    program = load_program(package_of(module, example, folder / "m.mlpackage", precision, target))
    feed = {"x0": example.numpy()}
    scale = max(1.0, float(np.abs(expected).max()))
    if precision == "FLOAT32":
        np.testing.assert_allclose(evaluate(program, feed, "float32").output, expected, rtol=0, atol=2e-6 * scale)
        return
    np.testing.assert_allclose(evaluate(program, feed, "float16").output, expected, rtol=0, atol=2e-2 * scale)
    assert not any(item.has_nan or item.has_inf for item in evaluate(program, feed, "float16_accumulate").ranges)


@pytest.mark.parametrize("name", ["cnn", "encoder", "gru"])
def test_common_architectures(name: str, tmp_path: Path) -> None:
    assert_right(name, "iOS17", "FLOAT32", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("target", ["iOS15", "iOS16", "iOS17", "iOS18", "iOS26"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_in_every_form(
    name: str, target: str, precision: Literal["FLOAT32", "FLOAT16"], tmp_path: Path
) -> None:  # fmt: skip
    assert_right(name, target, precision, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["iOS15", "iOS18"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_evaluation_takes_at_most_three_times_torch(name: str, target: str, tmp_path: Path) -> None:
    """Medians of runs in turn, in seconds of one processor so that other work on the machine does not count."""
    torch.manual_seed(0)
    module, example = ARCHITECTURES[name]()
    evaluator = Evaluator(package_of(module.eval(), example, tmp_path / "m.mlpackage", "FLOAT32", target))
    feed = {"x0": example.numpy()}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            ours, theirs = [], []
            for _ in range(RUNS):
                start = time.process_time()
                module(example)
                middle = time.process_time()
                evaluator.run(feed)
                theirs.append(middle - start)
                ours.append(time.process_time() - middle)
    finally:
        torch.set_num_threads(threads)
    ratio = statistics.median(ours) / statistics.median(theirs)
    sys.stderr.write(f"{name} {target}: {statistics.median(ours) * 1e3:.2f} ms, {ratio:.2f} of torch\n")
    assert ratio <= LIMIT
