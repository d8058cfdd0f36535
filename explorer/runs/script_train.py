"""The training itself in a script: which of its texts and constants a spec takes."""

from explorer.errors import ExplorerError
from explorer.runs import script_train_texts as texts
from explorer.runs.script_code import Code
from explorer.runs.script_lines import chosen, literal
from explorer.runs.script_piece import Data, Piece
from explorer.runs.script_schedule import follows_steps, schedule
from explorer.schemas.train_spec import MPS_HIGH_WATERMARK, MPS_LOW_WATERMARK, MPS_WATERMARK_BOUND, TrainSpec

# As in explorer.training.data: validation takes this many samples at once, fewer where they are large.
HELD_OUT_SAMPLES = 256
HELD_OUT_NUMBERS = 1 << 20
OPTIMIZERS = {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "rmsprop": "RMSprop"}
DEVICES = {
    "auto": 'torch.device("mps" if torch.backends.mps.is_available() else "cuda" if torch.cuda.is_available() else "cpu")',
}


def training(spec: TrainSpec, data: Data, step: Code | None) -> Piece:
    """Constants, and every function from the loss to `main`."""
    flags = _flags(spec, data)
    if not data.held_out and flags & {"plateau", "best"}:
        raise ExplorerError("its schedule or early stopping needs held-out data, and there is none", "mend the training first")
    rate = schedule(spec)
    functions = [*(step.piece.functions if step else []), *([f"{step.loaded}\nown_step = {step.function}"] if step else [])]
    functions += rate.functions
    functions.append(texts.PLACE_PAIR if data.kind == "arrays" else texts.PLACE)
    if data.kind == "arrays" and data.held_out:
        functions.append(texts.HELD_OUT_ARRAYS)
    if "by_step" in flags and not data.endless:
        functions.append(chosen(texts.STEPS_PER_EPOCH, flags, inputs="[0]" if data.kind == "arrays" else ""))
    smoothing = ", label_smoothing=LABEL_SMOOTHING" if spec.label_smoothing else ""
    functions.append(chosen(texts.LOSS, flags, smoothing=smoothing))
    if data.held_out:
        functions.append(chosen(texts.VALIDATE, flags))
    if data.held_out or "accumulate" in flags:
        functions.append(chosen(texts.SIZE, flags))
    if "accumulate" in flags:
        functions.append(texts.STEPS)
    functions.append(chosen(texts.MAIN, flags, **_words(spec, data)))
    constants = _constants(spec, data) + rate.constants + (step.piece.constants if step else [])
    return Piece(constants, functions, step.piece.files if step else {})


def environment(spec: TrainSpec) -> list[str]:
    """Variables that torch reads when it starts."""
    variables = {}
    if spec.device in ("auto", "mps"):
        if spec.mps_fallback:
            variables["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
        if spec.mps_low_watermark is not None or spec.mps_high_watermark is not None:
            high = MPS_HIGH_WATERMARK if spec.mps_high_watermark is None else spec.mps_high_watermark
            low = (
                min(MPS_LOW_WATERMARK, high or MPS_WATERMARK_BOUND) if spec.mps_low_watermark is None else spec.mps_low_watermark
            )
            variables |= {"PYTORCH_MPS_LOW_WATERMARK_RATIO": f"{low:g}", "PYTORCH_MPS_HIGH_WATERMARK_RATIO": f"{high:g}"}
    if spec.deterministic and spec.device in ("auto", "cuda"):
        variables["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    return [f'os.environ["{name}"] = "{value}"' for name, value in variables.items()]


def _flags(spec: TrainSpec, data: Data) -> set[str]:
    flags = {
        "threads": spec.threads is not None,
        "deterministic": spec.deterministic,
        "held_out": data.held_out,
        "classes": data.classes,
        "arrays": data.kind == "arrays",
        "loader": data.kind == "batches",
        "endless": data.endless,
        "several": spec.batch_size > 1,
        "own_step": spec.step is not None,
        "by_step": follows_steps(spec),
        "plateau": spec.schedule == "plateau",
        "mixed": spec.precision != "float32",
        "scaler": spec.precision == "float16",
        "clip": spec.clip_grad_norm is not None,
        "accumulate": spec.accumulate_batches > 1,
        "max_steps": spec.max_steps is not None,
        "counted": spec.max_steps is not None or follows_steps(spec),
        "early": spec.early_stopping_epochs is not None,
        "keep_best": spec.keep_best,
        "best": spec.early_stopping_epochs is not None or spec.keep_best,
    }
    return {name for name, on in flags.items() if on}


def _words(spec: TrainSpec, data: Data) -> dict[str, str]:
    momentum = ", momentum=MOMENTUM" if spec.optimizer in ("sgd", "rmsprop") else ""
    total = "EPOCHS * steps_per_epoch(train)"
    nominal = {"arrays": "min(BATCH_SIZE, len(train[0]))", "map": "min(BATCH_SIZE, len(train))"}.get(data.kind, "BATCH_SIZE")
    return {
        "optimizer": f"torch.optim.{OPTIMIZERS[spec.optimizer]}"
        f"(model.parameters(), LEARNING_RATE{momentum}, weight_decay=WEIGHT_DECAY)",
        "total": "MAX_STEPS" if data.endless else f"min(MAX_STEPS, {total})" if spec.max_steps else total,
        "precision": spec.precision,
        "nominal": nominal,
    }


def _constants(spec: TrainSpec, data: Data) -> list[str]:
    lines = {
        "SEED": spec.seed,
        "EPOCHS": spec.epochs,
        "MAX_STEPS": spec.max_steps,
        "BATCH_SIZE": _batch_size(spec, data),
        "ACCUMULATE_BATCHES": spec.accumulate_batches if spec.accumulate_batches > 1 else None,
        "HELD_OUT_BATCH_SIZE": _held_out_batch_size(spec, data) if data.held_out and data.kind == "arrays" else None,
        "LEARNING_RATE": spec.learning_rate,
        "WEIGHT_DECAY": spec.weight_decay,
        "MOMENTUM": spec.momentum if spec.optimizer in ("sgd", "rmsprop") else None,
        "CLIP_GRAD_NORM": spec.clip_grad_norm,
        "LABEL_SMOOTHING": spec.label_smoothing or None if data.classes else None,
        "EARLY_STOPPING_EPOCHS": spec.early_stopping_epochs,
        "THREADS": spec.threads,
    }
    device = f"DEVICE = {DEVICES.get(spec.device, f'torch.device({literal(spec.device)})')}"
    return [device, *(f"{name} = {value!r}" for name, value in lines.items() if value is not None)]


def _batch_size(spec: TrainSpec, data: Data) -> int | None:
    """A loader has its own, which only accumulation needs to know."""
    if data.kind != "batches":
        return spec.batch_size
    return data.batch_size if spec.accumulate_batches > 1 or data.samples else None


def _held_out_batch_size(spec: TrainSpec, data: Data) -> int:
    return max(spec.batch_size, min(HELD_OUT_SAMPLES, HELD_OUT_NUMBERS // max(1, data.numbers)))
