"""Compiled blocks of many lifetimes: one program for blocks of learning, and one for evaluations, without updates.

All lifetimes take a step at once, each in its own episode. A lifetime that has finished its experiences does not
change until the last one has. So a lifetime does not depend on the others in its chunk.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import BatchedLearner, BatchedTransition, LabelledBatch, LearnerState, chosen
from perdure.batched.tasks.chance import under
from perdure.batched.tasks.family import FamilySwitch

_STRIDE = 16  # steps between two checks of whether all are done; a check waits for the device


class Spec(NamedTuple):
    """A block of each lifetime, along the first axis of each array."""

    learner_key: Any
    """Two words."""
    environment_key: Any
    number: Any
    """The block's number."""
    which: Any
    """The family's number."""
    task: Any
    params: Any
    """A row per experience, or one row for all."""
    length: Any


class _Position(NamedTuple):
    """The position of a lifetime within a block of episodes."""

    learner: LearnerState | None
    trace: Any
    state: Any
    observation: Any
    experience: Any
    clock: Any
    """Steps in this block."""
    steps: Any
    reward: Any
    records: dict[str, Any]


def begin_lives(learner: BatchedLearner) -> Callable[[Any], LearnerState]:
    """Return a function from keys to learners that have not learned anything."""
    return jax.vmap(learner.init)


