"""Methods of continual learning for batched learners: changes to how a core's weights are learned. They compose."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from perdure.batched.learners.interface import BatchedTransition, Core, LabelledBatch, Method, Setting
from perdure.batched.tasks.chance import uniform

_EPISODE_STEPS = 50  # assumed mean episode length; a larger buffer would stay unused


def _zeros_like(weights: Any) -> Any:
    return jax.tree.map(jnp.zeros_like, weights)


# --- baselines -----------------------------------------------------------------------------------


def naive(core: Core, setting: Setting) -> Method:  # noqa: ARG001
    """Learn from the current data only, without protection against forgetting."""
    return Method("naive")


def crelu(core: Core, setting: Setting) -> Method:  # noqa: ARG001
    """Use hidden units that output a positive and a negative part, so that none is silent (Abbas et al. 2023)."""
    return Method("crelu")


CORE_PARAMS = {"crelu": {"activation": "crelu"}}
"""Parameters of the core that a method sets, by the method's name."""


def reset(core: Core, setting: Setting, *, part: str = "") -> Method:  # noqa: ARG001
    """Begin every block of learning with fresh weights: it can always learn, and keeps nothing.

    With `part`, only the weights whose name begins with it are reset ("output"; after Nikishin et al. 2022).
    """

    def begin(weights: Any, memory: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        fresh = core.init(key)
        return {name: fresh[name] if name.startswith(part) else leaf for name, leaf in weights.items()}, memory

    return Method("reset", begin=begin)


def shrink_and_perturb(core: Core, setting: Setting, *, shrink: float = 0.8, perturb: float = 0.1) -> Method:  # noqa: ARG001
    """Begin every block of learning with smaller weights and a little chance (Ash and Adams 2020)."""

    def begin(weights: Any, memory: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return jax.tree.map(lambda old, new: shrink * old + perturb * new, weights, core.init(key)), memory

    return Method("shrink-and-perturb", begin=begin)


def separate(core: Core, setting: Setting) -> Method:  # noqa: ARG001
    """Use separate weights for each task, as fresh as an expert's; every metric of it is chance."""

    def init(weights: Any, key: Any) -> Any:  # noqa: ARG001
        return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (setting.tasks, *leaf.shape)), weights)

    def used(weights: Any, stored: Any, task: Any) -> Any:  # noqa: ARG001
        return jax.tree.map(lambda leaf: leaf[task], stored)

    def begin(weights: Any, stored: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return used(weights, stored, task), stored

    def end(weights: Any, stored: Any, task: Any, key: Any) -> tuple[Any, Any]:  # noqa: ARG001
        return weights, jax.tree.map(lambda all_, leaf: all_.at[task].set(leaf), stored, weights)

    return Method("separate", init, used=used, begin=begin, end=end)


# --- replay --------------------------------------------------------------------------------------


class _Buffer(NamedTuple):
    experiences: Any
    """Stored experiences, along the first axis of each leaf."""
    seen: Any
    """The number of experiences seen so far."""


def replay(core: Core, setting: Setting, *, capacity: int | None = None, recalled: int | None = None) -> Method:  # noqa: ARG001
    """Keep a sample of the past, and learn from some of it with everything new.

    It stores `capacity` examples or steps, and recalls `recalled` of them at a time. The sample is uniform over the
    past, by reservoir sampling (Vitter 1985).
    """
    batch = setting.batch
    room = capacity or (500 if batch else 2000)
    batch_size = recalled or (64 if batch else 4)

    def init(weights: Any, key: Any) -> _Buffer:  # noqa: ARG001
        rows, numbers, integers = jnp.zeros((room, setting.observation)), jnp.zeros(room), jnp.zeros(room, int)
        if batch:
            return _Buffer(LabelledBatch(rows, integers), jnp.zeros((), int))
        return _Buffer(BatchedTransition(rows, integers, numbers, rows, jnp.zeros(room, bool)), jnp.zeros((), int))

    def remember(buffer: _Buffer, experience: Any, on: Any, key: Any) -> _Buffer:
        rows = experience if batch else jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], experience)
        count = max(batch, 1)
        number = buffer.seen + jnp.arange(count)
        places = (uniform(key, count) * (number + 1)).astype(int)
        place = jnp.where(number < room, number, places)
        # Of two examples for one place the later is stored, in whatever order a device writes them.
        later = jnp.arange(count)[None, :] > jnp.arange(count)[:, None]
        replaced = ((place[:, None] == place[None, :]) & later).any(axis=1)
        place = jnp.where(on & ~replaced, place, room)

        def stored(old: Any, new: Any) -> Any:
            return old.at[place].set(new.astype(old.dtype), mode="drop")

        return _Buffer(jax.tree.map(stored, buffer.experiences, rows), buffer.seen + on * count)

    def recall(buffer: _Buffer, key: Any) -> tuple[Any, Any]:
        filled = jnp.minimum(buffer.seen, room)
        place = (uniform(key, batch_size) * filled).astype(int)
        sample = jax.tree.map(lambda leaf: leaf[place], buffer.experiences)
        if batch:  # the sample is one batch
            return jax.tree.map(lambda leaf: leaf[None], sample), (filled > 0)[None]
        return sample, jnp.broadcast_to(filled > 0, batch_size)

    return Method("replay", init, remember=remember, recall=recall)


