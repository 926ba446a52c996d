"""A callback for Lightning's Trainer, which logs training batches and validations to a journal.

For Lightning 2 (`lightning.pytorch`). Give a measure that your module logs: per batch if it does, else per epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perdure.errors import PerdureError
from perdure.lazy import import_extra
from perdure.log.write.journal import Journal, Recorder

_Callback: Any = import_extra("lightning.pytorch", __name__).Callback


class LightningCallback(_Callback):  # type: ignore[misc]
    """Writes training and validation of a Trainer to a journal.

    `tasks` names the validation loaders, in their order; `learning` is the task of the next `fit`; set it
    before each one. `measure` is logged by the module, under the same name in training and validation.
    """

    def __init__(self, journal: Journal, tasks: Sequence[str], measure: str = "accuracy") -> None:
        super().__init__()
        self.recorder = Recorder(journal)
        self.tasks = tuple(tasks)
        self.measure = measure
        self.learning: str | None = None
        self._by_batch = False

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:  # noqa: ARG002
        """Log an experience per batch."""
        if self.learning is None:
            raise PerdureError("the callback does not know the learned task", "set its learning = TASK before fit")
        value = trainer.callback_metrics.get(self.measure)
        if value is None:
            known = ", ".join(map(str, trainer.callback_metrics)) or "nothing"
            raise PerdureError(
                f"{self.measure!r} is not logged in training (found: {known})", "self.log it on every step"
            )
        self._log("learn", self.learning, value)

    def on_validation_batch_end(
        self,
        trainer: Any,
        pl_module: Any,  # noqa: ARG002
        outputs: Any,
        batch: Any,  # noqa: ARG002
        batch_idx: int,  # noqa: ARG002
        dataloader_idx: int = 0,
    ) -> None:
        """Log an experience per batch if validation_step returns the measure."""
        if not trainer.sanity_checking and isinstance(outputs, Mapping) and self.measure in outputs:
            self._log("evaluate", self._task(dataloader_idx), outputs[self.measure])
            self._by_batch = True

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002
        """Log an experience per loader if only the mean is known."""
        if trainer.sanity_checking or self._by_batch:
            return
        metrics = trainer.callback_metrics
        for number, task in enumerate(self.tasks):
            default = metrics.get(self.measure) if len(self.tasks) == 1 else None
            value = metrics.get(f"{self.measure}/dataloader_idx_{number}", default)
            if value is not None:
                self._log("evaluate", task, value)

    def _task(self, number: int) -> str:
        if number >= len(self.tasks):
            raise PerdureError(
                f"validation loader {number} has no name (tasks names {len(self.tasks)})", "name it in tasks"
            )
        return self.tasks[number]

    def _log(self, mode: str, task: str, value: Any) -> None:
        self.recorder.log(mode, task, **{self.measure: float(value)})
