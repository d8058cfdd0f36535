"""Metrics find their panel by their name, ours and those of other trainers, and are written with their unit."""

import pytest

from screens.widgets.metrics import panel_keys, place_of, tick_text, value_text


@pytest.mark.parametrize(
    ("metric", "panel", "held_out"),
    [
        ("loss", "loss", False),
        ("val_loss", "loss", True),
        ("train/loss", "loss", False),
        ("eval/loss", "loss", True),
        ("eval_loss", "loss", True),
        ("Loss/validation", "loss", True),
        ("train_loss_step", "loss_step", False),
        ("val_acc", "accuracy", True),
        ("learning_rate", "lr", False),
        ("train/grad_norm", "grad_norm", False),
        ("forward_ms", "step", False),
        ("rss_bytes", "memory", False),
        ("val", "val", True),
        ("my_metric", "my_metric", False),
    ],
)
def test_place_of(metric: str, panel: str, held_out: bool) -> None:
    place = place_of(metric)
    assert (place.panel, place.held_out) == (panel, held_out)


def test_panels_come_in_the_order_in_which_they_are_looked_at() -> None:
    names = ["epoch", "zeta", "lr", "val_accuracy", "rss_bytes", "data_ms", "mask_loss", "val_loss", "loss"]
    assert panel_keys(names) == ["loss", "accuracy", "lr", "step", "memory", "mask_loss", "zeta", "epoch"]


def test_values_have_units() -> None:
    assert value_text("rss_bytes", 412 * 2**20) == "412 MiB"
    assert value_text("forward_ms", 5.234) == "5.23 ms"
    assert value_text("samples_per_s", 12400.4) == "12,400"
    assert value_text("loss", float("nan")) == "NaN"
    assert value_text("loss", None) == "–"


@pytest.mark.parametrize("value", [0.0, 3e-4, 1.25e-7, 0.0025, 0.9875, 12.5, 12_400.0, 1.5e9, -3e-4, 3e15])
def test_ticks_fit_beside_the_plot(value: float) -> None:
    assert len(tick_text("loss", value)) <= 7