def joint(core: Core, setting: Setting, *, recalled: int | None = None) -> Method:
    """Keep everything, and learn from all of it all the time: an upper baseline, not a lifelong learner."""
    total = setting.experiences * (setting.batch or _EPISODE_STEPS)
    return replay(core, setting, capacity=total, recalled=recalled or (256 if setting.batch else 16))


# --- regularisation ------------------------------------------------------------------------------


def _pulled(push: Any, weights: Any, anchor: Any, importance: Any, strength: float, rate: float) -> Any:
    """Return the push with a pull of each weight to its anchor, in proportion to its importance.

    The step is implicit, so that a strong pull cannot overshoot: push and pull are in balance at its end.
    """

    def pulled(push: Any, weight: Any, rest: Any, importance: Any) -> Any:
        pull = strength * importance
        return (push + pull * (rest - weight)) / (1.0 + rate * pull)

    return jax.tree.map(pulled, push, weights, anchor, importance)


class _EwcPenalty(NamedTuple):
    anchor: Any
    importance: Any
    squares: Any
    """Sum of the squared pushes of the current block."""
    count: Any
    """The number of pushes in the current block."""


def ewc(core: Core, setting: Setting, *, strength: float | None = None, decay: float = 0.9) -> Method:
    """Hold the weights that earlier tasks needed (elastic weight consolidation, Kirkpatrick et al. 2017).

    This is the online form of Schwarz et al. 2018. The importance of a weight for a task is its mean squared push
    while the task was learned. There is one anchor and one importance per weight for any number of tasks, as in the
    learner of the local engine.
    """
    # A push is the mean over a batch, so its square is smaller than those of single examples by the batch size.
    strength = 50.0 * max(setting.batch, 20) if strength is None else strength

    def init(weights: Any, key: Any) -> _EwcPenalty:  # noqa: ARG001
        zeros = _zeros_like(weights)
        return _EwcPenalty(weights, zeros, zeros, jnp.zeros(()))

    def bend(push: Any, weights: Any, penalty: _EwcPenalty, task: Any, on: Any) -> tuple[Any, _EwcPenalty]:  # noqa: ARG001
        squares = jax.tree.map(lambda old, new: jnp.where(on, old + new**2, old), penalty.squares, push)
        bent = _pulled(push, weights, penalty.anchor, penalty.importance, strength, core.rate)
        return bent, penalty._replace(squares=squares, count=penalty.count + on)

    def end(weights: Any, penalty: _EwcPenalty, task: Any, key: Any) -> tuple[Any, _EwcPenalty]:  # noqa: ARG001
        count = jnp.maximum(penalty.count, 1.0)
        importance = jax.tree.map(lambda old, new: decay * old + new / count, penalty.importance, penalty.squares)
        return weights, _EwcPenalty(weights, importance, _zeros_like(weights), jnp.zeros(()))

    return Method("ewc", init, bend=bend, end=end)


class _SiPath(NamedTuple):
    anchor: Any
    importance: Any
    gained: Any
    """The gain of each weight's movement through the current block."""


