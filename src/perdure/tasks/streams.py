"""Classification streams: pictures of some classes, varied, and clouds of points.

A picture task has one of three settings. *Class-incremental*: a label is the class itself, and all classes compete.
*Domain-incremental*: a label is the index of the class among the task's classes, so all tasks share their outputs.
*Task-incremental*: the same, and the learner receives the classes of each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from perdure.errors import MissingExtraError, TaskError
from perdure.scenario.model import Mode, Task
from perdure.tasks.digits import draw_digits
from perdure.tasks.interface import Direction, Parameter

VARIATIONS = (
    Parameter("rotation", 0.0, "degrees, clockwise", low=-180, high=180),
    Parameter("rotation/spread", 0.0, "± degrees, drawn for each example", low=0, high=180),
    Parameter("contrast", 1.0, "grey levels spread about the middle by this factor", low=0, high=10),
    Parameter("contrast/spread", 0.0, "± factor, drawn for each example", low=0, high=10),
    Parameter("brightness", 0.0, "added to every grey level (0 black, 1 white)", low=-1, high=1),
    Parameter("brightness/spread", 0.0, "± added, drawn for each example", low=0, high=1),
    Parameter("noise", 0.0, "standard deviation of noise on each pixel", low=0, high=1),
    Parameter("permutation", 0, "which shuffle of the pixels; 0 leaves them in place", low=0, high=2**31),
)
"""Parameters in the order in which they are applied; without a spread, a variation is the same for every example."""


def varied(pictures: np.ndarray, params: Mapping[str, Any], rng: np.random.Generator) -> np.ndarray:
    """Return the pictures (example, row, column, perhaps channel; 0 to 1) with these variations."""
    count = len(pictures)
    each = (slice(None), *(None,) * (pictures.ndim - 1))  # one number for every pixel of a picture
    rotation = _each(params, "rotation", count, rng)
    if rotation.any():
        channels = [pictures] if pictures.ndim == 3 else list(np.moveaxis(pictures, 3, 0))
        turned = [rotated(channel, np.radians(rotation), np) for channel in channels]
        pictures = turned[0] if pictures.ndim == 3 else np.stack(turned, axis=3)
    contrast = np.maximum(_each(params, "contrast", count, rng), 0)
    if (contrast != 1).any():
        pictures = 0.5 + (pictures - 0.5) * contrast[each]
    brightness = _each(params, "brightness", count, rng)
    if brightness.any():
        pictures = pictures + brightness[each]
    if params["noise"]:
        pictures = pictures + rng.normal(0, params["noise"], pictures.shape)
    pictures = np.clip(pictures, 0, 1).astype(np.float32)
    if params["permutation"]:
        shuffled = order(params["permutation"], pictures[0].size)
        pictures = pictures.reshape(count, -1)[:, shuffled].reshape(pictures.shape)
    return pictures


def _each(params: Mapping[str, Any], name: str, count: int, rng: np.random.Generator) -> np.ndarray:
    spread = params[f"{name}/spread"]
    return np.asarray(params[name] + (rng.uniform(-spread, spread, count) if spread else np.zeros(count)))


@lru_cache(maxsize=64)
def order(permutation: int, size: int) -> np.ndarray:
    """Return the order of the pixels in this shuffle."""
    return np.random.default_rng(permutation).permutation(size)


def rotated(pictures: Any, angles: Any, xp: Any) -> Any:
    """Return each picture turned about its middle, by linear interpolation; pixels from outside are black.

    `xp` is NumPy or JAX's numpy.
    """
    count, height, width = pictures.shape
    rows, columns = np.mgrid[:height, :width]
    y, x = (rows - (height - 1) / 2)[None], (columns - (width - 1) / 2)[None]
    cos, sin = xp.cos(angles)[:, None, None], xp.sin(angles)[:, None, None]
    from_x = cos * x + sin * y + (width - 1) / 2
    from_y = cos * y - sin * x + (height - 1) / 2
    padded = xp.pad(pictures, ((0, 0), (1, 1), (1, 1)))
    left, top = xp.floor(from_x), xp.floor(from_y)
    part_x, part_y = from_x - left, from_y - top
    example = np.arange(count)[:, None, None]

    def at(row: Any, column: Any) -> Any:
        inside_row = xp.clip(row + 1, 0, height + 1).astype(int)
        inside_column = xp.clip(column + 1, 0, width + 1).astype(int)
        return padded[example, inside_row, inside_column]

    upper = at(top, left) * (1 - part_x) + at(top, left + 1) * part_x
    lower = at(top + 1, left) * (1 - part_x) + at(top + 1, left + 1) * part_x
    return upper * (1 - part_y) + lower * part_y


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
        """Return varied pictures of uniformly drawn classes."""
        classes = self._classes(params)
        places = rng.integers(len(classes), size=number)
        numbers = np.array(classes)[places]
        pictures = varied(self._pictures(numbers, mode, rng), params, rng)
        return pictures, numbers if params["setting"] == "class" else places

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the number of outputs; in the task setting, also the classes of the batch."""
        classes = self._classes(params)
        outputs = {"outputs": self._number if params["setting"] == "class" else len(classes)}
        return {**outputs, "classes": classes} if params["setting"] == "task" else outputs

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """Return accuracy and error."""
        return scores(labels, predictions)

    def _classes(self, params: Mapping[str, Any]) -> tuple[int, ...]:
        classes = params["classes"]
        sound = (
            isinstance(classes, list | tuple)
            and len(classes) > 0
            and all(
                isinstance(label, int) and not isinstance(label, bool) and 0 <= label < self._number
                for label in classes
            )
            and len(set(classes)) == len(classes)
        )
        if not sound:
            raise TaskError(
                f"'classes' is {classes!r}",
                f"it takes a list of different numbers from 0 to {self._number - 1}",
                where=f"the task {self.name!r}",
            )
        return tuple(classes)


