import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Sums in one order, so that runs compare bit by bit."""
    monkeypatch.setenv("EXPLORER_HOME", str(tmp_path_factory.mktemp("home")))
    torch.set_num_threads(1)
