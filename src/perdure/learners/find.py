"""Find a learner by its registered name or by its import path."""

from __future__ import annotations

import ast
import inspect
import pkgutil
from collections.abc import Mapping
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from perdure.errors import LearnerError, MissingExtraError, UnknownNameError, nearest
from perdure.learners.digest import code_digest
from perdure.learners.interface import Maker, SelfLed
from perdure.learners.torch import METHODS as TORCH_METHODS
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
"""The learners that come with Perdure, imported on demand."""

BATCHED = "batched:"
CORES: Mapping[str, str] = {
    name: f"perdure.batched.learners.cores:{name.replace('-', '_')}" for name in ("q", "actor-critic", "softmax")
}
"""The function of each learner `batched:NAME`."""

METHODS: Mapping[str, str] = {
    name: f"perdure.batched.learners.methods:{name.replace('-', '_')}"
    for name in ("naive", "separate", "ewc", "si", "replay", "packnet", "crelu", "reset", "shrink-and-perturb", "joint")
}
"""The function of each method that batched learners take; several are joined by `+`."""

_TORCH, _SB3, _PPO = "torch:", "sb3:", "ppo"
_TORCH_MODULE = "perdure.learners.torch.methods"

LEARNERS: Registry[Maker] = Registry("learner", "perdure.learners")

_DIGESTS: dict[str, tuple[Maker, str]] = {}


def find_learner(name: str) -> Maker:
    """Return the maker of a learner: a reference learner, a plug-in, or `package.module:Class`."""
    if name.startswith(BATCHED):
        raise LearnerError(f"{name} runs thousands of lifetimes in one program", "use --engine batched")
    if name.startswith(_TORCH):
        return _of_torch(name)
    if name.startswith(_SB3):
        return _of_sb3(name)
    if ":" in name:
        return _import(name)
    if name in REFERENCE:
        return _import(REFERENCE[name])
    try:
        return LEARNERS.get(name)
    except UnknownNameError:
        known = [*REFERENCE, *LEARNERS.names()]
        raise LearnerError(
            f"unknown learner {name!r}", f"{nearest(name, known)} (one of your own is written package.module:Class)"
        ) from None


def find_maker(name: str, params: Mapping[str, Any]) -> Maker:
    """Return the maker of a learner, after checking that it takes a seed and these parameters."""
    if name == _PPO and find_spec("stable_baselines3") is None:
        raise MissingExtraError("stable_baselines3", "sb3", f"the learner {name!r}")
    maker = find_learner(name)
    _check_params(name, maker, params)
    return maker


def make_learner(name: str, seed: int, params: Mapping[str, Any]) -> Any:
    """Make a learner. Raise LearnerError, with the name, if its maker does not take a parameter."""
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
    if name.startswith(BATCHED):
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
    """Return the PyTorch learners, each with one line about it, without importing PyTorch."""
    lines = _first_lines(_TORCH_MODULE)
    return {_TORCH + name: lines[class_name] for name, class_name in TORCH_METHODS.items()}


def batched_learners() -> tuple[dict[str, str], dict[str, str]]:
    """Return the batched learners and the methods that they take, each with one line, without importing JAX."""

    def line(place: str) -> str:
        module, _, function = place.partition(":")
        return _first_lines(module)[function]

    return {BATCHED + name: line(place) for name, place in CORES.items()}, {
        name: line(place) for name, place in METHODS.items()
    }


@cache
def _first_lines(module: str) -> dict[str, str]:
    """Return the first line of the docstring of each class and function of a module, without importing it."""
    package, _, name = module.rpartition(".")
    return {
        node.name: (ast.get_docstring(node) or "").partition("\n")[0]
        for node in ast.parse(pkgutil.get_data(package, f"{name}.py") or b"").body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }


def _of_torch(name: str) -> Maker:
    method = name.removeprefix(_TORCH)
    if method not in TORCH_METHODS:
        raise LearnerError(f"unknown learner {name!r}", nearest(method, TORCH_METHODS))
    if find_spec("torch") is None:
        raise MissingExtraError("torch", "torch", f"the learner {name!r}")
    return _import(f"{_TORCH_MODULE}:{TORCH_METHODS[method]}")


def _of_sb3(name: str) -> Maker:
    from perdure.learners.sb3 import SB3Learner, algorithm_called

    algorithm = name.removeprefix(_SB3)
    algorithm_called(algorithm)
    return partial(SB3Learner, algorithm)


def _import(path: str) -> Maker:
    module, _, attribute = path.partition(":")
    try:
        target: Any = import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name and (module == problem.name or module.startswith(f"{problem.name}.")):
            raise LearnerError(
                f"there is no module {problem.name!r}",
                "put it beside the protocol or into the current folder, or install it",
                where=path,
            ) from None
        raise
    for part in attribute.split("."):
        if not hasattr(target, part):
            home = getattr(target, "__name__", None)
            names = [
                name
                for name, value in vars(target).items()
                if isinstance(value, type) and value.__module__ == home and not name.startswith("_")
            ]
            offer = nearest(part, names) if names else "no class is defined there"
            raise LearnerError(f"{module} has no {part!r}", offer, where=path)
        target = getattr(target, part)
    if not callable(target):
        raise LearnerError(
            f"{type(target).__name__} is not callable", "name a class or a function that makes it", where=path
        )
    maker: Maker = target
    return maker


def _check_params(name: str, maker: Maker, params: Mapping[str, Any]) -> None:
    try:
        parameters = inspect.signature(maker).parameters
    except (TypeError, ValueError):
        return
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    if "seed" not in parameters:
        raise LearnerError("takes no 'seed'", "let it take seed=…, so that a lifetime can be repeated", where=name)
    names = [parameter for parameter in parameters if parameter != "seed"]
    for key in params:
        if key not in names:
            raise LearnerError(f"takes no parameter {key!r}", nearest(key, names), where=name)
