"""Replay: keeps a few hundred examples of all it has seen, and learns some of them again with every batch."""

from __future__ import annotations

import numpy as np

from perdure.learners.naive import Labels, Naive
from perdure.learners.network import Array, Network, descend, gradient
from perdure.learners.state import Arrays

__all__ = ["Replay"]


class Replay(Naive):
    """Naive with a memory: a uniform sample of the past, kept by reservoir sampling (Vitter 1985)."""

    def __init__(
        self,
        seed: int = 0,
        rate: float = 0.1,
        hidden: int = 64,
        classes: int = 10,
        repeats: int = 1,
        capacity: int = 500,
        recalled: int = 64,
        count_dormant: bool = False,
    ) -> None:
        super().__init__(seed, rate, hidden, classes, repeats, count_dormant)
        self.capacity, self.recalled = capacity, recalled
        self.seen = 0
        self.inputs = np.zeros((0, 0))
        self.labels: Labels = np.zeros(0, dtype=np.int64)

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """Downhill on this batch and on as many memories as are recalled at once."""
        if len(self.labels):
            chosen = self.rng.integers(len(self.labels), size=self.recalled)
            inputs = np.concatenate([inputs, self.inputs[chosen]])
            labels = np.concatenate([labels, self.labels[chosen]])
        return descend(network, gradient(network, inputs, labels), self.rate)

    def remember(self, inputs: Array, labels: Labels) -> None:
        """Give each example seen so far the same chance to be among those kept."""
        free = min(self.capacity - len(self.labels), len(labels))
        if free > 0:
            self.inputs = np.concatenate([self.inputs.reshape(-1, inputs.shape[1]), inputs[:free]])
            self.labels = np.concatenate([self.labels, labels[:free]])
        late = np.arange(max(free, 0), len(labels))
        places = self.rng.integers(self.seen + late + 1)
        kept = places < self.capacity
        if kept.any():
            # A copy, so that who holds the old arrays (a saved state, a fingerprint) keeps them.
            self.inputs, self.labels = self.inputs.copy(), self.labels.copy()
            self.inputs[places[kept]] = inputs[late[kept]]
            self.labels[places[kept]] = labels[late[kept]]
        self.seen += len(labels)

    def knowledge(self) -> Arrays:
        """Weights and memories."""
        return {
            **super().knowledge(),
            "inputs": self.inputs,
            "labels": self.labels,
            "seen": np.array(self.seen),
        }

    def know(self, arrays: Arrays) -> None:
        """Take up weights and memories."""
        super().know(arrays)
        self.inputs = np.asarray(arrays["inputs"], dtype=np.float64)
        self.labels = np.asarray(arrays["labels"], dtype=np.int64)
        self.seen = int(arrays["seen"].item())
