"""A script that repeats a training ends with the very same weights, without explorer."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from explorer import home
from explorer.engine.jobs import JobFolder
from explorer.errors import ExplorerError
from explorer.reporter import QuietReporter
from explorer.runs import export
from explorer.schemas.specs import ConvertSpec, ExportSpec, Spec, TrainSpec
from explorer.training import train

OWN_CODE = """
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, TensorDataset, random_split

import neighbour


class Net(nn.Module):
    def __init__(self, inputs=8, outputs=3, width=neighbour.WIDTH):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(inputs, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(width, outputs)
        )

    def forward(self, x):
        return self.layers(x)


def Plain():
    return nn.Linear(10, 1).double(), (torch.zeros(1, 10),)


def arrays(samples=100, seed=1):
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(samples, 8))
    return inputs, (inputs[:, 0] + inputs[:, 1] > 0).astype(int) + (inputs[:, 2] > 0)


def drawn():
    return np.random.normal(size=(60, 8)), torch.rand(60)


def two_parts():
    return arrays(90), arrays(30, 2)


class Jittered(Dataset):
    def __init__(self, samples=70):
        self.inputs, self.targets = arrays(samples)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, index):
        return torch.from_numpy(self.inputs[index]) + 0.01 * torch.randn(8), int(self.targets[index]) + 0 * random.randrange(9)


def loaders():
    inputs, targets = arrays()
    whole = TensorDataset(torch.from_numpy(inputs).float(), torch.from_numpy(targets))
    return {"train": DataLoader(whole, 16, shuffle=True), "validation": DataLoader(whole, 32)}


class Endless:
    # batches that do not say how many they are
    def __iter__(self):
        for number in range(7):
            inputs, targets = arrays(6, number)
            yield torch.from_numpy(inputs), torch.from_numpy(targets)


class Stream(IterableDataset):
    def __iter__(self):
        for number in range(31):
            yield torch.randn(8), number % 3


class Told(Sampler):
    def __init__(self):
        self.first = 0

    def set_epoch(self, epoch):
        self.first = 40 * epoch

    def __len__(self):
        return 60

    def __iter__(self):
        return iter(range(self.first, self.first + 60))


def told():
    inputs, targets = arrays()
    return DataLoader(TensorDataset(torch.from_numpy(inputs).float(), torch.from_numpy(targets)), 16, sampler=Told())


def subsets():
    inputs, targets = arrays()
    return tuple(random_split(TensorDataset(torch.from_numpy(inputs), torch.from_numpy(targets)), [80, 20]))


def step(model, batch):
    inputs, targets = batch
    outputs = model(inputs)
    loss = F.cross_entropy(outputs, targets) + 1e-3 * outputs.square().mean()
    return {"loss": loss, "accuracy": (outputs.argmax(1) == targets).float().mean()}
