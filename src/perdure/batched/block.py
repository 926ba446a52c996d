"""A block of many lives, compiled: one program for blocks of learning, and one for evaluations, which has no update.

All lives of a block take a step at once, each in its own episode; who has lived all of its experiences stands still
until the last has. So a life does not depend on who is beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import BatchedLearner, BatchedTransition, LabelledBatch, Learnt, chosen
from perdure.batched.tasks.chance import under
from perdure.batched.tasks.family import FamilySwitch

_STRIDE = 16  # steps between two looks at whether all are done, each of which waits for the device


class Spec(NamedTuple):
    """What a block is for each life: an entry of each array is a life's own."""

    learner_key: Any
    """As two words."""
    environment_key: Any
    number: Any
    """Which block it is."""
    which: Any
    """The family."""
    task: Any
    params: Any
    """Of each experience, or one row for all."""
    length: Any


class _Moment(NamedTuple):
    """Where a life stands within a block of episodes."""

    learnt: Learnt | None
    held: Any
    state: Any
    observation: Any
    experience: Any
    clock: Any
    """Steps in this block."""
    steps: Any
    reward: Any
    records: dict[str, Any]


def begin_lives(learner: BatchedLearner) -> Callable[[Any], Learnt]:
    """Makes learners that have not learned anything, from their keys."""
    return jax.vmap(learner.init)


