"""The registered tasks, and the kind of task that a name means.

The `env` of a task in a syllabus, or else the task's name, is looked up in this order:

    "Pong"                                              registered, in any case
    "my_package.my_tasks:TASK"                          an import path of a task, or of an environment
    "MiniGrid-DoorKey-5x5-v0", "ale_py:ALE/Pong-v5"     a Gymnasium id, with the module that registers it if needed
    "CartPole-v1 | gymnasium.wrappers:FlattenObservation"   any of these, wrapped, from left to right
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from perdure.errors import MissingExtraError, PerdureError, TaskError, UnknownNameError, closest, nearest
from perdure.scenario.model import Task
from perdure.tasks.arcade import GAMES, ArcadeTask
from perdure.tasks.digits import PAIRS
from perdure.tasks.interface import TASKS, BatchTask, EpisodeTask, TaskKind, settled
from perdure.tasks.minigrid import EmptyRoom
from perdure.tasks.streams import Gaussians, drawn_digits, sklearn_digits

# Gymnasium ids that an extra brings; importing the module registers them.
_BROUGHT_BY = {"MiniGrid-": ("minigrid", "minigrid"), "BabyAI-": ("minigrid", "minigrid")}


def task_kind(task: Task) -> TaskKind:
    """Return the kind of a scenario's task, by its `env`, else by its name."""
    return kind_named(task.env or task.name)


def check_params(kind: TaskKind, label: str, params: Mapping[str, Any]) -> None:
    """Refuse parameters that a task does not take, as far as this can be checked without making it."""
    from perdure.tasks.gymnasium import GymnasiumTask, Wrapped

    bare = kind.kind if isinstance(kind, Wrapped) else kind
    if bare.parameters is not None:
        if isinstance(bare, BatchTask):
            from perdure.tasks.datasets import taken_by

            bare.info(settled(taken_by(bare.parameters), params, label))
        else:
            settled(bare.parameters, params, label)
    elif isinstance(bare, GymnasiumTask):
        bare.keywords_for(params)


@cache
def kind_named(text: str) -> TaskKind:
    """Return the kind that `text` names; wrappers follow it, each after a bar."""
    name, *wrappers = (part.strip() for part in text.split("|"))
    kind = _bare_kind(name)
    if not wrappers:
        return kind
    if not isinstance(kind, EpisodeTask):
        raise TaskError(
            f"{name!r} comes in batches, and wrappers are for environments", "remove them", where=repr(text)
        )
    from perdure.tasks.gymnasium import Wrapped

    return Wrapped(kind, tuple(imported(wrapper, "the wrapper") for wrapper in wrappers), text)


def _bare_kind(name: str) -> TaskKind:
    registered = {name.lower(): name for name in TASKS.names()}
    if name.lower() in registered:
        return kind_of(TASKS.get(registered[name.lower()]), name.lower())
    module, colon, rest = name.partition(":")
    if not colon:
        return _of_gymnasium(name)
    if "/" in rest or rest.rpartition("-v")[2].isdigit():  # Gymnasium's own way: module:Id-v0
        _module(module, name, "the environment")
        return _of_gymnasium(rest)
    return kind_of(imported(name, "the task"), name)


def kind_of(task: Any, name: str | None = None) -> TaskKind:
    """Return `task` if it is a task, or the task of an environment's class."""
    import gymnasium

    if isinstance(task, type) and issubclass(task, gymnasium.Env):
        from perdure.tasks.gymnasium import GymnasiumTask

        return GymnasiumTask.of_class(name or task.__name__, task)
    try:
        instance = task() if isinstance(task, type) else task
    except Exception as problem:  # a custom class may raise anything; name it
        raise TaskError(
            f"the task {name or task!r} cannot be made: {type(problem).__name__}: {problem}", "repair its class"
        ) from problem
    if isinstance(instance, EpisodeTask | BatchTask):
        return instance
    wanted = "make and get_episode_log_info, or examples, info and get_batch_log_info"
    raise TaskError(
        f"{name or task!r} is {type(instance).__name__}, neither a gymnasium.Env class nor a task "
        f"(name, summary, measures, parameters; {wanted})",
        "see docs/how-to/connect-your-own-task.md",
    )


def imported(path: str, noun: str) -> Any:
    """Return the object at `module:name` (or `module.name`)."""
    module_name, _, attribute = path.partition(":") if ":" in path else path.rpartition(".")
    module = _module(module_name, path, noun)
    try:
        return getattr(module, attribute)
    except AttributeError:
        classes = [name for name, value in vars(module).items() if not name.startswith("_") and _is_own(value, module)]
        offer = nearest(attribute, classes) if classes else "no class and no task is defined there"
        raise TaskError(f"{module_name} has no {attribute!r}", offer, where=f"{noun} {path!r}") from None


def _is_own(value: Any, module: ModuleType) -> bool:
    if isinstance(value, type):
        return value.__module__ == module.__name__
    return isinstance(value, EpisodeTask | BatchTask)


def _module(name: str, path: str, noun: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and not name.startswith(problem.name):
            raise TaskError(
                f"{name} itself imports {problem.name}, which is absent", "install it", where=f"{noun} {path!r}"
            ) from None
        raise TaskError(
            f"there is no module {name!r} (looked in {len(sys.path)} places of sys.path)",
            "write module:name, and install the module or set PYTHONPATH",
            where=f"{noun} {path!r}",
        ) from None
    except ValueError:
        raise TaskError(f"{noun} {path!r} is no import path", "write module:name") from None


def _of_gymnasium(name: str) -> TaskKind:
    import gymnasium

    from perdure.tasks.gymnasium import GymnasiumTask
    from perdure.tasks.minigrid import SPELLINGS

    for prefix, (module, extra) in _BROUGHT_BY.items():
        if name.lower().startswith(prefix.lower()):
            if find_spec(module) is None:
                raise MissingExtraError(module, extra, f"the environment {name!r}")
            import_module(module)
    folded = {name.lower(): name for name in gymnasium.registry}
    if name.lower() not in folded:
        raise _unknown(name, [*TASKS.names(), *gymnasium.registry])
    return GymnasiumTask.of_id(folded[name.lower()], SPELLINGS)


def _unknown(name: str, known: list[str]) -> PerdureError:
    if name.lower().startswith("ale/"):
        return TaskError(
            f"unknown environment {name!r}, which the package ale-py registers",
            f"pip install ale-py, and write env = 'ale_py:{name}'",
        )
    if closest(name, known):
        return UnknownNameError("task or environment", name, known)
    return TaskError(
        f"unknown task or environment {name!r}",
        f"embedded: {', '.join(TASKS.names())}; for any other Gymnasium id name who registers it (module:Id-v0), for a "
        "task of your own its import path (module:name)",
    )


for _game in GAMES.values():
    TASKS.add(_game.name, ArcadeTask(_game))
TASKS.add("minigrid5x5", EmptyRoom("minigrid5x5", 5))
TASKS.add("digits", drawn_digits())
for _place, _pair in enumerate(PAIRS):
    for _name in (_pair, f"task-{_place + 1}-{_pair}"):
        TASKS.add(_name, drawn_digits(_name, (2 * _place, 2 * _place + 1)))
TASKS.add("gaussians", Gaussians())
TASKS.add("sklearn-digits", sklearn_digits())
