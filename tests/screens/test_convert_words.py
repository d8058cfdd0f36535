"""A conversion in words: what was asked, its twin on the command line, the way, figures, and a converter's noise."""

import shlex

import pytest

from explorer.cli.flags import spec_from, spec_parser
from explorer.schemas.convert_result import PrecisionLoss
from explorer.schemas.events import Failure, Finding, Log, Result
from explorer.schemas.specs import ConvertSpec
from screens.convert_asked import asked_facts, port_words
from screens.convert_command import command_line
from screens.convert_form import rejoined
from screens.convert_half import loss_rows
from screens.convert_message import clean_lines, message_page
from screens.convert_proof import error, figures
from screens.convert_route import route_rows, step_rows
from screens.convert_words import body_rows
from screens.job_detail import JobDetail
from tests.fakes import a_job
from tests.screens.conversions import CORE_ML, DIFFERS, ORIGINAL, TRIED_IN_VAIN, WRONG_CHECK, WRONG_IN_WORDS

FULL = ConvertSpec(
    source="my nets/net.py:net",
    target="coreml",
    inputs=["image=1x3x224x224|1x3x384x384", "ids=1x1..512:int32"],
    image=["image:rgb,scale=1/255,mean=0.485/0.456/0.406"],
    labels="labels.txt",
    state=["cache"],
    metadata=["author=A. Person", "license=MIT"],
    keep_float32=["softmax", "exp_0"],
    dynamic_batch=False,
    compute_units="cpu_and_ne",
    rewrites=False,
    output="out/net.mlpackage",
)


def plain(rows: object) -> str:
    assert isinstance(rows, list)
    return "\n".join(row.plain for row in rows)


@pytest.mark.parametrize(
    "spec",
    [FULL, ConvertSpec(source="job:7f3a"), ConvertSpec(source="n.py:n", opset=20, layers=True)],
    ids=["full", "job", "onnx"],
)
def test_the_command_line_asks_for_the_same(spec: ConvertSpec) -> None:
    words = shlex.split(command_line(spec).replace("\\\n", ""))
    assert words[:2] == ["explorer", "convert"]
    assert spec_from(spec_parser("convert").parse_args(words[2:])) == spec


def test_a_long_command_goes_over_lines_that_a_shell_joins() -> None:
    assert command_line(ConvertSpec(source="job:7f3a")) == "explorer convert job:7f3a --to onnx"
    assert command_line(FULL).splitlines()[0] == "explorer convert 'my nets/net.py:net' \\"


def test_asked_says_shapes_exceptions_and_only_what_bears_on_the_format() -> None:
    facts = asked_facts(FULL, {})
    said = dict(facts)
    assert said["inputs"] == "image 1 × 3 × 224 × 224 or 1 × 3 × 384 × 384"
    assert ("", "ids 1 × 1..512 int32") in facts
    assert said["flexible"] == "ids 1..512, image in 2 shapes"
    assert said["keep float32"] == "softmax, exp_0"
    assert said["runs on"] == "cpu and ne"
    assert said["rewrites"] == "switched off"
    assert "opset" not in said
    onnx = dict(asked_facts(ConvertSpec(source="n", precision="float32"), {}))
    assert onnx["opset"] == "18"
    assert not {"precision", "deployment", "keep float32"} & set(onnx)


def test_a_port_without_a_shape_is_its_name() -> None:
    assert port_words("image") == "image"


def test_items_may_hold_commas() -> None:
    assert rejoined(["x:rgb", "scale=1/255", "y:bgr"], ":", ",") == ["x:rgb,scale=1/255", "y:bgr"]
    assert rejoined(["description=Hello", "world", "license=MIT"], "=", ", ") == ["description=Hello, world", "license=MIT"]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("load 0.0 s", f"✓ {'load':<49}{'0.0 s':>9}"),
        ("torch.export failed after 12.5 s", f"✗ {'torch.export failed':<49}{'12.5 s':>9}"),
        ("the batch is joined", "· the batch is joined"),
        (WRONG_IN_WORDS, f"✗ {WRONG_IN_WORDS}"),
    ],
)
def test_a_line_of_the_log_has_its_sign(text: str, row: str) -> None:
    assert plain(step_rows(Log(text=text), 200)) == row


def detail(*events: object, state: str = "done") -> JobDetail:
    found = JobDetail(a_job("beef", "convert", state=state), spec=FULL)
    found.take(event for event in events)  # type: ignore[misc]
    return found


def test_the_route_keeps_why_a_step_failed() -> None:
    route = ["load 0.0 s", "torch.export failed after 1.2 s", "torch.jit.trace 0.3 s"]
    notes = [Log(text=text) for text in route] + [Log(text="eval: dropout is off"), Log(text=ORIGINAL)]
    notes.insert(2, Log(text="torch.export: no rule for foo"))
    result = Result(result=CORE_ML.model_copy(update={"route": route}).model_dump(mode="json"))
    rows = plain(route_rows(detail(*notes, result), 60)).splitlines()
    assert rows[0] == "ROUTE"
    assert [row[0] for row in rows[1:]] == ["✓", "✗", "·", "✓"]
    assert rows[3] == "· torch.export: no rule for foo"
    assert len(route_rows(detail(result), 60)) == 4


