"""The converters' own texts, recorded with torch 2.13, coremltools 9.0 and onnx 1.23, as causes and remedies."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from explorer.conversion.causes import LOG_HAS_IT, Cause, explained
from explorer.conversion.messages import RULES

RECORDED = json.loads(Path(__file__).with_name("recorded_errors.json").read_text())
NO_RULE = "there is no rule for the operator {}"
BRANCH = "it branches on values, which a graph cannot"
ARGUMENTS = "coremltools expects more arguments of {} than torch.export hands over"
HEADS = "attention has fewer key heads than query heads, which coremltools does not repeat"


def recorded(name: str) -> Exception:
    """The error as it came up: the outermost of a chain, with what the converter logged as notes."""
    errors = [RuntimeError(text) for text in RECORDED[name]["errors"]]
    for outer, inner in pairwise(errors):
        outer.__cause__ = inner
    for line in RECORDED[name]["notes"]:
        errors[0].add_note(line)
    return errors[0]


@pytest.mark.parametrize(
    ("name", "message", "operator", "place", "line"),
    [
        ("E_dialect", "the exported program is not decomposed", "", "", ""),
        ("E_pool", ARGUMENTS.format("max_pool2d"), "max_pool2d", "", ""),
        ("E_lstm", NO_RULE.format("lstm"), "lstm", "", ""),
        ("T_cell", NO_RULE.format("unsafe_chunk in body"), "unsafe_chunk", "body", ""),
        ("E_cell", NO_RULE.format("lstm_cell"), "lstm_cell", "", ""),
        ("T_bicubic", NO_RULE.format("upsample_bicubic2d"), "upsample_bicubic2d", "", ""),
        ("E_bicubic", NO_RULE.format("upsample_bicubic2d"), "upsample_bicubic2d", "", ""),
        ("T_grid5", "resample takes 4 dimensions in Core ML, 5 are given", "grid_sampler", "", ""),
        ("T_rope", NO_RULE.format("view_as_complex"), "view_as_complex", "", ""),
        ("T_dict", "it returns a dict, which tracing takes only from a wrapper", "", "", ""),
        ("T_gqa", HEADS, "scaled_dot_product_attention", "", ""),
        ("E_gqa", HEADS, "scaled_dot_product_attention", "", ""),
        ("T_einsum", "einsum with an ellipsis is beyond coremltools", "einsum", "", ""),
        ("E_rms", ARGUMENTS.format("rms_norm"), "rms_norm", "", ""),
        ("E_branch", f"{BRANCH} (model.py:72)", "", "", "model.py:72"),
        ("E_item", f"{BRANCH} (model.py:75)", "", "", "model.py:75"),
        ("E_train", "a batch normalisation is in training mode", "_native_batch_norm_legit_functional", "", ""),
        ("C_pth", "the file holds weights or a pickled module, not a program", "", "", ""),
        ("C_module", "coremltools takes neither a module nor such a file", "", "", ""),
        ("C_script", "the scripted model branches on a setting", "if", "", ""),
        ("C_image", "a Core ML picture takes one scale for all channels", "", "", ""),
        ("C_range", "an open dimension has no upper bound, which Core ML demands", "", "", ""),
        ("C_noinputs", "the inputs are not declared", "", "", ""),
        ("T_rank6", "reshape gives a tensor of 6 dimensions, Core ML takes at most 5", "reshape", "", ""),
        ("E_numpy", "it leaves torch for numpy, which a graph cannot follow", "", "", ""),
        ("E_constraint1", "the dimension batch cannot stay open: the model fixes it at 1", "", "", ""),
        ("T_inv", NO_RULE.format("linalg_inv"), "linalg_inv", "", ""),
        ("O_inv", NO_RULE.format("aten.linalg_inv_ex"), "aten.linalg_inv_ex", "", ""),
        ("O_svd", NO_RULE.format("aten._linalg_svd"), "aten._linalg_svd", "", ""),
        ("O_cplx", "ONNX has no complex numbers, which aten.mul is given here", "aten.mul", "", ""),
        ("O_branch", f"{BRANCH} (model.py:72)", "", "", "model.py:72"),
        ("O_dyn", "the open dimensions do not fit the inputs of the model", "", "", ""),
        ("O_dict", "it takes no argument x", "", "", ""),
        ("OL_bic", NO_RULE.format("aten::_upsample_bicubic2d_aa"), "aten::_upsample_bicubic2d_aa", "", ""),
        ("OL_gqa", NO_RULE.format("scaled_dot_product_attention"), "scaled_dot_product_attention", "", ""),
        ("OL_rms", NO_RULE.format("aten::rms_norm"), "aten::rms_norm", "", ""),
        ("OL_fft", NO_RULE.format("aten::fft_rfft"), "aten::fft_rfft", "", ""),
        ("OL_grid5", NO_RULE.format("GridSample"), "GridSample", "", ""),
        ("OL_pool", NO_RULE.format("adaptive_avg_pool2d"), "adaptive_avg_pool2d", "", ""),
        ("E_stft", ARGUMENTS.format("hann_window"), "hann_window", "", ""),
        ("E_cplxin", "Core ML has no complex numbers (torch.complex64)", "", "", ""),
        ("T_none", "it returns nothing", "", "", ""),
        ("T_state", "it returns something that is no tensor", "", "", ""),
        ("recursion", "the graph is nested too deeply for the converter", "", "", ""),
        ("memory", "the memory does not suffice", "", "", ""),
        ("npmem", "the memory does not suffice", "", "", ""),
    ],
)
def test_a_recorded_error_becomes_a_cause_with_a_remedy(name: str, message: str, operator: str, place: str, line: str) -> None:
    cause = explained(recorded(name))
    assert (cause.message, cause.operator, cause.place, cause.line) == (message, operator, place, line)
    assert cause.remedy not in ("", LOG_HAS_IT)
    assert RECORDED[name]["errors"][0].splitlines()[0][:40].strip() in cause.original
    assert cause.lacks_rule == (message.startswith(NO_RULE.format("")) or name == "O_cplx")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("only 0-dimensional arrays can be converted to Python scalars", "this numpy is too new for coremltools 9.0"),
        ("BlobWriter not loaded", "this Python has no compiled part of coremltools"),
        ("Python int too large to convert to C long", "an integer lies beyond 32 bit, which Core ML lacks"),
        ("[Errno 28] No space left on device", "the disk is full"),
        ("ModelProto exceeds maximum protobuf size of 2GB: 3000000000", "the file would hold over 2 GB"),
        ("Input squeeze_0 has rank 1 != other inputs rank 0", "coremltools cannot assign to several indices at once"),
        ("Constraints violated (batch) != 1", "the dimension batch cannot be as open as was asked"),
    ],
)
def test_texts_of_other_machines_have_causes_too(text: str, message: str) -> None:
    assert explained(ValueError(text)).message == message


def test_every_rule_is_tried_on_a_text() -> None:
    texts = ["\n".join(item["errors"] + item["notes"]) for item in RECORDED.values()]
    used = {next((at for at, rule in enumerate(RULES) if rule.search(text)), -1) for text in texts}
    assert -1 not in used
    assert len(used) >= 30


def test_the_innermost_error_tells() -> None:
    inner = ValueError("unheard of")
    outer = RuntimeError("could not convert")
    outer.__cause__ = inner
    assert explained(outer) == Cause("unheard of", LOG_HAS_IT, original="could not convert\nunheard of")


@pytest.mark.parametrize(("text", "message"), [("\x1b[96mstep\x1b[0m failed\nmore", "step failed"), ("", "ValueError")])
def test_an_unknown_error_gives_its_first_line(text: str, message: str) -> None:
    assert explained(ValueError(text)).message == message


def test_a_memory_error_without_words_is_known() -> None:
    assert explained(MemoryError()).message == "the memory does not suffice"


def test_the_line_that_torch_was_running_is_told() -> None:
    class Leaves(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyError("lost")

    with pytest.raises(KeyError) as caught:
        Leaves()(torch.ones(1))
    cause = explained(caught.value)
    assert cause.line == f"test_causes.py:{Leaves.forward.__code__.co_firstlineno + 1}"
    assert cause.details() == {"reason": "'lost'", "line": cause.line}
