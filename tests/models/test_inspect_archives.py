"""Archives of torch.export: of this torch, of older ones, of AOTInductor, and with pickles inside."""

import json
import zipfile
from pathlib import Path

import pytest
import torch

from explorer.errors import ExplorerError
from tests.models.files import Evil, exported, inspect, pickled


def rewritten(source: Path, target: Path, changes: dict[str, bytes]) -> Path:
    """A copy of an archive with members replaced or added, by their names below its root."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        root = old.namelist()[0].partition("/")[0]
        for name in old.namelist():
            if name.partition("/")[2] not in changes:
                new.writestr(name, old.read(name))
        for name, data in changes.items():
            new.writestr(f"{root}/{name}", data)
    return target


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("program") / "net.pt2")


def test_names_of_a_clean_program_are_all_known(program: Path) -> None:
    result = inspect(program)
    assert (result.unknown, result.findings) == ([], [])
    assert result.safety == "torch.export.load can run code from the file; read here as JSON, without loading"
    assert {tensor.name: tensor.shares for tensor in result.tensors}["second.weight"] == "first.weight"


@pytest.mark.parametrize("member", ["data/sample_inputs/model.pt", "data/weights/weight_9", "data/constants/custom_obj_0"])
@pytest.mark.parametrize("inner", ["zip", "legacy", "pickle"])
def test_a_pickle_inside_is_read_with_stand_ins_and_its_names_are_told(
    program: Path, tmp_path: Path, member: str, inner: str
) -> None:
    marker = tmp_path / "ran"
    evil = tmp_path / "inner.pt"
    if inner == "pickle":
        evil.write_bytes(pickled(Evil(marker)))
    else:
        torch.save({"x": Evil(marker)}, evil, _use_new_zipfile_serialization=inner == "zip")
    result = inspect(rewritten(program, tmp_path / "evil.pt2", {member: evil.read_bytes()}))
    assert not marker.exists()
    assert "posix.system" in result.unknown
    assert result.safety.startswith("torch.export.load would import and call posix.system")
    assert result.findings[0].severity == "error"
    assert result.parameters == 16, "the program itself is described all the same"


def test_layout_of_torch_before_2_8(tmp_path: Path) -> None:
    torch.save({"fc.weight": torch.zeros(3, 4)}, tmp_path / "state.pt")
    with zipfile.ZipFile(tmp_path / "old.pt2", "w") as archive:
        archive.writestr("serialized_exported_program.json", json.dumps({"graph_module": {"graph": {"nodes": []}}}))
        archive.writestr("serialized_state_dict.pt", (tmp_path / "state.pt").read_bytes())
    result = inspect(tmp_path / "old.pt2")
    assert [(tensor.name, tensor.shape) for tensor in result.tensors] == [("fc.weight", [3, 4])]
    assert (result.format, result.parameters) == ("exported_program", 12)


@pytest.mark.parametrize("text", ["[]", '{"graph_module": 3}', '{"graph_module": {"graph": {"nodes": [3]}}}', "{" * 100_000, "x"])
def test_a_damaged_program_is_one_sentence(program: Path, tmp_path: Path, text: str) -> None:
    path = rewritten(program, tmp_path / "bad.pt2", {"models/model.json": text.encode()})
    if text == "[]":
        assert inspect(path).inputs == []
        return
    with pytest.raises(ExplorerError, match=r"bad\.pt2 is not laid out as torch\.export writes it"):
        inspect(path)


def test_aotinductor_package_lists_its_libraries(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as archive:
        archive.writestr("net/archive_format", "pt2")
        archive.writestr("net/data/aotinductor/model/abc.so", b"\x7fELF" + b"\0" * 96)
        archive.writestr("net/data/aotinductor/model/abc.cubin", b"\0" * 10)
        archive.writestr("net/data/aotinductor/model/abc_metadata.json", json.dumps({"AOTI_DEVICE_KEY": "cpu", "list": [1]}))
    result = inspect(tmp_path / "net.pt2")
    assert (result.format, result.runs_code_on_load, result.parameters) == ("aoti_package", True, 0)
    assert result.metadata["libraries"] == {"model/abc.so": 100, "model/abc.cubin": 10}
    assert result.metadata["AOTI_DEVICE_KEY"] == "cpu"
    assert "native code" in result.safety
    assert result.unknown == ["model/abc.so", "model/abc.cubin"]


def test_storages_that_the_archive_lacks_are_an_error(tmp_path: Path) -> None:
    torch.save({"a": torch.zeros(3), "b": torch.zeros(4)}, tmp_path / "x.pt")
    with zipfile.ZipFile(tmp_path / "x.pt") as old, zipfile.ZipFile(tmp_path / "y.pt", "w") as new:
        for name in old.namelist():
            if not name.endswith("data/1"):
                new.writestr(name, old.read(name))
    (finding,) = inspect(tmp_path / "y.pt").findings
    assert (finding.severity, finding.evidence) == ("error", "data/1")
    assert finding.title == "the archive lacks 1 of 2 storages, or holds them cut short"
