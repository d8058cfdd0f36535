"""Models by keys: values, graph, comparisons, trust, layers, and the errors of each."""

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.models.trust import require_trust, sha256
from explorer.schemas.events import Failure
from explorer.schemas.model_results import InspectResult, TensorInfo
from explorer.schemas.model_specs import DiffSpec, GraphSpec, LayersSpec, MatchSpec, ValuesSpec, VerifySpec
from explorer.schemas.results import JobResult
from screens import model_operators as operators
from screens.actions import actions_of
from screens.app import ExplorerApp
from screens.model_facts import file_rows, safety_rows
from screens.model_graph import GraphPage
from screens.model_layers import LayersTable
from screens.model_tables import cut, cut_front
from screens.model_tree import leaf_path, rows, tree
from screens.model_trust import asked_digest, trusting
from screens.model_values import histogram_rows, value_rows
from screens.models import ModelsScreen
from tests.fakes import FakeEngine, a_job
from tests.screens import described
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.machines import limits
from tests.screens.test_model_snapshots import engine_with, job_page, opening, told

AppOn = Callable[[FakeEngine], ExplorerApp]
SOURCE, ONNX = "/models/encoder.pt", "/models/digits.onnx"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))


def models(*jobs: Any, **answers: JobResult | ExplorerError) -> FakeEngine:
    known: dict[str, JobResult | ExplorerError] = {SOURCE: described.a_checkpoint(SOURCE), ONNX: described.an_onnx_file(ONNX)}
    return FakeEngine(jobs, answers={**known, **answers})


async def type_source(pilot: Pilot[Any], text: str) -> None:
    names = {".": "full_stop", ":": "colon", "/": "slash", "_": "underscore"}
    await pilot.press(*(names.get(letter, letter) for letter in text))


async def test_values_are_read_once_asked_for_and_stay_beside_the_tensor(app_on: AppOn) -> None:
    engine = models(values=described.some_values("model.embed.weight"))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await opening(SOURCE, "▸       weight", "down", "down")(pilot)
        assert "every value is finite" not in screen_text(pilot)
        await pilot.press("v")
        await until_shown(pilot, "min   -0.9134")
        assert engine.asked[-1] == ValuesSpec(source=SOURCE, tensor="model.embed.weight")
        await pilot.press("down")
        await until(pilot, lambda: "-0.9134" not in screen_text(pilot))
        await pilot.press("up")
        await until_shown(pilot, "min   -0.9134")


async def test_values_have_a_page_where_there_is_no_room_beside(app_on: AppOn) -> None:
    async with app_on(models(values=described.some_values("model.embed.weight"))).run_test(size=(80, 24)) as pilot:
        await opening(SOURCE, "✓ every value is finite", "down", "down", "v")(pilot)
        await pilot.press("escape")
        await until_shown(pilot, "15 tensors")


async def test_a_module_has_no_values_and_weights_no_graph(app_on: AppOn) -> None:
    engine = models()
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await opening(SOURCE, "▸ ▾ model")(pilot)
        screen = pilot.app.screen
        assert [screen.check_action(name, ()) for name in ("values", "graph", "uses", "quantize")] == [False] * 4
        assert all(screen.check_action(name, ()) for name in ("diff", "verify", "match", "layers", "sweep", "safety", "train"))
        asked = len(engine.asked)
        await pilot.press("v", "g", "u")
        await pilot.pause(0.1)
        assert len(engine.asked) == asked


async def test_from_a_tensor_to_its_uses_and_back(app_on: AppOn) -> None:
    engine = models(graph=described.a_graph(ONNX))
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await opening(ONNX, "head.weight", "end")(pilot)
        await pilot.press("u")
        await until_shown(pilot, "▸   Gemm")
        assert engine.asked[-1] == GraphSpec(source=ONNX)
        assert "the uses of head.weight" in screen_text(pilot)
        await pilot.press("u")
        await until_shown(pilot, "▸   MatMul")
        await pilot.press("home", "enter")
        await until_shown(pilot, "kernel_shape")
        await pilot.press("escape", "w")
        await until_shown(pilot, "USED BY")
        assert "encoder.conv1.weight" in screen_text(pilot)
        assert "Conv node_conv" in screen_text(pilot)


async def test_operators_are_found_by_input_and_blocks_fold(app_on: AppOn) -> None:
    async with app_on(models(graph=described.a_graph(ONNX))).run_test(size=(80, 24)) as pilot:
        await opening(ONNX, "8 operators", "g")(pilot)
        await pilot.press("slash", *"head", "enter")
        await until(pilot, lambda: "node_conv" not in screen_text(pilot))
        assert "node_then" in screen_text(pilot)
        await pilot.press("slash", "escape")
        await until_shown(pilot, "node_conv")
        await pilot.press("home", *["down"] * 5, "left", "left")
        await until_shown(pilot, "▸ ▸ If")
        assert "node_then" not in screen_text(pilot)
        await pilot.press("m")
        await until_shown(pilot, "encoder  3 operators")


