"""The journey as a person starts it: one command, real engine, real workers, every figure checked."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIMIT_S = 240


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], str, dict[str, str]]]:
    """The last line of `explorer tour --json`, what it said on standard error, and its environment."""
    environment = {**os.environ, "EXPLORER_HOME": str(tmp_path_factory.mktemp("tour") / "home")}
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "tour", "--json"],
        cwd=tmp_path_factory.mktemp("elsewhere"),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    yield json.loads(line), done.stderr, environment
    subprocess.run([sys.executable, "-m", "explorer", "engine", "stop"], env=environment, capture_output=True, check=True)


pytestmark = pytest.mark.timeout(400)


def test_it_holds_in_four_minutes(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    figures, _, _ = tour
    assert figures["seconds"] < LIMIT_S
    assert figures["device"] in ("cpu", "cuda", "mps")
    assert figures["test_accuracy"] >= 0.98


def test_conversions_agree_with_torch(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    figures, _, _ = tour
    assert 0 < figures["onnx_max_abs_error"] <= 1e-5
    assert 0 < figures["coreml_float32_max_abs_error"] <= 1e-5
    assert figures["coreml_float16_agreement"] >= 0.995


def test_int8_is_small_right_and_really_int8(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    figures, _, _ = tour
    assert figures["int8_size_ratio"] <= 0.35
    assert figures["int8_accuracy"] >= figures["test_accuracy"] - 0.01
    assert (figures["int8_nodes"], figures["float_nodes"]) == (5, 0)
    assert figures["coreml_int8_size_ratio"] <= 0.6
    assert figures["coreml_int8_agreement"] >= 0.99


def test_structural_pruning_shrinks_and_l1_zeros_do_not(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    figures, _, _ = tour
    assert figures["pruned_parameter_ratio"] <= 0.5
    assert figures["pruned_accuracy"] >= figures["test_accuracy"] - 0.01
    assert figures["pruned_int8_size_ratio"] < figures["int8_size_ratio"]
    assert figures["pruned_int8_accuracy"] >= figures["test_accuracy"] - 0.02
    assert figures["unstructured_zero_share"] == pytest.approx(0.5, abs=0.01)
    assert figures["unstructured_size_ratio"] == pytest.approx(1, abs=0.02)
    assert figures["unstructured_speed_verdict"] in ("no difference", "too noisy")


def test_a_speed_has_an_interval_a_null_and_a_verdict(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    figures, _, _ = tour
    low, high = figures["null_interval"]
    assert low <= figures["null_ratio"] <= high
    noisy = not (low >= 0.97 and high <= 1.03)
    for name in ("int8", "unstructured", "pruned", "pruned_int8"):
        assert math.isfinite(figures[f"{name}_speed_ratio"])
        assert (figures[f"{name}_speed_verdict"] == "too noisy") == noisy


def test_every_step_is_a_job_that_stays(tour: tuple[dict[str, Any], str, dict[str, str]]) -> None:
    _, said, environment = tour
    done = subprocess.run(
        [sys.executable, "-m", "explorer", "jobs", "list", "--json"], env=environment, capture_output=True, text=True, check=True
    )
    jobs = json.loads(done.stdout)
    kinds = [
        "train",
        "convert",
        "convert",
        "quantize",
        "quantize",
        "prune",
        "convert",
        "prune",
        "convert",
        "quantize",
        "benchmark",
    ]
    assert [job["kind"] for job in jobs] == kinds
    assert {job["state"] for job in jobs} == {"done"}
    assert jobs[-1]["parents"] == [jobs[index]["id"] for index in (1, 3, 6, 8, 9)]
    assert all(job["id"] in said for job in jobs), "progress goes to standard error"
