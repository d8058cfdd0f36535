"""What the Models screen and its pages look like at both sizes: `pytest --snapshot-update` after looking."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.models.inspect import describe
from explorer.schemas.events import Event, Failure, Result
from explorer.schemas.model_specs import DiffSpec, LayersSpec, ValuesSpec
from explorer.schemas.results import JobResult
from explorer.schemas.specs import Spec
from screens.app import ExplorerApp
from screens.models import ModelsScreen
from tests.fakes import FakeEngine, a_job, connected
from tests.screens import described
from tests.screens.helpers import until, until_shown
from tests.screens.machines import measured_events, measured_job

SnapCompare = Callable[..., bool]
Before = Callable[[Pilot[Any]], Awaitable[None]]
both_sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
SOURCE = "/models/encoder.pt"
ONNX = "/models/digits.onnx"
SPECS: dict[str, Spec] = {
    "diff": DiffSpec(first="/models/base.safetensors", second="/models/tuned.safetensors"),
    "verify": described.a_verify_request(),
    "layers": LayersSpec(source="samples/digits_cnn.py:digits_cnn"),
    "values": ValuesSpec(source=SOURCE),
}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))


def opening(source: str, shown: str, *keys: str) -> Before:
    """Open a model, press keys once its name stands there, then wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press("2")
        await until_shown(pilot, "SAMPLES TO TRAIN")
        assert isinstance(pilot.app.screen, ModelsScreen)
        pilot.app.screen.open_source(source)
        await until_shown(pilot, "values    bytes")
        await pilot.press(*keys)
        await until_shown(pilot, shown)
        await pilot.pause(0.3)

    return before


def job_page(kind: str, shown: str, *keys: str) -> Before:
    """Open the job of this kind from Experiments."""

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press("6")
        await until_shown(pilot, kind)
        await pilot.press("o")
        await until_shown(pilot, shown)
        await pilot.press(*keys)
        await pilot.pause(0.3)

    return before


def engine_with(kind: str, *events: Event, state: str = "done", measured: bool = False, **job: Any) -> FakeEngine:
    jobs = [a_job("d1ff", kind, model="encoder", state=state, created=2e9, **job)]
    said = {"d1ff": list(events)}
    if measured:
        jobs.append(measured_job())
        said["c3f1"] = measured_events()
    return FakeEngine(jobs, events=said, specs={"d1ff": SPECS[kind]})


def told(result: JobResult) -> Result:
    return Result(result=result.model_dump(mode="json"))


def snap(snap_compare: SnapCompare, engine: FakeEngine, size: tuple[int, int], before: Before) -> bool:
    return snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=before)


def models(**answers: JobResult | ExplorerError) -> FakeEngine:
    known = {SOURCE: described.a_checkpoint(SOURCE), ONNX: described.an_onnx_file(ONNX)}
    return FakeEngine(answers={**known, **answers})


@both_sizes
def test_tree_of_a_checkpoint(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, models(), size, opening(SOURCE, "shared", "end", "up"))