async def test_a_graph_that_cannot_be_read_is_said_with_the_remedy(app_on: AppOn) -> None:
    error = ExplorerError("digits.onnx is cut off after 99 bytes", "download it again")
    async with app_on(models(graph=error)).run_test(size=(80, 24)) as pilot:
        await opening(ONNX, "cut off", "g")(pilot)
        assert "→ download it again" in screen_text(pilot)
        assert not isinstance(pilot.app.screen, GraphPage)


async def test_a_difference_is_asked_by_keys(app_on: AppOn) -> None:
    engine = models(a_job("7f3a", state="done"))
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opening(SOURCE, "choose a file", "d")(pilot)
        await pilot.press("down", "enter")
        await until_shown(pilot, "Differences")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [DiffSpec(first=SOURCE, second="job:7f3a")])
        await until_shown(pilot, "Differences · queued · job new1")
        await pilot.press("escape")
        await until_shown(pilot, "15 tensors")


async def test_the_search_for_nan_is_a_job_with_progress_that_can_be_stopped(app_on: AppOn) -> None:
    engine = models()
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opening(SOURCE, "queued", "N")(pilot)
        assert engine.submitted == [ValuesSpec(source=SOURCE)]
        await pilot.press("ctrl+x", "y")
        await until(pilot, lambda: engine.commands == [("new1", "cancel")])


async def test_weights_are_laid_against_a_factory(app_on: AppOn) -> None:
    engine = models(match=described.a_dry_run())
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opening(SOURCE, "Lay the weights", "w")(pilot)
        await type_source(pilot, "nets.py:encoder")
        await pilot.press("enter")
        await until_shown(pilot, "remove 'module.'")
        assert engine.asked[-1] == MatchSpec(source="nets.py:encoder", weights=SOURCE)
        await pilot.press("slash", *"qkv", "enter")
        await until(pilot, lambda: "head.weight" not in screen_text(pilot))


async def test_a_yes_runs_the_same_request_with_the_files_hash(app_on: AppOn, tmp_path: Path) -> None:
    path = tmp_path / "encoder.pt"
    path.write_bytes(b"a pickle")
    with pytest.raises(ExplorerError) as refused:
        require_trust(path, [], "a pickle of more than tensors")
    failure = Failure(message=refused.value.message, remedy=refused.value.remedy, cause="refused")
    engine = engine_with("verify", failure, state="failed")
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await job_page("verify", f"SHA-256  {sha256(path)[:12]}")(pilot)
        await pilot.press("n", "t", "y")
        await until(pilot, lambda: engine.submitted)
        first = described.a_verify_request()
        assert engine.submitted == [first.model_copy(update={"trust": [sha256(path)]})]


def test_no_hash_is_asked_twice_nor_for_other_failures() -> None:
    failure = Failure(message="out of memory", remedy="make the batch smaller")
    assert asked_digest(failure) == asked_digest(None) == ""
    given = VerifySpec(first="a", second="b", trust=[described.DIGEST])
    assert trusting(given, described.DIGEST) is None
    assert trusting(DiffSpec(first="a", second="b"), described.DIGEST) is None


async def test_layers_are_sorted_by_key(app_on: AppOn) -> None:
    engine = engine_with("layers", told(described.some_layers()), measured=True)
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await job_page("layers", "FLOP/B")(pilot)
        text = screen_text(pilot)
        assert text.index("conv1") < text.index("norm1") < text.index("conv2")
        await pilot.press("s")
        await until_shown(pilot, "sorted by FLOPs")
        text = screen_text(pilot)
        assert text.index("conv2") < text.index("conv3") < text.index("hidden")
        await pilot.press("e")
        await until_shown(pilot, "batch size")


async def test_layers_start_from_a_form(app_on: AppOn) -> None:
    engine = models()
    async with app_on(engine).run_test(size=(80, 24)) as pilot:
        await opening(SOURCE, "Cost of each layer", "y")(pilot)
        await type_source(pilot, "nets.py:encoder")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [LayersSpec(source="nets.py:encoder", weights=SOURCE)])


def test_a_layer_stands_on_the_roofline_only_with_ceilings() -> None:
    result = described.some_layers()
    conv = result.layers[3]
    assert not any("roofline" in row.plain for row in LayersTable(result, None).facts(conv, 60))
    placed = "\n".join(row.plain for row in LayersTable(result, limits()).facts(conv, 90))
    flops_a_byte = 2_359_296 / (4 * 18_496 + 4 * 64 * 64)
    assert f"{flops_a_byte:.2g} FLOP/B, compute-bound, at most 2.90 TFLOP/s" in placed


def test_shared_storage_is_counted_once_in_the_tree() -> None:
    root = tree(described.a_checkpoint(SOURCE).tensors)
    model = root.children["model/"]
    assert model.bytes == root.bytes == 32_768_000 + 4 * (786_432 + 262_144 + 1024) + 1024
    assert model.children["head/"].bytes == 0
    assert model.tensors == 15
    assert [row.node.path for row in rows(root, set(), "head")][-1] == leaf_path("model.head.weight")


