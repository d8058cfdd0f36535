"""The learning rate of a training script, as `explorer.training.schedules` computes it."""

from explorer.runs.script_piece import Piece
from explorer.schemas.train_spec import TrainSpec

SHAPES = {
    "cosine": ("half a cosine down to zero", "LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * share))"),
    "linear": ("a straight line down to zero", "LEARNING_RATE * (1 - share)"),
}
WARMUP = """\
    warmup = round(WARMUP_SHARE * total_steps)
    if step < warmup:
        return LEARNING_RATE * (step + 1) / warmup
"""


def schedule(spec: TrainSpec) -> Piece:
    """`learning_rate(step, total_steps)` where the rate follows the steps; nothing where it stays or follows the validation."""
    if not follows_steps(spec):
        return Piece()
    constants = [f"WARMUP_SHARE = {spec.warmup_share!r}  # of all steps"] if spec.warmup_share else []
    return Piece(constants, [_tenths(spec) if spec.schedule == "step" else _shaped(spec)])


def follows_steps(spec: TrainSpec) -> bool:
    return spec.schedule in ("cosine", "linear", "step")


def _shaped(spec: TrainSpec) -> str:
    words, formula = SHAPES[spec.schedule]
    rise = "A rise to the peak, then " if spec.warmup_share else ""
    share = "(step - warmup) / max(1, total_steps - warmup)" if spec.warmup_share else "step / max(1, total_steps)"
    words = rise + (words if rise else words[0].upper() + words[1:])
    return _function(words, f"    share = {share}\n    return {formula}\n", spec)


def _tenths(spec: TrainSpec) -> str:
    words = (
        "A rise to the peak, then a" if spec.warmup_share else "A"
    ) + " tenth after one third of the run, a hundredth after two"
    return _function(words, "    return float(LEARNING_RATE * 0.1 ** min(2, 3 * step // total_steps))\n", spec)


def _function(words: str, body: str, spec: TrainSpec) -> str:
    head = f'def learning_rate(step: int, total_steps: int) -> float:\n    """{words}; `step` counts from 0."""\n'
    return head + (WARMUP if spec.warmup_share else "") + body