def test_errors_of_a_column_compare_at_a_glance() -> None:
    assert [error(value) for value in (0.0, 9.57e-3, 3.8e-6, 0.73, 12.0, float("nan"))] == [
        "0",
        "9.57e-3",
        "3.80e-6",
        "0.73",
        "12",
        "NaN",
    ]
    assert figures(WRONG_CHECK) == ["0.73", "0.41", "8 dB", "0.92310", "68.4 %"]
    bare = WRONG_CHECK.model_copy(update={"snr_db": float("inf"), "cosine": None, "agreement": None})
    assert figures(bare)[2:] == ["exact", "–", "–"]


def test_a_failed_proof_shows_figures_once_and_what_was_tried() -> None:
    told = Finding(severity="error", title="The Core ML result differs from its source", evidence=WRONG_IN_WORDS)
    text = plain(body_rows(detail(*TRIED_IN_VAIN, told, DIFFERS, state="failed"), 200, "", ""))
    assert text.startswith("PROOF FAILED")
    assert text.count("max error 0.73, SNR") == 1
    assert "TRIED" in text
    assert "FINDINGS" not in text


def test_a_failed_proof_with_a_result_has_the_table_and_the_first_difference() -> None:
    result = CORE_ML.model_copy(update={"passed": False, "checks": [WRONG_CHECK]})
    text = plain(
        body_rows(detail(*TRIED_IN_VAIN, Result(result=result.model_dump(mode="json")), DIFFERS, state="failed"), 200, "", "")
    )
    assert text.index("FIRST DIFFERENCE") < text.index("PROOF  ✗ failed")
    assert "✗ failed float32" in text
    assert "on a Mac" not in text


def test_what_was_found_beforehand_is_said_once() -> None:
    rewrite = "max_pool2d gets its stride"
    before = [Finding(severity="info", title=f"rewritten: {rewrite}"), Finding(severity="info", title="mended: a train mode")]
    result = CORE_ML.model_copy(update={"preflight": before, "rewrites": [rewrite], "findings": []})
    text = plain(body_rows(detail(*before, Result(result=result.model_dump(mode="json"))), 100, "", ""))
    assert "PREFLIGHT\n· mended: a train mode" in text
    assert rewrite not in text
    assert "FINDINGS" not in text


def test_a_refusal_says_where_once() -> None:
    found = Finding(severity="error", title="einsum has an ellipsis", evidence="net.mix, model.py:12", remedy="write it out")
    failure = Failure(message="net cannot be converted: einsum has an ellipsis", remedy="write it out", cause="refused")
    text = plain(body_rows(detail(found, failure, state="failed"), 100, "", ""))
    assert text.splitlines() == [
        "REFUSED",
        "✗ net cannot be converted: einsum has an ellipsis",
        f"  {'at':<10}net.mix, model.py:12",
        "→ write it out",
    ]


def test_a_crash_shows_its_last_words() -> None:
    failure = Failure(message="the worker was killed", cause="SIGKILL", log_tail=["a", "b", "c", "d"])
    text = plain(body_rows(detail(failure, state="failed"), 100, "", ""))
    assert text.splitlines() == ["WHY IT FAILED", "✗ the worker was killed", "  cause: SIGKILL", "  b", "  c", "  d"]


def test_a_loss_is_told_from_the_end_of_float16_at_a_glance() -> None:
    loss = PrecisionLoss(name="exp_0", operator="exp", problem="overflow", largest=162_754.8)
    assert plain(loss_rows(loss, 80)) == f"✗ {'overflows':<17}{'162,755':>10}{'–':>9}  exp_0 (exp)"


def test_the_terminal_codes_of_a_converter_do_not_reach_ours() -> None:
    text = "\x1b[1;31mred\x1b[0m\x07\r\n 10%|#\r100%|##########\n\x1b]0;title\x07\tend"
    assert clean_lines(text) == ["red", "100%|##########", "    end"]


def test_our_own_refusal_is_no_word_of_a_converter() -> None:
    cause = "Traceback (most recent call last):\n  ct.convert(graph)\nValueError: no rule"
    own = "Traceback (most recent call last):\n  run(spec)\nexplorer.errors.ExplorerError: net cannot be converted"
    log = f"{cause}\n\nThe above exception was the direct cause of the following exception:\n\n{own}\n"
    refusal = Failure(message="net cannot be converted", cause="refused")
    assert plain(message_page(refusal, [], log, 80)) == f"PRINTED\n{cause}"
    assert "explorer.errors" in plain(message_page(None, [], log, 80))


def test_a_silent_converter_is_said_to_be() -> None:
    assert plain(message_page(None, [], "", 80)) == "The converters printed nothing."
