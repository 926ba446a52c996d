"""A callback for Hugging Face's Trainer, which logs training and evaluations to a journal.

For transformers 4 and 5. Give the Trainer `eval_dataset={"TASK": …, …}`, so that its metrics are `eval_TASK_MEASURE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perdure.errors import PerdureError
from perdure.lazy import import_extra
from perdure.log.write.journal import Journal, Recorder

_Callback: Any = import_extra("transformers", __name__).TrainerCallback


class HuggingFaceCallback(_Callback):  # type: ignore[misc]
    """Writes the logs of a Trainer to a journal.

    `learning` is the task of the next `train`; set it before each one. `measure` is a number in both its logs and its
    evaluations: "loss", unless compute_metrics gives another.
    """

    def __init__(self, journal: Journal, measure: str = "loss") -> None:
        self.recorder = Recorder(journal)
        self.measure = measure
        self.learning: str | None = None

    def on_log(self, _args: Any, _state: Any, _control: Any, **given: Any) -> None:
        """Log an experience per training log, every `logging_steps`."""
        logs: Mapping[str, Any] = given.get("logs") or {}
        if self.measure not in logs:
            return
        if self.learning is None:
            raise PerdureError("the callback does not know the learned task", "set its learning = TASK before train")
        self._log("learn", self.learning, logs[self.measure])

    def on_evaluate(self, _args: Any, _state: Any, _control: Any, **given: Any) -> None:
        """Log an experience per task."""
        for name, value in (given.get("metrics") or {}).items():
            task = name.removeprefix("eval_").removesuffix(f"_{self.measure}")
            if name == f"eval_{task}_{self.measure}":
                self._log("evaluate", task, value)

    def _log(self, mode: str, task: str, value: Any) -> None:
        self.recorder.log(mode, task, **{self.measure: float(value)})
