"""The jobs that start from the opened model: comparisons, layers, the search for NaN, and what can be made of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from explorer.schemas.model_specs import DiffSpec, LayersSpec, ValuesSpec, VerifySpec
from explorer.schemas.specs import ConvertSpec, QuantizeSpec, TrainSpec
from screens.model_asking import AsksAboutModels

CONVERTED = ("onnx", "mlpackage", "coreml_spec")
TRAINABLE = ("torch_zip", "torch_legacy", "safetensors")


class StartsModelJobs(AsksAboutModels):
    """Mix in beside `AsksAboutModels`; each job is submitted from a form and shown on its own page."""

    # What applies now, for `when` of actions

    @property
    def can_train(self) -> bool:
        return self.can_compare and self.result is not None and self.result.format in TRAINABLE

    @property
    def can_count_layers(self) -> bool:
        return self.connected and (not self.opened or self.can_match)

    @property
    def can_quantize(self) -> bool:
        return self.can_compare and self.result is not None and self.result.format in CONVERTED

    # What a person does

    def action_diff(self) -> None:
        self._choose("Compare the tensors with those of", self._ask_diff)

    def action_verify(self) -> None:
        self._choose("Run on the same inputs as", self._ask_verify)

    def action_layers(self) -> None:
        values = self.source_values("weights") if self.opened else {}
        self.ask_spec("Cost of each layer", LayersSpec, values)

    def action_sweep(self) -> None:
        self.submit(ValuesSpec(source=self.source))

    def action_train(self) -> None:
        self.ask_spec("New training", TrainSpec, self.source_values("weights"))

    def action_convert(self) -> None:
        self.ask_spec("New conversion", ConvertSpec, self.source_values("weights"))

    def action_quantize(self) -> None:
        self.ask_spec("Quantize", QuantizeSpec, self.source_values("source"))

    # Forms

    def _choose(self, title: str, then: Callable[[str], None]) -> None:
        """Ask for another model."""
        from screens.model_choice import ModelChoice

        title = f"{title} {self.model_name}" if self.opened else title.rpartition(" ")[0]
        choice = ModelChoice(title, self.explorer.jobs.values(), self.source, self.folder)
        self.app.push_screen(choice, lambda source: then(source) if source else None)

    def _ask_diff(self, other: str) -> None:
        self.ask_spec("Differences", DiffSpec, {"first": self.source, "second": other})

    def _ask_verify(self, other: str) -> None:
        values = {"first": self.source, "second": other} if self.source else {"first": other}
        self.ask_spec("Same or not", VerifySpec, values)

    def source_values(self, field: str) -> dict[str, Any]:
        """The opened model as a job's source, or in `field` when it is a file."""
        return {"source" if self.source.startswith("job:") else field: self.source}
