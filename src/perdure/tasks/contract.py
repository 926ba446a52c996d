"""Check a custom task against the contract of tasks; each breach is an AssertionError."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from perdure.errors import PerdureError
from perdure.log.contract import require
from perdure.scenario.model import Task
from perdure.tasks.catalogue import kind_of, task_kind
from perdure.tasks.interface import BatchTask, EpisodeTask, Parameter, TaskKind, settled

_UNKNOWN = "no/such/parameter"


def check_task(
    task: TaskKind | type | str, *, params: Mapping[str, Any] | None = None, seed: int = 0, step_limit: int = 10_000
) -> None:
    """Check a task, given by name, by import path, as an environment's class, or as an object.

    Two episodes, or two batches of each mode, are run with random answers, with `params`, and twice from the same seed.
    """
    kind = kind_of(task) if not isinstance(task, str) else task_kind(Task(task))
    _check_declarations(kind)
    described = Task(kind.name, env=kind.name, params=dict(params or {}))
    if isinstance(kind, EpisodeTask):
        _check_episodes(kind, described, seed, step_limit)
    else:
        _check_batches(kind, described, seed)


def _check_declarations(kind: TaskKind) -> None:
    require(isinstance(kind.name, str) and bool(kind.name.strip()), f"{kind!r}: needs a name; found {kind.name!r}")
    require(
        isinstance(kind.summary, str) and bool(kind.summary.strip()) and "\n" not in kind.summary,
        f"{kind.name}: needs a summary, one line of text; found {kind.summary!r}",
    )
    require(
        isinstance(kind.measures, Mapping) and len(kind.measures) > 0,
        f"{kind.name}: measures is {kind.measures!r}; expected a mapping such as {{'reward': 'higher'}}",
    )
    for measure, direction in kind.measures.items():
        require(
            direction in ("higher", "lower"),
            f"{kind.name}: the measure {measure!r} is {direction!r}; expected 'higher' or 'lower'",
        )
    if kind.parameters is None:
        return
    names = [parameter.name for parameter in kind.parameters if isinstance(parameter, Parameter)]
    require(len(names) == len(kind.parameters), f"{kind.name}: parameters holds what is no perdure.tasks.Parameter")
    require(len(set(names)) == len(names), f"{kind.name}: a parameter is declared twice among {', '.join(names)}")
    for parameter in kind.parameters:
        require(
            parameter.takes(parameter.default),
            f"{kind.name}: {parameter.name!r} is {parameter.default!r} by default, which it does not take "
            f"({parameter.form})",
        )
        require(bool(parameter.meaning.strip()), f"{kind.name}: {parameter.name!r} does not say what it means")


def _check_episodes(kind: EpisodeTask, task: Task, seed: int, step_limit: int) -> None:
    from perdure.tasks.episodes import Episodes

    def lived() -> tuple[list[Any], dict[str, float]]:
        with Episodes(task, seed, kind=kind, step_limit=step_limit) as episodes:
            traces: list[Any] = []
            values: dict[str, float] = {}
            for number in range(2):
                episode = episodes.begin(seed=seed + number)
                episode.action_space.seed(seed + number)
                observation, _ = episode.reset()
                traces.append(_copy(observation))
                while not episode.ended:
                    observation, reward, *_ = episode.step(episode.action_space.sample())
                    traces += [_copy(observation), float(reward)]
                require(
                    "step_limit" not in episode.end.info,
                    f"{kind.name}: an episode of random actions did not end within {step_limit} steps; "
                    "end it by truncated=True",
                )
                values = episode.log_info()
            return traces, values

    first, values = _as_assertion(kind, lived)
    second, _ = _as_assertion(kind, lived)
    require(
        len(first) == len(second) and all(map(_same, first, second)),
        f"{kind.name}: the same seeds and actions gave two different courses; draw all chance from self.np_random, "
        "and call super().reset(seed=seed) in reset",
    )
    _check_values(kind, values, "get_episode_log_info")
    if kind.parameters is None:
        return
    try:
        with Episodes(task, seed, kind=kind) as episodes:
            episodes.begin({**task.params, _UNKNOWN: 1}, seed).reset()
    except PerdureError:
        return
    raise AssertionError(f"{kind.name}: took the parameter {_UNKNOWN!r}, which it does not declare")


def _check_batches(kind: BatchTask, task: Task, seed: int) -> None:
    from perdure.tasks.datasets import BATCH_SIZE, Answered, Dataset

    for mode in ("learn", "evaluate"):
        answers: list[Answered] = []

        def lived(mode: Any = mode, answers: list[Answered] = answers) -> list[np.ndarray]:
            dataset = Dataset(task, [(task.params, seed), (task.params, seed + 1)], mode, answers.append, kind=kind)
            dataset.reset()
            observations: list[np.ndarray] = []
            done = False
            while not done:
                batch, done, info = dataset.next_batch()
                require(isinstance(info, dict), f"{kind.name}: info gave {type(info).__name__}; expected a mapping")
                observations.append(np.array(batch["inputs"]))
                labels = dataset.get_labels(batch["id"], np.zeros(len(batch["inputs"]), dtype=np.int64))
                require(
                    (labels is None) == (mode == "evaluate"), f"{kind.name}: labels are {labels!r} in mode {mode!r}"
                )
            return observations

        first, second = _as_assertion(kind, lived), _as_assertion(kind, lived)
        require(
            all(map(_same, first, second)),
            f"{kind.name}: the same seed gave two different batches; draw all chance from the rng given to examples",
        )
        for answered in answers:
            _check_values(kind, answered.values, "get_batch_log_info")
    params = (
        dict(task.params)
        if kind.parameters is None
        else settled((BATCH_SIZE, *kind.parameters), task.params, kind.name)
    )
    _, labels = kind.examples(params, 64, "learn", np.random.default_rng(seed))
    right = kind.get_batch_log_info(np.asarray(labels), np.asarray(labels))
    wrong = kind.get_batch_log_info(np.asarray(labels), np.full(64, -1))
    for measure, direction in kind.measures.items():
        better = right[measure] > wrong[measure] if direction == "higher" else right[measure] < wrong[measure]
        require(
            better,
            f"{kind.name}: {measure} is {right[measure]} for right answers and {wrong[measure]} for wrong ones, "
            f"and {direction} is said to be better",
        )


def _check_values(kind: TaskKind, values: Mapping[str, float], method: str) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        require(
            name not in kind.measures or (number and math.isfinite(value)),
            f"{kind.name}: {method} gave {name} = {value!r}; a measure is a finite number",
        )


def _as_assertion(kind: TaskKind, call: Any) -> Any:
    try:
        return call()
    except PerdureError as problem:
        raise AssertionError(f"{kind.name}: {problem}") from problem


def _copy(observation: Any) -> Any:
    return (
        {key: _copy(part) for key, part in observation.items()}
        if isinstance(observation, dict)
        else (np.array(observation) if isinstance(observation, np.ndarray) else observation)
    )


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(first[key], second[key]) for key in first)
    return bool(np.array_equal(first, second)) if isinstance(first, np.ndarray) else bool(first == second)
