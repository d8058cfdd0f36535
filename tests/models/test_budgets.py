"""What describing a big file may cost, against loading it in the same run. Figures are printed; run with -m slow -s."""

import json
import statistics
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.models.files import field, gguf_bytes, gguf_text, integer_field, varint

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc"),
]
TENSORS, ELEMENTS = 273, 1_370_000  # 1.5 GB of float32
RATIO, ADDED_BYTES = 50, 20_000_000
REPEATS = 5

PEAK = """
import sys, time
from pathlib import Path
def figure(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024
"""
DESCRIBE = f"""{PEAK}
from explorer.models.inspect import describe
import explorer.schemas.specs
before = figure("VmHWM"), figure("RssAnon")
seconds = []
for _ in range({REPEATS}):
    started = time.perf_counter()
    result = describe(Path(sys.argv[1]))
    seconds.append(time.perf_counter() - started)
print(sorted(seconds)[{REPEATS} // 2], figure("VmHWM") - before[0], len(result.tensors), result.parameters)
"""
LOAD = f"""{PEAK}
import torch
before = figure("VmHWM")
started = time.perf_counter()
torch.load(sys.argv[1], weights_only=True)
print(time.perf_counter() - started, figure("VmHWM") - before, 0, 0)
"""


def child(code: str, path: Path) -> tuple[float, float, int, int]:
    """Seconds, added peak bytes, tensors and parameters that a fresh process reports."""
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    seconds, added, tensors, parameters = done.stdout.split()
    return float(seconds), float(added), int(tensors), int(parameters)


