"""Conversions as workers tell them, for the tests of the Convert screen: on its way, proven, differing, refused, lossy."""

from explorer.schemas.convert_result import Check, ConvertResult, Hint, PrecisionLoss
from explorer.schemas.events import Event, Failure, Finding, Log, Progress, Result
from explorer.schemas.specs import ConvertSpec
from tests.fakes import EPOCH, FakeEngine, a_job
from tests.screens.journey import REFERENCE, TO_CORE_ML, TO_ONNX, journey

JOB = "beef"
EXACT = "error <= 1e-4 of max(1, largest output)"
MENDED = Finding(
    severity="info",
    title="encoder.pool: max_pool2d without a stride gets one",
    evidence="samples/tiny_net.py:31, coremltools takes no default stride from torch.export",
)
FIXED_BATCH = Finding(
    severity="warning",
    title="The batch size is fixed at 1",
    evidence="view(1, -1) in head, samples/tiny_net.py:40",
    remedy="write view(x.shape[0], -1)",
)
HINTS = [
    Hint(
        rule="last-axis",
        title="the last axis of 8 is padded to 32 elements",
        where="input, conv_0, conv_1",
        remedy="keep a long axis last, a multiple of 32",
        source="Apple, Deploying Transformers on the Neural Engine",
        date="2022-06",
    ),
    Hint(
        rule="linear",
        title="a 1 × 1 convolution is faster there than linear",
        where="linear_0",
        remedy="replace nn.Linear by nn.Conv2d with kernel 1",
        source="apple/coreai-models, neural_engine_rules.md",
        date="2026-06",
    ),
    Hint(
        rule="range-dim",
        title="an open dimension keeps the program off the Neural Engine before iOS 17.4",
        where="batch",
        remedy="enumerate the shapes, or fix the batch",
        source="coremltools guide, Flexible Input Shapes",
        date="2026-08",
    ),
]
LOSSES = [
    PrecisionLoss(
        name="square_0",
        operator="square",
        module="encoder.norm (samples/rms.py:18)",
        problem="overflow",
        largest=9.1e4,
        remedy="keep square in float32, or scale the input by 1/16",
    ),
    PrecisionLoss(
        name="reduce_mean_0",
        operator="reduce_mean",
        module="encoder.norm (samples/rms.py:18)",
        problem="nan",
        largest=float("inf"),
        remedy="keep reduce_mean in float32",
    ),
    PrecisionLoss(
        name="softmax_1",
        operator="softmax",
        module="encoder.attention (samples/rms.py:44)",
        problem="loss",
        largest=0.98,
        snr_db=24.1,
        remedy="use -40000 for the mask instead of finfo.min",
    ),
]
PORTS = ["image  batch 1..64 × 1 × 8 × 8  float32", "logits  batch × 10  float16"]


def with_cosine(result: ConvertResult) -> list[Check]:
    return [check.model_copy(update={"cosine": 0.99999}) for check in result.checks]