def block_of(
    learner: BatchedLearner, tasks: FamilySwitch, longest: int, limit: int, learning: bool
) -> Callable[..., Any]:
    """Return the program of a block: `(state, spec) -> (state, records)`, or `-> records` for an evaluation.

    Records have `longest` columns; those beyond a block's length have no meaning.
    """
    play = _batches if tasks.first.is_batches else partial(_episodes, limit=limit)
    run = partial(play, learner, tasks, longest)
    if not learning:

        def evaluate(state: LearnerState, spec: Spec) -> Any:
            weights = jax.vmap(learner.used)(state, spec.task)
            return run(weights, spec, spec.length, None)[1]

        return evaluate

    def learn(state: LearnerState, spec: Spec) -> tuple[LearnerState, Any]:
        keys = _block_keys(spec.learner_key, spec.number)
        state = jax.vmap(learner.begin)(state, spec.task, _fold(keys, 0))
        position = None
        if learner.has_halfway:
            state, _, position = run(state, spec, (spec.length + 1) // 2, position)
            state = jax.vmap(learner.halfway)(state, spec.task, _fold(keys, 1))
        state, records, _ = run(state, spec, spec.length, position)
        return jax.vmap(learner.end)(state, spec.task, _fold(keys, 2)), records

    return learn


def fingerprints(tree: Any) -> Any:
    """Return a number for each lifetime that changes with any bit of its learned state."""

    def fingerprint(leaf: Any) -> Any:
        flat = leaf.reshape(leaf.shape[0], -1)
        floating = jnp.issubdtype(flat.dtype, jnp.floating)
        words = jax.lax.bitcast_convert_type(flat, jnp.uint32) if floating else flat.astype(jnp.uint32)
        factors = jnp.arange(words.shape[1], dtype=jnp.uint32) * jnp.uint32(2654435761) + jnp.uint32(1)
        return (words * (factors | jnp.uint32(1))).sum(axis=1, dtype=jnp.uint32)

    first, *others = [fingerprint(leaf) for leaf in jax.tree.leaves(tree)]
    total = first
    for number, leaf in enumerate(others, start=2):
        total = total * jnp.uint32(31) + leaf * jnp.uint32(number)
    return total


def unsound(tree: Any) -> Any:
    """Return for each lifetime whether one of its numbers is not finite."""
    flags = [
        ~jnp.isfinite(leaf).reshape(leaf.shape[0], -1).all(axis=1)
        for leaf in jax.tree.leaves(tree)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    return jnp.stack(flags).any(axis=0)


def _block_keys(words: Any, number: Any) -> Any:
    return jax.vmap(under)(words, number)


def _fold(keys: Any, data: int) -> Any:
    return jax.vmap(lambda key: under(key, data))(keys)


def _params_of(spec: Spec, experience: Any) -> Any:
    """Return the parameters of an experience."""
    last = spec.params.shape[0] - 1
    return spec.params[jnp.minimum(experience, last)] if last else spec.params[0]


# --- episodes ------------------------------------------------------------------------------------


def _episodes(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    longest: int,
    state: Any,
    spec: Spec,
    until: Any,
    position: Any,
    *,
    limit: int,
) -> tuple[Any, Any, Any]:
    """Run all lifetimes through their episodes up to `until`; without a `position` from the beginning of the block.

    In an evaluation `state` is the weights, which this program cannot change.
    """
    learning = isinstance(state, LearnerState)
    keys = _block_keys(spec.learner_key, spec.number), _block_keys(spec.environment_key, spec.number)
    if position is None:
        begin = partial(_first_position, learner, tasks, longest, learning)
        position = jax.vmap(begin)(state, spec, keys[1])
    elif learning:
        position = position._replace(learner=state)
    step = jax.vmap(partial(_step, learner, tasks, limit, learning))

    def one_step(_: int, now: _Position) -> Any:
        return step(now, now.learner if learning else state, spec, until, *keys)

    position = jax.lax.while_loop(
        lambda now: (now.experience < until).any(),
        lambda now: jax.lax.fori_loop(0, _STRIDE, one_step, now),
        position,
    )
    return (position.learner, position.records, position) if learning else (None, position.records, None)


def _first_position(
    learner: BatchedLearner, tasks: FamilySwitch, longest: int, learning: bool, state: Any, spec: Spec, chance: Any
) -> _Position:
    environment, observation = tasks.reset(spec.which, _episode_key(chance, 0), spec.params[0])
    records = {"reward": jnp.zeros(longest), "steps": jnp.zeros(longest, int)}
    trace = learner.core.empty_trace(state.weights) if learning else ()
    zero = jnp.zeros((), int)
    return _Position(
        state if learning else None, trace, environment, observation, zero, zero, zero, jnp.zeros(()), records
    )


def _step(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    limit: int,
    learning: bool,
    now: _Position,
    learnt: Any,
    spec: Spec,
    until: Any,
    own: Any,
    chance: Any,
) -> _Position:
    """Take one step of one lifetime, which changes nothing if the lifetime has reached `until`."""
    active = now.experience < until
    params = _params_of(spec, now.experience)
    key = under(own, 3 + now.clock)
    weights = learnt.weights if learning else learnt
    action = learner.act(weights, now.observation, key, learning)
    state, observation, reward, terminated, truncated = tasks.step(
        spec.which, under(chance, 1, now.clock), now.state, action, params
    )
    episode_ends = terminated | truncated | (now.steps + 1 >= limit)
    trace = now.trace
    if learning:
        step = BatchedTransition(now.observation, action, reward, observation, terminated)
        learnt, trace = learner.learn(learnt, trace, step, spec.task, active, under(key, 1))
        trace = chosen(episode_ends, learner.core.empty_trace(learnt.weights), trace)
    total = now.reward + reward
    ended = (jnp.arange(now.records["reward"].shape[0]) == now.experience) & episode_ends & active
    records = {
        "reward": jnp.where(ended, total, now.records["reward"]),
        "steps": jnp.where(ended, now.steps + 1, now.records["steps"]),
    }
    following = now.experience + episode_ends
    fresh, first = tasks.reset(spec.which, _episode_key(chance, following), _params_of(spec, following))
    after = _Position(
        None,
        (),
        chosen(episode_ends, fresh, state),
        jnp.where(episode_ends, first, observation),
        following,
        now.clock + 1,
        jnp.where(episode_ends, 0, now.steps + 1),
        jnp.where(episode_ends, 0.0, total),
        {},
    )
    position: _Position = chosen(active, after, now._replace(learner=None, trace=(), records={}))
    return position._replace(
        learner=learnt if learning else None, trace=chosen(active, trace, now.trace), records=records
    )


def _episode_key(chance: Any, number: Any) -> Any:
    """Return an episode's key, which does not depend on the length of the episodes before it."""
    return under(chance, 0, number)


# --- batches -------------------------------------------------------------------------------------


def _batches(
    learner: BatchedLearner, tasks: FamilySwitch, longest: int, state: Any, spec: Spec, until: Any, position: Any
) -> tuple[Any, Any, Any]:
    """Run all lifetimes through their batches up to `until`, from `position`: the batches done, and the records.

    In an evaluation `state` is the weights, which this program cannot change.
    """
    learning = isinstance(state, LearnerState)
    keys = _block_keys(spec.learner_key, spec.number), _block_keys(spec.environment_key, spec.number)
    since = jnp.zeros_like(until) if position is None else position[0]
    records = jnp.zeros((until.shape[0], longest)) if position is None else position[1]
    answer: Any = jax.vmap(partial(_answer, learner, tasks, learning), (0, 0, None, 0, 0, 0, 0, 0))

    def learned(number: Any, carried: Any) -> Any:
        return answer(*carried, number, spec, since, until, *keys)

    def evaluated(number: Any, records: Any) -> Any:
        return answer(state, records, number, spec, since, until, *keys)[1]

    if not learning:
        return None, {"accuracy": jax.lax.fori_loop(0, until.max(), evaluated, records)}, None
    state, records = jax.lax.fori_loop(since.min(), until.max(), learned, (state, records))
    return state, {"accuracy": records}, (until, records)


def _answer(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    learning: bool,
    state: Any,
    records: Any,
    number: Any,
    spec: Spec,
    since: Any,
    until: Any,
    own: Any,
    chance: Any,
) -> tuple[Any, Any]:
    """Answer one batch of one lifetime and, if it learns, learn from it."""
    active = (number >= since) & (number < until)
    inputs, labels = tasks.draw(spec.which, under(chance, number), _params_of(spec, number), learning)
    key = under(own, 3 + number)
    weights = state.weights if learning else state
    right = (learner.act(weights, inputs, key, learning) == labels).mean()
    records = jnp.where((jnp.arange(records.shape[0]) == number) & active, right, records)
    if learning:
        trace = learner.core.empty_trace(weights)
        state, _ = learner.learn(state, trace, LabelledBatch(inputs, labels), spec.task, active, under(key, 1))
    return state, records
