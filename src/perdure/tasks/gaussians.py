"""Gaussian tasks: classes that are clouds about middles of their own, another set of them for each number of a task."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from perdure.scenario.model import Mode
from perdure.tasks.interface import Direction, Parameter
from perdure.tasks.streams import scores

NUMBERS, CLASSES = 16, 5
"""Of an example; and of labels, which all tasks share."""


@lru_cache(maxsize=256)
def middles(number: int) -> np.ndarray:
    """Where the classes of a task stand: drawn once for each number of a task."""
    return np.random.default_rng(number).normal(0, 1, (CLASSES, NUMBERS)).astype(np.float32)


class Gaussians:
    """Tell clouds of points apart; cheap, as hard as one wants, and as many tasks as one wants."""

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
        """Points of classes drawn evenly; none is ever drawn twice."""
        labels = rng.integers(CLASSES, size=number)
        noise = rng.normal(0, params["spread"], (number, NUMBERS))
        return (middles(params["number"])[labels] + noise).astype(np.float32), labels

    def info(self, params: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """How many outputs a learner needs."""
        return {"outputs": CLASSES}

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        """The part that was right, and the part that was wrong."""
        return scores(labels, predictions)
