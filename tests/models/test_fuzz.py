"""Seeded damage to a sample of every format: no crash, no hang, nothing executed, only a description or one sentence."""

import json
import os
import random
import threading
import time
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.models.inspect import describe
from tests.models.mutations import SAMPLES, mutated

QUICK, THOROUGH = 100, 2000
SECONDS = 5


def answer(path: Path) -> str:
    """The sentence about a file; empty when it is described in a way that JSON can carry."""
    try:
        json.loads(describe(path).model_dump_json())
    except ExplorerError as error:
        return str(error)
    return ""


def assault(folder: Path, name: str, count: int) -> None:
    """Describe `count` damaged copies of a sample, and check each answer."""
    sample = SAMPLES[name](folder)
    path = folder / "sample"
    path.write_bytes(sample)
    describe(path)
    chance = random.Random(name)
    described = 0
    for number in range(count):
        path.write_bytes(mutated(sample, chance))
        started = time.perf_counter()
        sentence = answer(path)
        assert "\n" not in sentence, number
        assert sentence == "" or str(path) in sentence, number
        described += sentence == ""
        assert time.perf_counter() - started < SECONDS, number
        assert not (folder / "ran").exists(), number
    assert 0 < described < count, "some damage is harmless and some is not"


@pytest.mark.parametrize("name", SAMPLES)
def test_damage(tmp_path: Path, name: str) -> None:
    assault(tmp_path, name, QUICK)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_file_that_shrinks_and_grows_while_it_is_read(tmp_path: Path, name: str) -> None:
    """A trainer overwrites its checkpoint: each look is a description or a sentence, and the process lives."""
    sample = SAMPLES[name](tmp_path)
    path = tmp_path / "sample"
    path.write_bytes(sample)
    done = threading.Event()

    def overwrite() -> None:
        chance = random.Random(0)
        while not done.is_set():
            os.truncate(path, chance.randrange(len(sample)))
            path.write_bytes(sample)

    writer = threading.Thread(target=overwrite)
    writer.start()
    try:
        sentences = {answer(path) for _ in range(60)}
    finally:
        done.set()
        writer.join()
    assert sentences
    assert not any("\n" in sentence for sentence in sentences)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SAMPLES)
def test_much_damage(tmp_path: Path, name: str) -> None:
    assault(tmp_path, name, THOROUGH)
