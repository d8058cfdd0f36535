"""What the journey from training to a pruned model leaves behind, with figures that it really had, for the screens' tests."""

from pathlib import Path

from explorer.schemas.events import Artifact, Event, Failure, Finding, Log, Progress, Result
from explorer.schemas.jobs import JobSummary
from explorer.schemas.model_results import InspectResult, PortInfo, TensorInfo
from explorer.schemas.results import (
    BenchmarkResult,
    Check,
    ConvertResult,
    JobResult,
    PruneResult,
    QuantizeResult,
    Ratio,
    TrainResult,
    Variant,
    Verdict,
)
from explorer.schemas.specs import BenchmarkSpec, ConvertSpec, PruneSpec, QuantizeSpec, Spec, TrainSpec
from tests.fakes import EPOCH, FakeEngine, a_job

TOLERANCE = "error <= 1e-05 of max(1, largest output)"
REFERENCE = "Core ML reference evaluator"

SPECS: dict[str, Spec] = {
    "7f3a": TrainSpec(),
    "81bc": ConvertSpec(source="job:7f3a"),
    "24a2": ConvertSpec(source="job:7f3a", target="coreml"),
    "9d02": QuantizeSpec(source="job:81bc"),
    "2046": PruneSpec(source="job:7f3a", method="l1_unstructured"),
    "44c4": PruneSpec(source="job:7f3a"),
    "3ff3": ConvertSpec(source="job:44c4"),
    "876a": BenchmarkSpec(models=["job:81bc", "job:9d02", "job:3ff3"], names=["base", "int8", "pruned 50%"]),
}
PARENTS = {"81bc": "7f3a", "24a2": "7f3a", "9d02": "81bc", "2046": "7f3a", "44c4": "7f3a", "3ff3": "44c4", "876a": "81bc"}
HEADLINES = {
    "7f3a": "val accuracy 0.9944 in 7 s on cpu",
    "81bc": "ONNX, float32 error 6.7e-06",
    "24a2": "Core ML, float32 error 3.8e-06, float16 error 9.6e-03",
    "9d02": "0.28 of the size, accuracy 0.9944 (+0.0 pt)",
    "2046": "50% zeros, accuracy 0.9889 (-0.6 pt)",
    "44c4": "0.26 of the parameters, accuracy 0.9889 (-0.6 pt)",
    "3ff3": "ONNX, float32 error 5.7e-06",
    "876a": "pruned 50% 2.3x",
}


def a_check(runtime: str, mode: str, error: float, snr_db: float, tolerance: str = TOLERANCE) -> Check:
    """A passed check on the held-out digits."""
    return Check(
        runtime=runtime,
        mode=mode,
        samples=375,
        max_abs_error=error,
        max_rel_error=error / 10,
        snr_db=snr_db,
        agreement=1.0,
        tolerance=tolerance,
        passed=True,
    )


TRAINED = TrainResult(
    device="cpu",
    device_reason="no MPS, no CUDA",
    steps=540,
    seconds=7.2,
    parameters=96_124,
    metrics={"loss": 2.12e-4, "val_accuracy": 0.9944},
    model="model.safetensors",
)
TO_ONNX = ConvertResult(
    target="onnx",
    output="model.onnx",
    bytes=397_125,
    route=["load 0.0 s", "run the source 0.1 s", "torch.onnx export, open batch 3.4 s", "check in ONNX Runtime 0.0 s"],
    passed=True,
    checks=[a_check("ONNX Runtime", "float32", 6.7e-6, 134.8)],
    seconds=3.6,
)
TO_CORE_ML = ConvertResult(
    target="coreml",
    output="model.mlpackage",
    bytes=208_707,
    route=["load 0.0 s", "torch.export, open batch 1.8 s", "convert in float32 0.6 s", "convert in float16 0.3 s"],
    passed=True,
    checks=[
        a_check(REFERENCE, "float32", 3.8e-6, 137.7),
        a_check(REFERENCE, "float16", 9.57e-3, 70.1, "same class on >= 99.5%"),
    ],
    findings=[
        Finding(
            severity="info",
            title="The batch size is open from 1 to 64",
            evidence="torch.export, open batch",
            remedy="dynamic_batch = false suits the Neural Engine better",
        )
    ],
    seconds=2.9,
)
QUANTIZED = QuantizeResult(
    method="static_int8",
    output="model.onnx",
    source_bytes=397_125,
    bytes=110_241,
    size_ratio=0.2776,
    int8_nodes=5,
    float_nodes=0,
    source_accuracy=0.9944,
    accuracy=0.9944,
    checks=[a_check("ONNX Runtime", "int8", 0.2357, 40.2, "accuracy within 1 pt")],
)
NO_SMALLER = Finding(
    severity="warning",
    title="50% of the weights are zero, yet the model is no smaller and no faster",
    evidence="387,712 bytes before, 387,712 after; gzipped 357,977 and 212,777",
    remedy="use structural pruning for a smaller and faster model",
)
ZEROED = PruneResult(
    method="l1_unstructured",
    model="model.safetensors",
    source_parameters=96_124,
    parameters=96_124,
    zero_share=0.5,
    source_bytes=387_712,
    bytes=387_712,
    source_gzip_bytes=357_977,
    gzip_bytes=212_777,
    source_accuracy=0.9944,
    pruned_accuracy=0.9889,
    accuracy=0.9889,
    findings=[NO_SMALLER],
)
PRUNED = ZEROED.model_copy(
    update={
        "method": "structural",
        "parameters": 24_643,
        "zero_share": 0.0,
        "bytes": 101_116,
        "gzip_bytes": 92_451,
        "pruned_accuracy": 0.5237,
        "findings": [Finding(severity="info", title="0.26 of the parameters are left")],
    }
)
PRUNED_ONNX = TO_ONNX.model_copy(update={"bytes": 111_831, "checks": [a_check("ONNX Runtime", "float32", 5.72e-6, 133.8)]})


