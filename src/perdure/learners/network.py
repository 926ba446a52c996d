"""A network of one hidden layer, as arrays and the three functions that a classifier needs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Array = npt.NDArray[np.float64]


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
    """Random first weights, after He et al. 2015; an output that is undecided between all classes."""
    return Network(
        rng.normal(0.0, np.sqrt(2.0 / inputs), (inputs, hidden)),
        np.zeros(hidden),
        np.zeros((hidden, classes)),
        np.zeros(classes),
    )


def scores(network: Network, inputs: Array) -> Array:
    """One score per example and class; the largest is the answer."""
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0)
    result: Array = active @ network.output + network.output_bias
    return result


def dormant_units(network: Network, inputs: Array, least: float = 0.025) -> float:
    """The share of hidden units that answer these inputs with `least` of their layer's mean or less.

    Sokar et al. 2023, whose threshold it is: what such a unit could learn is mostly lost.
    """
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0).mean(axis=0)
    return float((active <= least * active.mean()).mean())


def gradient(network: Network, inputs: Array, labels: npt.NDArray[np.int64]) -> Network:
    """The slope of the mean cross-entropy of these examples in each weight."""
    active = np.maximum(inputs @ network.hidden + network.hidden_bias, 0.0)
    logits = active @ network.output + network.output_bias
    error = np.exp(logits - logits.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[np.arange(labels.size), labels] -= 1.0
    error /= labels.size
    back = (error @ network.output.T) * (active > 0.0)
    return Network(inputs.T @ back, back.sum(axis=0), active.T @ error, error.sum(axis=0))


def descend(network: Network, slope: Network, rate: float) -> Network:
    """One step downhill."""
    return Network(*(part - rate * down for part, down in zip(network.parts, slope.parts, strict=True)))
