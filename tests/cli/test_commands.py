"""The command line as a person and a script use it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer import __version__
from explorer.cli import COMMANDS, main
from explorer.cli.flags import spec_from, spec_parser
from explorer.schemas.specs import SPEC_TYPES, TrainSpec, spec_from_toml


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert lines(capsys) == [f"explorer {__version__}"]
    assert main(["--help"]) == 0
    text = "\n".join(lines(capsys))
    assert all(name in text for name in COMMANDS)


def test_an_unknown_command_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"]) == 2
    assert "no command 'dance'" in capsys.readouterr().err


def test_screens_need_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert "need a terminal" in capsys.readouterr().err


@pytest.mark.parametrize("kind", SPEC_TYPES)
def test_every_spec_has_a_command_with_help(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([kind, "--help"])
    assert caught.value.code == 0
    assert "--json" in capsys.readouterr().out


def test_flags_and_toml_give_the_same_spec(tmp_path: Path) -> None:
    file = tmp_path / "spec.toml"
    file.write_text('kind = "train"\nepochs = 7\nbatch_size = 8\n')
    options = spec_parser("train").parse_args(["a.py:net", "--spec", str(file), "--epochs", "9", "--optimizer", "sgd"])
    assert spec_from(options) == TrainSpec(source="a.py:net", epochs=9, batch_size=8, optimizer="sgd")


def test_toml_is_printed_and_nothing_is_run(capsys: pytest.CaptureFixture[str], explorer_home: Path) -> None:
    assert main(["train", "--epochs", "3", "--toml"]) == 0
    assert spec_from_toml(capsys.readouterr().out, "printed") == TrainSpec(epochs=3)
    assert not explorer_home.exists()


@pytest.mark.parametrize("words", [["train", "--epochs", "0"], ["convert"], ["benchmark"]])
def test_a_wrong_value_is_usage_and_names_the_field(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "explorer" in capsys.readouterr().err


def test_train_ends_with_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "steps:4", "--json"]) == 0
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    answer = json.loads(line)
    assert {"job", "state", "steps", "metrics", "checkpoint", "alarms"} <= answer.keys()
    assert answer["state"] == "done"
    assert answer["model"].endswith(f"{answer['job']}/artifacts/model.json")
    assert "running" in captured.err


def test_a_failed_job_exits_1_with_its_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "refuse:", "--json"]) == 1
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["state"], answer["error"]) == ("failed", "weights.pth does not fit")
    assert answer["remedy"] == "give the right class"
    assert (answer["steps"], answer["checkpoint"], answer["alarms"], answer["metrics"]) == (0, None, [], {})
    assert "weights.pth does not fit: give the right class" in captured.err
    assert "Traceback" not in captured.err


def test_a_failed_training_tells_its_alarms_steps_metrics_and_checkpoint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "alarm:", "--json"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    answer = json.loads(line)
    assert (answer["state"], answer["error"], answer["remedy"]) == ("failed", "NaN in loss at step 12", "lower learning_rate")
    assert answer["alarms"] == ["the loss stalls", "the loss diverges at step 11", "NaN in loss at step 12, epoch 1, batch 12"]
    assert answer["metrics"] == {"loss": "NaN", "lr": 0.2}
    assert answer["steps"] == 12
    assert answer["checkpoint"].endswith(f"{answer['job']}/artifacts/checkpoints/10.pt")


def test_jobs_are_listed_shown_logged_and_removed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "list"]) == 0
    assert "no jobs yet" in capsys.readouterr().out
    assert main(["train", "steps:2"]) == 0
    capsys.readouterr()
    assert main(["jobs", "list", "--json"]) == 0
    (job,) = json.loads(capsys.readouterr().out)
    assert main(["jobs", "show", job["id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spec"]["source"] == "steps:2"
    assert main(["jobs", "log", job["id"]]) == 0
    assert "behaving as steps" in capsys.readouterr().out
    assert main(["jobs", "follow", job["id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "done"
    assert main(["jobs", "remove", job["id"]]) == 0
    assert main(["jobs", "show", job["id"]]) == 1
    assert "there is no job" in capsys.readouterr().err


def test_a_detached_job_is_paused_resumed_and_cancelled(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "steps:2000", "--detach"]) == 0
    job = capsys.readouterr().out.strip()
    for command in ("pause", "resume", "cancel"):
        code, tries = 1, 0
        while code and tries < 50:
            code, tries = main(["jobs", command, job]), tries + 1
        assert code == 0, command
    capsys.readouterr()
    assert main(["jobs", "follow", job, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["state"] == "cancelled"


def obeyed(words: list[str]) -> bool:
    """Whether a command was taken, within the time that a worker needs to start."""
    return any(main(words) == 0 for _ in range(50))


def test_a_running_training_is_set_and_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "steps:5000", "--detach"]) == 0
    job = capsys.readouterr().out.strip()
    assert obeyed(["jobs", "set", job, "--learning-rate", "0.001", "--log-every-steps", "5"])
    assert "set learning_rate=0.001 log_every_steps=5" in capsys.readouterr().out
    assert main(["jobs", "set", job, "--learning-rate-factor", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == job
    assert main(["jobs", "stop", job]) == 0
    capsys.readouterr()
    assert main(["jobs", "follow", job, "--json"]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["state"], answer["stopped"]) == ("done", "asked to stop")
    assert "set 0.001 x 0.5, every 5" in captured.err or "set 0.001 x 1.0, every 5" in captured.err
    assert main(["jobs", "stop", job]) == 1
    assert f"job {job} is done" in capsys.readouterr().err


def test_a_setting_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["jobs", "set", "1"])
    assert caught.value.code == 2
    assert "--learning-rate-factor" in capsys.readouterr().err
    assert main(["train", "steps:5000", "--detach"]) == 0
    job = capsys.readouterr().out.strip()
    assert main(["jobs", "set", job, "--learning-rate", "0"]) == 1
    assert "above zero" in capsys.readouterr().err
    assert obeyed(["jobs", "cancel", job])


def test_run_repeats_a_toml_file_and_names_a_missing_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "again.toml"
    file.write_text('kind = "train"\nsource = "steps:3"\n')
    assert main(["run", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "train"
    assert main(["run", str(tmp_path / "none.toml")]) == 1
    assert "none.toml does not exist" in capsys.readouterr().err


def test_inspect_answers_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("hello")
    assert main(["inspect", str(tmp_path / "a.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] == 5
    assert main(["inspect", str(tmp_path / "b.txt"), "--json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"].endswith("b.txt does not exist")
    assert len(captured.err.splitlines()) == 1


def test_devices_prints_readings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--json"]) == 0
    readings = json.loads(capsys.readouterr().out)
    assert readings["cpu.logical"]["value"] >= 1
    assert set(readings["memory.total_bytes"]) == {"value", "unit", "source", "state", "reason"}
    assert main(["devices"]) == 0
    assert "cpu.logical" in capsys.readouterr().out


def test_engine_status_and_stop(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "status"]) == 1
    assert "no engine is running" in capsys.readouterr().err
    assert main(["jobs", "list"]) == 0
    capsys.readouterr()
    assert main(["engine", "status", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["slots"] == 2
    assert main(["engine", "stop"]) == 0


HEAVY = ("torch", "numpy", "onnx", "onnxruntime", "coremltools", "textual")


@pytest.mark.parametrize(
    "code",
    [
        "import explorer.cli; explorer.cli.main(['--help'])",
        "import explorer.cli; explorer.cli.main(['train', '--toml'])",
        "import explorer.engine.service, explorer.engine.supervisor, explorer.engine.connection, explorer.engine.sampler",
        "import explorer.engine.client, explorer.cli.jobs, explorer.cli.tour, explorer.cli.devices, explorer.cli.watch",
        "import explorer.engine.worker",
    ],
)
def test_neither_engine_nor_command_line_imports_a_heavy_library(code: str) -> None:
    check = f"{code}; import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, timeout=30, check=True, env=os.environ)
    assert done.stdout.splitlines()[-1] == "[]"
