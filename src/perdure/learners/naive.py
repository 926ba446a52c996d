"""Naive: learns each batch as it comes, and so forgets what no longer comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.learners.interface import Answer, Situation
from perdure.learners.network import Array, Network, descend, dormant_units, gradient, new_network, scores
from perdure.learners.state import Arrays, Kept

__all__ = ["Naive"]

Labels = npt.NDArray[np.int64]


class Naive(Kept):
    """A small network trained by gradient descent on the batch at hand, `repeats` times over.

    With `count_dormant` it logs how many of its units no longer answer.
    """

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.1,
        hidden: int = 64,
        classes: int = 10,
        repeats: int = 1,
        count_dormant: bool = False,
    ) -> None:
        super().__init__(seed)
        self.rate, self.hidden, self.classes, self.repeats = rate, hidden, classes, repeats
        self.count_dormant = count_dormant
        self._dormant: float | None = None
        self.network: Network | None = None

    def block_started(self, situation: Situation) -> None:
        """The first block says how large an example is; all others must have the same size."""
        if self.network is None and situation.inputs is not None:
            size = int(np.prod(situation.inputs))
            self.network = new_network(size, self.hidden, max(self.classes, situation.outputs or 0), self.rng)

    def act(self, observation: Any) -> Labels:
        """The likeliest class of each input."""
        inputs = _flat(observation)
        network = self._network(inputs)
        if self.count_dormant:
            self._dormant = dormant_units(network, inputs)
        found: Labels = np.argmax(scores(network, inputs), axis=1)
        return found

    def log_info(self) -> dict[str, float | None]:
        """The share of dormant units in the batch that was answered last, where that is asked for."""
        return {"dormant_units": self._dormant} if self.count_dormant else {}

    def learn(self, experience: Answer) -> None:
        """Go downhill on this batch."""
        inputs, labels = _flat(experience.inputs), np.asarray(experience.labels, dtype=np.int64)
        for _ in range(self.repeats):
            self.network = self.step(self._network(inputs), inputs, labels)
        self.remember(inputs, labels)

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """One step from `network`; what the other learners do differently."""
        return descend(network, gradient(network, inputs, labels), self.rate)

    def remember(self, inputs: Array, labels: Labels) -> None:
        """Called once per batch, after learning from it; a naive learner keeps nothing."""

    def knowledge(self) -> Arrays:
        """The weights, once there are any."""
        return {} if self.network is None else dict(zip(_NAMES, self.network.parts, strict=True))

    def know(self, arrays: Arrays) -> None:
        """Take up weights."""
        if _NAMES[0] in arrays:
            self.network = Network(*(np.asarray(arrays[name], dtype=np.float64) for name in _NAMES))

    def _network(self, inputs: Any) -> Network:
        if self.network is None:
            self.network = new_network(_flat(inputs).shape[1], self.hidden, self.classes, self.rng)
        return self.network


_NAMES = ("hidden", "hidden_bias", "output", "output_bias")


def _flat(inputs: Any) -> Array:
    given = np.asarray(inputs, dtype=np.float64)
    return given.reshape(len(given), -1)
