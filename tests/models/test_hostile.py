"""Hostile files: none runs, each gets its sentence or description, none takes much memory or time.

A child inspects every file, so that its own peak of memory is measured; a sentinel file would prove that something ran.
"""

import io
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from explorer.errors import ExplorerError
from tests.models.files import Evil, exported, field, gguf_bytes, inspect, pickled, torchscript
from tests.models.test_inspect_archives import rewritten

SECONDS, MEMORY_BYTES = 5, 200_000_000
CHILD = """
import sys, time
from pathlib import Path
from explorer.errors import ExplorerError
from explorer.models.inspect import describe
def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024
before = peak()
started = time.perf_counter()
try:
    answer = describe(Path(sys.argv[1])).safety
except ExplorerError as error:
    answer = str(error)
print(repr(answer))
print(time.perf_counter() - started, peak() - before)
"""


def judged(path: Path) -> tuple[str, float, float]:
    """Answer, seconds and added peak of memory in bytes of a child that describes the file."""
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    answer, figures = done.stdout.splitlines()
    seconds, added = map(float, figures.split())
    return answer, seconds, added


class EvilTensor(torch.Tensor):
    """A subclass of Tensor whose pickle calls os.system."""

    marker: str = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return os.system, (f"touch {self.marker}",)


def text(words: str) -> bytes:
    """A text as a pickle holds it."""
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


def command(marker: Path) -> bytes:
    return text(f"touch {marker}")


PICKLES: dict[str, Callable[[Path], bytes]] = {
    "REDUCE": lambda marker: b"\x80\x02cposix\nsystem\n" + command(marker) + b"\x85R.",
    "INST": lambda marker: b"\x80\x02(" + command(marker) + b"iposix\nsystem\n.",
    "OBJ": lambda marker: b"\x80\x02(cposix\nsystem\n" + command(marker) + b"o.",
    "NEWOBJ": lambda marker: b"\x80\x02cposix\nsystem\n" + command(marker) + b"\x85\x81.",
    "NEWOBJ_EX": lambda marker: b"\x80\x04cposix\nsystem\n" + command(marker) + b"\x85}\x92.",
    "BUILD": lambda marker: b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__setstate__") + b"cposix\nsystem\nsb"
    + command(marker) + b"b.",
    "STACK_GLOBAL": lambda marker: b"\x80\x04\x8c\x05posix\x8c\x06system\x93" + command(marker) + b"\x85R.",
    "getattr chain": lambda marker: b"\x80\x02c__builtin__\ngetattr\nc__builtin__\n__import__\n" + text("os") + b"\x85R"
    + text("system") + b"\x86R" + command(marker) + b"\x85R.",
    "a pickle in a pickle": lambda marker: b"\x80\x02cpickle\nloads\n" + binary(pickled(Evil(marker))) + b"\x85R.",
    "numpy object array": lambda marker: pickled([Evil(marker)] * 3),
    "persistent id": lambda marker: b"\x80\x02cposix\nsystem\n" + command(marker) + b"\x85RQ.",
    "key of a dict": lambda marker: b"\x80\x02}cposix\nsystem\n" + command(marker) + b"\x85RK\x01s.",
    "protocol 0": lambda marker: f"cposix\nsystem\n(Vtouch {marker}\ntR.".encode(),
}  # fmt: skip


def binary(data: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(data)) + data


def bare(data: bytes, path: Path) -> Path:
    path.write_bytes(data)
    return path


def in_zip(data: bytes, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("evil/data.pkl", data)
        archive.writestr("evil/version", "3")
    return path


def in_torchscript(data: bytes, path: Path) -> Path:
    return rewritten(torchscript(path.with_name("plain.pt")), path, {"data.pkl": data})


def in_program(data: bytes, path: Path) -> Path:
    inner = in_zip(data, path.with_name("inner.pt")).read_bytes()
    return rewritten(exported(path.with_name("plain.pt2")), path, {"data/sample_inputs/model.pt": inner})


@pytest.mark.parametrize("make", PICKLES.values(), ids=PICKLES.keys())
@pytest.mark.parametrize("wrap", [bare, in_zip])
def test_no_pickle_runs(tmp_path: Path, make: Callable[[Path], bytes], wrap: Callable[[bytes, Path], Path]) -> None:
    marker = tmp_path / "ran"
    path = wrap(make(marker), tmp_path / "evil.pt")
    with pytest.raises(ExplorerError, match=r"evil\.pt") as caught:
        inspect(path)
    assert not marker.exists()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["REDUCE", "INST", "OBJ", "a pickle in a pickle", "STACK_GLOBAL"])
