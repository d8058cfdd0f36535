import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from explorer.datasets.dataset import describe
from explorer.datasets.load import read
from explorer.errors import ExplorerError
from tests.datasets.files import check_sentence, write_image, write_images


def test_folders_are_classes_and_a_share_of_each_is_held_out(tmp_path: Path) -> None:
    parts = read(str(write_images(tmp_path)))
    assert parts.held_out is not None
    assert parts.train.class_names == ("cats", "dogs")
    assert parts.train.inputs.shape == (8, 3, 4, 6)
    assert parts.train.inputs.dtype == np.float32
    assert parts.held_out.targets.tolist() == [0, 1]
    for part in parts:
        assert part is not None
        assert np.allclose(part.inputs[:, 2], 1)
        assert (part.inputs[:, 0, 0, 0] * 255).round().astype(int).tolist() == [
            label * 100 + round(float(x)) % 100 for label, x in zip(part.targets, part.inputs[:, 0, 0, 0] * 255, strict=True)
        ]
    assert describe(parts) == "8 training and 2 held-out samples of 3 x 4 x 6, 2 classes (cats, dogs)"


@pytest.mark.parametrize("mode", ["L", "1", "I;16", "LA"])
def test_grey_images_keep_one_channel(tmp_path: Path, mode: str) -> None:
    train = read(str(write_images(tmp_path, mode="L" if mode == "LA" else mode))).train
    assert train.inputs.shape == (8, 1, 4, 6)
    if mode != "1":
        assert sorted((train.inputs[:, 0, 0, 0] * 255).round().astype(int).tolist())[-1] in (103, 104)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_one_image_in_colour_makes_all_three_channels(tmp_path: Path, mode: str) -> None:
    write_images(tmp_path, mode="L")
    if mode == "P":
        Image.new("RGB", (6, 4), (9, 0, 255)).convert("P").save(tmp_path / "cats" / "x.png")
    else:
        write_image(tmp_path / "cats" / "x.png", mode=mode)
    assert read(str(tmp_path)).train.inputs.shape[1] == 3


def test_mixed_sizes_are_refused_unless_scaled(tmp_path: Path) -> None:
    write_images(tmp_path)
    write_image(tmp_path / "dogs" / "wide.jpg", size=(9, 7))
    with pytest.raises(
        ExplorerError, match=r"wide\.jpg has 9 x 7 pixels, .*0\.png has 6 x 4: scale all with size=PIXELS, such as size=4"
    ):
        read(str(tmp_path))
    assert read(f"{tmp_path},size=5").train.inputs.shape == (9, 3, 5, 5)


def test_its_own_parts_win_and_share_the_classes(tmp_path: Path) -> None:
    write_images(tmp_path / "train", ["a", "b", "c"], 3)
    write_images(tmp_path / "val", ["c", "a"], 2)
    parts = read(str(tmp_path))
    assert parts.held_out is not None
    assert (len(parts.train), parts.held_out.targets.tolist()) == (9, [0, 0, 2, 2])
    assert read(f"{tmp_path},validation=0").held_out is None
    write_images(tmp_path / "val", ["d"], 1)
    with pytest.raises(ExplorerError, match=r"val/d is a class that there is not in training: the classes are a, b, c"):
        read(str(tmp_path))


def test_hidden_files_and_other_files_are_passed_over_and_inner_folders_searched(tmp_path: Path) -> None:
    write_images(tmp_path, count=5)
    (tmp_path / ".cache").mkdir()
    (tmp_path / "cats" / "._0.png").write_bytes(b"resource fork")
    (tmp_path / "cats" / "notes.txt").write_text("x")
    write_image(tmp_path / "cats" / "more" / "1.PNG")
    assert len(read(f"{tmp_path},validation=0").train) == 11


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n"])
def test_a_broken_image_is_named(tmp_path: Path, content: bytes) -> None:
    write_images(tmp_path)
    (tmp_path / "dogs" / "bad.png").write_bytes(content)
    with pytest.raises(ExplorerError, match=r"dogs/bad\.png is no image that can be read .*mend or remove it"):
        read(str(tmp_path))


def test_an_image_cut_off_is_named(tmp_path: Path) -> None:
    write_images(tmp_path)
    random = np.random.default_rng(0).integers(0, 255, (4, 6, 3), dtype=np.uint8)
    Image.fromarray(random).save(tmp_path / "dogs" / "cut.png")
    content = (tmp_path / "dogs" / "cut.png").read_bytes()
    (tmp_path / "dogs" / "cut.png").write_bytes(content[: len(content) // 2])
    with pytest.raises(ExplorerError, match=r"dogs/cut\.png is no image that can be read"):
        read(str(tmp_path))


def test_folders_that_hold_no_classes_are_one_sentence(tmp_path: Path) -> None:
    write_image(tmp_path / "flat" / "0.png")
    with pytest.raises(ExplorerError, match="has no folders of images in it: put the images of each class in a folder"):
        read(f"{tmp_path}/flat")
    write_images(tmp_path / "some")
    (tmp_path / "some" / "birds").mkdir()
    with pytest.raises(ExplorerError, match=r"birds has no images in it"):
        read(f"{tmp_path}/some")


def test_a_set_larger_than_half_of_the_memory_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images(tmp_path)
    monkeypatch.setattr("explorer.datasets.memory.available_bytes", lambda: 5000)
    monkeypatch.setattr("explorer.datasets.image_folder._decoded", lambda *_: pytest.fail("decoded"))
    with pytest.raises(ExplorerError, match=r"more than half of the .* available: scale the images with size=2"):
        read(str(tmp_path))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 16)
    with pytest.raises(ExplorerError, match="too many pixels"):
        read(str(write_images(tmp_path)))


def test_without_pillow_the_command_to_install_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_images(tmp_path)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ExplorerError, match=r"needs Pillow: pip install 'explorer\[images\]'"):
        read(str(tmp_path))


@pytest.mark.parametrize("size", ["0", "-1", "x", "9999", "²"])
def test_a_size_that_is_none_is_refused(tmp_path: Path, size: str) -> None:
    with pytest.raises(ExplorerError, match="is no number of pixels: give 1 to 4096"):
        read(f"{write_images(tmp_path)},size={size}")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=st.sampled_from(["png", "jpg", "gif", "bmp", "tif", "webp", "ppm"]), data=st.data())
def test_a_damaged_image_is_a_sample_or_a_sentence(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    whole = tmp_path / f"whole.{kind}"
    if not whole.exists():
        Image.fromarray(np.arange(72, dtype=np.uint8).reshape(4, 6, 3)).save(whole)
    content = bytearray(whole.read_bytes())
    for place, value in data.draw(st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)):
        content[place] = value
    (tmp_path / "fuzz" / "a").mkdir(parents=True, exist_ok=True)
    for old in (tmp_path / "fuzz" / "a").iterdir():
        old.unlink()
    (tmp_path / "fuzz" / "a" / f"x.{kind}").write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        assert np.isfinite(read(f"{tmp_path}/fuzz,size=4").train.inputs).all()
    except ExplorerError as error:
        check_sentence(error)
