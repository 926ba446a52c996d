"""Batched learners: `init`, `act` and `learn` over trees of arrays, made of a core and of methods.

A *core* answers, and computes the direction in which an experience pushes its weights. A *method* of continual learning
changes that push, keeps a memory, and may change weights and memory when a block begins or ends. `BatchedLearner`
combines one core with any number of methods.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from msgspec import Struct

from perdure.batched.tasks.chance import under
from perdure.errors import LearnerError, nearest
from perdure.learners.find import BATCHED, CORES, METHODS

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
    """A batch of examples with their labels."""

    inputs: Any
    labels: Any


class Setting(NamedTuple):
    """The sizes that a learner is made for."""

    tasks: int
    """The number of task variants."""
    observation: int
    """The length of an observation, or of an example."""
    outputs: int
    """The number of actions, or of classes."""
    batch: int = 0
    """Examples in a batch; 0 for tasks in episodes."""
    experiences: int = 0
    """The most experiences that a lifetime learns from."""


class Core(Struct, frozen=True):
    """Initial weights, answers, and the direction in which an experience pushes the weights.

    `push` may carry a trace through an episode, which begins as `empty_trace`. `replayed` is the push of an experience
    that a method recalls, outside of any episode. Weights move by `rate` along a push.
    """

    init: Callable[[Key], Tree]
    act: Callable[[Tree, Any, Key, bool], Any]
    """From weights, observation, key, and whether to explore, to an action."""
    push: Callable[[Tree, Tree, Any], tuple[Tree, Tree]]
    """From weights, trace and experience to the direction and the next trace."""
    replayed: Callable[[Tree, Any], Tree]
    rate: float
    empty_trace: Callable[[Tree], Tree] = lambda _: ()
    repeats: int = 1
    """The number of times that each experience is learned from."""


def _unchanged(weights: Tree, memory: Tree, task: Any, key: Key) -> tuple[Tree, Tree]:  # noqa: ARG001
    return weights, memory


def _unbent(push: Tree, weights: Tree, memory: Tree, task: Any, on: Any) -> tuple[Tree, Tree]:  # noqa: ARG001
    return push, memory


class Method(Struct, frozen=True):
    """A method of continual learning; every part that is left out changes nothing."""

    name: str
    init: Callable[[Tree, Key], Tree] = lambda _weights, _key: ()
    """From the first weights to its memory."""
    used: Callable[[Tree, Tree, Any], Tree] = lambda weights, _memory, _task: weights
    """From weights, memory and task to the weights that answer in an evaluation."""
    begin: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] = _unchanged
    """Weights and memory at the beginning of a block of learning."""
    bend: Callable[[Tree, Tree, Tree, Any, Any], tuple[Tree, Tree]] = _unbent
    """From push, weights, memory, task and `on` to push and memory. If `on` is false, nothing may change."""
    halfway: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] | None = None
    """Weights and memory at the middle of a block of learning."""
    end: Callable[[Tree, Tree, Any, Key], tuple[Tree, Tree]] = _unchanged
    """Weights and memory at the end of a block of learning."""
    remember: Callable[[Tree, Any, Any, Key], Tree] | None = None
    """From memory, experience, `on` and key to the memory."""
    recall: Callable[[Tree, Key], tuple[Any, Any]] | None = None
    """From memory and key to experiences along the first axis, and whether each is valid."""


class LearnerState(NamedTuple):
    """The state of a learner between two blocks."""

    weights: Tree
    memories: tuple[Tree, ...]


class BatchedLearner(Struct, frozen=True):
    """A core and its methods."""

    core: Core
    methods: tuple[Method, ...] = ()

    def init(self, key: Key) -> LearnerState:
        """Return a learner that has not learned anything."""
        weights = self.core.init(under(key, 0))
        memories = [method.init(weights, under(key, 1 + index)) for index, method in enumerate(self.methods)]
        return LearnerState(weights, tuple(memories))

    def used(self, state: LearnerState, task: Any) -> Tree:
        """Return the weights that answer for a task in an evaluation."""
        weights = state.weights
        for method, memory in zip(self.methods, state.memories, strict=True):
            weights = method.used(weights, memory, task)
        return weights

    def begin(self, state: LearnerState, task: Any, key: Key) -> LearnerState:
        """Return the state at the beginning of a block of learning."""
        return self._after([method.begin for method in self.methods], state, task, key)

    def halfway(self, state: LearnerState, task: Any, key: Key) -> LearnerState:
        """Return the state at the middle of a block of learning."""
        return self._after([method.halfway or _unchanged for method in self.methods], state, task, key)

    @property
    def has_halfway(self) -> bool:
        """True if a method does something at the middle of a block."""
        return any(method.halfway is not None for method in self.methods)

    def end(self, state: LearnerState, task: Any, key: Key) -> LearnerState:
        """Return the state at the end of a block of learning."""
        return self._after([method.end for method in self.methods], state, task, key)

    def act(self, weights: Tree, observation: Any, key: Key, exploring: bool) -> Any:
        """Return an action, or a class for each example."""
        return self.core.act(weights, observation, key, exploring)

    def learn(
        self, state: LearnerState, trace: Tree, experience: Any, task: Any, on: Any, key: Key
    ) -> tuple[LearnerState, Tree]:
        """Learn from an experience if `on`, else return the same state; the caller decides about the trace."""
        core = self.core
        for turn in range(core.repeats):
            push, trace = core.push(state.weights, trace, experience)
            memories = []
            for index, (method, memory) in enumerate(zip(self.methods, state.memories, strict=True)):
                if method.recall is not None:
                    recalled, valid = method.recall(memory, under(key, 8 * index + 2 * turn))
                    push = _with_recalled(core, state.weights, push, recalled, valid)
                push, memory = method.bend(push, state.weights, memory, task, on)  # noqa: PLW2901
                memories.append(memory)
            weights = jax.tree.map(lambda w, p: jnp.where(on, w + core.rate * p, w), state.weights, push)
            state = LearnerState(weights, tuple(memories))
        memories = [
            memory if method.remember is None else method.remember(memory, experience, on, under(key, 8 * index + 1))
            for index, (method, memory) in enumerate(zip(self.methods, state.memories, strict=True))
        ]
        return LearnerState(state.weights, tuple(memories)), trace

    def _after(self, hooks: list[Any], state: LearnerState, task: Any, key: Key) -> LearnerState:
        weights, memories = state.weights, []
        for index, (hook, memory) in enumerate(zip(hooks, state.memories, strict=True)):
            weights, memory = hook(weights, memory, task, under(key, index))  # noqa: PLW2901
            memories.append(memory)
        return LearnerState(weights, tuple(memories))


def chosen(condition: Any, yes: Tree, no: Tree) -> Tree:
    """Return one of two trees."""
    return jax.tree.map(lambda left, right: jnp.where(condition, left, right), yes, no)


def _with_recalled(core: Core, weights: Tree, push: Tree, recalled: Any, valid: Any) -> Tree:
    """Add the mean push of the valid recalled experiences to the push."""
    pushes = jax.vmap(core.replayed, (None, 0))(weights, recalled)
    count = jnp.maximum(valid.sum(), 1)

    def mean(leaf: Any) -> Any:
        return jnp.where(valid.reshape((-1,) + (1,) * (leaf.ndim - 1)), leaf, 0).sum(axis=0) / count

    return jax.tree.map(lambda gradient, others: gradient + mean(others), push, pushes)


def make_learner(name: str, params: Mapping[str, Any], setting: Setting) -> BatchedLearner:
    """Return the learner that a protocol names, for tasks of this setting; `method` is one of its parameters."""
    if not name.startswith(BATCHED) and ":" not in name:
        raise LearnerError(
            f"the learner {name!r} runs one lifetime at a time, so the batched engine cannot use it",
            f"{', '.join(BATCHED + core for core in CORES)} can, with method = "
            f"{', '.join(repr(method) for method in METHODS)}; or run it with --engine local",
        )
    known = {BATCHED + core: place for core, place in CORES.items()}
    if name.startswith(BATCHED) and name not in known:
        raise LearnerError(f"unknown learner {name!r}", nearest(name, known))
    make_core = _maker(known.get(name, name))
    settings = dict(params)
    methods = str(settings.pop("method", "naive")).split("+")
    for method in methods:
        if method not in METHODS:
            raise LearnerError(
                f"unknown method {method!r}", f"{nearest(method, METHODS)}; join several by +", where=name
            )
    makers = [_maker(METHODS[method]) for method in methods]
    core_takes, takes = _parameters(make_core), [_parameters(maker) for maker in makers]
    offered = dict.fromkeys((*core_takes, *(parameter for names in takes for parameter in names), "method"))
    for key in settings:
        if key not in offered:
            raise LearnerError(f"takes no parameter {key!r}", nearest(key, offered), where=name)
    core_params = {key: value for method in methods for key, value in _core_params(method).items() if key in core_takes}
    core_params |= {key: value for key, value in settings.items() if key in core_takes}
    try:
        core = make_core(setting, **core_params)
        parts: list[Method] = [
            maker(core, setting, **{key: value for key, value in settings.items() if key in names})
            for maker, names in zip(makers, takes, strict=True)
        ]
    except (TypeError, ValueError, KeyError) as problem:
        raise LearnerError(
            f"cannot be made with {dict(params)}: {problem}", "give parameters that it takes", where=name
        ) from problem
    return BatchedLearner(core, tuple(parts))


def _core_params(method: str) -> Mapping[str, Any]:
    from perdure.batched.learners.methods import CORE_PARAMS

    return CORE_PARAMS.get(method, {})


def _maker(place: str) -> Callable[..., Any]:
    module, _, attribute = place.partition(":")
    try:
        maker: Callable[..., Any] = getattr(import_module(module), attribute or "make")
    except (ModuleNotFoundError, AttributeError) as problem:
        raise LearnerError(
            f"the learner {place!r} cannot be found: {problem}", "write package.module:maker"
        ) from problem
    return maker


def _parameters(maker: Callable[..., Any]) -> list[str]:
    return [
        parameter.name
        for parameter in inspect.signature(maker).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
