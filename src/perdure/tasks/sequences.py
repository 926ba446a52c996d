"""Sequences: the usual ways to make several tasks of one set of pictures: split, permuted, rotated, Table B.16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from perdure.scenario.model import Task
from perdure.tasks.interface import TaskError

Setting = Literal["class", "domain", "task"]


def split_tasks(env: str, classes: int = 10, each: int = 2, setting: Setting = "class") -> tuple[Task, ...]:
    """The classes in turn, `each` of them a task: `split_tasks("sklearn-digits")` has five tasks of two digits."""
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
    """All classes, each task with its own shuffle of the pixels; the first leaves them in place."""
    return tuple(
        Task("permuted", str(at), env, {"permutation": at, "setting": setting}, (0, 1)) for at in range(number)
    )


def rotated_tasks(env: str, degrees: Sequence[float], setting: Setting = "domain") -> tuple[Task, ...]:
    """All classes, each task turned by so many degrees, clockwise."""
    return tuple(
        Task("rotated", f"{angle:g}", env, {"rotation": _turned(angle), "setting": setting}, (0, 1))
        for angle in degrees
    )


def table_b16_tasks(env: str) -> tuple[Task, ...]:
    """Two tasks of three variants (Baker et al. 2023, Table B.16): 0 or 1, plain, with random brightness, with random
    contrast; 1 or 2, plain, turned by 90°, by 270°. A batch has sixteen pictures.
    """
    variants = {
        "zero-one": {"plain": {}, "brightness": {"brightness/spread": 0.3}, "contrast": {"contrast/spread": 1.5}},
        "one-two": {"plain": {}, "90": {"rotation": 90.0}, "270": {"rotation": _turned(270)}},
    }
    pairs = {"zero-one": [0, 1], "one-two": [1, 2]}
    return tuple(
        Task(name, variant, env, {"classes": pairs[name], "batch/size": 16, **params}, (0, 1))
        for name, those in variants.items()
        for variant, params in those.items()
    )


def _turned(degrees: float) -> float:
    """The same turn between −180° and 180°, as the parameter takes it."""
    return (float(degrees) + 180) % 360 - 180
