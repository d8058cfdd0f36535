"""The ordered reasons against MPS, a test a row."""

import pytest

from explorer.hardware import mps

MAC = mps.MpsFacts("Darwin", "arm64", os_version="26.0")
BUILT = {"built": True, "available": False}
ACCEPTED = {"built": True, "available": True}


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({"system": "Linux"}, "absent", "no Metal on Linux"),
        ({"system": ""}, "absent", "no Metal on this system"),
        ({"machine": "x86_64", "translated": True}, "unsupported", "runs under Rosetta; install an arm64 Python"),
        ({"machine": "x86_64"}, "unsupported", "needs Apple silicon"),
        ({"built": False}, "unsupported", "this torch build has no MPS"),
        ({"os_version": "13.6", **BUILT}, "unsupported", "torch needs macOS 14 and this is 13.6"),
        ({}, "pending", "not been asked"),
        ({**BUILT, "gpus": ()}, "unsupported", "no GPU is visible to this process, as in a sandbox or a virtual machine"),
        ({**BUILT, "virtual": True}, "unsupported", "virtual machine's GPU lacks the Metal family"),
        ({**BUILT, "gpus": ("Apple Paravirtual device",)}, "unsupported", "virtual machine's GPU lacks the Metal family"),
        ({**BUILT, "gpus": ("Apple M4",)}, "unsupported", "torch accepts no GPU that this process can see"),
        (ACCEPTED, "pending", "no allocation was tried"),
        ({**ACCEPTED, "failure": "out of memory", "virtual": True}, "unsupported", "in this virtual machine fails: out"),
        ({**ACCEPTED, "failure": "no answer within 30 s"}, "unsupported", "allocating 1 KiB fails: no answer within 30 s"),
        ({**ACCEPTED, "failure": ""}, "ok", ""),
    ],
)
def test_the_first_reason_that_holds(changes: dict[str, object], state: str, words: str) -> None:
    verdict = mps.verdict(mps.MpsFacts(**{**vars(MAC), **changes}))
    assert verdict.state == state
    assert words in verdict.reason
    assert verdict.value is (True if state == "ok" else None)


def test_earlier_reasons_win() -> None:
    worst = {"machine": "x86_64", "translated": True, "os_version": "13.6", "built": False, "available": False, "gpus": ()}
    fixes: list[dict[str, object]] = [
        {"translated": False},
        {"machine": "arm64"},
        {"built": True},
        {"os_version": "26.0"},
        {"gpus": ("Apple M4",), "virtual": True},
        {"available": True, "failure": "out of memory"},
    ]
    words = ["Rosetta", "Apple silicon", "no MPS", "macOS 14", "no GPU is visible", "virtual machine's GPU", "allocating"]
    facts: dict[str, object] = {**vars(MAC), **worst}
    for fix, expected in zip([{}, *fixes], words, strict=True):
        facts.update(fix)
        assert expected in mps.verdict(mps.MpsFacts(**facts)).reason  # type: ignore[arg-type]


def test_what_system_profiler_misses_does_not_stand_against_torch() -> None:
    assert mps.verdict(mps.MpsFacts("Darwin", "arm64", built=True, available=True, failure="", gpus=())).value is True
