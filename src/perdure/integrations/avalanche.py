"""A logger for any strategy of Avalanche, which writes training and evaluation to a journal, batch by batch.

`EvaluationPlugin(…, loggers=[PerdureLogger("logs", "naive-0", learner="naive", seed=0)])`, or among a strategy's
`plugins`. This module does not import Avalanche.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from perdure.log.write.journal import Journal, Recorder


def accuracy(strategy: Any) -> float:
    """Return the accuracy on the current batch."""
    return float((strategy.mb_output.argmax(dim=1) == strategy.mb_y).float().mean())


def _task(strategy: Any) -> str:
    return f"exp{strategy.experience.current_experience}"


class PerdureLogger:
    """A logger of one lifetime; `close` it after the last evaluation, or use it in a `with` statement.

    A block is an experience that is trained on or evaluated. A row is a batch, scored before the network learns from
    it. Experience n of the training stream and of the test stream are the same task, `exp<n>`.
    """

    def __init__(
        self,
        into: str | os.PathLike[str],
        name: str,
        learner: str | None = None,
        seed: int | None = None,
        *,
        measure: str = "accuracy",
        score: Callable[[Any], float] = accuracy,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the journal; `score` computes the value of a batch, and `measure` is its name."""
        self.journal = Journal(into, name, (measure,), learner=learner, seed=seed, info=info)
        self._recorder = Recorder(self.journal)
        self._measure, self._score = measure, score

    def log_metrics(self, metric_values: Any) -> None:
        """Ignore the strategy's own metrics."""

    # Events of a strategy; an evaluator passes metrics as well.

    def before_training_exp(self, strategy: Any, *_: Any, **__: Any) -> None:
        """Begin a block of learning."""
        self._recorder.begin("learn", _task(strategy))

    def before_eval_exp(self, strategy: Any, *_: Any, **__: Any) -> None:
        """Begin a block of evaluation."""
        self._recorder.begin("evaluate", _task(strategy))

    def after_forward(self, strategy: Any, *_: Any, **__: Any) -> None:
        """Log a training batch."""
        self._recorder.log("learn", _task(strategy), **{self._measure: self._score(strategy)})

    def after_eval_forward(self, strategy: Any, *_: Any, **__: Any) -> None:
        """Log an evaluation batch."""
        self._recorder.log("evaluate", _task(strategy), **{self._measure: self._score(strategy)})

    def close(self) -> None:
        """End the log, and mark it as complete."""
        self.journal.close()

    def __enter__(self) -> PerdureLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self.journal.__exit__(kind, problem, where)