CORE_ML = TO_CORE_ML.model_copy(
    update={
        "checks": with_cosine(TO_CORE_ML),
        "hints": HINTS,
        "ports": PORTS,
        "preflight": [MENDED],
        "rewrites": ["max_pool2d without a stride → max_pool2d with stride = kernel, in encoder.pool"],
    }
)
ONNX = TO_ONNX.model_copy(
    update={
        "checks": [*with_cosine(TO_ONNX)],
        "route": [
            "load 0.0 s",
            "torch.onnx dynamo, open batch failed after 1.2 s",
            "torch.onnx torchscript, open batch 3.4 s",
            "check in ONNX Runtime 0.1 s",
        ],
    }
)
LOSSY = CORE_ML.model_copy(
    update={
        "losses": LOSSES,
        "passed": False,
        "checks": [CORE_ML.checks[0], CORE_ML.checks[1].model_copy(update={"passed": False})],
    }
)
WRONG_CHECK = Check(
    runtime=REFERENCE,
    mode="float32",
    samples=375,
    max_abs_error=0.73,
    max_rel_error=0.41,
    snr_db=8.2,
    cosine=0.9231,
    agreement=0.684,
    tolerance=EXACT,
    passed=False,
    first_difference="index_put_0 (scatter_nd) in head.fill, samples/tiny_net.py:52: 0.73 where the model gives 0",
)
WRONG_IN_WORDS = f"{REFERENCE} float32, 375 samples: max error 0.73, SNR 8.2 dB, same class on 68.40% ({EXACT}): FAILED"
ORIGINAL = """Converting PyTorch Frontend ==> MIL Ops:  40%
ERROR - converting 'index_put' op (located at: 'head/fill/1'):
\x1b[31mValueError: node index_put (index_put_) got 3 input(s), expected [4]\x1b[0m"""
TRIED_IN_VAIN = [
    Log(text="load 0.0 s"),
    Log(text="preflight 0.4 s"),
    Log(text="torch.export, open batch failed after 1.8 s"),
    Log(text="torch.export, open batch: coremltools expects more arguments of index_put in head.fill", level="warning"),
    Log(text=ORIGINAL),
    Log(text="torch.jit.trace, open batch 0.4 s"),
    Log(text="convert in float16 1.1 s"),
    Log(text=WRONG_IN_WORDS, level="warning"),
]
DIFFERS = Failure(
    message=(
        "samples/tiny_net.py:net converts to Core ML but fails its float32 check"
        " (max error 0.73, first at scatter_nd_0 (scatter_nd) in head.fill, samples/tiny_net.py:52)"
    ),
    remedy="look for a branch on values, large integers or an assignment by index in the model",
    cause="refused",
    details={"reason": "fails its float32 check", "operator": "scatter_nd", "module": "head.fill"},
)
REFUSED = Failure(
    message="audio.py:frontend cannot be converted to ONNX: aten::stft in encoder.frontend gives complex numbers",
    remedy="use two real convolutions for the transform, or convert from its magnitude on",
    cause="refused",
    details={"reason": "complex numbers", "operator": "aten::stft", "module": "encoder.frontend", "line": "audio.py:41"},
)


def engine_with(spec: ConvertSpec, *events: Event, state: str = "done", log: str = "", **job: object) -> FakeEngine:
    """The journey, and as its latest job this conversion."""
    ended = None if state == "running" else EPOCH + 3603.1
    fields = {"state": state, "created": EPOCH + 3600, "started": EPOCH + 3600, "ended": ended, "model": "tiny_net"} | job
    engine = journey(a_job(JOB, "convert", **fields))
    engine._specs[JOB] = spec
    engine._events[JOB] = [event.model_copy(update={"seq": place}) for place, event in enumerate(events, 1)]
    engine._logs[JOB] = log
    return engine


def resulting(result: ConvertResult, **spec: object) -> FakeEngine:
    """A conversion that ended with this result."""
    asked = ConvertSpec.model_validate({"source": "samples/tiny_net.py:net", "target": result.target} | spec)
    said = f"{result.target}, float32 error {result.checks[0].max_abs_error:.1e}"
    return engine_with(asked, Result(result=result.model_dump(mode="json")), headline=said)


def running() -> FakeEngine:
    """A conversion to Core ML on the second rung of the ladder."""
    return engine_with(
        ConvertSpec(source="job:44c4", target="coreml"),
        Log(text="load 0.0 s"),
        MENDED,
        Log(text="torch.export, open batch failed after 1.8 s"),
        Log(text="torch.export, open batch: there is no rule for the operator aten::lstm in encoder.rnn", level="warning"),
        Log(text="torch.jit.trace, open batch 0.4 s"),
        Progress(done=3, total=7, unit="steps", message="convert in float32"),
        state="running",
        model="digits_cnn",
    )


def differing() -> FakeEngine:
    """A conversion that came out wrong by both ways: the job failed and left no result."""
    spec = ConvertSpec(source="samples/tiny_net.py:net", target="coreml", rewrites=False)
    found = Finding(severity="error", title="The Core ML result differs from its source", evidence=WRONG_IN_WORDS)
    return engine_with(spec, *TRIED_IN_VAIN, found, DIFFERS, state="failed", headline=DIFFERS.message)


def refused() -> FakeEngine:
    """A conversion that was refused before it began."""
    return engine_with(
        ConvertSpec(source="audio.py:frontend", inputs=["audio=1x16000..160000:float32"]),
        Log(text="load 0.3 s"),
        FIXED_BATCH,
        Log(text="look ahead failed after 0.6 s"),
        REFUSED,
        state="failed",
        headline=REFUSED.message,
        model="frontend",
        log="\x1b[31mtorch.onnx: no decomposition for aten::stft\x1b[0m\nstep 1/3\rstep 3/3\n",
    )
