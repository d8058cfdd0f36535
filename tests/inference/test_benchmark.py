import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from explorer.errors import Cancelled, ExplorerError
from explorer.files import size_bytes
from explorer.inference import benchmark, timing
from explorer.inference.candidates import Candidate
from explorer.inference.onnx_size import onnx_bytes
from explorer.reporter import NO_ORDERS, Orders, QuietReporter
from explorer.schemas.results import BenchmarkResult
from explorer.schemas.specs import BenchmarkSpec


def save_net(
    path: Path, hidden: int = 32, outputs: int = 10, layers: int = 1, batch: int | str = "batch", fill: float = 1.0
) -> Path:
    """An MLP on (N, 1, 8, 8) digits; every weight is random times `fill`."""
    generator = np.random.default_rng(0)
    sizes = [64, *[hidden] * layers, outputs]
    nodes = [helper.make_node("Flatten", ["input"], ["h0"])]
    weights = []
    for index, (before, after) in enumerate(itertools.pairwise(sizes)):
        value = (fill * generator.normal(size=(before, after))).astype(np.float32)
        weights.append(numpy_helper.from_array(value, f"w{index}"))
        name = "output" if index == layers else f"h{index + 1}"
        nodes.append(helper.make_node("MatMul", [f"h{index}", f"w{index}"], [name]))
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, [batch, 1, 8, 8])],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, [batch, outputs])],
        weights,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