def a_variant(job_id: str, name: str, speed: Ratio, verdict: Verdict) -> Variant:
    """One row of the comparison; bytes stand beside the jobs."""
    p50_ms = 0.0412 / speed.value
    return Variant(
        name=name,
        source=f"job:{job_id}",
        bytes=1,
        size_ratio=1.0,
        accuracy=0.9944,
        p50_ms=p50_ms,
        p90_ms=p50_ms * 1.1,
        speed_ratio=speed,
        verdict=verdict,
    )


BENCHMARK = BenchmarkResult(
    runtime="ONNX Runtime",
    threads=1,
    batch_size=1,
    rounds=300,
    samples=359,
    load_average=1.2,
    null_ratio=Ratio(value=1.001, low=0.9996, high=1.0029),
    variants=[
        a_variant("81bc", "base", Ratio(value=1.0, low=1.0, high=1.0), "baseline"),
        a_variant("9d02", "int8", Ratio(value=1.51, low=1.5098, high=1.5161), "faster"),
        a_variant("3ff3", "pruned 50%", Ratio(value=2.32, low=2.3202, high=2.329), "faster"),
    ],
)
RESULTS: dict[str, JobResult] = {
    "7f3a": TRAINED,
    "81bc": TO_ONNX,
    "24a2": TO_CORE_ML,
    "9d02": QUANTIZED,
    "2046": ZEROED,
    "44c4": PRUNED,
    "3ff3": PRUNED_ONNX,
    "876a": BENCHMARK,
}
FAILURE = Failure(
    message="NaN in gradient at step 812, batch 12",
    remedy="lower learning_rate, or set clip_grad_norm",
    cause="NonFiniteGradient",
    log_tail=["epoch 2: loss 0.41", "epoch 3: loss nan"],
)


def done(job_id: str, place: int) -> JobSummary:
    """The summary of an ended job of the journey, a minute after the one before."""
    parents = [PARENTS[job_id]] if job_id in PARENTS else []
    start = EPOCH + 60 * place
    fields = {"state": "done", "headline": HEADLINES[job_id], "parents": parents, "created": start, "started": start + 1}
    return a_job(job_id, SPECS[job_id].kind, **fields, ended=start + 4)


def events_of(result: JobResult) -> list[Event]:
    """What a worker says on its way to a result."""
    said: list[Event] = [Progress(done=0, total=2, unit="steps", message="load"), Log(text="load 0.0 s")]
    if isinstance(result, TrainResult):
        said.append(Artifact(name=result.model, bytes=387_712))
    if isinstance(result, ConvertResult | QuantizeResult):
        said.append(Artifact(name=result.output, bytes=result.bytes))
    return [*said, Result(result=result.model_dump(mode="json"))]


def journey(*more: JobSummary, without: tuple[str, ...] = (), answers: dict[str, InspectResult] | None = None) -> FakeEngine:
    """An engine that knows the journey's jobs, a failed training before them, and `more`."""
    kept = [job_id for job_id in SPECS if job_id not in without]
    failed = a_job("c0de", state="failed", model="my_net", headline=FAILURE.message, created=EPOCH - 600, resumable=True)
    said: dict[str, list[Event]] = {"c0de": [FAILURE]}
    return FakeEngine(
        [failed, *(done(job_id, place) for place, job_id in enumerate(kept)), *more],
        events=said | {job_id: events_of(RESULTS[job_id]) for job_id in kept},
        specs={"c0de": TrainSpec(source="nets.py:my_net", learning_rate=0.5), **SPECS},
        logs={"81bc": "torch.onnx: exported 12 nodes\n"},
        answers=dict(answers or {}),
    )


def a_described_file(path: Path | str, layers: int = 3) -> InspectResult:
    """A checkpoint of a few convolutions."""
    tensors = [
        TensorInfo(name="epoch", shape=[], dtype="int64", bytes=8),
        *(
            TensorInfo(name=f"encoder.conv{place}.{name}", shape=shape, dtype="float32", bytes=4 * size)
            for place in range(layers)
            for name, shape, size in (("weight", [32, 16, 3, 3], 4608), ("bias", [32], 32))
        ),
        TensorInfo(name="head.weight", shape=[10, 128], dtype="float32", bytes=5120),
    ]
    return InspectResult(
        source=str(path),
        format="torch_zip",
        format_name="PyTorch state dict (zip)",
        runs_code_on_load=False,
        safety="only tensors; every name in the pickle is on the allowlist",
        references=["torch._utils._rebuild_tensor_v2"],
        tensors=tensors,
        parameters=1280 + 4640 * layers,
        bytes=62_130,
        inputs=[PortInfo(name="image", shape=["batch", 1, 8, 8], dtype="float32")],
        metadata={"torch": "2.13.0", "byteorder": "little"},
        findings=[Finding(severity="info", title="weights stored in float32", remedy="half the size in float16")],
    )
