"""What the Models screen offers before a file is open: models of finished jobs, recent files, samples to train."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.content import Content

from explorer.schemas.jobs import JobSummary
from screens.job_words import when
from screens.widgets.row_list import Row

MODEL_KINDS = ("train", "convert", "quantize", "prune")
JOBS_SHOWN = 8
NAME_ROOM = 34

SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "sample:digits_cnn": ("a small CNN for the digits", {"source": "samples/digits_cnn.py:digits_cnn"}),
    "sample:tiny_encoder": (
        "a tiny transformer encoder for the digits",
        {"source": "samples/tiny_transformer.py:tiny_encoder", "epochs": 20},
    ),
    "sample:simple_model": (
        "one linear layer, a regression",
        {"source": "samples/simple_model.py:simple_model", "data": "linear", "epochs": 20, "learning_rate": 0.01},
    ),
}


@dataclass(frozen=True)
class Offer:
    """One thing to open; `key` is the model source, or `sample:NAME` for one to train."""

    key: str
    name: str
    note: str


def start_rows(jobs: Iterable[JobSummary], recent: Iterable[str], samples: bool = True) -> list[Row]:
    """All offers in their parts, models that exist before samples to train."""
    made = [job for job in jobs if job.kind in MODEL_KINDS and job.state == "done"]
    newest = sorted(made, key=lambda job: job.created, reverse=True)[:JOBS_SHOWN]
    offers = {
        "MODELS OF YOUR JOBS": [
            Offer(f"job:{job.id}", f"{job.kind} {job.model}", f"{when(job.created)}  {job.headline}") for job in newest
        ],
        "RECENT FILES": [
            Offer(source, Path(source).name, str(Path(source).parent)) for source in recent if not source.startswith("job:")
        ],
    }
    if samples:
        offers["SAMPLES TO TRAIN"] = [Offer(key, key.removeprefix("sample:"), note) for key, (note, _) in SAMPLES.items()]
    return [row for title, found in offers.items() if found for row in _part(title, found)]


def _part(title: str, offers: list[Offer]) -> list[Row]:
    rows = [
        Row(offer.key, Content.assemble(f"{offer.name[:NAME_ROOM]:<{NAME_ROOM}}  ", (offer.note, "$muted"))) for offer in offers
    ]
    return [Row(f"heading:{title}", title, heading=True), *rows, Row(f"gap:{title}", "", heading=True)]
