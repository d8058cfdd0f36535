"""Convert by its keys: the form, the way live, pages about a result, other conversions, other screens."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from explorer.errors import ExplorerError
from explorer.schemas.events import Failure, Log, Progress
from explorer.schemas.readings import Reading
from explorer.schemas.specs import ConvertSpec, InspectSpec, QuantizeSpec
from screens.app import ExplorerApp
from tests.fakes import FakeEngine, an_inventory
from tests.screens import conversions
from tests.screens.conversions import CORE_ML, LOSSY, ONNX, resulting
from tests.screens.helpers import screen_text, until, until_shown
from tests.screens.journey import a_described_file, journey

AppOn = Callable[[FakeEngine], ExplorerApp]
WIDE = (120, 40)


async def go(pilot: Pilot[Any], text: str) -> None:
    """Go to Convert and wait for a text."""
    await until(pilot, lambda: pilot.app.screen.query("#machine"))
    await pilot.press("4")
    await until_shown(pilot, text)


def keys(pilot: Pilot[Any]) -> str:
    """The last row of the screen."""
    return screen_text(pilot).splitlines()[-1]


async def test_the_form_starts_from_the_latest_model_and_submits(app_on: AppOn) -> None:
    engine = journey(without=("44c4", "3ff3", "2046"))
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press("n")
        await until_shown(pilot, "job:7f3a")
        await pilot.press("down", "right", "ctrl+r")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="job:7f3a", target="coreml")])
        await until_shown(pilot, "waits for a free slot")


async def test_without_a_training_the_form_asks_for_the_source(app_on: AppOn) -> None:
    engine = FakeEngine()
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "Press n for a new one")
        await pilot.press("n")
        await until_shown(pilot, "New conversion")
        await pilot.press("enter")
        await until_shown(pilot, "✗")
        assert engine.submitted == []
        await pilot.press(*"net")
        await pilot.press("enter")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="net")])


async def test_an_empty_screen_offers_only_what_works(app_on: AppOn) -> None:
    async with app_on(FakeEngine()).run_test(size=WIDE) as pilot:
        await go(pilot, "Press n for a new one")
        assert keys(pilot).split() == ["n", "new", "j", "jobs", "?", "keys", "q", "leave"]


async def test_the_way_is_followed_live(app_on: AppOn) -> None:
    engine = conversions.running()
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "▸ convert in float32")
        assert "torch.export, open batch failed" in screen_text(pilot)
        progress = Progress(done=4, total=7, message="check in float32")
        await engine.say(conversions.JOB, Log(text="convert in float32 0.7 s"), progress)
        await until_shown(pilot, "✓ convert in float32")
        await until_shown(pilot, "step 5 of about 7: check in float32")
        assert "o open" not in keys(pilot)
        await pilot.press("ctrl+x")
        await until_shown(pilot, "Stop convert of digits_cnn (job beef)?")
        await pilot.press("y")
        await until(pilot, lambda: engine.commands == [("beef", "cancel")])


async def test_a_core_ml_proof_says_what_it_does_not_prove_and_how_to_add_it(app_on: AppOn) -> None:
    async with app_on(journey()).run_test(size=WIDE) as pilot:
        await go(pilot, "ONNX Runtime")
        assert "not run on Core ML" not in screen_text(pilot)
        await pilot.press("left")
        await until_shown(pilot, "reference check, not run on Core ML")
        text = screen_text(pilot)
        assert all(figure in text for figure in ("3.80e-6", "3.80e-7", "138 dB", "100.0 %"))
        assert "on a Mac, with this job's folder:  explorer prove 24a2" in text
        assert "/home/user/.local/state/explorer/jobs/24a2/artifacts/model.mlpackage" in text
        await pilot.press("right")
        await until_shown(pilot, "job 3ff3 · 3 of 3")


async def test_on_a_mac_the_command_is_for_this_machine(app_on: AppOn) -> None:
    engine = resulting(CORE_ML)
    engine.know(an_inventory(os__name=Reading(value="macOS 15.6", source="sw_vers")))
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "ask Core ML on this Mac:  explorer prove job:beef")


async def test_a_failed_check_is_not_called_passed_and_opens_nothing(app_on: AppOn) -> None:
    engine = resulting(ONNX.model_copy(update={"passed": False, "checks": [conversions.WRONG_CHECK]}))
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "✗ failed its proof")
        text = screen_text(pilot)
        assert "FIRST DIFFERENCE" in text
        assert "index_put_0 (scatter_nd) in head.fill" in text
        assert "passed" not in text
        assert "RESULT" not in text
        assert not any(key in keys(pilot) for key in ("o open", "z quantize"))


async def test_the_values_of_a_conversion_can_be_changed_and_run_again(app_on: AppOn) -> None:
    engine = resulting(CORE_ML, image=["pixels:rgb,scale=1/255"], metadata=["description=Digits, 8 by 8"])
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "pixels:rgb,scale=1/255")
        await pilot.press("e")
        await until_shown(pilot, "New conversion")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: bool(engine.submitted))
        assert engine.submitted == [await engine.spec(conversions.JOB)]


async def test_the_form_shows_what_bears_on_the_format(app_on: AppOn) -> None:
    engine = resulting(CORE_ML, keep_float32=["softmax"])
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press("e")
        await until_shown(pilot, "compute units")
        assert "opset" not in screen_text(pilot)
        await pilot.press("down", "left")
        await until_shown(pilot, "opset")
        assert not any(word in screen_text(pilot) for word in ("deployment target", "Core ML", "keep float32"))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="samples/tiny_net.py:net")])


async def test_what_float16_breaks_has_a_page_and_is_repaired(app_on: AppOn) -> None:
    engine = resulting(LOSSY)
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "1 overflows, 1 turns NaN, 1 loses precision")
        await pilot.press("f")
        await until_shown(pilot, "float16: 3 values break")
        text = screen_text(pilot)
        assert all(words in text for words in ("91,000", "24 dB", "keep reduce_mean in float32", "samples/rms.py:44"))
        await pilot.press("escape", "r")
        await until(pilot, lambda: bool(engine.submitted))
        asked = ConvertSpec(source="samples/tiny_net.py:net", target="coreml", repair_float16=True)
        assert engine.submitted == [asked]


async def test_a_float16_check_that_failed_without_a_result_is_repaired_too(app_on: AppOn) -> None:
    failure = Failure(message="net.py:net fails its float16 check: square_0 overflows", cause="refused")
    engine = conversions.engine_with(ConvertSpec(source="net.py:net", target="coreml"), failure, state="failed")
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "fails its float16 check")
        await pilot.press("r")
        await until(pilot, lambda: bool(engine.submitted))


async def test_nothing_is_repaired_where_nothing_breaks(app_on: AppOn) -> None:
    engine = resulting(CORE_ML)
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "holds, SNR 70 dB")
        assert not any(key in keys(pilot) for key in ("r repair", "f float16"))


async def test_what_was_repaired_is_called_mended(app_on: AppOn) -> None:
    engine = resulting(CORE_ML.model_copy(update={"losses": LOSSY.losses}), repair_float16=True)
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "mended: 1 overflows, 1 turns NaN, 1 loses precision")
        assert "r repair" not in keys(pilot)
        await pilot.press("f")
        await until_shown(pilot, "float16: 3 values mended")
        assert "✗" not in screen_text(pilot)


async def test_a_loss_that_reaches_no_output_is_shown_and_not_repaired(app_on: AppOn) -> None:
    harmless = conversions.LOSSES[2].model_copy(update={"remedy": "none needed: it reaches no output"})
    async with app_on(resulting(CORE_ML.model_copy(update={"losses": [harmless]}))).run_test(size=WIDE) as pilot:
        await go(pilot, "· loses precision")
        await until_shown(pilot, "f float16")
        assert "r repair" not in keys(pilot)


async def test_hints_have_source_and_date(app_on: AppOn) -> None:
    async with app_on(resulting(CORE_ML)).run_test(size=WIDE) as pilot:
        await go(pilot, "3 for the Neural Engine  hints, not measurements")
        await pilot.press("h")
        await until_shown(pilot, "Apple, Deploying Transformers on the Neural Engine, 2022-06")
        assert "hints, not measurements" in screen_text(pilot)


async def test_an_onnx_result_has_neither_hints_nor_a_float16_page(app_on: AppOn) -> None:
    async with app_on(resulting(ONNX)).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        assert not any(key in keys(pilot) for key in ("f float16", "h hints", "r repair"))
        assert not any(word in screen_text(pilot) for word in ("FLOAT16", "HINTS"))


async def test_the_converters_own_words_are_one_key_away(app_on: AppOn) -> None:
    engine = conversions.differing()
    engine._logs[conversions.JOB] = "\x1b[31mno decomposition\x1b[0m for aten::foo\nstep 1/3\rstep 3/3\n"
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "PROOF FAILED")
        assert "located at" not in screen_text(pilot)
        await pilot.press("m")
        await until_shown(pilot, "ERROR - converting 'index_put' op (located at: 'head/fill/1'):")
        text = screen_text(pilot)
        assert "no decomposition for aten::foo" in text
        assert "step 3/3" in text
        assert "step 1/3" not in text


async def test_a_refusal_names_operator_module_line_and_remedy(app_on: AppOn) -> None:
    async with app_on(conversions.refused()).run_test(size=WIDE) as pilot:
        await go(pilot, "REFUSED")
        rows = [row.partition("│")[2].split() for row in screen_text(pilot).splitlines()]
        for fact in (["operator", "aten::stft"], ["module", "encoder.frontend"], ["line", "audio.py:41"]):
            assert fact in rows
        assert "→ use two real convolutions" in screen_text(pilot)


async def test_the_command_line_is_copied_and_shown(app_on: AppOn, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []
    monkeypatch.setattr(ExplorerApp, "copy_to_clipboard", lambda self, text: copied.append(text))
    async with app_on(resulting(CORE_ML)).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press("y")
        await until_shown(pilot, "explorer convert samples/tiny_net.py:net --to coreml")
        assert copied == ["explorer convert samples/tiny_net.py:net --to coreml"]
        assert 'target = "coreml"' in screen_text(pilot)


@pytest.mark.parametrize("key", ["o", "i"])
async def test_the_result_is_looked_into(app_on: AppOn, key: str) -> None:
    engine = journey(answers={"job:3ff3": a_described_file("job:3ff3")})
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press(key)
        await until_shown(pilot, "encoder")
        assert engine.asked == [InspectSpec(source="job:3ff3")]


async def test_the_result_is_quantized(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press("z")
        await until_shown(pilot, "Quantize")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: engine.submitted == [QuantizeSpec(source="job:3ff3")])


async def test_an_exported_program_is_not_quantized(app_on: AppOn) -> None:
    result = ONNX.model_copy(update={"target": "pt2", "output": "model.pt2"})
    async with app_on(resulting(result)).run_test(size=WIDE) as pilot:
        await go(pilot, "exported program (.pt2)")
        await until_shown(pilot, "o open")
        assert "z quantize" not in keys(pilot)


async def test_a_file_that_runs_code_is_trusted_after_a_question(app_on: AppOn) -> None:
    digest = "ab" * 32
    failure = Failure(message="net.pt runs code", remedy=f"to load it all the same pass --trust {digest}", cause="refused")
    engine = conversions.engine_with(ConvertSpec(source="net.pt"), failure, state="failed")
    async with app_on(engine).run_test(size=WIDE) as pilot:
        await go(pilot, "net.pt runs code")
        await pilot.press("t")
        await until_shown(pilot, "abababababab…")
        await pilot.press("y")
        await until(pilot, lambda: engine.submitted == [ConvertSpec(source="net.pt", trust=[digest])])


async def test_the_proof_scrolls(app_on: AppOn) -> None:
    async with app_on(resulting(CORE_ML)).run_test(size=(80, 24)) as pilot:
        await go(pilot, "✓ passed")
        main = pilot.app.screen.query_one("#main")
        await pilot.press("pagedown")
        await until(pilot, lambda: main.scroll_offset.y > 5)
        await pilot.press("up", "pageup")
        await until(pilot, lambda: main.scroll_offset.y == 0)
        await pilot.press("down")
        await until(pilot, lambda: main.scroll_offset.y == 1)


async def test_a_refused_submission_is_said_and_the_screen_goes_on(app_on: AppOn) -> None:
    engine = journey()
    async with app_on(engine).run_test(size=WIDE, notifications=True) as pilot:
        await go(pilot, "✓ passed")
        await pilot.press("n")
        await until_shown(pilot, "New conversion")
        engine.refuse = ExplorerError("the disk is full", "remove old jobs")
        await pilot.press("ctrl+r")
        await until_shown(pilot, "the disk is full")
        assert "✓ passed" in screen_text(pilot)
