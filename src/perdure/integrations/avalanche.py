"""A logger for any strategy of Avalanche: what it learns and how it is evaluated, batch by batch, in a journal.

`EvaluationPlugin(…, loggers=[PerdureLogger("logs", "naive-0", learner="naive", seed=0)])`, or among a strategy's
`plugins`. Nothing of Avalanche is imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from perdure.log.write.journal import Journal


def accuracy(strategy: Any) -> float:
    """The share of the current batch that the strategy's output is right about."""
    return float((strategy.mb_output.argmax(dim=1) == strategy.mb_y).float().mean())


class PerdureLogger:
    """One lifetime of a strategy; `close` it, or use it in a `with`, when the last evaluation is done.

    A block is an experience that is trained on or evaluated, a row is a batch: what the network said of it before it
    learned from it. Experience n of the training stream and of the test stream are the same task, `exp<n>`.
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
        """`score` says what a batch was worth, and `measure` what that is called."""
        self.journal = Journal(into, name, (measure,), learner=learner, seed=seed, info=info)
        self._measure, self._score = measure, score
        self._current: tuple[str, str] | None = None
        self._block = -1
        self._rows = 0

    def log_metrics(self, metric_values: Any) -> None:
        """What a strategy's own metrics say is not needed."""

    # The events of a strategy. One among an evaluator's loggers is given metrics as well.

    def before_training_exp(self, *_: Any, **__: Any) -> None:
        """A block of learning begins."""
        self._current = None

    def before_eval_exp(self, *_: Any, **__: Any) -> None:
        """A block of evaluation begins."""
        self._current = None

    def after_forward(self, strategy: Any, *_: Any, **__: Any) -> None:
        """A batch to learn from."""
        self._row(strategy, "train")

    def after_eval_forward(self, strategy: Any, *_: Any, **__: Any) -> None:
        """A batch to evaluate by."""
        self._row(strategy, "test")

    def _row(self, strategy: Any, kind: str) -> None:
        task = f"exp{strategy.experience.current_experience}"
        if self._current != (kind, task):  # also where an evaluation came in between
            self._current = (kind, task)
            self._block += 1
        value: dict[str, Any] = {self._measure: self._score(strategy)}
        self.journal.log(block_num=self._block, exp_num=self._rows, block_type=kind, task_name=task, **value)
        self._rows += 1

    def close(self) -> None:
        """End the log, and say so in it."""
        self.journal.close()

    def __enter__(self) -> PerdureLogger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self.journal.__exit__(kind, problem, where)
