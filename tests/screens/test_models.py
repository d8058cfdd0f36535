"""Models: choosing by keys, what a file holds, and bad files said in a sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.schemas.model_results import TensorInfo
from explorer.schemas.specs import ConvertSpec, InspectSpec, TrainSpec
from screens.app import ExplorerApp
from screens.models import ModelsScreen
from screens.recent import recent_sources, remember
from tests.fakes import FakeEngine, connected
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.journey import a_described_file, journey

AppOn = Callable[[FakeEngine], ExplorerApp]
SIZES = [(80, 24), (120, 40)]
both_sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
SOURCE = "/models/encoder.pth"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An own home, and a folder with models and others to stand in."""
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path / "home"))
    files = tmp_path / "files"
    (files / "checkpoints").mkdir(parents=True)
    (files / "net.mlpackage").mkdir()
    for name in ("a_note.txt", "encoder.pth", "detector.onnx", ".hidden.pt", "checkpoints/best.safetensors"):
        (files / name).write_bytes(b"x" * 1500)
    monkeypatch.chdir(files)
    return files


async def open_models(pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: pilot.app.screen.query("#machine"))
    await pilot.press("2")
    await until_shown(pilot, "SAMPLES TO TRAIN")


async def test_a_file_is_opened_by_keys_alone(app_on: AppOn, folder: Path) -> None:
    path = str(folder / "encoder.pth")
    engine = FakeEngine(answers={path: a_described_file(path)})
    async with app_on(engine).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "3 model files")
        await pilot.press("down", "enter")
        await until_shown(pilot, "encoder.pth · PyTorch state dict (zip) · 62.1 KB · 15.2 K parameters")
        assert engine.asked == [InspectSpec(source=path)]
        assert recent_sources() == [path]


async def test_the_picker_shows_models_first_then_folders_then_the_rest(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "net.mlpackage")
        text = screen_text(pilot)
        places = [text.index(name) for name in ("detector.onnx", "encoder.pth", "net.mlpackage", "checkpoints/", "a_note.txt")]
        assert places == sorted(places)
        assert ".hidden.pt" not in text
        await pilot.press("ctrl+t")
        await until_shown(pilot, ".hidden.pt")


async def test_the_picker_goes_down_and_up_and_filters_while_one_types(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "checkpoints/")
        await pilot.press(*"check", "enter")
        await until_shown(pilot, "best.safetensors")
        await pilot.press("left")
        await until_shown(pilot, "▸ checkpoints/")
        await pilot.press("c", "backspace", "backspace")
        await until_shown(pilot, "▸ files/")
        await pilot.press(*"zzz")
        await until_shown(pilot, "no name here holds zzz")


async def test_a_typed_path_is_gone_to_and_lost_keys_are_none(app_on: AppOn, folder: Path) -> None:
    path = str(folder / "checkpoints" / "best.safetensors")
    engine = FakeEngine()
    async with app_on(engine).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "checkpoints/")
        for letter in str(folder / "checkpoints") + "/best":
            await pilot.press("slash" if letter == "/" else letter)
        await until_shown(pilot, "▸ best.safetensors")
        await pilot.press("enter")
        await until(pilot, lambda: engine.asked == [InspectSpec(source=path)])


