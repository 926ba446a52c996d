"""Batched learners: `init`, `act` and `learn` over trees of arrays, made of a core and of methods.

A *core* answers, and computes the direction in which an experience pushes its weights. A *method* of continual learning
changes that push, keeps a memory, and may change weights and memory when a block begins or ends. `BatchedLearner`
combines one core with any number of methods.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from msgspec import Struct

from perdure.batched.tasks.chance import under

Tree = Any
Key = Any


class BatchedTransition(NamedTuple):
    """One step of an episode."""

    observation: Any
    action: Any
    reward: Any
    following: Any
    terminated: Any


class LabelledBatch(NamedTuple):
    """A batch, once its labels were told."""

    inputs: Any
    labels: Any


class Setting(NamedTuple):
    """What a learner is made for."""

    tasks: int
    """How many task variants there are."""
    observation: int
    """How long an observation is, or an example."""
    outputs: int
    """How many actions there are, or classes."""
    batch: int = 0
    """Examples in a batch; 0 where it is lived in episodes."""
    experiences: int = 0
    """How many experiences a life learns from, at most."""


class Core(Struct, frozen=True):
    """How weights begin, what they answer, and which way an experience pushes them.

    `push` may carry something along within an episode, such as a trace, which begins as `held`. `again` is the push
    of an experience that is recalled, outside of any episode. Weights go by `rate` along a push.
    """

    init: Callable[[Key], Tree]
    act: Callable[[Tree, Any, Key, bool], Any]
    """Weights, observation, key, and whether to explore."""
    push: Callable[[Tree, Tree, Any], tuple[Tree, Tree]]
    """Weights, what is held, experience; the direction, and what is held then."""
    again: Callable[[Tree, Any], Tree]
    rate: float
    held: Callable[[Tree], Tree] = lambda _: ()
    repeats: int = 1
    """How often each experience is learned from."""


def _same(weights: Tree, memory: Tree, task: Any, key: Key) -> tuple[Tree, Tree]:  # noqa: ARG001
    return weights, memory


def _unbent(push: Tree, weights: Tree, memory: Tree, task: Any, on: Any) -> tuple[Tree, Tree]:  # noqa: ARG001
    return push, memory


class Method(Struct, frozen=True):
    """What continual learning does beside learning; every part that is left out changes nothing."""

    name: str
    init: Callable[[Tree, Key], Tree] = lambda _weights, _key: ()
    """What it keeps, from the first weights."""
    used: Callable[[Tree, Tree, Any], Tree] = lambda weights, _memory, _task: weights
    """The weights that answer for a task in an evaluation."""
    begin: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] = _same
    """Weights and memory as a block of learning begins with them."""
    bend: Callable[[Tree, Tree, Tree, Any, Any], tuple[Tree, Tree]] = _unbent
    """A push, weights, memory, task, and whether this life is still learning (else nothing may change)."""
    halfway: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] | None = None
    """Weights and memory as the second half of a block of learning begins with them."""
    end: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] = _same
    """Weights and memory as a block of learning leaves them."""
    remember: Callable[[Tree, Any, Any, Key], Tree] | None = None
    """Memory, experience, whether this life is still learning, key."""
    recall: Callable[[Tree, Key], tuple[Any, Any]] | None = None
    """Experiences, one behind the other, and whether each is one."""


class Learnt(NamedTuple):
    """All that a learner is between two blocks."""

    weights: Tree
    memories: tuple[Tree, ...]


class BatchedLearner(Struct, frozen=True):
    """A core and its methods, as one thing to be lived by."""

    core: Core
    methods: tuple[Method, ...] = ()

    def init(self, key: Key) -> Learnt:
        """A learner that has not learned anything."""
        weights = self.core.init(under(key, 0))
        keys = [under(key, 1 + at) for at in range(len(self.methods))]
        return Learnt(weights, tuple(one.init(weights, key) for one, key in zip(self.methods, keys, strict=True)))

    def used(self, learnt: Learnt, task: Any) -> Tree:
        """The weights that answer for a task in an evaluation."""
        weights = learnt.weights
        for one, memory in zip(self.methods, learnt.memories, strict=True):
            weights = one.used(weights, memory, task)
        return weights

    def begin(self, learnt: Learnt, task: Any, key: Key) -> Learnt:
        """As a block of learning begins."""
        return self._turned([one.begin for one in self.methods], learnt, task, key)

    def halfway(self, learnt: Learnt, task: Any, key: Key) -> Learnt:
        """As the second half of a block of learning begins."""
        return self._turned([one.halfway or _same for one in self.methods], learnt, task, key)

    @property
    def has_halfway(self) -> bool:
        """Whether the middle of a block means anything to it."""
        return any(one.halfway is not None for one in self.methods)

    def end(self, learnt: Learnt, task: Any, key: Key) -> Learnt:
        """As a block of learning ends."""
        return self._turned([one.end for one in self.methods], learnt, task, key)

    def act(self, weights: Tree, observation: Any, key: Key, exploring: bool) -> Any:
        """An action, or a class for each example."""
        return self.core.act(weights, observation, key, exploring)

    def learn(self, learnt: Learnt, held: Tree, experience: Any, task: Any, on: Any, key: Key) -> tuple[Learnt, Tree]:
        """Learn from an experience where `on`, else stay exactly as it is."""
        core = self.core
        for turn in range(core.repeats):
            push, held = core.push(learnt.weights, held, experience)
            memories = []
            for at, (one, memory) in enumerate(zip(self.methods, learnt.memories, strict=True)):
                if one.recall is not None:
                    recalled, known = one.recall(memory, under(key, 8 * at + 2 * turn))
                    push = _with_recalled(core, learnt.weights, push, recalled, known)
                push, kept = one.bend(push, learnt.weights, memory, task, on)
                memories.append(kept)
            weights = jax.tree.map(lambda w, p: jnp.where(on, w + core.rate * p, w), learnt.weights, push)
            learnt = Learnt(weights, tuple(memories))
        memories = [
            memory if one.remember is None else one.remember(memory, experience, on, under(key, 8 * at + 1))
            for at, (one, memory) in enumerate(zip(self.methods, learnt.memories, strict=True))
        ]
        return Learnt(learnt.weights, tuple(memories)), held  # what is held is the caller's to keep or to let go

    def _turned(self, hooks: list[Any], learnt: Learnt, task: Any, key: Key) -> Learnt:
        weights, memories = learnt.weights, []
        for at, (hook, memory) in enumerate(zip(hooks, learnt.memories, strict=True)):
            weights, kept = hook(weights, memory, task, under(key, at))
            memories.append(kept)
        return Learnt(weights, tuple(memories))


def chosen(condition: Any, yes: Tree, no: Tree) -> Tree:
    """The one tree or the other, whole."""
    return jax.tree.map(lambda one, other: jnp.where(condition, one, other), yes, no)


def _with_recalled(core: Core, weights: Tree, push: Tree, recalled: Any, known: Any) -> Tree:
    """The push, and the mean push of what is recalled beside it."""
    pushes = jax.vmap(core.again, (None, 0))(weights, recalled)
    count = jnp.maximum(known.sum(), 1)

    def mean(one: Any) -> Any:
        return jnp.where(known.reshape((-1,) + (1,) * (one.ndim - 1)), one, 0).sum(axis=0) / count

    return jax.tree.map(lambda own, others: own + mean(others), push, pushes)
