"""What a smaller model may cost, and when it is no smaller at all."""

from explorer.errors import ExplorerError

LEAST_CHANGE = 0.98
# Accuracies are means of 0s and 1s; the slack only keeps a drop of exactly the budget from failing by rounding.
SLACK = 1e-9


def check_accuracy(before: float | None, after: float | None, max_drop: float, remedy: str) -> None:
    """Raise `ExplorerError` when accuracy (0..1; None: no classes) fell by more than `max_drop`."""
    if before is None or after is None or before - after <= max_drop + SLACK:
        return
    raise ExplorerError(
        f"held-out accuracy fell from {before:.4f} to {after:.4f}, by {before - after:.4f} where {max_drop:g} is allowed",
        remedy,
    )


def check_smaller(name: str, source_bytes: int, bytes_: int) -> float:
    """The size ratio; raises `ExplorerError` when nothing to speak of was saved."""
    ratio = bytes_ / source_bytes
    if ratio > LEAST_CHANGE:
        raise ExplorerError(
            f"quantizing {name} saves nothing ({source_bytes:,} bytes before, {bytes_:,} after)",
            "its weights are too small or already stored in fewer bits; prune it or keep it",
        )
    return ratio