def scores(labels: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """Return accuracy and error of a batch."""
    accuracy = float(np.mean(labels == predictions))
    return {"accuracy": accuracy, "error": 1 - accuracy}


class KeptImages:
    """A source of a fixed set of labelled pictures; pictures to evaluate are given, or are every fifth of a class."""

    def __init__(
        self,
        load: Callable[[], tuple[np.ndarray, np.ndarray]],
        evaluate: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None,
    ) -> None:
        self._load, self._evaluate = load, evaluate

    def __call__(self, numbers: np.ndarray, mode: Mode, rng: np.random.Generator) -> np.ndarray:
        """Draw a picture of each class number, from the pictures of the mode."""
        pictures, by_class = self._apart if mode == "evaluate" and self._evaluate else self._sort
        chosen = np.empty(len(numbers), dtype=np.int64)
        for number in np.unique(numbers):
            fitting = by_class.get(int(number), np.zeros(0, dtype=np.int64))
            if self._evaluate is None:
                held_out = np.arange(len(fitting)) % 5 == 4
                fitting = fitting[held_out if mode == "evaluate" else ~held_out]
            if not len(fitting):
                raise TaskError(f"there is no picture of class {number} to {mode}", "leave it out of 'classes'")
            members = numbers == number
            chosen[members] = rng.choice(fitting, int(members.sum()))
        return np.asarray(pictures[chosen])

    @cached_property
    def _sort(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        return _by_class(*self._load())

    @cached_property
    def _apart(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        return _by_class(*(self._evaluate or self._load)())


def _by_class(pictures: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, dict[int, np.ndarray]]:
    return pictures, {int(number): np.flatnonzero(labels == number) for number in np.unique(labels)}


def drawn_digits(name: str = "digits", default: Sequence[int] | None = None) -> ImageStream:
    """Return the task of generated digits; every example is new."""
    classes = f"{', '.join(map(str, default[:-1]))} from {default[-1]}" if default else "ten digits"
    return ImageStream(
        name, f"tell {classes}, drawn by strokes", lambda numbers, _, rng: draw_digits(numbers, rng), 10, default
    )


def sklearn_digits() -> ImageStream:
    """Return the task of the 1 797 handwritten digits (8 × 8) that come with scikit-learn."""
    return ImageStream("sklearn-digits", "tell ten digits, handwritten (scikit-learn)", KeptImages(_from_sklearn), 10)


def _from_sklearn() -> tuple[np.ndarray, np.ndarray]:
    if find_spec("sklearn") is None:
        raise MissingExtraError("scikit-learn", "sklearn", "the task 'sklearn-digits'")
    digits = import_module("sklearn.datasets").load_digits()
    return digits.images.astype(np.float32) / 16, digits.target


NUMBERS, CLASSES = 16, 5
"""Size of an example, and number of labels, which all tasks share."""


@lru_cache(maxsize=256)
def middles(number: int) -> np.ndarray:
    """Return the middles of the classes of a task, drawn once for each number of a task."""
    return np.random.default_rng(number).normal(0, 1, (CLASSES, NUMBERS)).astype(np.float32)


class Gaussians:
    """Clouds of points to classify: cheap, with adjustable difficulty and any number of tasks."""

    name = "gaussians"
    summary = f"tell {CLASSES} clouds of points apart, in {NUMBERS} dimensions"
    measures: Mapping[str, Direction] = {"accuracy": "higher", "error": "lower"}
    parameters: tuple[Parameter, ...] | None = (
        Parameter("number", 0, "which task: others have other middles", low=0, high=2**24),
        Parameter("spread", 1.0, "standard deviation of a cloud; its middles are about 5.6 apart", low=0, high=100),
    )

    def examples(
        self,
        params: Mapping[str, Any],
        number: int,
        mode: Mode,  # noqa: ARG002
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return new points of uniformly drawn classes."""
        labels = rng.integers(CLASSES, size=number)
        noise = rng.normal(0, params["spread"], (number, NUMBERS))
        return (middles(params["number"])[labels] + noise).astype(np.float32), labels

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the number of outputs."""
        return {"outputs": CLASSES}

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """Return accuracy and error."""
        return scores(labels, predictions)


Setting = Literal["class", "domain", "task"]


def split_tasks(env: str, classes: int = 10, each: int = 2, setting: Setting = "class") -> tuple[Task, ...]:
    """Split the classes into tasks of `each`: `split_tasks("sklearn-digits")` has five tasks of two digits."""
    if each < 1 or classes % each:
        raise TaskError(
            f"{classes} classes cannot be split into tasks of {each} each", "choose a number that divides them"
        )
    groups = [list(range(first, first + each)) for first in range(0, classes, each)]
    return tuple(
        Task("split", "-".join(map(str, group)), env, {"classes": group, "setting": setting}, (0, 1))
        for group in groups
    )


def permuted_tasks(env: str, number: int, setting: Setting = "domain") -> tuple[Task, ...]:
    """Return tasks of all classes, each with another shuffle of the pixels; the first leaves them in place."""
    return tuple(
        Task("permuted", str(index), env, {"permutation": index, "setting": setting}, (0, 1)) for index in range(number)
    )


def rotated_tasks(env: str, degrees: Sequence[float], setting: Setting = "domain") -> tuple[Task, ...]:
    """Return tasks of all classes, each turned clockwise by one of the angles."""
    return tuple(
        Task("rotated", f"{angle:g}", env, {"rotation": _wrap_angle(angle), "setting": setting}, (0, 1))
        for angle in degrees
    )


def table_b16_tasks(env: str) -> tuple[Task, ...]:
    """Return two tasks of three variants (Baker et al. 2023, Table B.16).

    0 or 1: plain, with random brightness, with random contrast. 1 or 2: plain, turned by 90°, by 270°.
    A batch has sixteen pictures.
    """
    variants = {
        "zero-one": {"plain": {}, "brightness": {"brightness/spread": 0.3}, "contrast": {"contrast/spread": 1.5}},
        "one-two": {"plain": {}, "90": {"rotation": 90.0}, "270": {"rotation": _wrap_angle(270)}},
    }
    pairs = {"zero-one": [0, 1], "one-two": [1, 2]}
    return tuple(
        Task(name, variant, env, {"classes": pairs[name], "batch/size": 16, **params}, (0, 1))
        for name, settings in variants.items()
        for variant, params in settings.items()
    )


def _wrap_angle(degrees: float) -> float:
    """Return the same turn between −180° and 180°, the range of the parameter."""
    return (float(degrees) + 180) % 360 - 180
