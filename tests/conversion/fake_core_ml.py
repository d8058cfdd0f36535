"""Core ML with coremltools' names on any system: the reference evaluator predicts, the plan is made up."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from explorer.inference.coreml.evaluate import Evaluator
from explorer.inference.coreml.quiet import coremltools


class MLCPUComputeDevice: ...


class MLGPUComputeDevice: ...


class MLNeuralEngineComputeDevice: ...


class MLModel:
    """Loads and predicts; keeps what it was given."""

    def __init__(self, path: str, compute_units: Any) -> None:
        self.path, self.units = path, compute_units
        self.given: list[dict[str, Any]] = []
        self._evaluator = Evaluator(path, "float16")

    def get_spec(self) -> Any:
        return coremltools().utils.load_spec(self.path)

    def get_compiled_model_path(self) -> str:
        return f"{self.path}c"

    def make_state(self) -> object:
        self._evaluator.reset()
        return object()

    def predict(self, data: dict[str, Any], state: object = None) -> dict[str, Any]:
        """Pictures in, and a classifier's probabilities out by class, as Core ML does it."""
        self.given.append(data)
        outputs = self._evaluator.run({name: np.asarray(value) for name, value in data.items()}).outputs
        classes = self._evaluator.program.classes
        if not classes:
            return dict(outputs)
        (scores,) = [value for value in outputs.values() if value.dtype.kind == "f"]
        best = classes[int(scores.argmax())]
        return {"classLabel": best, "classLabel_probs": dict(zip(reversed(classes), reversed(scores.ravel()), strict=True))}


class MLComputePlan:
    """Casts on the CPU, the rest on the Neural Engine; constants nowhere."""

    def __init__(self, path: str, units: Any) -> None:
        self.path, self.units = path, units
        steps = [_operation("const"), _operation("ios17.cast"), _operation("ios17.conv", _operation("tanh"))]
        function = SimpleNamespace(block=SimpleNamespace(operations=steps))
        self.model_structure = SimpleNamespace(program=SimpleNamespace(functions={"main": function}))

    @classmethod
    def load_from_path(cls, path: str, compute_units: Any) -> "MLComputePlan":
        return cls(path, compute_units)

    def get_compute_device_usage_for_mlprogram_operation(self, operation: Any) -> Any:
        if operation.operator_name == "const":
            return None
        device = MLCPUComputeDevice() if "cast" in operation.operator_name else MLNeuralEngineComputeDevice()
        return SimpleNamespace(preferred_compute_device=device, supported_compute_devices=[MLGPUComputeDevice(), device])

    def get_estimated_cost_for_mlprogram_operation(self, operation: Any) -> Any:
        return SimpleNamespace(weight=0.25) if "conv" in operation.operator_name else None


def _operation(name: str, *inner: Any) -> Any:
    blocks = [SimpleNamespace(operations=list(inner))] if inner else []
    return SimpleNamespace(operator_name=name, outputs=[SimpleNamespace(name=f"{name}_0")], blocks=blocks, inputs={})


def fake_coremltools(plan: Any = MLComputePlan, model: Any = MLModel) -> Any:
    """What `prove_child` uses of coremltools."""
    names = [f"{unit}".upper() for unit in ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")]
    models = SimpleNamespace(MLModel=model, compute_plan=SimpleNamespace(MLComputePlan=plan))
    return SimpleNamespace(models=models, ComputeUnit=SimpleNamespace(**{name: name for name in names}))


def pixels(*shape: int) -> np.ndarray:
    """Whole numbers from 0 to 255 as floats."""
    return np.random.default_rng(0).integers(0, 256, shape).astype(np.float32)
