"""`explorer watch` and `explorer export` on other people's logs and on jobs of ours."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.cli import COMMANDS, main, screens
from explorer.cli.flags import spec_from, spec_parser
from explorer.cli.watch import chosen, news_line, run_lines
from explorer.schemas.curves import Curve, RunCurves, RunNews
from explorer.schemas.specs import ExportSpec
from tests.terminal import terminal

LOG = "step,loss,val_loss\n1,2.5,\n2,1.5,1.75\n"


def line(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err.strip()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two runs of two trainers."""
    folder = tmp_path / "logs"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "log.csv").write_text(LOG)
    (folder / "b.jsonl").write_text('{"step": 7, "loss": 0.25}\n{"step": 8, "loss": "NaN"}\n')
    return folder


def test_watch_once_is_a_table(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(logs), "--once"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "run        format  step  loss  val_loss",
        "a/log.csv  csv        2   1.5      1.75",
        "b.jsonl    jsonl      8   nan         –",
    ]
    assert main(["watch", str(logs), "--once", "--metric", "val_loss"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "run        format  step  val_loss"


def test_watch_once_is_one_json_object(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(logs), "--once", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["path"] == str(logs)
    assert [run["name"] for run in answer["runs"]] == ["a/log.csv", "b.jsonl"]
    loss = next(curve for curve in answer["runs"][0]["curves"] if curve["name"] == "loss")
    assert (loss["xs"], loss["ys"]) == ([1, 2], [2.5, 1.5])


@pytest.mark.parametrize("flags", [["--once"], ["--json"]])
def test_no_run_below_the_path_is_one_sentence(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["watch", str(empty), *flags]) == 1
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) == 1
    assert f"{empty} has no run yet" in captured.err
    assert main(["watch", str(tmp_path / "gone"), *flags]) == 1
    assert "gone does not exist: check the path" in line(capsys)


def test_watch_says_each_change_and_ends_with_130_when_interrupted(logs: Path) -> None:
    assert main(["jobs", "list"]) == 0, "starts an engine that ends with the test"
    watching = subprocess.Popen(
        [sys.executable, "-m", "explorer", "watch", str(logs), "--json", "--metric", "loss"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a suite in the background has it ignored
    )
    assert watching.stdout is not None
    first = [json.loads(watching.stdout.readline()) for _ in range(2)]
    assert {item["run"]["name"] for item in first} == {"a/log.csv", "b.jsonl"}
    assert all([curve["name"] for curve in item["run"]["curves"]] == ["loss"] for item in first)
    with (logs / "a" / "log.csv").open("a") as stream:
        stream.write("3,1.25,\n")
    news = json.loads(watching.stdout.readline())
    assert (news["run"]["last_step"], news["run"]["curves"][0]["ys"]) == (3, [1.25]), "new points only"
    os.kill(watching.pid, signal.SIGINT)
    out, err = watching.communicate(timeout=10)
    assert (watching.returncode, out, err) == (130, "", "")


def test_on_a_terminal_watch_opens_the_screens(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str | None] = []

    def show(*, mouse: bool = True, watch: str | None = None) -> int:
        opened.append(watch)
        return 0

    monkeypatch.setattr(screens, "on_terminal", lambda: True)
    monkeypatch.setattr(screens, "show", show)
    assert main(["watch", str(logs)]) == 0
    assert opened == [str(logs)]
    assert main(["watch", str(logs), "--once"]) == 0
    assert len(opened) == 1


@pytest.mark.slow
def test_the_screens_show_the_runs_on_a_terminal(logs: Path) -> None:
    assert main(["jobs", "list"]) == 0, "starts an engine that ends with the test"
    with terminal("-m", "explorer", "watch", str(logs)) as child:
        child.read_until(b"a/log.csv")
        child.press(b"q")
        assert child.wait(10) == 0


def test_news_are_one_line_a_change() -> None:
    run = RunCurves(source="/a", name="a", format="csv", last_step=1200, curves=[Curve(name="loss", xs=[1], ys=[2], last=2.0)])
    assert news_line(RunNews(run=run)) == "a  step 1,200  loss 2"
    bare = RunCurves(source="/a", name="a")
    assert news_line(RunNews(run=bare, gone=True)) == "a  gone"
    assert news_line(RunNews(run=bare, restarted=True)) == "a  begun again"
    assert chosen(RunNews(run=run), ["lr"]) is None
    assert chosen(RunNews(run=bare, gone=True), ["lr"]) is not None


def test_a_run_that_cannot_be_read_says_why_below_the_table() -> None:
    runs = [RunCurves(source="/a", name="a", problem="the file is damaged")]
    assert run_lines(runs, []) == ["run  format  step", "a    –          –", "a: the file is damaged"]


def test_export_is_a_spec_command_with_flags() -> None:
    options = spec_parser("export").parse_args(["job:1", "--to", "jsonl", "--output", "a.jsonl", "--overwrite"])
    assert spec_from(options) == ExportSpec(source="job:1", to="jsonl", output="a.jsonl", overwrite=True)
    assert {"export", "watch"} <= COMMANDS.keys()


def test_export_writes_refuses_and_leaves_no_job(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "out.jsonl"
    words = ["export", str(logs / "a" / "log.csv"), "--to", "jsonl", "--output", str(target)]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["steps"], answer["values"], answer["names"]) == (2, 3, ["loss", "val_loss"])
    assert answer["bytes"] == target.stat().st_size
    assert [json.loads(text)["loss"] for text in target.read_text().splitlines()] == [2.5, 1.5]
    assert main(words) == 1
    assert line(capsys) == f"explorer: {target} is there already: give another name, or --overwrite"
    assert main([*words, "--overwrite"]) == 0
    assert "3 values of 2 metrics" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "none.csv"), "--output", str(tmp_path / "x.csv")]) == 1
    assert "none.csv does not exist" in line(capsys)
    assert main(["export", str(logs)]) == 2
    assert "output: field required" in line(capsys)
    assert main(["jobs", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
