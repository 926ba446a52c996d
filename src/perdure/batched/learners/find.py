"""The batched learners and the methods of continual learning, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from perdure.batched.learners.interface import BatchedLearner, Method, Setting
from perdure.errors import LearnerError, nearest
from perdure.learners.find import BATCHED, CORES, METHODS


def make_learner(name: str, params: Mapping[str, Any], setting: Setting) -> BatchedLearner:
    """The learner that a protocol names, for tasks of this setting; `method` is one of its parameters."""
    if not name.startswith(BATCHED) and ":" not in name:
        raise LearnerError(
            f"the learner {name!r} runs one lifetime at a time, so the batched engine cannot use it",
            f"{', '.join(BATCHED + one for one in CORES)} can, with method = "
            f"{', '.join(repr(one) for one in METHODS)}; or run it with --engine local",
        )
    known = {BATCHED + one: place for one, place in CORES.items()}
    if name.startswith(BATCHED) and name not in known:
        raise LearnerError(f"unknown learner {name!r}", nearest(name, known))
    maker = _maker(known.get(name, name))
    given = dict(params)
    methods = str(given.pop("method", "naive")).split("+")
    for method in methods:
        if method not in METHODS:
            raise LearnerError(
                f"unknown method {method!r}", f"{nearest(method, METHODS)}; join several by +", where=name
            )
    makers = [_maker(METHODS[method]) for method in methods]
    own: dict[str, Any] = {}
    for one in makers:
        own |= getattr(import_module(one.__module__), "CORE", {})
    core_takes, takes = _taken(maker), [_taken(one) for one in makers]
    for key in given:
        if key not in core_takes and not any(key in one for one in takes):
            offered = dict.fromkeys((*core_takes, *(name for one in takes for name in one), "method"))
            raise LearnerError(f"takes no parameter {key!r}", nearest(key, offered), where=name)
    own = {key: value for key, value in own.items() if key in core_takes}
    try:
        core = maker(setting, **own, **{key: value for key, value in given.items() if key in core_takes})
        made: list[Method] = [
            one(core, setting, **{key: value for key, value in given.items() if key in taken})
            for one, taken in zip(makers, takes, strict=True)
        ]
    except (TypeError, ValueError, KeyError) as problem:
        raise LearnerError(
            f"cannot be made with {dict(params)}: {problem}", "give parameters that it takes", where=name
        ) from problem
    return BatchedLearner(core, tuple(made))


def _maker(place: str) -> Callable[..., Any]:
    module, _, attribute = place.partition(":")
    try:
        found: Callable[..., Any] = getattr(import_module(module), attribute or "make")
    except (ModuleNotFoundError, AttributeError) as problem:
        raise LearnerError(
            f"the learner {place!r} cannot be found: {problem}", "write package.module:maker"
        ) from problem
    return found


def _taken(maker: Callable[..., Any]) -> list[str]:
    return [one.name for one in inspect.signature(maker).parameters.values() if one.kind is one.KEYWORD_ONLY]
