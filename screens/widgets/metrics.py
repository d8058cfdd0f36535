"""Which metrics are drawn together, under which words, in which unit; ours by name, those of other trainers by their words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from screens.text import NONE, count, memory, number, short_count

HELD_OUT = {"val", "valid", "validation", "test", "eval", "held", "dev"}
TRAINING = {"train", "training"}
STEP_SPLIT = ("data_ms", "forward_ms", "backward_ms", "optimizer_ms")
MEMORY = ("rss_bytes", "device_bytes")
# Panels in the order in which they are offered; all others follow by name.
ORDER = ("loss", "accuracy", "lr", "grad_norm", "samples_per_s", "step", "memory", "grad_scale")
TITLES = {
    "lr": "learning rate",
    "grad_norm": "gradient norm",
    "samples_per_s": "samples/s",
    "step": "step split",
    "grad_scale": "scale",
}
SAME = {"learning_rate": "lr", "acc": "accuracy", "gradient_norm": "grad_norm", "categorical_accuracy": "accuracy"}
LABELS = {"rss_bytes": "process", "device_bytes": "device"} | {name: name.removesuffix("_ms") for name in STEP_SPLIT}


@dataclass(frozen=True)
class Place:
    """Where a metric is drawn: in the panel of this key, dotted when held out, under a label."""

    panel: str
    label: str
    held_out: bool = False


def place_of(metric: str) -> Place:
    """The place of a metric, such as `val_loss`, `train/accuracy`, `eval/mae`, `epoch_loss` or `forward_ms`."""
    if metric in STEP_SPLIT:
        return Place("step", LABELS[metric])
    if metric in MEMORY:
        return Place("memory", LABELS[metric])
    words = [word for word in re.split(r"[/_.\s-]+", metric.strip()) if word]
    held_out = any(word.lower() in HELD_OUT for word in words)
    rest = [word for word in words if word.lower() not in HELD_OUT | TRAINING]
    panel = "_".join(rest or words).lower()
    return Place(SAME.get(panel, panel), "val" if held_out else "train", held_out)


def panel_keys(metrics: Iterable[str]) -> list[str]:
    """The panels that these metrics fill, the ones looked at most first; the count of epochs last."""
    found = {place_of(metric).panel for metric in metrics}
    known = [key for key in ORDER if key in found]
    rest = sorted(found - set(known), key=lambda key: (key == "epoch", "loss" not in key, key))
    return known + rest


def title_of(panel: str) -> str:
    return TITLES.get(panel, panel.replace("_", " "))


def value_text(metric: str, value: float | None) -> str:
    """A value with its unit, such as `412 MiB`, `5.2 ms` or `12,400`."""
    if value is None or not math.isfinite(value):
        return number(value)
    if metric.endswith("_bytes"):
        return memory(value)
    if metric.endswith("_ms"):
        return f"{value:.3g} ms"
    return count(value) if metric == "samples_per_s" else number(value)


def tick_text(metric: str, value: float) -> str:
    """A value at an axis in at most seven signs."""
    if metric.endswith("_bytes"):
        return memory(value).replace(" ", "")
    if metric.endswith("_ms"):
        return f"{value:.3g}ms"
    if abs(value) >= 1e4:
        return short_count(value) if abs(value) < 1e12 else f"{value:.0e}"
    if value and abs(value) < 1e-3:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    return f"{value:.4g}"[:7] if math.isfinite(value) else NONE