@both_sizes
def test_values_of_a_tensor(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = models(values=described.some_values("model.embed.weight"))
    assert snap(snap_compare, engine, size, opening(SOURCE, "every value is finite", "right", "down", "down", "v"))


@both_sizes
def test_safety_of_a_pickle(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = FakeEngine(answers={SOURCE: described.a_pickled_module(SOURCE)})
    assert snap(snap_compare, engine, size, opening(SOURCE, "NOT KNOWN", "s"))


@both_sizes
def test_tree_of_a_pickle(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = FakeEngine(answers={SOURCE: described.a_pickled_module(SOURCE)})
    assert snap(snap_compare, engine, size, opening(SOURCE, "! loading it runs its code"))


@both_sizes
def test_operators(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, models(graph=described.a_graph(ONNX)), size, opening(ONNX, "8 operators", "g"))


@both_sizes
def test_operators_by_module(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await opening(ONNX, "8 operators", "g")(pilot)
        await pilot.press("m")
        await until_shown(pilot, "by module")
        await pilot.pause(0.3)

    assert snap(snap_compare, models(graph=described.a_graph(ONNX)), size, before)


@both_sizes
def test_an_operator(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await opening(ONNX, "8 operators", "g")(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "ATTRIBUTES")

    assert snap(snap_compare, models(graph=described.a_graph(ONNX)), size, before)


@both_sizes
def test_weights_dry_run(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    keys = ("w", *"nets", "full_stop", *"py", "colon", *"encoder", "enter")
    assert snap(snap_compare, models(match=described.a_dry_run()), size, opening(SOURCE, "does not fit", *keys))


@both_sizes
def test_choosing_another_model(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, models(), size, opening(SOURCE, "choose a file", "d"))


@both_sizes
def test_differences(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = engine_with("diff", told(described.a_diff()))
    assert snap(snap_compare, engine, size, job_page("diff", "2 changed", "down"))


@both_sizes
def test_models_that_differ(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = engine_with("verify", told(described.a_verification()))
    assert snap(snap_compare, engine, size, job_page("verify", "✗ different", "down"))


@both_sizes
def test_models_that_are_the_same(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = engine_with("verify", told(described.a_verification(same=True)))
    assert snap(snap_compare, engine, size, job_page("verify", "✓ the same"))


@both_sizes
def test_trust_question(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    failure = Failure(
        message="/models/encoder.pt runs its own code when it is loaded (a pickle of more than tensors)",
        remedy=f"look at it with `explorer inspect /models/encoder.pt`; to load it all the same pass --trust {described.DIGEST}",
        cause="refused",
    )
    engine = engine_with("verify", failure, state="failed")
    assert snap(snap_compare, engine, size, job_page("verify", "SHA-256  9f2c41d07be8…"))


@both_sizes
def test_layers(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    engine = engine_with("layers", told(described.some_layers()), measured=True)
    assert snap(snap_compare, engine, size, job_page("layers", "FLOP/B", "s", "down"))


@both_sizes
def test_sweep(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    assert snap(snap_compare, engine_with("values", told(described.a_sweep())), size, job_page("values", "2 of 164"))


@both_sizes
def test_sweep_running(snap_compare: SnapCompare, size: tuple[int, int]) -> None:
    from explorer.schemas.events import Progress

    said = Progress(done=612_000_000, total=1_530_000_000, unit="bytes", message="model.blocks.2.attention.qkv.weight")
    engine = engine_with("values", said, state="running", progress=0.4)
    assert snap(snap_compare, engine, size, job_page("values", "40 %"))


OID = "9f2c41d07be8" * 5 + "9f2c"
BROKEN = {
    "empty": b"",
    "web_page": b"<!DOCTYPE html><html><body>Sign in</body></html>",
    "git_lfs": f"version https://git-lfs.github.com/spec/v1\noid sha256:{OID}\nsize 1530000000\n".encode(),
    "cut_off": b"PK\3\4" + bytes(1500),
    "archive": b"\x1f\x8b\x08" + bytes(64),
    "code_only": b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.",
    "unknown": bytes(range(256)),
}


def refusal_of(kind: str, folder: Path) -> ExplorerError:
    """What the reader really says of such a file."""
    path = folder / Path(SOURCE).name
    path.write_bytes(BROKEN[kind])
    with pytest.raises(ExplorerError) as caught:
        describe(path)
    message, remedy = (text.replace(str(folder), "/models") for text in (caught.value.message, caught.value.remedy))
    return ExplorerError(message, remedy)


@both_sizes
@pytest.mark.parametrize("kind", BROKEN)
def test_error(snap_compare: SnapCompare, size: tuple[int, int], kind: str, tmp_path: Path) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press("2")
        await until_shown(pilot, "SAMPLES TO TRAIN")
        assert isinstance(pilot.app.screen, ModelsScreen)
        pilot.app.screen.open_source(SOURCE)
        await until_shown(pilot, "→")

    assert snap(snap_compare, models(**{SOURCE: refusal_of(kind, tmp_path)}), size, before)
