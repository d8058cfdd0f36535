"""`explorer doctor`: the page, its checks, and that it names nobody."""

import getpass
import json
import os
import socket
from pathlib import Path

import pytest

from explorer.cli import doctor_checks, doctor_facts, main
from explorer.schemas.readings import Reading

PROGRAM = {"explorer": "0.1.0", "free there": "50.0 GiB"}
PACKAGES = {"numpy": "2.3.5", "coremltools": "9.0", "onnxruntime": "1.23.0"}
TERMINAL = {"size": "80 x 24", "encoding": "UTF-8", "TERM": "xterm-256color"}
READINGS = {"torch.threads": Reading(value=8)}


def level_of(text: str, **sections: dict[str, str]) -> str:
    """The level of the check whose words hold `text`."""
    facts = {"program": PROGRAM, "packages": PACKAGES, "terminal": TERMINAL, "engine": {"state": "no engine is running"}}
    merged = {name: {**values, **sections.get(name, {})} for name, values in facts.items()}
    return next(check.level for check in doctor_checks.checks(merged, READINGS) if text in check.text + check.remedy)


@pytest.mark.parametrize(
    ("text", "sections", "level"),
    [
        ("jobs can be kept", {}, "ok"),
        ("are free", {"program": {"free there": "0.3 GiB"}}, "warning"),
        ("numpy<2.4", {"packages": {"numpy": "2.4.1"}}, "error"),
        ("works with numpy", {"packages": {"numpy": "2.3.9"}}, "ok"),
        ("install onnxruntime", {"packages": {"onnxruntime": "not installed"}}, "error"),
        ("does not answer", {"engine": {"state": "does not answer"}}, "error"),
        ("version 0.0.9", {"engine": {"state": "running", "version": "0.0.9"}}, "warning"),
        ("set TERM", {"terminal": {"TERM": "dumb"}}, "error"),
        ("at least 80 x 24", {"terminal": {"size": "60 x 20"}}, "warning"),
        ("shows the screens", {}, "ok"),
        ("UTF-8 locale", {"terminal": {"encoding": "ANSI_X3.4-1968"}}, "warning"),
    ],
)
def test_checks(text: str, sections: dict[str, dict[str, str]], level: str) -> None:
    assert level_of(text, **sections) == level


def test_errors_come_first() -> None:
    facts = {"program": PROGRAM, "packages": {**PACKAGES, "numpy": "2.4.0"}, "terminal": TERMINAL, "engine": {"state": "off"}}
    assert doctor_checks.checks(facts, READINGS)[0].level == "error"


def test_a_silent_torch_is_an_error_with_its_reason() -> None:
    facts = {"program": PROGRAM, "packages": PACKAGES, "terminal": TERMINAL, "engine": {"state": "off"}}
    silent = {"torch.threads": Reading(state="absent", reason="the torch probe died of SIGSEGV")}
    assert "SIGSEGV" in doctor_checks.checks(facts, silent)[0].text


def test_a_home_that_is_a_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    with monkeypatch.context() as patched:
        patched.setenv("EXPLORER_HOME", str(tmp_path / "file"))
        assert level_of("jobs cannot be kept") == "error"


def test_the_users_folder_is_not_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert doctor_facts.without_user(tmp_path / "state") == "~/state"
    assert doctor_facts.without_user(Path("/srv/state")) == "/srv/state"


def test_one_object_with_every_reading_and_no_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 51000 192.0.2.8 22")
    assert main(["doctor", "--json"]) == 0
    text = capsys.readouterr().out
    report = json.loads(text)
    assert {"program", "packages", "terminal", "engine", "readings", "checks"} == report.keys()
    assert report["readings"]["torch.threads"]["value"] >= 1
    assert all(reading["state"] != "pending" for reading in report["readings"].values())
    assert report["terminal"]["SSH_CONNECTION"] == "yes"
    assert socket.gethostname() not in text or len(socket.gethostname()) < 4
    assert "192.0.2.7" not in text


def test_the_page_holds_facts_readings_and_checks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    page = capsys.readouterr().out
    assert all(f"\n{title}\n" in "\n" + page for title in ("program", "packages", "terminal", "engine", "readings", "checks"))
    assert f"{os.cpu_count()}" in page
    assert getpass.getuser() == "root" or getpass.getuser() not in page


def test_recording_can_be_read_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "machine"
    assert main(["doctor", "--json", "--record", str(folder)]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["recorded"]) == {path.name for path in folder.iterdir()}
    assert main(["devices", "--json", "--recorded", str(folder)]) == 0
    recorded = json.loads(capsys.readouterr().out)
    for name in ("chip.name", "cpu.tiers", "cpu.isa", "memory.total_bytes", "cpu.logical"):
        assert recorded[name]["value"] == report["readings"][name]["value"], name


def test_a_recorded_machine_needs_a_folder_with_something_in_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["devices", "--recorded", str(tmp_path)]) == 1
    assert tmp_path.name in capsys.readouterr().err
    assert main(["devices", "--recorded", str(tmp_path / "gone")]) == 1
    assert "gone" in capsys.readouterr().err


def test_a_recorded_machine_is_not_watched(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["devices", "--recorded", str(tmp_path), "--watch"])
    assert caught.value.code == 2