def told(text: str) -> None:
    sys.stderr.write(f"{text}\n")


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    return {f"layer{index}.weight": torch.full((1000, ELEMENTS // 1000), float(index)) for index in range(TENSORS)}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory, state: dict[str, torch.Tensor]) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("big")
    torch.save({"model": state, "epoch": 3}, folder / "zip.pth")
    torch.save({"model": state, "epoch": 3}, folder / "legacy.pth", _use_new_zipfile_serialization=False)
    save_file(state, folder / "model.safetensors")
    yield folder
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize("name", ["zip.pth", "legacy.pth", "model.safetensors"])
def test_describing_takes_a_fiftieth_of_loading_and_no_memory(big: Path, name: str) -> None:
    loaded = big / ("zip.pth" if name == "model.safetensors" else name)
    load_seconds, load_added, _, _ = child(LOAD, loaded)
    seconds, added, tensors, parameters = child(DESCRIBE, big / name)
    told(
        f"{name}, {(big / name).stat().st_size / 1e9:.2f} GB: described in {seconds * 1e3:.1f} ms and {added / 1e6:.1f} MB, "
        f"torch.load {load_seconds:.2f} s and {load_added / 1e6:.0f} MB: 1/{load_seconds / seconds:.0f}"
    )
    assert (tensors, parameters) == (TENSORS, TENSORS * ELEMENTS)
    assert seconds <= load_seconds / RATIO
    assert added <= ADDED_BYTES


def test_inline_onnx_of_1_5_gb(tmp_path: Path) -> None:
    """Written as a sparse file: the header of each tensor, then a hole of its size."""
    heads = []
    for index in range(TENSORS):
        head = integer_field(1, ELEMENTS) + integer_field(2, 1) + field(8, f"w{index}".encode()) + b"\x4a" + varint(4 * ELEMENTS)
        heads.append(b"\x2a" + varint(len(head) + 4 * ELEMENTS) + head)
    with (tmp_path / "big.onnx").open("wb") as stream:
        stream.write(b"\x08\x08\x3a" + varint(sum(map(len, heads)) + 4 * ELEMENTS * TENSORS))
        for head in heads:
            stream.write(head)
            stream.seek(4 * ELEMENTS, 1)
        stream.truncate()
    seconds, added, tensors, _ = child(DESCRIBE, tmp_path / "big.onnx")
    told(f"ONNX of {(tmp_path / 'big.onnx').stat().st_size / 1e9:.2f} GB: {seconds * 1e3:.1f} ms, {added / 1e6:.1f} MB")
    assert tensors == TENSORS
    assert seconds <= 0.2
    assert added <= ADDED_BYTES


def test_gguf_with_a_vocabulary_of_128_000(tmp_path: Path) -> None:
    """gguf-py takes 8 to 12 s for such a file; it is compared when it is installed, which it is not by default."""
    count = 128_256
    tokens = b"".join(gguf_text(f"token{index}") for index in range(count))
    merges = b"".join(gguf_text(f"tok en{index}") for index in range(count))
    keys = {
        "general.architecture": (8, gguf_text("llama")),
        "tokenizer.ggml.tokens": (9, struct.pack("<IQ", 8, count) + tokens),
        "tokenizer.ggml.merges": (9, struct.pack("<IQ", 8, count) + merges),
        "tokenizer.ggml.scores": (9, struct.pack("<IQ", 6, count) + b"\0" * 4 * count),
        "tokenizer.ggml.token_type": (9, struct.pack("<IQ", 5, count) + b"\0" * 4 * count),
    }
    size = 100 * 144
    tensors = [(f"blk.{index}.weight", [256, 100], 12, index * size) for index in range(300)]
    (tmp_path / "m.gguf").write_bytes(gguf_bytes(keys, tensors, b"\0" * size * 300))
    seconds, added, found, _ = child(DESCRIBE, tmp_path / "m.gguf")
    told(f"GGUF with {count:,} tokens and merges: {seconds * 1e3:.1f} ms, {added / 1e6:.1f} MB")
    assert found == 300
    assert seconds <= 0.1
    assert added <= ADDED_BYTES
    try:
        import gguf  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return
    import time

    started = time.perf_counter()
    gguf.GGUFReader(tmp_path / "m.gguf")
    theirs = time.perf_counter() - started
    told(f"gguf-py: {theirs:.2f} s: 1/{theirs / seconds:.0f}")
    assert seconds <= theirs / RATIO


def test_a_model_of_140_gb_in_30_sparse_files(tmp_path: Path) -> None:
    files, per_file, size = 30, 24, 194_000_000
    places = {}
    for number in range(1, files + 1):
        name = f"model-{number:05}-of-{files:05}.safetensors"
        header = {
            f"model.layers.{number}.{index}.weight": {
                "dtype": "BF16", "shape": [size // 2000, 1000], "data_offsets": [index * size, (index + 1) * size],
            }
            for index in range(per_file)
        }  # fmt: skip
        text = json.dumps(header).encode()
        with (tmp_path / name).open("wb") as stream:
            stream.write(len(text).to_bytes(8, "little") + text)
            stream.truncate(8 + len(text) + per_file * size)
        places.update(dict.fromkeys(header, name))
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": files * per_file * size}, "weight_map": places}))
    for path in (index, tmp_path):
        seconds, added, tensors, parameters = child(DESCRIBE, path)
        told(f"140 GB in {files} files: {seconds * 1e3:.1f} ms, {added / 1e6:.1f} MB")
        assert (tensors, parameters) == (files * per_file, files * per_file * size // 2)
        assert seconds <= 1


@pytest.mark.parametrize("kind", ["zip", "legacy", "safetensors"])
def test_20_000_tensors(tmp_path: Path, kind: str) -> None:
    state = {f"layers.{index // 4}.{index % 4}.weight": torch.zeros(4) for index in range(20_000)}
    path = tmp_path / "many"
    if kind == "safetensors":
        save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=kind == "zip")
    seconds, added, tensors, _ = child(DESCRIBE, path)
    loads = [child(LOAD, path)[0] for _ in range(1 if kind != "safetensors" else 0)]
    told(f"20,000 tensors, {kind}: {seconds:.2f} s, {added / 1e6:.0f} MB; torch.load {statistics.fmean(loads or [0]):.2f} s")
    assert tensors == 20_000
    assert seconds < 3
    assert added < 150_000_000
