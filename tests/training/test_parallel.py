"""The group of a data parallel training and the launcher's command line, without the launcher."""

import itertools
import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import run as torchrun

from explorer.errors import ExplorerError
from explorer.reporter import NO_ORDERS, QuietReporter
from explorer.schemas.specs import TrainSpec
from explorer.training import rank_launcher
from explorer.training.parallel import ALONE, MOST_PASSED_OVER, choose_backend, explained, open_group, threads_each
from explorer.training.rank_life import PeerGoneError, shared_device
from tests.training.group_member import ORDERS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two processes that met over a file gave."""
    store = tmp_path_factory.mktemp("group") / "store"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": rank_launcher.loopback_interface()}
    command = [sys.executable, "-m", "tests.training.group_member", str(store)]
    pipe = subprocess.PIPE
    members = [subprocess.Popen([*command, str(rank)], stdout=pipe, cwd=ROOT, env=environment) for rank in (0, 1)]
    said = [member.communicate(timeout=90)[0] for member in members]
    assert [member.returncode for member in members] == [0, 0]
    return [json.loads(text) for text in said]


def test_sums_and_values_are_the_same_on_every_rank(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert answer["total"] == [0.1 + 0.2, 2e-17, 1.0]
        assert answer["gather"] == [["", [0, 1]], ["x", [0, 1, 2]]]
        assert answer["share"] == [0.0, 0.0, 0.0]


def test_gradients_stay_apart_while_they_accumulate_and_are_averaged_then(answers: list[dict[str, Any]]) -> None:
    weights, kept, averaged = zip(*(answer["gradients"] for answer in answers), strict=True)
    assert weights[0] == weights[1], "training starts from the weights of rank 0"
    assert kept == (1.0, 2.0)
    assert averaged == (3.0, 3.0)


def test_every_rank_gets_the_orders_of_the_first(answers: list[dict[str, Any]]) -> None:
    for answer in answers:
        assert answer["orders"] == [repr(orders) for orders in ORDERS if orders]
    first, second = (answer["calls"] for answer in answers)
    assert first == second
    assert len(first) == 3, "two orders and the end"
    gaps = [later - earlier for earlier, later in itertools.pairwise(first)]
    assert all(1 <= gap <= MOST_PASSED_OVER + 1 for gap in gaps), "so many calls at most are passed over"


def test_batch_norm_of_one_process_is_said_once(answers: list[dict[str, Any]]) -> None:
    assert answers[0]["findings"] == [["info", "batch norm sees the samples of one process"]]


def test_a_process_by_itself_is_a_group_of_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    module = nn.Linear(1, 1)
    with open_group(TrainSpec(), "mps") as group:
        assert group is ALONE
    assert (group.rank, group.size, group.local_rank, group.first) == (0, 1, 0, True)
    assert group.wrap(module) is module
    assert isinstance(group.accumulating(module), nullcontext)
    assert group.control(QuietReporter(tmp_path)) is NO_ORDERS
    assert (group.total([1.0, 2.0]), group.gather("a"), group.share("b")) == ([1.0, 2.0], ["a"], "b")


@pytest.mark.parametrize(
    ("asked", "kind", "processes", "gpus", "words"),
    [
        ("auto", "mps", 2, 0, "no backend that joins processes on MPS: take device cpu, where gloo does"),
        ("auto", "xla", 2, 0, "cpu and cuda, not on xla"),
        ("nccl", "cpu", 2, 0, "nccl backend needs CUDA"),
        ("auto", "cuda", 4, 2, "4 processes need a GPU each, and this machine has 2: take processes 2"),
    ],
)
def test_what_no_backend_can_do_is_refused(asked: str, kind: str, processes: int, gpus: int, words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        choose_backend(asked, kind, processes, gpus)


def test_backends_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_backend("auto", "cpu", 8, 0) == "gloo"
    assert choose_backend("gloo", "cuda", 2, 2) == "gloo"
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    assert choose_backend("auto", "cuda", 2, 2) == "nccl"
    monkeypatch.setattr(dist, "is_nccl_available", lambda: False)
    assert choose_backend("auto", "cuda", 2, 2) == "gloo"


def test_refusals_come_before_any_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchrun, "run", lambda _: pytest.fail("started"))
    for spec, words in (
        (TrainSpec(processes=2, device="mps"), "no backend that joins processes on MPS"),
        (TrainSpec(processes=2, device="cpu", backend="nccl"), "needs CUDA"),
    ):
        with pytest.raises(ExplorerError, match=words):
            rank_launcher.launch(spec, "module", "folder")


def test_auto_is_the_cpu_for_processes_on_a_mac() -> None:
    spec = TrainSpec(processes=2)
    assert shared_device(spec, "darwin").device == "cpu"
    assert shared_device(spec, "linux") is spec
    asked = TrainSpec(processes=2, device="mps")
    assert shared_device(asked, "darwin") is asked


def test_the_launchers_command_line_on_one_machine() -> None:
    parsed = parse(TrainSpec(processes=3))
    assert (parsed.standalone, parsed.nproc_per_node, parsed.max_restarts, parsed.local_addr) == (True, "3", 0, "127.0.0.1")
    assert (parsed.module, parsed.training_script, parsed.training_script_args) == (True, "some.module", ["/jobs/a"])
    assert "SIGHUP" not in parsed.signals_to_handle, "a hang-up ends no training"


def test_the_launchers_command_line_on_several_machines() -> None:
    spec = TrainSpec(processes=4, nodes=2, rendezvous="trainer:29400")
    parsed = parse(spec)
    assert (parsed.standalone, parsed.nnodes, parsed.nproc_per_node) == (False, "2", "4")
    assert (parsed.rdzv_backend, parsed.rdzv_endpoint) == ("c10d", "trainer:29400")
    assert parsed.rdzv_id == parse(spec.model_copy()).rdzv_id, "the same spec meets itself"
    assert parsed.rdzv_id != parse(spec.model_copy(update={"seed": 1})).rdzv_id


def parse(spec: TrainSpec) -> Any:
    arguments = rank_launcher.arguments(spec, "some.module", "/jobs/a")
    return torchrun.parse_args(arguments)  # type: ignore[no-untyped-call]


def test_errors_of_a_broken_group_are_echoes() -> None:
    gone = explained(RuntimeError("[../gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:33554"))
    assert isinstance(gone, PeerGoneError)
    own = ValueError("a value")
    assert explained(own) is own


def test_processes_share_the_cpus() -> None:
    allowed = threads_each(1)
    assert threads_each(allowed) == 1
    assert threads_each(4 * allowed) == 1
    assert torch.get_num_threads() >= 1
