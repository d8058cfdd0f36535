"""Runs with curves as the engine tells them, for the screens' tests."""

import math
import random

from explorer.schemas.curves import Curve, RunCurves
from tests.fakes import EPOCH


def a_curve(name: str, xs: list[float], ys: list[float], count: int = 0) -> Curve:
    return Curve(name=name, xs=xs, ys=ys, count=count or len(xs), last=ys[-1] if ys else None)


def a_run(
    source: str, seed: int = 0, steps: int = 4000, points: int = 400, upto: float = 1.0, thinned: bool = False
) -> RunCurves:
    """A training that has come as far as `upto`, with noise; `thinned`: the engine knows more points than it told."""
    noise = random.Random(seed)
    shares = [place / points for place in range(1, round(points * upto) + 1)]
    xs = [steps * share for share in shares]
    loss = [2.3 * math.exp(-(3 + seed) * share) + 0.04 + 0.03 * seed + 0.08 * noise.random() for share in shares]
    held = list(range(points // 20 - 1, len(xs), points // 20))
    count = steps if thinned else 0
    return RunCurves(
        source=source,
        name=source.rpartition("/")[2],
        format="tfevents",
        first_time=EPOCH,
        last_time=EPOCH + 400 * upto,
        last_step=round(xs[-1]),
        curves=[
            a_curve("loss", xs, loss, count),
            a_curve("val_loss", [xs[place] for place in held], [loss[place] + 0.05 for place in held]),
            a_curve(
                "val_accuracy",
                [xs[place] for place in held],
                [0.99 - 0.89 * math.exp(-(5 + seed) * shares[place]) for place in held],
            ),
            a_curve("lr", xs, [3e-3 * (1 + math.cos(math.pi * share)) / 2 for share in shares], count),
            a_curve("grad_norm", xs, [0.5 + 0.3 * noise.random() for _ in shares], count),
            a_curve("samples_per_s", xs, [12_400 + 300 * noise.random() for _ in shares], count),
        ],
    )


def by_time(run: RunCurves) -> RunCurves:
    """The same run over time: ten steps a second."""
    return run.model_copy(
        update={"curves": [curve.model_copy(update={"xs": [x / 10 for x in curve.xs]}) for curve in run.curves]}
    )


LONG = 1_000_000
METRICS = ("loss", "lr", "grad_norm", "samples_per_s")


def a_long_run(source: str, seed: int = 0) -> RunCurves:
    """A million steps long and half way through: 2048 points of each metric, as the engine thins them."""
    noise = random.Random(seed)
    xs = [LONG / 2 * place / 2048 for place in range(1, 2049)]
    falling = [2 * math.exp(-3 * x / LONG) + 0.2 * noise.random() + 0.1 * seed for x in xs]
    return RunCurves(
        source=source,
        name=source.rpartition("/")[2],
        format="csv",
        first_time=EPOCH,
        last_time=EPOCH + 40_000,
        last_step=LONG // 2,
        curves=[a_curve(name, xs, falling, LONG // 2) for name in METRICS],
    )


def more_of(run: RunCurves, tick: int) -> RunCurves:
    """What a long run says next: a hundred steps, of which every tenth is logged."""
    noise = random.Random(tick)
    steps = [LONG / 2 + 100 * tick + 10 * place for place in range(1, 11)]
    curves = [a_curve(name, steps, [0.5 + 0.1 * noise.random() for _ in steps]) for name in METRICS]
    return run.model_copy(update={"curves": curves, "last_step": round(steps[-1]), "last_time": EPOCH + 40_000 + tick / 10})