class FakeTime:
    """A clock moved by the calls alone: each candidate takes its `milliseconds`, the last of them the baseline's twin."""

    def __init__(
        self, milliseconds: Sequence[float], twin_milliseconds: Sequence[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.now = 0.0
        self.calls = 0
        self.noise = np.random.default_rng(0)
        self.times = list(milliseconds)
        self.twins = itertools.cycle(twin_milliseconds)
        monkeypatch.setattr(Candidate, "call", lambda candidate: self._call(candidate))
        self._made = 0

    def _call(self, candidate: Any) -> timing.Call:
        index = self._made
        self._made += 1

        def run(batch: object) -> None:
            taken = self.times[index] if index < len(self.times) else next(self.twins)
            self.calls += 1
            self.now += taken * 1e-3 * math.exp(self.noise.normal(0, 0.01))

        return run

    def clock(self) -> float:
        return self.now


@pytest.fixture
def nets(tmp_path: Path) -> list[str]:
    return [str(save_net(tmp_path / f"{name}.onnx", hidden)) for name, hidden in (("wide", 64), ("half", 32), ("quarter", 16))]


def run_fake(nets: list[str], fake: FakeTime, report: QuietReporter, **options: Any) -> BenchmarkResult:
    return benchmark.run(BenchmarkSpec(models=nets, data="digits", **options), report, fake.clock)


def test_ratios_are_of_the_baseline_over_the_variant(nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeTime([2.0, 1.0, 4.0], [2.0], monkeypatch)
    result = run_fake(nets, fake, QuietReporter(tmp_path))
    first, second, third = result.variants
    assert [variant.verdict for variant in result.variants] == ["baseline", "faster", "slower"]
    assert first.speed_ratio.value == 1.0
    assert second.speed_ratio.value == pytest.approx(2.0, rel=0.01)
    assert 0 < second.speed_ratio.high - second.speed_ratio.low < 0.02
    assert third.speed_ratio.value == pytest.approx(0.5, rel=0.01)
    assert second.p50_ms == pytest.approx(1.0, rel=0.01)
    assert second.p90_ms is not None
    assert 1.0 < second.p90_ms < 1.05
    assert result.null_ratio.value == pytest.approx(1.0, abs=0.01)
    assert result.findings == []


def test_the_same_work_is_no_difference(nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_fake(nets, FakeTime([1.0, 1.0, 1.01], [1.0], monkeypatch), QuietReporter(tmp_path))
    assert [variant.verdict for variant in result.variants[1:]] == ["no difference", "no difference"]


def test_a_dirty_null_is_tried_three_times_and_then_too_noisy(
    nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = FakeTime([2.0, 1.0, 4.0], [3.0], monkeypatch)
    report = QuietReporter(tmp_path)
    result = run_fake(nets, fake, report, rounds=50)
    assert [variant.verdict for variant in result.variants] == ["baseline", "too noisy", "too noisy"]
    assert result.null_ratio.value == pytest.approx(2 / 3, rel=0.02)
    assert report.findings == [("warning", "too noisy for a verdict on speed")]
    assert result.findings[0].evidence.startswith("the baseline against itself is 0.6")
    assert {f"attempt {number} of at most 3" for number in (1, 2, 3)} <= set(report.messages)


def test_a_null_that_gets_clean_ends_the_attempts(nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm_up, attempt = 2 * 2 * timing.WARM_UP_BLOCK_ROUNDS, 2 * 50  # each sample is two calls
    twin = [2.0] * warm_up + [3.0] * attempt + [2.0] * 10_000
    report = QuietReporter(tmp_path)
    result = run_fake(nets, FakeTime([2.0, 1.0, 4.0], twin, monkeypatch), report, rounds=50)
    assert [variant.verdict for variant in result.variants] == ["baseline", "faster", "slower"]
    assert "attempt 2 of at most 3" in report.messages
    assert "attempt 3 of at most 3" not in report.messages


def test_few_rounds_state_no_90th_percentile(nets: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_fake(nets, FakeTime([2.0, 1.0, 4.0], [2.0], monkeypatch), QuietReporter(tmp_path), rounds=20)
    assert result.variants[0].p90_ms is None


def test_a_real_run_measures_bytes_accuracy_and_time(nets: list[str], tmp_path: Path) -> None:
    result = benchmark.run(BenchmarkSpec(models=nets, data="digits", rounds=100), QuietReporter(tmp_path))
    assert [variant.name for variant in result.variants] == ["wide", "half", "quarter"]
    assert [variant.flops for variant in result.variants] == [2 * (64 * hidden + hidden * 10) for hidden in (64, 32, 16)]
    assert [variant.bytes for variant in result.variants] == [size_bytes(Path(net)) for net in nets]
    assert result.variants[1].size_ratio == pytest.approx(0.5, abs=0.05)
    assert result.samples == 359
    assert all(variant.accuracy is not None and 0 <= variant.accuracy <= 1 for variant in result.variants)
    assert all(0 < variant.p50_ms < 100 for variant in result.variants)
    assert 0.5 < result.null_ratio.value < 2
    assert (result.runtime, result.threads, result.batch_size, result.rounds) == ("ONNX Runtime", 1, 1, 100)
    assert result.load_average >= 0


@pytest.mark.slow
def test_the_null_of_a_real_run_is_clean_and_a_much_larger_net_is_slower(tmp_path: Path) -> None:
    small, large = save_net(tmp_path / "small.onnx", 64, layers=2), save_net(tmp_path / "large.onnx", 512, layers=4)
    models = [str(small), str(large), str(small)]
    result = benchmark.run(BenchmarkSpec(models=models, data="digits"), QuietReporter(tmp_path))
    assert result.null_ratio.value == pytest.approx(1.0, abs=0.05)
    assert [variant.verdict for variant in result.variants] == ["baseline", "slower", "no difference"]


def test_names_are_the_users_and_equal_ones_are_numbered(nets: list[str], tmp_path: Path) -> None:
    spec = BenchmarkSpec(models=nets[:2], names=["a", "b"], data="digits", rounds=20)
    assert [variant.name for variant in benchmark.run(spec, QuietReporter(tmp_path)).variants] == ["a", "b"]
    twice = BenchmarkSpec(models=[nets[0], nets[0]], data="digits", rounds=20)
    assert [variant.name for variant in benchmark.run(twice, QuietReporter(tmp_path)).variants] == ["wide (1)", "wide (2)"]


def test_without_data_random_inputs_are_timed_and_no_accuracy_is_claimed(nets: list[str], tmp_path: Path) -> None:
    result = benchmark.run(BenchmarkSpec(models=nets[:1], rounds=20, batch_size=3), QuietReporter(tmp_path))
    assert result.variants[0].accuracy is None
    assert result.samples == 0


def test_a_batch_may_be_larger_than_the_data(nets: list[str], tmp_path: Path) -> None:
    spec = BenchmarkSpec(models=nets[:1], data="digits", rounds=20, batch_size=500)
    assert benchmark.run(spec, QuietReporter(tmp_path)).batch_size == 500


def test_operations_are_of_the_whole_batch_and_none_where_they_cannot_be_counted(nets: list[str], tmp_path: Path) -> None:
    strange = onnx.load(nets[1])
    strange.graph.node[1].CopyFrom(helper.make_node("Einsum", ["h0", "w0"], ["h1"], equation="ij,jk->ik"))
    onnx.save(strange, tmp_path / "strange.onnx")
    report = QuietReporter(tmp_path)
    spec = BenchmarkSpec(models=[nets[1], str(tmp_path / "strange.onnx")], batch_size=8, rounds=20)
    result = benchmark.run(spec, report)
    assert [variant.flops for variant in result.variants] == [8 * 2 * (64 * 32 + 32 * 10), None]
    assert "strange: operations not counted, there is no rule for operator Einsum" in report.messages


def test_weights_beside_the_file_count_as_its_bytes(tmp_path: Path) -> None:
    model = onnx.load(save_net(tmp_path / "net.onnx", 64))
    path = tmp_path / "split" / "net.onnx"
    path.parent.mkdir()
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert size_bytes(path) < 2000
    assert onnx_bytes(path) == size_bytes(path.parent)


class CancelledReporter(QuietReporter):
    """Asked to stop after five rounds."""

    asked = 0

    def control(self) -> Orders:
        self.asked += 1
        if self.asked == 5:
            raise Cancelled
        return NO_ORDERS


def test_a_benchmark_can_be_cancelled_between_rounds(nets: list[str], tmp_path: Path) -> None:
    report = CancelledReporter(tmp_path)
    with pytest.raises(Cancelled):
        benchmark.run(BenchmarkSpec(models=nets, data="digits"), report)
    assert report.asked == 5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"outputs": 7}, r"answers with shape \(1, 7\), .* with \(1, 10\)"),
        ({"fill": 1e30}, "NaN or infinite"),
        ({"batch": 4}, r"takes 4 samples in a call, not 1"),
    ],
)
def test_models_that_do_not_answer_alike_are_not_timed(
    change: dict[str, Any], words: str, nets: list[str], tmp_path: Path
) -> None:
    other = save_net(tmp_path / "other.onnx", **change)
    with pytest.raises(ExplorerError, match=words):
        benchmark.run(BenchmarkSpec(models=[nets[0], str(other)], data="digits"), QuietReporter(tmp_path))


def test_a_fixed_batch_must_be_asked_for(tmp_path: Path) -> None:
    net = str(save_net(tmp_path / "four.onnx", batch=4))
    with pytest.raises(ExplorerError, match=r"takes 4 samples in a call, not 1: set --batch-size 4"):
        benchmark.run(BenchmarkSpec(models=[net], data="digits"), QuietReporter(tmp_path))
    spec = BenchmarkSpec(models=[net], data="digits", batch_size=4, rounds=20)
    assert benchmark.run(spec, QuietReporter(tmp_path)).samples == 359


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (BenchmarkSpec(models=["missing.onnx"]), "does not exist"),
        (BenchmarkSpec(models=[__file__]), "is not an ONNX file"),
        (BenchmarkSpec(models=["missing.onnx"], names=["a", "b"]), "1 models have 2 names"),
    ],
)
def test_bad_requests_are_one_sentence(spec: BenchmarkSpec, words: str, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=words):
        benchmark.run(spec, QuietReporter(tmp_path))
