import pytest

from explorer.conversion.causes import explained


@pytest.mark.parametrize(
    ("text", "note", "message"),
    [
        (
            "PyTorch convert function for op 'unsafe_chunk' not implemented.",
            "located at: 'net/cell/20'",
            "there is no rule for the operator unsafe_chunk in net/cell",
        ),
        ("Unsupported fx node lstm, kind lstm", None, "there is no rule for the operator lstm"),
        (
            "No ONNX function found for <OpOverload(op='aten.linalg_inv_ex', overload='default')>",
            None,
            "there is no rule for the operator aten.linalg_inv_ex",
        ),
        ("Could not guard on data-dependent expression Eq(u0, 1)", None, "it branches on values, which a graph cannot"),
        ("\x1b[96mstep\x1b[0m failed\nmore", None, "step failed"),
        ("", None, "ValueError"),
    ],
)
def test_a_converter_error_becomes_one_clause(text: str, note: str | None, message: str) -> None:
    error = ValueError(text)
    if note:
        error.add_note(note)
    assert explained(error).message == message


def test_the_innermost_error_tells() -> None:
    inner = ValueError("Input x has rank 1 != other inputs rank 0")
    outer = RuntimeError("could not convert")
    outer.__cause__ = inner
    assert explained(outer).message == "Input x has rank 1 != other inputs rank 0"


def test_a_place_that_repeats_the_operator_is_left_out() -> None:
    error = ValueError("PyTorch convert function for op 'inv' not implemented.")
    error.add_note("located at: 'inv'")
    assert explained(error).place == ""
