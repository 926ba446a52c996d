"""Classification streams: pictures of some classes, varied, under one of three settings of what is to be told apart.

*Class-incremental*: a label is the class itself, and all classes compete. *Domain-incremental*: a label is the
class's place among the task's own, so all tasks share their outputs. *Task-incremental*: the same, and the learner
is told which classes the batch is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from perdure.errors import MissingExtraError
from perdure.scenario.model import Mode
from perdure.tasks.digits import draw_digits
from perdure.tasks.interface import Direction, Parameter, TaskError
from perdure.tasks.variations import VARIATIONS, varied

Pictures = Callable[[np.ndarray, Mode, np.random.Generator], np.ndarray]
"""Takes a class for each example; gives as many pictures (example, row, column), grey levels from 0 to 1."""


class ImageStream:
    """Pictures from one source, of the classes that a syllabus names."""

    measures: Mapping[str, Direction] = {"accuracy": "higher", "error": "lower"}

    def __init__(
        self, name: str, summary: str, pictures: Pictures, classes: int, default: Sequence[int] | None = None
    ) -> None:
        self.name = name
        self.summary = summary
        self._pictures = pictures
        self._number = classes
        self.parameters: tuple[Parameter, ...] | None = (
            Parameter("classes", tuple(default or range(classes)), "which classes occur, as a list of their numbers"),
            Parameter("setting", "class", "what a label is, and what is told", choices=("class", "domain", "task")),
            *VARIATIONS,
        )

    def examples(
        self, params: Mapping[str, Any], number: int, mode: Mode, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pictures of classes drawn evenly, varied as asked."""
        classes = self._classes(params)
        places = rng.integers(len(classes), size=number)
        numbers = np.array(classes)[places]
        pictures = varied(self._pictures(numbers, mode, rng), params, rng)
        return pictures, numbers if params["setting"] == "class" else places

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """How many outputs a learner needs; in the task setting, also which classes the batch is about."""
        classes = self._classes(params)
        outputs = {"outputs": self._number if params["setting"] == "class" else len(classes)}
        return {**outputs, "classes": classes} if params["setting"] == "task" else outputs

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """The part that was right, and the part that was wrong."""
        return scores(labels, predictions)

    def _classes(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        given = params["classes"]
        sound = (
            isinstance(given, list | tuple)
            and len(given) > 0
            and all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < self._number for one in given)
            and len(set(given)) == len(given)
        )
        if not sound:
            raise TaskError(
                f"'classes' is {given!r}",
                f"it takes a list of different numbers from 0 to {self._number - 1}",
                where=f"the task {self.name!r}",
            )
        return tuple(given)


def scores(labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Accuracy and error of a batch."""
    accuracy = float(np.mean(labels == predictions))
    return {"accuracy": accuracy, "error": 1 - accuracy}


class KeptImages:
    """A fixed set of labelled pictures as a source; those to evaluate are given, or every fifth of a class is."""

    def __init__(
        self,
        load: Callable[[], tuple[np.ndarray, np.ndarray]],
        evaluate: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        self._load, self._evaluate = load, evaluate

    def __call__(self, numbers: np.ndarray, mode: Mode, rng: np.random.Generator) -> np.ndarray:
        """A picture of each class number, drawn from those of the mode."""
        pictures, by_class = self._apart if mode == "evaluate" and self._evaluate else self._sorted
        chosen = np.empty(len(numbers), dtype=np.int64)
        for number in np.unique(numbers):
            fitting = by_class.get(int(number), np.zeros(0, dtype=np.int64))
            if self._evaluate is None:
                held_out = np.arange(len(fitting)) % 5 == 4
                fitting = fitting[held_out if mode == "evaluate" else ~held_out]
            if not len(fitting):
                raise TaskError(f"there is no picture of class {number} to {mode}", "leave it out of 'classes'")
            mine = numbers == number
            chosen[mine] = rng.choice(fitting, int(mine.sum()))
        return np.asarray(pictures[chosen])

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        return _by_class(*self._load())

    @cached_property
    def _apart(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        return _by_class(*(self._evaluate or self._load)())


def _by_class(pictures: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    return pictures, {int(number): np.flatnonzero(labels == number) for number in np.unique(labels)}


def drawn_digits(name: str = "digits", default: Sequence[int] | None = None) -> ImageStream:
    """The digits of our own generator; nothing is kept, so every example is new."""
    which = f"{', '.join(map(str, default[:-1]))} from {default[-1]}" if default else "ten digits"
    return ImageStream(
        name, f"tell {which}, drawn by strokes", lambda numbers, _, rng: draw_digits(numbers, rng), 10, default
    )


def sklearn_digits() -> ImageStream:
    """The 1 797 handwritten digits (8 × 8) that come with scikit-learn."""
    return ImageStream("sklearn-digits", "tell ten digits, handwritten (scikit-learn)", KeptImages(_from_sklearn), 10)


def _from_sklearn() -> tuple[np.ndarray, np.ndarray]:
    if find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", "sklearn", "the task 'sklearn-digits'")
    found = import_module("sklearn.datasets").load_digits()
    return found.images.astype(np.float32) / 16, found.target