@pytest.mark.parametrize("wrap", [in_torchscript, in_program])
def test_no_pickle_inside_an_archive_runs(tmp_path: Path, name: str, wrap: Callable[[bytes, Path], Path]) -> None:
    marker = tmp_path / "ran"
    path = wrap(PICKLES[name](marker), tmp_path / "evil.pt2")
    if wrap is in_torchscript:
        with pytest.raises(ExplorerError, match=r"evil\.pt2 names .+, which would run code when loaded"):
            inspect(path)
    else:
        result = inspect(path)
        assert (result.runs_code_on_load, bool(result.unknown)) == (True, True)
        assert any(finding.severity == "error" for finding in result.findings)
    assert not marker.exists()


def test_the_pickles_would_run_if_they_were_loaded(tmp_path: Path) -> None:
    for name, make in PICKLES.items():
        if name in ("NEWOBJ", "NEWOBJ_EX", "persistent id", "BUILD"):
            continue  # Python itself refuses these for a plain function
        marker = tmp_path / "ran"
        pickle.loads(make(marker))
        assert marker.exists(), name
        marker.unlink()


@pytest.mark.parametrize("zipped", [True, False])
def test_a_subclass_of_tensor_with_its_own_reduce(tmp_path: Path, zipped: bool) -> None:
    marker = tmp_path / "ran"
    EvilTensor.marker = str(marker)
    tensor = torch.zeros(3).as_subclass(EvilTensor)
    torch.save({"evil": tensor, "w": torch.ones(2)}, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    result = inspect(tmp_path / "x.pt")
    assert not marker.exists()
    assert (result.unknown, result.runs_code_on_load) == (["posix.system"], True)
    assert result.findings[0].severity == "error"


def deflated(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def long_value(opcode: bytes, filling: bytes, size: int = 200_000_000) -> bytes:
    return b"\x80\x02" + opcode + struct.pack("<I", size) + filling * size + b"."


def many_members(path: Path) -> Path:
    """A directory of 500,000 members in one file of 25 MB, written by hand: the standard library would take a minute."""
    record = b"PK\1\2" + b"\0" * 24 + struct.pack("<H", 1) + b"\0" * 16 + b"a"
    count = 500_000
    directory = record * count
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, len(directory), 4, 0)
    return bare(b"PK\3\4" + directory + end, path)


def onnx_of(fields: bytes) -> bytes:
    return b"\x08\x08" + field(7, fields)


def nested(count: int) -> bytes:
    graph = b""
    for _ in range(count):
        graph = field(1, field(5, field(6, graph)))
    return graph


JSON_BOMB = b'{"a":[' + b"[]," * 10_000_000 + b"[]]}"
BOMBS: dict[str, Callable[[Path], Path]] = {
    "marks": lambda path: deflated(path, {"x/data.pkl": b"\x80\x02" + b"(" * 200_000_000}),
    "lists": lambda path: deflated(path, {"x/data.pkl": b"\x80\x02" + b"]" * 100_000_000}),
    "dicts in the memo": lambda path: deflated(path, {"x/data.pkl": b"\x80\x04" + b"}\x94" * 50_000_000}),
    "memo of wild indexes": lambda path: bare(
        b"\x80\x02N" + b"".join(b"r" + struct.pack("<I", index * 4099 & 0xFFFFFFFF) for index in range(2_000_000)), path
    ),
    "doubling tuples": lambda path: bare(b"\x80\x02N" + b"2\x86" * 500_000 + b".", path),
    "doubling lists": lambda path: bare(b"\x80\x02]" + b"(22e" * 100 + b".", path),
    "calls nested in calls": lambda path: bare(b"\x80\x02" + b"cx\ny\n" * 150_000 + b")" + b"R\x85" * 150_000 + b".", path),
    "one long text": lambda path: deflated(path, {"x/data.pkl": long_value(b"X", b"a")}),
    "a number of 200 MB": lambda path: deflated(path, {"x/data.pkl": long_value(b"\x8b", b"\xff")}),
    "many names": lambda path: bare(b"\x80\x02" + b"".join(b"cm\nn%d\n0" % index for index in range(300_000)) + b"N.", path),
    "a pickle that unpacks to 1 GB": lambda path: zip_of_zeros(path, "x/data.pkl", 1_000_000_000),
    "code that unpacks to 1 GB": lambda path: script_bomb(path),
    "a program that unpacks to 1 GB": lambda path: zip_of_zeros(path, "x/models/model.json", 1_000_000_000),
    "a program of empty lists": lambda path: deflated(path, {"x/models/model.json": JSON_BOMB}),
    "a directory of 500,000 members": many_members,
    "a header of empty lists": lambda path: bare(len(JSON_BOMB).to_bytes(8, "little") + JSON_BOMB, path),
    "a header of 2**60 bytes": lambda path: bare((1 << 60).to_bytes(8, "little") + b'{"a":1}', path),
    "an index of empty lists": lambda path: bare(JSON_BOMB, path),
    "graphs nested deeply": lambda path: bare(onnx_of(nested(2000)), path),
    "millions of empty tensors": lambda path: bare(onnx_of(b"\x2a\0" * 10_000_000), path),
    "millions of nodes": lambda path: bare(onnx_of(b"\x0a\0" * 10_000_000), path),
    "kinds of nodes": lambda path: bare(onnx_of(b"".join(field(1, field(4, b"%d" % kind)) for kind in range(300_000))), path),
    "millions of fields of Core ML": lambda path: bare(b"\x08\x01" + field(500, b"\x0a\0" * 10_000_000), path),
    "GGUF tensors": lambda path: bare(b"GGUF" + struct.pack("<IQQ", 3, 200_000, 0) + b"\0" * 30_000_000, path),
    "GGUF texts": lambda path: bare(gguf_bytes({"k": (9, struct.pack("<IQ", 8, 9_000_000) + b"\0" * 72_000_000)}, []), path),
}  # fmt: skip


def zip_of_zeros(path: Path, name: str, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w", force_zip64=True) as stream:
        block = b"\0" * 10_000_000
        for _ in range(size // len(block)):
            stream.write(block)
    return path


def script_bomb(path: Path) -> Path:
    buffer = io.BytesIO()
    torch.save({"w": torch.zeros(2)}, buffer)
    with zipfile.ZipFile(buffer) as plain:
        data = plain.read(next(name for name in plain.namelist() if name.endswith("data.pkl")))
    zip_of_zeros(path, "x/code/__torch__.py", 1_000_000_000)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x/data.pkl", data)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS.keys())
def test_no_bomb_takes_much_memory_or_time(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    answer, seconds, added = judged(make(tmp_path / "bomb.bin"))
    sys.stderr.write(f"{seconds:.2f} s, {added / 1e6:.0f} MB: {answer[:200].replace(str(tmp_path), '')}\n")
    assert seconds < SECONDS
    assert added < MEMORY_BYTES
    assert "\\n" not in answer


QUICK = (
    "memo of wild indexes",
    "doubling tuples",
    "doubling lists",
    "calls nested in calls",
    "a header of 2**60 bytes",
    "graphs nested deeply",
)


@pytest.mark.parametrize("name", QUICK)
def test_small_bombs_are_answered(tmp_path: Path, name: str) -> None:
    path = BOMBS[name](tmp_path / "bomb.bin")
    with pytest.raises(ExplorerError, match=r"bomb\.bin"):
        inspect(path)
