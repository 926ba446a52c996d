"""Finding a learner: by its registered name, or by import path."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from perdure.errors import MissingExtraError, UnknownNameError, nearest
from perdure.learners import batched_names as batched
from perdure.learners.digest import code_digest
from perdure.learners.interface import LearnerError, Maker, SelfLed
from perdure.learners.torch import METHODS
from perdure.learners.torch import __name__ as METHODS_HOME  # noqa: N812
from perdure.registry import Registry

REFERENCE: Mapping[str, str] = {
    "q-learning": "perdure.learners.q_learning:QLearning",
    "q-learning-per-task": "perdure.learners.q_learning:QLearningPerTask",
    "q-learning-independent": "perdure.learners.q_learning:QLearningIndependent",
    "naive": "perdure.learners.classifiers:Naive",
    "replay": "perdure.learners.classifiers:Replay",
    "ewc": "perdure.learners.classifiers:EWC",
    "joint": "perdure.learners.classifiers:Joint",
    "ppo": "perdure.learners.sb3:PPOLearner",
}
"""The learners that come with Perdure, imported when they are asked for."""

_TORCH, _SB3 = "torch:", "sb3:"

LEARNERS: Registry[Maker] = Registry("learner", "perdure.learners")

_DIGESTS: dict[str, tuple[Maker, str]] = {}


def find_learner(name: str) -> Maker:
    """The maker of a learner: a reference learner, a plug-in's, or `package.module:Class`."""
    if name.startswith(batched.PREFIX):
        raise LearnerError(f"{name} runs thousands of lifetimes in one program", "use --engine batched")
    if name.startswith(_TORCH):
        return _of_torch(name)
    if name.startswith(_SB3):
        return _of_sb3(name)
    if ":" in name:
        return _imported(name)
    if name in REFERENCE:
        return _imported(REFERENCE[name])
    try:
        return LEARNERS.get(name)
    except UnknownNameError:
        known = [*REFERENCE, *LEARNERS.names()]
        raise LearnerError(
            f"unknown learner {name!r}", f"{nearest(name, known)} (one of your own is written package.module:Class)"
        ) from None


def find_maker(name: str, params: Mapping[str, Any]) -> Maker:
    """The maker of a learner, which is known to take a seed and these parameters; nothing is made."""
    maker = find_learner(name)
    _check_params(name, maker, params)
    return maker


def make_learner(name: str, seed: int, params: Mapping[str, Any]) -> Any:
    """A new learner; parameters that its maker does not take are refused by name."""
    maker = find_maker(name, params)
    try:
        learner = maker(seed=seed, **params)
    except (TypeError, ValueError) as problem:
        raise LearnerError(
            f"cannot be made with {dict(params) or 'no parameters'} and a seed: {problem}",
            "give parameters that it takes",
            where=name,
        ) from problem
    if not isinstance(learner, SelfLed) and not callable(getattr(learner, "act", None)):
        raise LearnerError(
            f"{type(learner).__name__} has neither act(observation) nor live(life)",
            "give it one of them",
            where=name,
        )
    return learner


def learner_digest(name: str) -> str:
    """Return the digest of a learner's code: of the module of its class or function, and of the module in `name`.

    It is taken when this process first uses the learner. Python imports a module once, so a later edit of the
    file does not change what runs here.
    """
    if name.startswith(batched.PREFIX):
        return code_digest(["perdure"])
    maker = find_learner(name)
    if name not in _DIGESTS or _DIGESTS[name][0] is not maker:
        made_by: Any = maker
        while isinstance(made_by, partial):
            made_by = made_by.func
        named = [name.partition(":")[0]] if ":" in name and not name.startswith((_TORCH, _SB3)) else []
        _DIGESTS[name] = maker, code_digest([str(getattr(made_by, "__module__", "")), *named])
    return _DIGESTS[name][1]


def torch_learners() -> dict[str, str]:
    """The methods in PyTorch by name, each with what it is in one line; nothing of PyTorch is imported."""
    return {
        _TORCH + name: _said(f"{METHODS_HOME}.{path.partition(':')[0].rpartition('.')[2]}")
        for name, path in METHODS.items()
    }


def batched_learners() -> tuple[dict[str, str], dict[str, str]]:
    """The learners of the batched engine and the methods that each takes, with a line each; JAX is not imported."""
    learners = {batched.PREFIX + name: _said(place) for name, place in batched.CORES.items()}
    return learners, {name: _said(place) for name, place in batched.METHODS.items()}


def _said(module: str) -> str:
    """What a module's first line says behind its name, read without importing it."""
    package, _, name = module.rpartition(".")
    source = pkgutil.get_data(package, f"{name}.py") or b""
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].partition(": ")[2]


def _of_torch(name: str) -> Maker:
    method = name.removeprefix(_TORCH)
    if method not in METHODS:
        raise LearnerError(f"unknown learner {name!r}", nearest(method, METHODS))
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "torch", f"the learner {name!r}")
    return _imported(METHODS[method])


def _of_sb3(name: str) -> Maker:
    from perdure.learners.sb3 import SB3Learner, algorithm_called

    algorithm = name.removeprefix(_SB3)
    algorithm_called(algorithm)
    return partial(SB3Learner, algorithm)


def _imported(path: str) -> Maker:
    module, _, attribute = path.partition(":")
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name and (module == problem.name or module.startswith(f"{problem.name}.")):
            raise LearnerError(
                f"there is no module {problem.name!r}",
                "put it beside the protocol or into the current folder, or install it",
                where=path,
            ) from None
        raise
    for part in attribute.split("."):
        if not hasattr(found, part):
            own = _own_classes(found)
            offer = nearest(part, own) if own else "no class is defined there"
            raise LearnerError(f"{module} has no {part!r}", offer, where=path)
        found = getattr(found, part)
    if not callable(found):
        raise LearnerError(
            f"{type(found).__name__} is not callable", "name a class or a function that makes it", where=path
        )
    maker: Maker = found
    return maker


def _own_classes(module: Any) -> list[str]:
    """The classes that a module defines itself; what it imports is no one's learner."""
    home = getattr(module, "__name__", None)
    return [
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == home and not name.startswith("_")
    ]


def _check_params(name: str, maker: Maker, params: Mapping[str, Any]) -> None:
    try:
        taken = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return
    if "seed" not in taken:
        raise LearnerError("takes no 'seed'", "let it take seed=…, so that a lifetime can be repeated", where=name)
    own = [one for one in taken if one != "seed"]
    for key in params:
        if key not in own:
            raise LearnerError(f"takes no parameter {key!r}", nearest(key, own), where=name)