def block_of(
    learner: BatchedLearner, tasks: FamilySwitch, longest: int, limit: int, learning: bool
) -> Callable[..., Any]:
    """The program of a block: `(learnt, spec) -> (learnt, records)`, or, of an evaluation, `-> records`.

    Records have `longest` columns; those beyond a block's length mean nothing.
    """
    live = _batches if tasks.first.is_batches else partial(_episodes, limit=limit)
    run = partial(live, learner, tasks, longest)
    if not learning:

        def evaluate(learnt: Learnt, spec: Spec) -> Any:
            weights = jax.vmap(learner.used)(learnt, spec.task)
            return run(weights, spec, spec.length, None)[1]

        return evaluate

    def learn(learnt: Learnt, spec: Spec) -> tuple[Learnt, Any]:
        keys = _block_keys(spec.learner_key, spec.number)
        learnt = jax.vmap(learner.begin)(learnt, spec.task, _folded(keys, 0))
        moment = None
        if learner.has_halfway:
            learnt, _, moment = run(learnt, spec, (spec.length + 1) // 2, moment)
            learnt = jax.vmap(learner.halfway)(learnt, spec.task, _folded(keys, 1))
        learnt, records, _ = run(learnt, spec, spec.length, moment)
        return jax.vmap(learner.end)(learnt, spec.task, _folded(keys, 2)), records

    return learn


def fingerprints(tree: Any) -> Any:
    """A number for each life that changes with any bit of what it has learned."""

    def one(leaf: Any) -> Any:
        flat = leaf.reshape(leaf.shape[0], -1)
        floating = jnp.issubdtype(flat.dtype, jnp.floating)
        words = jax.lax.bitcast_convert_type(flat, jnp.uint32) if floating else flat.astype(jnp.uint32)
        places = jnp.arange(words.shape[1], dtype=jnp.uint32) * jnp.uint32(2654435761) + jnp.uint32(1)
        return (words * (places | jnp.uint32(1))).sum(axis=1, dtype=jnp.uint32)

    found = [one(leaf) for leaf in jax.tree.leaves(tree)]
    total = found[0]
    for at, leaf in enumerate(found[1:], start=2):
        total = total * jnp.uint32(31) + leaf * jnp.uint32(at)
    return total


def unsound(tree: Any) -> Any:
    """For each life, whether a number of it is none any more."""
    found = [
        ~jnp.isfinite(leaf).reshape(leaf.shape[0], -1).all(axis=1)
        for leaf in jax.tree.leaves(tree)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    ]
    return jnp.stack(found).any(axis=0)


# --- episodes ------------------------------------------------------------------------------------


def _episodes(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    longest: int,
    learnt: Any,
    spec: Spec,
    until: Any,
    moment: Any,
    *,
    limit: int,
) -> tuple[Any, Any, Any]:
    """All lives through their episodes up to `until`; without a `moment` from the beginning of the block.

    An evaluation is given weights, and gives them back as they are: nothing in its program can change them.
    """
    learning = isinstance(learnt, Learnt)
    keys = _block_keys(spec.learner_key, spec.number), _block_keys(spec.environment_key, spec.number)
    if moment is None:
        moment = jax.vmap(partial(_begun, learner, tasks, longest, learning))(learnt, spec, *keys)
    elif learning:
        moment = moment._replace(learnt=learnt)
    step = jax.vmap(partial(_step, learner, tasks, limit, learning))

    def some(moment: _Moment) -> Any:
        return jax.lax.fori_loop(0, _STRIDE, lambda _, now: step(now, learnt_or(now), spec, until, *keys), moment)

    def learnt_or(now: _Moment) -> Any:
        return now.learnt if learning else learnt

    moment = jax.lax.while_loop(lambda now: (now.experience < until).any(), some, moment)
    if not learning:
        return None, moment.records, None
    return moment.learnt, moment.records, moment


def _begun(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    longest: int,
    learning: bool,
    learnt: Any,
    spec: Spec,
    _: Any,
    chance: Any,
) -> _Moment:
    state, observation = tasks.reset(spec.which, _episode_key(chance, 0), spec.params[0])
    records = {"reward": jnp.zeros(longest), "steps": jnp.zeros(longest, int)}
    held = learner.core.held(learnt.weights) if learning else ()
    nothing = jnp.zeros((), int)
    return _Moment(
        learnt if learning else None, held, state, observation, nothing, nothing, nothing, jnp.zeros(()), records
    )


def _step(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    limit: int,
    learning: bool,
    now: _Moment,
    learnt: Any,
    spec: Spec,
    until: Any,
    own: Any,
    chance: Any,
) -> _Moment:
    """One step of one life, which stands still where it has nothing left to do."""
    on = now.experience < until
    last = spec.params.shape[0] - 1
    params = spec.params[jnp.minimum(now.experience, last)] if last else spec.params[0]
    key = under(own, 3 + now.clock)
    weights = learnt.weights if learning else learnt
    action = learner.act(weights, now.observation, key, learning)
    state, seen, reward, terminated, truncated = tasks.step(
        spec.which, under(chance, 1, now.clock), now.state, action, params
    )
    over = terminated | truncated | (now.steps + 1 >= limit)
    held = now.held
    if learning:
        step = BatchedTransition(now.observation, action, reward, seen, terminated)
        learnt, held = learner.learn(learnt, held, step, spec.task, on, under(key, 1))
        held = chosen(over, learner.core.held(learnt.weights), held)
    total = now.reward + reward
    here = (jnp.arange(now.records["reward"].shape[0]) == now.experience) & over & on
    records = {
        "reward": jnp.where(here, total, now.records["reward"]),
        "steps": jnp.where(here, now.steps + 1, now.records["steps"]),
    }
    following = now.experience + over
    ahead = spec.params[jnp.minimum(following, last)] if last else params
    fresh, first = tasks.reset(spec.which, _episode_key(chance, following), ahead)
    after = _Moment(
        None,
        (),
        chosen(over, fresh, state),
        jnp.where(over, first, seen),
        following,
        now.clock + 1,
        jnp.where(over, 0, now.steps + 1),
        jnp.where(over, 0.0, total),
        {},
    )
    still = chosen(on, after, now._replace(learnt=None, held=(), records={}))
    return still._replace(  # type: ignore[no-any-return]
        learnt=learnt if learning else None, held=chosen(on, held, now.held), records=records
    )


def _episode_key(chance: Any, number: Any) -> Any:
    """By the experience's number alone, so that it does not depend on how long those before it were."""
    return under(chance, 0, number)


# --- batches -------------------------------------------------------------------------------------


def _batches(
    learner: BatchedLearner, tasks: FamilySwitch, longest: int, learnt: Any, spec: Spec, until: Any, moment: Any
) -> tuple[Any, Any, Any]:
    """All lives through their batches up to `until`; `moment` is how far each has come, and its records.

    An evaluation is given weights, and gives them back as they are, as with episodes.
    """
    learning = isinstance(learnt, Learnt)
    keys = _block_keys(spec.learner_key, spec.number), _block_keys(spec.environment_key, spec.number)
    since = jnp.zeros_like(until) if moment is None else moment[0]
    records = jnp.zeros((until.shape[0], longest)) if moment is None else moment[1]
    answer: Any = jax.vmap(partial(_answered, learner, tasks, learning), (0, 0, None, 0, 0, 0, 0, 0))

    def learned(number: Any, carried: Any) -> Any:
        return answer(*carried, number, spec, since, until, *keys)

    def evaluated(number: Any, records: Any) -> Any:
        return answer(learnt, records, number, spec, since, until, *keys)[1]

    if not learning:
        return None, {"accuracy": jax.lax.fori_loop(0, until.max(), evaluated, records)}, None
    learnt, records = jax.lax.fori_loop(since.min(), until.max(), learned, (learnt, records))
    return learnt, {"accuracy": records}, (until, records)


def _answered(
    learner: BatchedLearner,
    tasks: FamilySwitch,
    learning: bool,
    learnt: Any,
    records: Any,
    number: Any,
    spec: Spec,
    since: Any,
    until: Any,
    own: Any,
    chance: Any,
) -> tuple[Any, Any]:
    """One batch of one life, answered and, where it learns, learned from."""
    on = (number >= since) & (number < until)
    last = spec.params.shape[0] - 1
    params = spec.params[jnp.minimum(number, last)] if last else spec.params[0]
    inputs, labels = tasks.draw(spec.which, under(chance, number), params, learning)
    key = under(own, 3 + number)
    weights = learnt.weights if learning else learnt
    right = (learner.act(weights, inputs, key, learning) == labels).mean()
    records = jnp.where((jnp.arange(records.shape[0]) == number) & on, right, records)
    if learning:
        held = learner.core.held(weights)
        learnt, _ = learner.learn(learnt, held, LabelledBatch(inputs, labels), spec.task, on, under(key, 1))
    return learnt, records


def _block_keys(words: Any, number: Any) -> Any:
    return jax.vmap(under)(words, number)


def _folded(keys: Any, data: int) -> Any:
    return jax.vmap(lambda key: under(key, data))(keys)
