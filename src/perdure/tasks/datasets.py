"""Dataset: a batch task as a classification learner sees it, S003's loop to the letter.

for dataset in syllabus.datasets():
    dataset.reset()
    done = False
    while not done:
        batch, done, info = dataset.next_batch()
        y = dataset.get_labels(batch["id"], infer(batch["inputs"]))
        if y: …                         # a list of labels, or None where updates are off
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from perdure.errors import TaskError
from perdure.scenario.model import Mode, Task
from perdure.scenario.parameters import draw_parameters
from perdure.tasks.catalogue import task_kind
from perdure.tasks.interface import BatchTask, Parameter, guarded, settled

BATCH_SIZE = Parameter("batch/size", 32, "examples in a batch", low=1, high=100_000)
"""A parameter of every batch task."""

Experience = tuple[Mapping[str, Any], int]
"""The parameters of one batch, as drawn, and its seed."""


def taken_by(declared: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
    """Return all parameters of a batch task: the declared ones and the size of a batch."""
    return declared if any(parameter.name == BATCH_SIZE.name for parameter in declared) else (BATCH_SIZE, *declared)


class Answered(Struct, frozen=True):
    """A batch with its predictions scored: the parameters from the syllabus, and the values to log."""

    number: int
    given: Mapping[str, Any]
    values: Mapping[str, float]


class _Batch(Struct, frozen=True):
    """A batch that waits for its predictions."""

    number: int
    given: Mapping[str, Any]
    inputs: np.ndarray
    labels: np.ndarray
    info: Mapping[str, Any]


class Dataset:
    """The batches of one block, in order, each with its predictions before the next.

    `experiences` may be endless or lazy; it is read one ahead, to know which batch is the last. `on_answer` is called
    with every scored batch; the learner does not see the logged values. `timed` wraps the drawing of examples.
    """

    def __init__(
        self,
        task: Task,
        experiences: Iterable[Experience],
        mode: Mode = "learn",
        on_answer: Callable[[Answered], None] = lambda _: None,
        *,
        kind: BatchTask | None = None,
        timed: Callable[[Callable[..., Any]], Callable[..., Any]] = lambda draw: draw,
    ) -> None:
        batch_task = kind or task_kind(task)
        if not isinstance(batch_task, BatchTask):
            raise TaskError(f"the task {task.label!r} runs in episodes", "use a learner that acts")
        self.task = task
        self.kind = batch_task
        self.mode = mode
        self.updates = mode == "learn"
        self.settled(draw_parameters(task.params, 0, 0, 0))  # refuse a misspelt parameter before the lifetime starts
        self._on_answer = on_answer
        self._experiences = iter(experiences)
        self._upcoming = next(self._experiences, None)
        self._number = 0
        self._drawn = timed(self._draw)
        self._was_reset = False
        self._open: _Batch | None = None

    @property
    def measures(self) -> Mapping[str, str]:
        """The measures of each batch, and the better direction of each."""
        return self.kind.measures

    def settled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of a batch, completed by the defaults that the task declares."""
        declared = self.kind.parameters
        if declared is None:
            return {BATCH_SIZE.name: BATCH_SIZE.default, **params}
        return settled(taken_by(declared), params, self.task.label)

    def reset(self) -> None:
        """Begin; a dataset can be used once."""
        if self._number:
            raise self._refused(f"reset after {self._number} batches", "a block runs once; take the next dataset")
        self._was_reset = True

    def next_batch(self) -> tuple[dict[str, Any], bool, dict[str, Any]]:
        """Return the next batch (`id`, `inputs`), whether it is the last, and further information."""
        if not self._was_reset:
            raise self._refused("next_batch before reset", "call reset first")
        if self._open is not None:
            raise self._refused(
                f"next_batch before batch {self._open.number} was answered",
                f"submit its outputs with get_labels({self._open.number}, y_hat) first",
            )
        if self._upcoming is None:
            raise self._refused(f"no batch is left after {self._number}", "stop where next_batch says done=True")
        self._open = drawn = self._drawn(*self._upcoming)
        self._upcoming = next(self._experiences, None)
        self._number += 1
        batch = {"id": drawn.number, "inputs": drawn.inputs}
        return batch, self._upcoming is None, dict(drawn.info)

    def get_labels(self, id: int, y_hat: Any) -> list[Any] | None:  # noqa: A002  (S003's name)
        """Submit one predicted label per example. Return the true ones, or None if updates are off."""
        batch = self._open
        if batch is None:
            raise self._refused("no batch is open", "call next_batch before get_labels")
        if id != batch.number:
            raise self._refused(f"batch {batch.number} is open, not {id!r}", "answer the one that is open")
        try:
            predictions = np.asarray(y_hat)
        except Exception as problem:  # ragged lists, tensors on a device
            raise self._refused(
                f"the answer to batch {batch.number} is no array: {problem}", "give one label per example"
            ) from problem
        if predictions.shape != batch.labels.shape:
            hint = " (take the argmax of scores)" if predictions.ndim == 2 else ""
            raise self._refused(
                f"the answer to batch {batch.number} has the shape {predictions.shape}",
                f"expected {batch.labels.shape}, one label per example{hint}",
            )
        values = guarded(
            self.task.label, "get_batch_log_info", lambda: dict(self.kind.get_batch_log_info(batch.labels, predictions))
        )
        missing = [measure for measure in self.kind.measures if measure not in values]
        if missing:
            raise TaskError(
                f"get_batch_log_info gave {', '.join(values) or 'nothing'}",
                f"return {', '.join(missing)} as well, which its measures name",
                where=f"the task {self.task.label!r}",
            )
        self._on_answer(Answered(batch.number, batch.given, values))
        self._open = None
        return batch.labels.tolist() if self.updates else None

    def _refused(self, what: str, fix: str) -> TaskError:
        return TaskError(what, fix, where=f"the dataset {self.task.label!r}")

    def _draw(self, values: Mapping[str, Any], seed: int) -> _Batch:
        params = self.settled(values)
        number = params[BATCH_SIZE.name]
        rng = np.random.default_rng(seed)
        inputs, labels = guarded(
            self.task.label, "examples", lambda: self.kind.examples(params, number, self.mode, rng)
        )
        if len(inputs) != number or np.shape(labels) != (number,):
            raise TaskError(
                f"examples gave inputs of shape {np.shape(inputs)} and labels of shape {np.shape(labels)}",
                f"expected {number} of each",
                where=f"the task {self.task.label!r}",
            )
        if not np.isfinite(inputs).all():
            raise TaskError(
                f"examples gave inputs that are not finite, with {params}",
                "give finite numbers",
                where=f"the task {self.task.label!r}",
            )
        return _Batch(self._number, dict(values), inputs, np.asarray(labels), self.kind.info(params))