async def test_a_folder_that_cannot_be_read_is_said(app_on: AppOn, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    real = os.scandir

    def refuse(path: Any) -> Any:
        if str(path).endswith("checkpoints"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr("screens.folder.os.scandir", refuse)
    async with app_on(FakeEngine()).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "checkpoints/")
        await pilot.press(*"check", "enter")
        await until_shown(pilot, "✗ cannot read checkpoints: Permission denied")
        await pilot.press("escape")
        await until_shown(pilot, "SAMPLES TO TRAIN")


async def test_a_bad_file_is_one_sentence_and_the_screen_goes_on(app_on: AppOn, folder: Path) -> None:
    good, bad = str(folder / "encoder.pth"), str(folder / "detector.onnx")
    error = ExplorerError("detector.onnx is cut off after 1,500 bytes", "download it again")
    engine = FakeEngine(answers={bad: error, good: a_described_file(good)})
    async with app_on(engine).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("o")
        await until_shown(pilot, "▸ detector.onnx")
        await pilot.press("enter")
        await until_shown(pilot, "✗ detector.onnx is cut off after 1,500 bytes")
        await until_shown(pilot, "→ download it again")
        await pilot.press("o")
        await until_shown(pilot, "▸ detector.onnx")
        await pilot.press("down", "enter")
        await until_shown(pilot, "15.2 K parameters")
        assert "cut off" not in screen_text(pilot)


async def opened(pilot: Pilot[Any]) -> None:
    await open_models(pilot)
    assert isinstance(pilot.app.screen, ModelsScreen)
    pilot.app.screen.open_source(SOURCE)
    await until_shown(pilot, "conv0")


async def test_modules_fold_and_sum_what_they_hold(app_on: AppOn) -> None:
    async with app_on(FakeEngine(answers={SOURCE: a_described_file(SOURCE)})).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert "6 tensors" in screen_text(pilot)
        assert "13.9 K  55.7 KB" in screen_text(pilot)
        await pilot.press("down", "enter")
        await until_shown(pilot, "▸ ▸ encoder")
        assert "conv0" not in screen_text(pilot)
        await pilot.press("right", "down", "down", "left")
        await until_shown(pilot, "▸   ▾ conv0")


async def test_the_filter_keeps_tensors_by_name(app_on: AppOn) -> None:
    async with app_on(FakeEngine(answers={SOURCE: a_described_file(SOURCE)})).run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("slash", *"conv1.b")
        await until(pilot, lambda: "conv0" not in screen_text(pilot))
        assert "bias" in screen_text(pilot)
        await pilot.press("escape")
        await until_shown(pilot, "conv0")


async def test_twenty_thousand_tensors_scroll(app_on: AppOn) -> None:
    tensors = [TensorInfo(name=f"layers.{place}.weight", shape=[8, 8], dtype="float16", bytes=128) for place in range(20_000)]
    huge = a_described_file(SOURCE).model_copy(update={"tensors": tensors})
    async with app_on(FakeEngine(answers={SOURCE: huge})).run_test(size=(80, 24)) as pilot:
        await open_models(pilot)
        assert isinstance(pilot.app.screen, ModelsScreen)
        pilot.app.screen.open_source(SOURCE)
        await until_shown(pilot, "20,000 tensors")
        await pilot.press("right", "end")
        await until_shown(pilot, "▸   ▸ 19999")
        await pilot.press("pageup", "home")
        await until_shown(pilot, "▸ ▾ layers")


async def test_a_sample_leads_to_its_training(app_on: AppOn) -> None:
    engine = FakeEngine()
    async with app_on(engine).run_test(size=(100, 30)) as pilot:
        await open_models(pilot)
        await pilot.press("down", "down", "enter")
        await until_shown(pilot, "New training")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted)
        spec = engine.submitted[0]
        assert isinstance(spec, TrainSpec)
        assert (spec.source, spec.data) == ("samples/simple_model.py:simple_model", "linear")
        await until_shown(pilot, "job new1")


async def test_the_model_of_a_job_is_opened_and_converted(app_on: AppOn) -> None:
    engine = journey(answers={"job:7f3a": a_described_file("job:7f3a")})
    async with app_on(engine).run_test(size=(120, 40)) as pilot:
        await open_models(pilot)
        await until_shown(pilot, "train digits_cnn")
        await pilot.press(*["down"] * 6, "enter")
        await until_shown(pilot, "train digits_cnn (7f3a) · PyTorch")
        await pilot.press("c")
        await until_shown(pilot, "New conversion")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="job:7f3a")])


async def test_recent_files_that_are_gone_are_left_out(folder: Path) -> None:
    remember(str(folder / "encoder.pth"))
    remember(str(folder / "gone.pth"))
    remember(str(folder / "encoder.pth"))
    assert recent_sources() == [str(folder / "encoder.pth")]
    (folder.parent / "home" / "recent.json").write_text("{", encoding="utf-8")
    assert recent_sources() == []


@both_sizes
def test_models_empty(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    assert snap_compare(ExplorerApp(connected(FakeEngine())), terminal_size=size, run_before=open_models)


@both_sizes
def test_models_offered(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await open_models(pilot)
        await until_shown(pilot, "MODELS OF YOUR JOBS")

    assert snap_compare(ExplorerApp(connected(journey())), terminal_size=size, run_before=before)


@both_sizes
def test_models_opened(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    engine = FakeEngine(answers={SOURCE: a_described_file(SOURCE)})

    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)
        await pilot.press(*["down"] * 3)
        await pilot.pause(0.2)

    assert snap_compare(ExplorerApp(connected(engine)), terminal_size=size, run_before=before)