"""
NET = "net.py:Net"
SPECS: dict[str, dict[str, Any]] = {
    "defaults": {"epochs": 1},
    "regression": {"source": "samples/simple_model.py:simple_model", "data": "linear", "epochs": 2, "optimizer": "sgd"},
    "plateau": {
        "data": "linear,validation=0.1",
        "source": "net.py:Net(10, 1)",
        "epochs": 9,
        "schedule": "plateau",
        "learning_rate": 0.3,
    },
    "nothing held out": {"data": "linear,validation=0", "source": "net.py:Net(10, 1)", "epochs": 2, "schedule": "constant"},
    "accumulated": {
        "source": NET,
        "data": "net.py:arrays",
        "epochs": 3,
        "accumulate_batches": 5,
        "batch_size": 7,
        "clip_grad_norm": 0.5,
    },
    "steps": {
        "source": NET,
        "data": "net.py:arrays(90)",
        "epochs": 9,
        "max_steps": 17,
        "schedule": "step",
        "optimizer": "rmsprop",
    },
    "best": {
        "source": NET,
        "data": "net.py:two_parts",
        "epochs": 12,
        "keep_best": True,
        "early_stopping_epochs": 2,
        "learning_rate": 0.05,
    },
    "drawn": {"source": "net.py:Net(outputs=1)", "data": "net.py:drawn", "epochs": 2, "optimizer": "adam", "schedule": "linear"},
    "map": {"source": NET, "data": "net.py:Jittered", "epochs": 2, "batch_size": 9, "warmup_share": 0.0},
    "loader": {"source": NET, "data": "net.py:loaders", "epochs": 2, "accumulate_batches": 2, "keep_best": True},
    "accumulated loader": {"source": NET, "data": "net.py:loaders", "epochs": 2, "accumulate_batches": 3},
    "endless": {"source": NET, "data": "net.py:Endless", "max_steps": 9, "accumulate_batches": 2, "schedule": "linear"},
    "samples": {"source": NET, "data": "net.py:Stream", "max_steps": 7, "batch_size": 6},
    "told": {"source": NET, "data": "net.py:told", "epochs": 2},
    "subsets": {"source": NET, "data": "net.py:subsets", "epochs": 2},
    "package": {"source": "own_package.models:Small(width=5)", "data": "net.py:arrays", "epochs": 1},
    "own step": {"source": NET, "data": "net.py:arrays", "epochs": 2, "step": "net.py:step", "seed": 5},
    "bfloat16": {"source": NET, "data": "net.py:arrays", "epochs": 2, "precision": "bfloat16", "label_smoothing": 0.1},
    "float16": {"source": NET, "data": "net.py:arrays", "epochs": 2, "precision": "float16", "clip_grad_norm": 1.0},
    "npz": {"source": NET, "data": "parts.npz", "epochs": 2},
    "batches of one": {"source": "net.py:Plain", "data": "linear,validation=0.9", "epochs": 1, "batch_size": 1},
    "csv": {"source": NET, "data": "table.csv,target=kind", "epochs": 2},
    "csv of values": {"source": "net.py:Net(outputs=1)", "data": "table.csv.gz,task=regression", "epochs": 2},
    "images": {"source": "net.py:Net(108, 2)", "data": "photos,size=6,validation=0.3", "epochs": 2},
    "grey images": {"source": "net.py:Net(25, 2)", "data": "grey", "epochs": 2},
    "weights": {"source": NET, "weights": "job:JOB", "data": "net.py:arrays", "epochs": 1},
    "from a job": {"source": "job:JOB", "data": "net.py:arrays", "epochs": 1, "optimizer": "sgd", "momentum": 0.0},
    "auto": {
        "source": NET,
        "data": "net.py:arrays",
        "epochs": 1,
        "device": "auto",
        "mps_high_watermark": 1.2,
        "deterministic": True,
    },
    "deterministic": {"source": NET, "data": "net.py:arrays", "epochs": 1, "deterministic": True},
}
RUN_ALL = """
import runpy, sys, warnings
warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    runpy.run_path(path, run_name="__main__")
    assert not [name for name in sys.modules if name.partition(".")[0] == "explorer"], path
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's code and data."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "net.py").write_text(OWN_CODE)
    (folder / "own_package").mkdir()
    (folder / "own_package" / "models.py").write_text(
        "from torch import nn\ndef Small(width): return nn.Sequential(nn.Linear(8, width), nn.Linear(width, 3))"
    )
    (folder / "neighbour.py").write_text("WIDTH = 12\n")
    random = np.random.default_rng(3)
    images = random.integers(0, 255, (40, 8), dtype=np.uint8)
    names = np.array(["a", "b", "c"])[random.integers(0, 3, 40)]
    np.savez(folder / "parts.npz", x_train=images[:30], y_train=names[:30], x_test=images[30:], y_test=names[30:])
    rows = random.normal(size=(50, 8))
    kinds = np.array(["oak", "ash", "elm"])[random.integers(0, 3, 50)]
    lines = [
        ",".join([*(f"{value:.6g}" for value in row[:3]), kind, *(f"{value:.6g}" for value in row[3:])])
        for row, kind in zip(rows, kinds, strict=True)
    ]
    (folder / "table.csv").write_text("\n".join(["a,b,c,kind,d,e,f,g,h", *lines]) + "\n", encoding="utf-8-sig")
    np.savetxt(folder / "table.csv.gz", np.column_stack([rows, rows.sum(1)]), delimiter=";")
    for number in range(12):
        for kind, mode, side in (("photos", "RGB", 7), ("grey", "L", 5)):
            path = folder / kind / ("cats" if number % 3 else "dogs") / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = random.integers(0, 255, (side, side, 3) if mode == "RGB" else (side, side), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
    return folder


@pytest.fixture(scope="module")
def trained(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """For each spec the job's own weights and the script's, all scripts run in one process that never knew explorer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXPLORER_HOME", str(tmp_path_factory.mktemp("home")))
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        jobs: dict[str, JobFolder] = {}
        for name, words in SPECS.items():
            asked = {"device": "cpu", "threads": 1, **words}
            for field in ("source", "weights"):
                if asked.get(field) == "job:JOB":
                    asked[field] = f"job:{jobs['own step'].id}"
            jobs[name] = done(TrainSpec.model_validate(asked), folder)
        scripts = {name: folder / "scripts" / f"{name.replace(' ', '_')}.py" for name in SPECS}
        for name, path in scripts.items():
            spec = ExportSpec(source=f"job:{jobs[name].id}", to="script", output=str(path))
            result = export.run(spec, QuietReporter(folder))
            assert result.bytes == path.stat().st_size
        patch.chdir("/")
        command = [sys.executable, "-I", "-c", RUN_ALL, *map(str, scripts.values())]
        done_ = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done_.returncode == 0, done_.stderr
    return {
        name: (jobs[name].artifacts_path / "model.safetensors", path.with_name(f"{path.stem}_weights.pt"))
        for name, path in scripts.items()
    }


def done(spec: Spec, folder: Path) -> JobFolder:
    """A job of ours, trained in this process."""
    job = JobFolder.create(home.jobs_folder(), spec, model="net", cwd=str(folder))
    threads = torch.get_num_threads()
    if isinstance(spec, TrainSpec):
        train.run(spec, QuietReporter(job.artifacts_path))
    torch.set_num_threads(threads)
    return job


@pytest.mark.parametrize("name", SPECS)
def test_a_script_ends_with_the_weights_of_the_job(name: str, trained: dict[str, tuple[Path, Path]]) -> None:
    ours, theirs = trained[name]
    wanted, found = load_file(ours), torch.load(theirs, weights_only=True)
    assert wanted.keys() == found.keys()
    for key, tensor in wanted.items():
        assert torch.equal(tensor, found[key]), key


def test_the_scripts_are_readable_code(trained: dict[str, tuple[Path, Path]]) -> None:
    """Formatted and without a name too few or too many, as our linter sees it, and with no word of what it does not use."""
    folder = trained["defaults"][1].parent
    rules = ["--isolated", "--line-length", "120", "--target-version", "py311"]
    for command in (["check", "--select", "E,F,I,B,UP,C4,SIM,PERF", *rules], ["format", "--check", *rules]):
        done_ = subprocess.run([sys.executable, "-m", "ruff", *command, str(folder)], capture_output=True, text=True, check=False)
        assert done_.returncode == 0, done_.stdout
    plain = (folder / "nothing_held_out.py").read_text()
    assert not [word for word in ("validate", "accumulate", "autocast", "clip", "best", "learning_rate(") if word in plain]
    assert len(plain.splitlines()) < 130


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (TrainSpec(processes=2), "several processes"),
        (TrainSpec(device="xla"), "on xla"),
        (ConvertSpec(source="net.py:Net"), "is no training"),
        (TrainSpec(source="gone.py:Net"), "gone.py does not exist"),
        (TrainSpec(data="gone.npz"), "there is no data 'gone.npz'"),
    ],
)
def test_what_a_script_cannot_do_is_refused_in_a_sentence(spec: Spec, words: str, tmp_path: Path, explorer_home: Path) -> None:
    job = JobFolder.create(home.jobs_folder(), spec, model="net", cwd=str(tmp_path))
    asked = ExportSpec(source=f"job:{job.id}", to="script", output=str(tmp_path / "out" / "a.py"))
    with pytest.raises(ExplorerError, match=words) as caught:
        export.run(asked, QuietReporter(tmp_path))
    assert caught.value.remedy
    assert not (tmp_path / "out").exists(), "nothing is half written"


def test_only_a_job_of_ours_has_a_script(tmp_path: Path, explorer_home: Path) -> None:
    (tmp_path / "log.csv").write_text("step,loss\n1,2\n")
    asked = ExportSpec(source=str(tmp_path / "log.csv"), to="script", output=str(tmp_path / "a.py"))
    with pytest.raises(ExplorerError, match="does not say how it was trained"):
        export.run(asked, QuietReporter(tmp_path))


def test_a_file_beside_the_script_is_not_lost(tmp_path: Path, explorer_home: Path) -> None:
    job = JobFolder.create(home.jobs_folder(), TrainSpec(), model="net", cwd=str(tmp_path))
    (tmp_path / "digits_cnn.py").write_text("mine = 1")
    asked = ExportSpec(source=f"job:{job.id}", to="script", output=str(tmp_path / "a.py"))
    with pytest.raises(ExplorerError, match=r"digits_cnn\.py is there already and differs"):
        export.run(asked, QuietReporter(tmp_path))
    assert [path.name for path in tmp_path.glob("*.*")] == ["digits_cnn.py"]
    export.run(asked.model_copy(update={"overwrite": True}), QuietReporter(tmp_path))
    assert "class DigitsCNN" in (tmp_path / "digits_cnn.py").read_text()
    clash = asked.model_copy(update={"output": str(tmp_path / "digits_cnn.py"), "overwrite": True})
    with pytest.raises(ExplorerError, match="give the script another name"):
        export.run(clash, QuietReporter(tmp_path))
