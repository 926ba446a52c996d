"""Reference classifiers: naive, replay, joint and EWC, on a network of one hidden layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from perdure.learners.interface import Answer, ArrayLearner, Arrays, Situation

Array = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]

_NAMES = ("hidden", "hidden_bias", "output", "output_bias")
_PARTS = ("anchor", "importance", "needed")
_BATCH_SIZE = 32.0
"""Gradients are means over a batch; their squares are this much smaller than those of single examples."""


class Network(Struct, frozen=True):
    """Weights and biases; a gradient has the same form."""

    hidden: Array
    hidden_bias: Array
    output: Array
    output_bias: Array

    @property
    def parts(self) -> tuple[Array, Array, Array, Array]:
        """The four arrays, in order."""
        return self.hidden, self.hidden_bias, self.output, self.output_bias


def new_network(inputs: int, hidden: int, classes: int, rng: np.random.Generator) -> Network:
    """Return random weights (He et al. 2015), with the same score for all classes."""
    return Network(
        rng.normal(0.0, np.sqrt(2.0 / inputs), (inputs, hidden)),
        np.zeros(hidden),
        np.zeros((hidden, classes)),
        np.zeros(classes),
    )


def scores(network: Network, inputs: Array) -> Array:
    """Return one score per example and class."""
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0)
    result: Array = active @ network.output + network.output_bias
    return result


def dormant_units(network: Network, inputs: Array, least: float = 0.025) -> float:
    """Return the share of hidden units with at most `least` of their layer's mean activity (Sokar et al. 2023)."""
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0).mean(axis=0)
    return float((active <= least * active.mean()).mean())


def gradient(network: Network, inputs: Array, labels: Labels) -> Network:
    """Return the gradient of the mean cross-entropy of these examples."""
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0)
    logits = active @ network.output + network.output_bias
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(labels.size), labels] -= 1.0
    error /= labels.size
    hidden_error = (error @ network.output.T) * (active > 0.0)
    return Network(inputs.T @ hidden_error, hidden_error.sum(axis=0), active.T @ error, error.sum(axis=0))


def descend(network: Network, slope: Network, rate: float) -> Network:
    """Return the network after one step against the gradient."""
    return Network(*(part - rate * down for part, down in zip(network.parts, slope.parts, strict=True)))


class Naive(ArrayLearner):
    """A small network trained by gradient descent on the batch at hand, `repeats` times over.

    With `count_dormant` it logs the share of its units that no longer respond.
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
        """Make the network for examples of the size that the first block has; later blocks must have the same."""
        if self.network is None and situation.inputs is not None:
            size = int(np.prod(situation.inputs))
            self.network = new_network(size, self.hidden, max(self.classes, situation.outputs or 0), self.rng)

    def act(self, observation: Any) -> Labels:
        """Return the most likely class of each input."""
        inputs = _flat(observation)
        network = self._network(inputs)
        if self.count_dormant:
            self._dormant = dormant_units(network, inputs)
        labels: Labels = np.argmax(scores(network, inputs), axis=1)
        return labels

    def log_info(self) -> dict[str, float | None]:
        """Return the size of network and memory, and, if `count_dormant`, the share of dormant units in the batch."""
        costs: dict[str, float | None] = {
            "parameters": sum(part.size for part in self.network.parts) if self.network else 0,
            "updates": self.updates,
            "stored_bytes": self.stored_bytes,
        }
        return {**costs, "dormant_units": self._dormant} if self.count_dormant else costs

    def learn(self, experience: Answer) -> None:
        """Descend on this batch, `repeats` times."""
        inputs, labels = _flat(experience.inputs), np.asarray(experience.labels, dtype=np.int64)
        self.updates += self.repeats
        for _ in range(self.repeats):
            self.network = self.step(self._network(inputs), inputs, labels)
        self.remember(inputs, labels)

    @property
    def stored_bytes(self) -> int:
        """Size of the stored examples."""
        return 0

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """Return the network after one step; other methods override this."""
        return descend(network, gradient(network, inputs, labels), self.rate)

    def remember(self, inputs: Array, labels: Labels) -> None:
        """Store a batch after learning from it; a naive learner stores nothing."""

    def to_arrays(self) -> Arrays:
        """Return the weights, if there are any."""
        return {} if self.network is None else dict(zip(_NAMES, self.network.parts, strict=True))

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore the weights."""
        if _NAMES[0] in arrays:
            self.network = Network(*(np.asarray(arrays[name], dtype=np.float64) for name in _NAMES))

    def _network(self, inputs: Array) -> Network:
        if self.network is None:
            self.network = new_network(inputs.shape[1], self.hidden, self.classes, self.rng)
        return self.network


