"""What a checkpoint holds beside the weights: optimizer, schedule, averaged weights, epoch, settings, random states."""

from typing import Any

from explorer.models.bounds import clean
from explorer.models.dtypes import elements_of
from explorer.models.stubs import Stub, StubTensor

MODEL_KEYS = ("state_dict", "model_state_dict", "model_state", "model", "ema")
LIGHTNING_KEY = "pytorch-lightning_version"
ITEM_LIMIT = 100
VALUE_LIMIT_CHARACTERS = 200

# Names of the tensors that each of torch.optim's optimizers keeps for a parameter, and of its settings.
OPTIMIZERS = (
    ({"exp_avg", "exp_avg_sq"}, "Adam"), ({"exp_avg", "exp_inf"}, "Adamax"), ({"square_avg", "acc_delta"}, "Adadelta"),
    ({"square_avg"}, "RMSprop"), ({"momentum_buffer"}, "SGD with momentum"), ({"prev", "step_size"}, "Rprop"),
    ({"sum"}, "Adagrad"), ({"exp_avg"}, "Lion"), ({"betas"}, "Adam"), ({"momentum", "nesterov"}, "SGD"),
)  # fmt: skip
ASIDE = ("optim", "sched", "rng", "random_state", "scaler", "ema", "loop", "callback")


def is_checkpoint(top: Any) -> bool:
    """Whether the top is a dict with more in it than tensors."""
    return isinstance(top, dict) and not all(isinstance(value, StubTensor) for value in top.values())


def model_parts(top: Any) -> list[str] | None:
    """The keys under which the model's weights lie; None when the whole file is the model."""
    if not is_checkpoint(top):
        return None
    for key in MODEL_KEYS:
        if isinstance(top.get(key), dict | Stub):
            return [key]
    parts = [str(key) for key, value in top.items() if isinstance(value, dict | Stub) and not _is_aside(str(key), value)]
    return parts or None


def contents(top: Any) -> dict[str, str]:
    """One phrase for each key of a checkpoint; empty for anything else."""
    if not is_checkpoint(top):
        return {}
    shown = list(top.items())[:ITEM_LIMIT]
    return {clean(key, ITEM_LIMIT): _phrase(str(key).lower(), value) for key, value in shown}


def scalars(top: Any) -> dict[str, Any]:
    """Plain numbers and texts at the top of a checkpoint, such as the epoch."""
    if not is_checkpoint(top):
        return {}
    plain = [(clean(key, ITEM_LIMIT), plain_value(value)) for key, value in top.items()]
    return dict([(key, value) for key, value in plain if value is not None][:ITEM_LIMIT])


def plain_value(value: Any) -> bool | int | float | str | None:
    """A value that JSON can carry and a screen can show; None for anything else."""
    if isinstance(value, str):
        return clean(value, VALUE_LIMIT_CHARACTERS)
    if isinstance(value, int) and value.bit_length() > 63:
        return None
    return value if isinstance(value, bool | int | float) else None


def _is_aside(key: str, value: Any) -> bool:
    return _is_optimizer(value) or any(word in key.lower() for word in ASIDE)


def _is_optimizer(value: Any) -> bool:
    return isinstance(value, dict) and "param_groups" in value and "state" in value


def _phrase(key: str, value: Any) -> str:
    plain = plain_value(value)
    if plain is not None:
        return str(plain)
    if isinstance(value, list | tuple) and value and all(map(_is_optimizer, value)):
        return "; ".join(_optimizer(item) for item in value[:3])
    if _is_optimizer(value):
        return _optimizer(value)
    if "rng" in key or "random_state" in key:
        return "state of a random generator"
    if isinstance(value, list | tuple) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    if isinstance(value, dict):
        return _table(key, value)
    return _object(value)


def _optimizer(value: dict[Any, Any]) -> str:
    """Such as "Adam, 16 states, lr 0.001"."""
    states = value["state"] if isinstance(value["state"], dict) else {}
    groups = value["param_groups"] if isinstance(value["param_groups"], list) else []
    settings = groups[0] if groups and isinstance(groups[0], dict) else {}
    first = next((state for state in states.values() if isinstance(state, dict)), {})
    known = {str(name) for name in (*first, *settings)}
    kind = next((name for needed, name in OPTIMIZERS if needed <= known), "optimizer")
    if kind == "Adam" and settings.get("decoupled_weight_decay") is True:
        kind = "AdamW"
    rate = plain_value(settings.get("lr"))
    return f"{kind}, {len(states)} states" + ("" if rate is None else f", lr {rate}")


def _table(key: str, value: dict[Any, Any]) -> str:
    tensors = [item for item in value.values() if isinstance(item, StubTensor)]
    if tensors:
        numbers = sum(elements_of(item.shape) for item in tensors)
        averaged = "averaged weights: " if "ema" in key else ""
        return f"{averaged}{len(tensors)} tensors, {numbers:,} numbers"
    if "_last_lr" in value or "last_epoch" in value:
        return f"learning rate schedule, at {clean(value.get('last_epoch', '?'), ITEM_LIMIT)}"
    if not value:
        return "empty"
    shown = ", ".join(clean(name, 40) for name in list(value)[:6])
    return f"{len(value)} entries: {shown}" + (" ..." if len(value) > 6 else "")


def _object(value: Any) -> str:
    if isinstance(value, Stub):
        return clean(value.name)
    if isinstance(value, StubTensor):
        return f"tensor {' x '.join(map(str, value.shape)) or 'scalar'} {value.dtype}"
    if isinstance(value, list | tuple):
        return f"{len(value)} items"
    return "nothing" if value is None else type(value).__name__
