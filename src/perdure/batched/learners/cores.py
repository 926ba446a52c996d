"""Cores of batched learners: Q-learning, an actor-critic and a softmax classifier, on tables and small networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from perdure.batched.learners.interface import BatchedTransition, Core, LabelledBatch, Setting
from perdure.batched.tasks.chance import normal, uniform
from perdure.errors import LearnerError

# --- networks ------------------------------------------------------------------------------------

ACTIVATIONS: Mapping[str, tuple[Callable[[Any], Any], int]] = {
    "relu": (jax.nn.relu, 1),
    "crelu": (lambda x: jnp.concatenate([jax.nn.relu(x), jax.nn.relu(-x)], axis=-1), 2),
    "tanh": (jnp.tanh, 1),
}
"""Activation and number of outputs per hidden unit (CReLU: Shang et al. 2016; Abbas et al. 2023)."""


class _Network(NamedTuple):
    """A network of one hidden layer whose weights are a dict of arrays."""

    inputs: int
    hidden: int
    outputs: int
    activation: str

    def init(self, key: Any) -> dict[str, Any]:
        """Return random hidden weights (He et al. 2015) and output weights of 0."""
        first = normal(key, self.inputs * self.hidden).reshape(self.inputs, self.hidden) * jnp.sqrt(2.0 / self.inputs)
        width = self.hidden * ACTIVATIONS[self.activation][1]
        return {
            "hidden": first,
            "hidden_bias": jnp.zeros(self.hidden),
            "output": jnp.zeros((width, self.outputs)),
            "output_bias": jnp.zeros(self.outputs),
        }

    def values(self, weights: Mapping[str, Any], inputs: Any) -> Any:
        """Return one number per output, for one input or for each row of inputs."""
        hidden = ACTIVATIONS[self.activation][0](inputs @ weights["hidden"] + weights["hidden_bias"])
        return hidden @ weights["output"] + weights["output_bias"]


def _zeros_like(weights: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, weights)


def _faded_sum(trace: Any, gradient: Any, fade: float) -> Any:
    """Return an accumulating trace after one step (Sutton and Barto 2018, §12.2)."""
    return jax.tree.map(lambda old, new: fade * old + new, trace, gradient)


# --- classification ------------------------------------------------------------------------------


def softmax(
    setting: Setting, *, rate: float = 0.1, hidden: int = 64, repeats: int = 1, activation: str = "relu"
) -> Core:
    """Classify with a network of one hidden layer, by gradient descent on each batch, `repeats` times."""
    if not setting.batch:
        raise LearnerError("batched:softmax is for classification, and these tasks run in episodes", "use batched:q")
    network = _Network(setting.observation, hidden, setting.outputs, activation)

    def act(weights: Any, inputs: Any, key: Any, exploring: bool) -> Any:  # noqa: ARG001
        return network.values(weights, inputs).argmax(axis=-1)

    def loss(weights: Any, batch: LabelledBatch) -> Any:
        logits = jax.nn.log_softmax(network.values(weights, batch.inputs))
        return -jnp.take_along_axis(logits, batch.labels[:, None], axis=-1).mean()

    def replayed(weights: Any, batch: LabelledBatch) -> Any:
        return jax.tree.map(jnp.negative, jax.grad(loss)(weights, batch))

    def push(weights: Any, trace: Any, batch: LabelledBatch) -> tuple[Any, Any]:
        return replayed(weights, batch), trace

    return Core(network.init, act, push, replayed, rate, repeats=repeats)


# --- actor-critic --------------------------------------------------------------------------------


def actor_critic(
    setting: Setting,
    *,
    rate: float = 0.02,
    hidden: int = 32,
    discount: float = 0.97,
    trace: float = 0.8,
    entropy: float = 0.01,
    activation: str = "relu",
) -> Core:
    """Learn a policy and a value on one small network, at every step along traces.

    See Sutton and Barto 2018, §13.5. The network's last output is the value of a state; the others are the logits of
    the actions. A share of the policy's entropy is part of the objective, so that the learner continues to explore.
    """
    if setting.batch:
        raise LearnerError(
            "batched:actor-critic is for episodes, and these tasks come in batches", "use batched:softmax"
        )
    fade = discount * trace
    network = _Network(setting.observation, hidden, setting.outputs + 1, activation)

    def policy_and_value(weights: Any, observation: Any) -> tuple[Any, Any]:
        outputs = network.values(weights, observation)
        return jax.nn.log_softmax(outputs[:-1]), outputs[-1]

    def act(weights: Any, observation: Any, key: Any, exploring: bool) -> Any:
        log_odds, _ = policy_and_value(weights, observation)
        if not exploring:
            return log_odds.argmax()
        # The Gumbel trick: the largest of perturbed logits is a draw from the policy.
        return (log_odds - jnp.log(-jnp.log(uniform(key, setting.outputs) + 1e-9))).argmax()

    def gradients(weights: Any, step: BatchedTransition) -> tuple[Any, Any, Any]:
        """Return the temporal-difference error, and the gradients of the action taken and of the entropy."""

        def taken(candidate: Any) -> Any:
            log_odds, value = policy_and_value(candidate, step.observation)
            return log_odds[step.action] + value

        def policy_entropy(candidate: Any) -> Any:
            log_odds, _ = policy_and_value(candidate, step.observation)
            return -(jnp.exp(log_odds) * log_odds).sum()

        ahead = jnp.where(step.terminated, 0.0, policy_and_value(weights, step.following)[1])
        error = step.reward + discount * ahead - policy_and_value(weights, step.observation)[1]
        return error, jax.grad(taken)(weights), jax.grad(policy_entropy)(weights)

    def push(weights: Any, eligibility: Any, step: BatchedTransition) -> tuple[Any, Any]:
        error, taken, policy_entropy = gradients(weights, step)
        eligibility = _faded_sum(eligibility, taken, fade)
        return jax.tree.map(lambda old, more: error * old + entropy * more, eligibility, policy_entropy), eligibility

    def replayed(weights: Any, step: BatchedTransition) -> Any:
        error, taken, policy_entropy = gradients(weights, step)
        return jax.tree.map(lambda old, more: error * old + entropy * more, taken, policy_entropy)

    return Core(network.init, act, push, replayed, rate, empty_trace=_zeros_like)


# --- Q-learning ----------------------------------------------------------------------------------

_BINS, _PAIR_BINS = 12, 6
_MOST = 12  # numbers of an observation; the pairs of more would make the table too large


class _ActionValues(NamedTuple):
    """A representation of action values."""

    init: Any
    values: Any
    gradient: Any
    """Return how much each weight changes the value of one action."""
    decayed: Any
    """The trace after it fades and another gradient is added."""
    rate: float
    trace: float


def q(
    setting: Setting,
    *,
    form: str = "table",
    rate: float | None = None,
    explore: float = 0.1,
    discount: float = 0.97,
    trace: float | None = None,
    hidden: int = 32,
    activation: str = "relu",
) -> Core:
    """Learn action values along traces, on a table of coarse features or on a small network.

    `form` is "table" or "network". The table's features are those of the Q-learning learner of the local engine: each
    number in bins by itself, and each pair of numbers. That learner learns at the end of an episode. This one
    learns at every step, along traces (Sutton and Barto 2018, §12.5; replacing traces for the table), because thousands
    of lifetimes do not end their episodes at the same time.
    """
    if form == "table" and setting.observation > _MOST:
        raise LearnerError(
            f"a table takes up to {_MOST} numbers, and an observation has {setting.observation} here",
            'use params = { form = "network" }',
            where="batched:q",
        )
    if form == "table":
        actions = _table(setting)
    elif form == "network":
        actions = _value_network(_Network(setting.observation, hidden, setting.outputs, activation))
    else:
        raise KeyError(form)
    fade = discount * (actions.trace if trace is None else trace)

    def act(weights: Any, observation: Any, key: Any, exploring: bool) -> Any:
        values = actions.values(weights, observation)
        if not exploring:
            return values.argmax()
        chances = uniform(key, 2 + setting.outputs)
        best = jnp.where(values == values.max(), chances[2:], -1.0).argmax()  # ties are broken at random
        anything = (chances[1] * setting.outputs).astype(int)
        return jnp.where(chances[0] < explore, anything, best)

    def error(weights: Any, step: BatchedTransition) -> Any:
        ahead = jnp.where(step.terminated, 0.0, actions.values(weights, step.following).max())
        return step.reward + discount * ahead - actions.values(weights, step.observation)[step.action]

    def push(weights: Any, eligibility: Any, step: BatchedTransition) -> tuple[Any, Any]:
        difference = error(weights, step)
        eligibility = actions.decayed(eligibility, actions.gradient(weights, step.observation, step.action), fade)
        return jax.tree.map(lambda leaf: difference * leaf, eligibility), eligibility

    def replayed(weights: Any, step: BatchedTransition) -> Any:
        difference = error(weights, step)
        return jax.tree.map(lambda leaf: difference * leaf, actions.gradient(weights, step.observation, step.action))

    return Core(actions.init, act, push, replayed, actions.rate if rate is None else rate, empty_trace=_zeros_like)


def _table(setting: Setting) -> _ActionValues:
    """Return a table with one number per feature and action; about two dozen features are active at a time."""
    size = setting.observation
    first, second = np.triu_indices(size, 1)
    single_rows = np.arange(size) * _BINS
    pair_rows = size * _BINS + np.arange(len(first)) * _PAIR_BINS**2
    rows = size * _BINS + len(first) * _PAIR_BINS**2

    def bins(observation: Any) -> tuple[Any, Any]:
        share = jnp.clip((observation + 1) / 2, 0.0, 1.0 - 1e-6)
        coarse = (share * _PAIR_BINS).astype(int)
        return (share * _BINS).astype(int), coarse[first] * _PAIR_BINS + coarse[second]

    def init(key: Any) -> Any:  # noqa: ARG001
        return {"table": jnp.zeros((rows, setting.outputs))}

    def values(weights: Any, observation: Any) -> Any:
        single, paired = bins(observation)
        active = jnp.concatenate([single + single_rows, paired + pair_rows])
        return weights["table"].at[active].get(mode="promise_in_bounds").sum(axis=0)

    def gradient(weights: Any, observation: Any, action: Any) -> Any:  # noqa: ARG001
        # Comparing with all bins at once is faster than a scatter with an index per lifetime.
        single, paired = bins(observation)
        ones = [single[:, None] == jnp.arange(_BINS), paired[:, None] == jnp.arange(_PAIR_BINS**2)]
        active = jnp.concatenate([matrix.reshape(-1) for matrix in ones])
        return {"table": (active[:, None] & (jnp.arange(setting.outputs) == action)).astype(float)}

    def decayed(trace: Any, gradient: Any, fade: float) -> Any:
        return jax.tree.map(lambda old, new: jnp.maximum(fade * old, new), trace, gradient)

    return _ActionValues(init, values, gradient, decayed, 0.2 / (size + len(first)), 0.9)


def _value_network(network: _Network) -> _ActionValues:
    def gradient(weights: Any, observation: Any, action: Any) -> Any:
        return jax.grad(lambda candidate: network.values(candidate, observation)[action])(weights)

    return _ActionValues(network.init, network.values, gradient, _faded_sum, 0.01, 0.8)