def test_what_a_file_holds_is_said() -> None:
    text = "\n".join(row.plain for row in file_rows(described.an_onnx_file(ONNX), 60))
    assert "weights.bin  2.56 KB" in text
    assert "more.bin  ✗ missing" in text
    text = "\n".join(row.plain for row in file_rows(described.a_checkpoint(SOURCE), 60))
    assert "every name begins with model." in text
    assert "global_step 48,000" in text


def test_the_safety_page_parts_what_is_known_from_what_is_not() -> None:
    text = "\n".join(row.plain for row in safety_rows(described.a_pickled_module(SOURCE), 76))
    known, unknown = text.index("ALLOWED"), text.index("NOT KNOWN")
    assert unknown < text.index("! posix.system") < known < text.index("✓ collections.OrderedDict")
    safe = "\n".join(row.plain for row in safety_rows(described.a_checkpoint(SOURCE), 76))
    assert "NOT KNOWN" not in safe
    assert "BEFORE IT IS LOADED" not in safe


def test_blocks_within_each_other_in_a_circle_are_all_listed() -> None:
    graph = described.a_graph(ONNX)
    a, b = graph.operators[0], graph.operators[1]
    circle = [a.model_copy(update={"block": b.name}), b.model_copy(update={"block": a.name})]
    top = operators.by_block(graph.model_copy(update={"operators": circle}))
    assert sorted(node.name for node, _ in operators.walk(top)) == sorted([a.name, b.name])


def test_a_histogram_has_a_column_for_every_bin_that_holds_anything() -> None:
    values = described.values_of("a")
    drawn = histogram_rows(values, 32, 4)
    assert len(drawn) == 5
    assert drawn[-1].plain.startswith("-0.9134")
    assert drawn[-1].plain.endswith("0.8702")
    assert histogram_rows(values.model_copy(update={"histogram": []}), 32) == []
    assert [row.plain for row in value_rows(values.model_copy(update={"elements": 0}), 32)] == ["VALUES", "it holds none"]


def test_text_is_cut_to_its_room() -> None:
    assert cut("abc", 5) == "abc  "
    assert cut("abcdef", 4) == "abc…"
    assert cut_front("model.layers.0.weight", 9) == "…0.weight"


@pytest.mark.parametrize("scope", ["graph", "result"])
def test_pages_take_no_key_of_the_program(scope: str) -> None:
    of_app = {key for action in actions_of("app") for key in action.keys}
    assert [action.id for action in actions_of(scope) if of_app & set(action.keys)] == []


def test_every_key_of_a_scope_is_used_once() -> None:
    for scope in ("models", "graph", "result", "choice"):
        keys = [key for action in actions_of(scope) for key in action.keys]
        assert len(keys) == len(set(keys))


def a_huge_model(tensors: int) -> InspectResult:
    """A mixture of experts: many modules, every one of them to be opened."""
    found = [
        TensorInfo(
            name=f"model.layers.{place // 400}.experts.{place // 4 % 100}.w{place % 4}.weight",
            shape=[64, 64],
            dtype="bfloat16",
            bytes=8192,
        )
        for place in range(tensors)
    ]
    return described.a_checkpoint(SOURCE).model_copy(update={"tensors": found})


@pytest.mark.slow
async def test_twenty_thousand_tensors_scroll_within_fifty_milliseconds(
    app_on: AppOn, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a key to its paint, with every module open; the median of forty keys of each kind."""
    async with app_on(FakeEngine(answers={SOURCE: a_huge_model(20_000)})).run_test(size=(120, 40)) as pilot:
        await opening(SOURCE, "20,000 tensors")(pilot)
        screen = pilot.app.screen
        assert isinstance(screen, ModelsScreen)
        screen._open = {node.node.path for node in rows(screen._root, set(), ".") if node.node.tensor is None}
        screen.fill_tree()
        assert len(screen.tensors.items) > 40_000
        medians = {}
        for key in ("down", "pagedown", "up", "pageup"):
            before = screen.tensors.selected_key
            medians[key] = statistics.median([await _key_to_paint_ms(pilot, key) for _ in range(40)])
            assert screen.tensors.selected_key != before
        with capsys.disabled():
            print("key to paint, median ms:", {key: round(value, 1) for key, value in medians.items()})  # noqa: T201
        assert max(medians.values()) <= 50


async def _key_to_paint_ms(pilot: Pilot[Any], key: str) -> float:
    """Until everything that the key set going has been painted."""
    start = time.perf_counter()
    pilot.app.simulate_key(key)
    await pilot._wait_for_screen()
    painted = asyncio.Event()
    pilot.app.screen.call_after_refresh(painted.set)
    await painted.wait()
    return (time.perf_counter() - start) * 1000


def test_a_graph_without_modules_cannot_be_grouped() -> None:
    graph = described.a_graph(ONNX)
    bare = [item.model_copy(update={"module": ""}) for item in graph.operators]
    assert operators.has_modules(graph)
    assert not operators.has_modules(graph.model_copy(update={"operators": bare}))