class Replay(Naive):
    """Naive with a memory: a uniform sample of the past (reservoir sampling, Vitter 1985), replayed with each batch."""

    def __init__(self, seed: int = 0, capacity: int = 500, recalled: int = 64, **common: Any) -> None:
        super().__init__(seed, **common)
        self.capacity, self.recalled = capacity, recalled
        self.seen = 0
        self.inputs = np.zeros((0, 0))
        self.labels: Labels = np.zeros(0, dtype=np.int64)

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """Descend on this batch together with `recalled` examples from memory."""
        if len(self.labels):
            chosen = self.rng.integers(len(self.labels), size=self.recalled)
            inputs = np.concatenate([inputs, self.inputs[chosen]])
            labels = np.concatenate([labels, self.labels[chosen]])
        return super().step(network, inputs, labels)

    def remember(self, inputs: Array, labels: Labels) -> None:
        """Add examples so that each one seen so far is in memory with the same probability."""
        free = min(self.capacity - len(self.labels), len(labels))
        if free > 0:
            self.inputs = np.concatenate([self.inputs.reshape(-1, inputs.shape[1]), inputs[:free]])
            self.labels = np.concatenate([self.labels, labels[:free]])
        late = np.arange(max(free, 0), len(labels))
        places = self.rng.integers(self.seen + late + 1)
        stored = places < self.capacity
        if stored.any():
            # A copy, because a caller of `to_arrays` may hold the old arrays.
            self.inputs, self.labels = self.inputs.copy(), self.labels.copy()
            self.inputs[places[stored]] = inputs[late[stored]]
            self.labels[places[stored]] = labels[late[stored]]
        self.seen += len(labels)

    @property
    def stored_bytes(self) -> int:
        """Size of the memory."""
        return self.inputs.nbytes + self.labels.nbytes

    def to_arrays(self) -> Arrays:
        """Return weights and memory."""
        return {
            **super().to_arrays(),
            "inputs": self.inputs,
            "labels": self.labels,
            "seen": np.array(self.seen),
        }

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore weights and memory."""
        super().load_arrays(arrays)
        self.inputs = np.asarray(arrays["inputs"], dtype=np.float64)
        self.labels = np.asarray(arrays["labels"], dtype=np.int64)
        self.seen = int(arrays["seen"].item())


class Joint(Replay):
    """Replay with unlimited memory, which learns from all examples all the time: an upper baseline."""

    def __init__(self, seed: int = 0, recalled: int = 256, repeats: int = 2, **common: Any) -> None:
        super().__init__(seed, 1_000_000, recalled, repeats=repeats, **common)


class EWC(Naive):
    """Elastic weight consolidation (EWC; Kirkpatrick et al. 2017) in its online form (Schwarz et al. 2018).

    Each weight is pulled to its value after the last task by its importance: the squared gradients seen while tasks
    were learned. There is one anchor and one importance per weight, whatever the number of tasks.
    """

    def __init__(self, seed: int = 0, strength: float = 50.0, decay: float = 0.9, **common: Any) -> None:
        super().__init__(seed, **common)
        self.strength, self.decay = strength, decay
        self.anchor: Network | None = None
        self.importance: Network | None = None
        self.needed: Network | None = None  # squared gradients of the current block
        self.batches = 0

    def step(self, network: Network, inputs: Array, labels: Labels) -> Network:
        """Descend on this batch and towards the anchor; the second part is implicit, so that it cannot overshoot."""
        slope = gradient(network, inputs, labels)
        squared = [part**2 for part in slope.parts]
        self.needed = Network(
            *(squared if self.needed is None else (a + b for a, b in zip(self.needed.parts, squared, strict=True)))
        )
        self.batches += 1
        parts = [part - self.rate * down for part, down in zip(network.parts, slope.parts, strict=True)]
        if self.anchor is not None and self.importance is not None:
            pulls = [self.rate * self.strength * part for part in self.importance.parts]
            parts = [
                (part + pull * rest) / (1.0 + pull)
                for part, pull, rest in zip(parts, pulls, self.anchor.parts, strict=True)
            ]
        return Network(*parts)

    def block_ended(self, situation: Situation) -> None:
        """After learning, make the weights the anchor and add the squared gradients to the importance."""
        if not situation.learning or self.needed is None or self.network is None:
            return
        fresh = [part * (_BATCH_SIZE / self.batches) for part in self.needed.parts]
        before = [np.zeros_like(part) for part in fresh] if self.importance is None else self.importance.parts
        self.importance = Network(*(self.decay * old + new for old, new in zip(before, fresh, strict=True)))
        self.anchor, self.needed, self.batches = self.network, None, 0

    def to_arrays(self) -> Arrays:
        """Return weights, anchor, importance, and the squared gradients of the current block."""
        arrays: dict[str, Array] = {}
        for name in _PARTS:
            network: Network | None = getattr(self, name)
            if network is not None:
                arrays |= {f"{name}-{index}": part for index, part in enumerate(network.parts)}
        return {**super().to_arrays(), **arrays, "batches": np.array(self.batches)}

    def load_arrays(self, arrays: Arrays) -> None:
        """Restore all of these."""
        super().load_arrays(arrays)
        for name in _PARTS:
            if f"{name}-0" in arrays:
                setattr(self, name, Network(*(np.asarray(arrays[f"{name}-{index}"], np.float64) for index in range(4))))
            else:
                setattr(self, name, None)
        self.batches = int(arrays["batches"].item())


def _flat(inputs: Any) -> Array:
    inputs_array = np.asarray(inputs, dtype=np.float64)
    return inputs_array.reshape(len(inputs_array), -1)