def si(core: Core, setting: Setting, *, strength: float = 1.0, damping: float = 0.1) -> Method:  # noqa: ARG001
    """Hold the weights whose movement has paid (synaptic intelligence, Zenke, Poole and Ganguli 2017).

    The importance of a weight is the gain of its movement, divided by the squared distance.
    """

    def init(weights: Any, key: Any) -> _SiPath:  # noqa: ARG001
        zeros = _zeros_like(weights)
        return _SiPath(weights, zeros, zeros)

    def bend(push: Any, weights: Any, path: _SiPath, task: Any, on: Any) -> tuple[Any, _SiPath]:  # noqa: ARG001
        def gain(old: Any, push: Any, moved: Any) -> Any:
            return jnp.where(on, old + push * core.rate * moved, old)

        bent = _pulled(push, weights, path.anchor, path.importance, 2 * strength, core.rate)
        return bent, path._replace(gained=jax.tree.map(gain, path.gained, push, bent))

    def end(weights: Any, path: _SiPath, task: Any, key: Any) -> tuple[Any, _SiPath]:  # noqa: ARG001
        def added(old: Any, gained: Any, weight: Any, anchor: Any) -> Any:
            return old + jnp.maximum(gained, 0.0) / ((weight - anchor) ** 2 + damping)

        importance = jax.tree.map(added, path.importance, path.gained, weights, path.anchor)
        return weights, _SiPath(weights, importance, _zeros_like(weights))

    return Method("si", init, bend=bend, end=end)


# --- packnet -------------------------------------------------------------------------------------


class _Packed(NamedTuple):
    kept: Any
    """All weights that belong to a task."""
    owner: Any
    """The number of each weight's task, from 1; 0 for a free weight."""
    numbers: Any
    """The number of each task; 0 for a task that was not learned yet."""
    current: Any
    """The number of the current task."""
    pruned: Any
    """True once the current task has its weights."""


def packnet(core: Core, setting: Setting, *, keep: float = 0.5) -> Method:
    """Give each task weights in one network that no later task changes (Mallya and Lazebnik 2018).

    Half-way through a new task the larger `keep` of the free weights become its own, the others are freed, and the
    task is learned on with its own. A task is answered with its weights and those of the tasks before it.
    """

    def init(weights: Any, key: Any) -> _Packed:  # noqa: ARG001
        free = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, jnp.int8), weights)
        return _Packed(
            _zeros_like(weights), free, jnp.zeros(setting.tasks, int), jnp.zeros((), int), jnp.zeros((), bool)
        )

    def used(weights: Any, packed: _Packed, task: Any) -> Any:
        number = packed.numbers[task]
        last = jnp.where(number > 0, number, packed.numbers.max())  # a task that was never learned has all weights
        first = packed.numbers.max() == 0

        def usable(fresh: Any, stored: Any, owner: Any) -> Any:
            return jnp.where(first, fresh, jnp.where((owner > 0) & (owner <= last), stored, 0.0))

        return jax.tree.map(usable, weights, packed.kept, packed.owner)

    def begin(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:
        number = packed.numbers[task]
        new = number == 0
        current = jnp.where(new, packed.numbers.max() + 1, number)
        first = packed.numbers.max() == 0

        def begun(stored: Any, owner: Any, weight: Any, initial: Any) -> Any:
            free = jnp.where(first, weight, initial)
            return jnp.where((owner > 0) & (owner <= current), stored, jnp.where((owner == 0) & new, free, 0.0))

        return (
            jax.tree.map(begun, packed.kept, packed.owner, weights, core.init(key)),
            packed._replace(numbers=packed.numbers.at[task].set(current), current=current, pruned=~new),
        )

    def bend(push: Any, weights: Any, packed: _Packed, task: Any, on: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        def free(leaf: Any, owner: Any) -> Any:
            return jnp.where((owner == packed.current) | ((owner == 0) & ~packed.pruned), leaf, 0.0)

        return jax.tree.map(free, push, packed.owner), packed

    def halfway(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        def taken(weight: Any, owner: Any) -> Any:
            free = owner == 0
            size = jnp.where(free, jnp.abs(weight), -1.0).reshape(-1)
            wanted = (keep * free.sum()).astype(int)
            least = jnp.sort(size)[::-1][jnp.maximum(wanted - 1, 0)]
            selected = free & (jnp.abs(weight) >= least) & (jnp.abs(weight) > 0) & (wanted > 0)
            return jnp.where(selected & ~packed.pruned, packed.current, owner).astype(owner.dtype)

        owner = jax.tree.map(taken, weights, packed.owner)
        left = jax.tree.map(lambda weight, number: jnp.where(number > 0, weight, 0.0), weights, owner)
        return left, packed._replace(owner=owner, pruned=jnp.ones((), bool))

    def end(weights: Any, packed: _Packed, task: Any, key: Any) -> tuple[Any, _Packed]:  # noqa: ARG001
        def stored(old: Any, weight: Any, owner: Any) -> Any:
            return jnp.where(owner == packed.current, weight, old)

        return weights, packed._replace(kept=jax.tree.map(stored, packed.kept, weights, packed.owner))

    return Method("packnet", init, used=used, begin=begin, bend=bend, halfway=halfway, end=end)
