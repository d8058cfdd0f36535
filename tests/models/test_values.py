import math
from pathlib import Path

import pytest
import torch

from explorer.errors import Cancelled, ExplorerError
from explorer.models.tensor_reader.stored import CHUNK_ELEMENTS
from explorer.models.values import run
from explorer.reporter import NO_ORDERS, Orders, QuietReporter
from explorer.schemas.model_results import ValuesResult
from explorer.schemas.model_specs import ValuesSpec


def values(path: Path, tensor: str | None = None, bins: int = 4) -> ValuesResult:
    return run(ValuesSpec(source=str(path), tensor=tensor, bins=bins), QuietReporter(path.parent))


def saved(folder: Path, **tensors: torch.Tensor) -> Path:
    torch.save(tensors, folder / "a.pt")
    return folder / "a.pt"


def test_statistics_counted_by_hand(tmp_path: Path) -> None:
    """0, 1, 2, 3, 4: mean 2, squared deviations 4 + 1 + 0 + 1 + 4 over 5, squares 30."""
    path = saved(tmp_path, w=torch.tensor([0.0, 1, 2, 3, 4, math.nan, math.inf, -math.inf]))
    found = values(path, "w").tensors[0]
    assert (found.elements, found.nans, found.infinities, found.zeros) == (8, 1, 2, 1)
    assert (found.minimum, found.maximum, found.mean) == (0, 4, 2)
    assert found.std == pytest.approx(math.sqrt(2))
    assert found.norm == pytest.approx(math.sqrt(30))
    assert (found.histogram, found.edges) == ([1, 1, 1, 2], [0, 1, 2, 3, 4])
    assert values(path, "w").findings[0].title == "w holds 1 NaN and 2 infinite numbers of 8"


def test_statistics_over_several_pieces_are_those_of_torch_in_float64(tmp_path: Path) -> None:
    tensor = torch.randn(3, CHUNK_ELEMENTS, generator=torch.Generator().manual_seed(0)) * 3 + 100
    found = values(saved(tmp_path, w=tensor), "w").tensors[0]
    exact = tensor.double()
    assert found.mean == pytest.approx(exact.mean().item(), rel=1e-12)
    assert found.std == pytest.approx(exact.std(correction=0).item(), rel=1e-9)
    assert found.norm == pytest.approx(exact.norm().item(), rel=1e-12)
    assert sum(found.histogram) == tensor.numel()


@pytest.mark.parametrize(
    "tensor",
    [torch.full((3,), 7.0), torch.zeros(0), torch.full((2,), math.nan), torch.tensor([1e308, -1e308], dtype=torch.float64)],
)
def test_odd_tensors_have_statistics(tmp_path: Path, tensor: torch.Tensor) -> None:
    found = values(saved(tmp_path, w=tensor), "w").tensors[0]
    finite = tensor[torch.isfinite(tensor)]
    assert sum(found.histogram) == finite.numel()
    assert found.minimum == (finite.min().item() if finite.numel() else None)


def test_integers_booleans_and_magnitudes_of_complex_numbers(tmp_path: Path) -> None:
    path = saved(tmp_path, i=torch.tensor([-3, 5]), b=torch.tensor([True, False]), c=torch.tensor([3 + 4j]))
    assert (values(path, "i").tensors[0].minimum, values(path, "b").tensors[0].mean) == (-3, 0.5)
    assert values(path, "c").tensors[0].maximum == 5


def test_sweep_names_the_tensors_that_are_not_finite(tmp_path: Path) -> None:
    bad = torch.ones(CHUNK_ELEMENTS + 9, dtype=torch.bfloat16)
    bad[-1] = math.nan
    path = saved(tmp_path, good=torch.ones(5), count=torch.tensor(3), bad=bad, half=torch.tensor([math.inf]).half())
    result = values(path)
    assert [(item.name, item.nans, item.infinities) for item in result.tensors] == [("bad", 1, 0), ("half", 0, 1)]
    assert (result.checked, result.bytes) == (4, 20 + 8 + 2 * (CHUNK_ELEMENTS + 9) + 2)
    assert (result.findings[0].severity, result.findings[0].title) == ("error", "2 of 4 tensors hold NaN or infinity: bad, half")


def test_sweep_of_a_finite_file_says_so(tmp_path: Path) -> None:
    result = values(saved(tmp_path, a=torch.ones(5), b=torch.ones(2)))
    assert result.tensors == []
    assert [finding.title for finding in result.findings] == ["all numbers of 2 tensors are finite"]


def test_bad_number_between_those_of_a_view_does_not_count(tmp_path: Path) -> None:
    whole = torch.ones(4, 2)
    whole[1, 1] = math.nan
    assert values(saved(tmp_path, column=whole[:, 0])).tensors == []
    assert [item.nans for item in values(saved(tmp_path, column=whole[:, 1])).tensors] == [1]


def test_progress_reaches_its_end_and_cancel_is_heard_between_pieces(tmp_path: Path) -> None:
    path = saved(tmp_path, a=torch.ones(3 * CHUNK_ELEMENTS), b=torch.ones(5))

    class Counting(QuietReporter):
        def __init__(self, limit: int) -> None:
            super().__init__(tmp_path)
            self.steps: list[tuple[float, float | None]] = []
            self.left = limit

        def progress(
            self, done: float, total: float | None, message: str = "", unit: str = "", seconds_left: float | None = None
        ) -> None:
            self.steps.append((done, total))

        def control(self) -> Orders:
            self.left -= 1
            if not self.left:
                raise Cancelled
            return NO_ORDERS

    report = Counting(1000)
    run(ValuesSpec(source=str(path)), report)
    total = 4 * (3 * CHUNK_ELEMENTS + 5)
    assert report.steps[-1] == (total, total)
    assert [done for done, _ in report.steps] == sorted(done for done, _ in report.steps)
    with pytest.raises(Cancelled):
        run(ValuesSpec(source=str(path)), Counting(3))


def test_tensors_that_cannot_be_read_are_a_finding_of_the_sweep(tmp_path: Path) -> None:
    path = saved(tmp_path, good=torch.ones(3), huge=torch.ones(1).expand(1 << 20, 1 << 20))
    result = values(path)
    assert result.checked == 1
    assert result.findings[-1].title == "1 tensors could not be read"
    assert "huge" in result.findings[-1].evidence


def test_missing_file_and_missing_tensor_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="does not exist"):
        values(tmp_path / "no.pt")
    with pytest.raises(ExplorerError, match="no tensor z"):
        values(saved(tmp_path, w=torch.ones(1)), "z")
