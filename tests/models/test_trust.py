"""A yes for one file: by its hash, whole or the first digits."""

import hashlib
from pathlib import Path

import pytest

from explorer.errors import ExplorerError
from explorer.models import trust
from explorer.models.trust import require_trust, sha256


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "net.pt"
    path.write_bytes(b"abc" * 1000)
    return path


def test_hash_is_the_one_of_the_whole_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "CHUNK_BYTES", 7)
    assert sha256(path) == hashlib.sha256(b"abc" * 1000).hexdigest()


@pytest.mark.parametrize("digits", [64, 12, 20])
def test_whole_hash_or_its_first_digits_are_a_yes(path: Path, digits: int) -> None:
    whole = sha256(path)
    assert require_trust(path, ["0" * 64, whole[:digits].upper()]) == whole


def test_no_yes_says_what_to_do(path: Path) -> None:
    with pytest.raises(ExplorerError) as caught:
        require_trust(path, [], "TorchScript")
    assert caught.value.message == f"{path} runs its own code when it is loaded (TorchScript)"
    assert (
        caught.value.remedy == f"look at it with `explorer inspect {path}`; to load it all the same pass --trust {sha256(path)}"
    )


def test_a_yes_for_another_content_is_none(path: Path) -> None:
    before = sha256(path)
    path.write_bytes(b"changed")
    with pytest.raises(ExplorerError, match="runs its own code"):
        require_trust(path, [before])


@pytest.mark.parametrize("text", ["yes", "", "abc123", "g" * 64, "a" * 65])
def test_what_is_no_hash_is_refused(path: Path, text: str) -> None:
    with pytest.raises(ExplorerError, match=r"is no SHA-256"):
        require_trust(path, [text])


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match=r"gone\.pt cannot be read"):
        require_trust(tmp_path / "gone.pt", [])
