"""Starts the processes of a data parallel training through torch's elastic launcher, `torchrun`, and waits for them."""

import hashlib
import os
import signal
import sys
from dataclasses import dataclass

import psutil
import torch
from torch.distributed import run as torchrun
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous.api import RendezvousError

from explorer.errors import Cancelled, ExplorerError
from explorer.schemas.train_spec import TrainSpec
from explorer.training.parallel import choose_backend, threads_each
from explorer.training.rank_life import shared_device

LOOPBACK = "127.0.0.1"
# How long machines wait for each other.
JOIN_TIMEOUT_S = 900


@dataclass(frozen=True)
class Death:
    """A process on this machine that did not end well; `exit_code` is minus the signal number when one killed it."""

    rank: int
    exit_code: int


def launch(spec: TrainSpec, module: str, folder: str) -> list[Death]:
    """Run `python -m module folder` in each process of `spec` on this machine; gives those that ended badly.

    Raises `ExplorerError` for a spec that cannot run here or machines that do not meet, `Cancelled` after SIGTERM or SIGINT.
    """
    check(spec)
    os.environ.setdefault("OMP_NUM_THREADS", str(spec.threads or threads_each(spec.processes)))
    if spec.nodes == 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", loopback_interface())
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        parsed = torchrun.parse_args(arguments(spec, module, folder))  # type: ignore[no-untyped-call]
        torchrun.run(parsed)  # type: ignore[no-untyped-call]
    except ChildFailedError as error:
        return [Death(rank, failure.exitcode) for rank, failure in sorted(error.failures.items())]
    except SignalException:
        raise Cancelled from None
    except RendezvousError as error:
        message = f"the {spec.nodes} machines did not meet at {spec.rendezvous}"
        remedy = "start the same spec on each of them, with that address open on one"
        raise ExplorerError(message, remedy) from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return []


def arguments(spec: TrainSpec, module: str, folder: str) -> list[str]:
    """The command line of `torchrun` for this machine."""
    if spec.nodes == 1:
        meeting = ["--standalone", "--local-addr", LOOPBACK]
    else:
        meeting = ["--nnodes", str(spec.nodes), "--rdzv-backend", "c10d", "--rdzv-endpoint", str(spec.rendezvous)]
        meeting += ["--rdzv-id", meeting_name(spec), "--rdzv-conf", f"join_timeout={JOIN_TIMEOUT_S}"]
    processes = ["--nproc-per-node", str(spec.processes), "--max-restarts", "0", "--signals-to-handle", "SIGTERM,SIGINT"]
    return [*meeting, *processes, "-m", module, folder]


def meeting_name(spec: TrainSpec) -> str:
    """The same on every machine that was given the same spec."""
    return hashlib.sha256(spec.model_dump_json().encode()).hexdigest()[:16]


def check(spec: TrainSpec) -> None:
    """Refuse, before any process is started, what cannot run on this machine."""
    kind = shared_device(spec).device
    if kind == "auto":
        kind = "cuda" if torch.cuda.is_available() else "cpu"
    choose_backend(spec.backend, kind, spec.processes, torch.cuda.device_count())


def loopback_interface() -> str:
    """The network interface that no other machine can reach; what processes of one machine talk over."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(address.address == LOOPBACK for address in addresses):
            return name
    return "lo0" if sys.platform == "darwin" else "lo"
