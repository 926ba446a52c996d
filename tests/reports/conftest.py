"""Small runs on disk, with any number of tasks and lifetimes, for the tests of figures and reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import perdure
from perdure.reports.data import gather
from perdure.stats.groups import GroupedSurvey

Run = Callable[..., Path]


def write_life(
    into: Path,
    name: str,
    tasks: list[str],
    *,
    keeps: float = 0.9,
    seed: int = 1,
    learn: int = 120,
    evaluate: int = 8,
    rounds: int = 1,
    learner: str | None = "toy",
    sleep: bool = False,
    role: Literal["life", "expert"] = "life",
    measures: tuple[str, ...] = ("reward", "steps"),
    scale: float = 1.0,
    scenario_type: str = "condensed",
    protocol: str | None = None,
) -> Path:
    """Write a lifetime that learns the tasks in turn and evaluates all before and after each. An expert only learns."""
    rng = np.random.default_rng([seed, len(name)])
    skill = dict.fromkeys(tasks, 0.1)
    index = block = 0
    with perdure.Journal(
        into,
        name,
        list(measures),
        learner=learner,
        seed=seed,
        role=role,
        info={"scenario_type": scenario_type},
        protocol=protocol,
    ) as journal:

        def log(kind: str, task: str, values: np.ndarray, subtype: str = "wake") -> None:
            nonlocal index
            noisy = ((values + rng.normal(0, 0.05, values.size)) * scale).round(4)
            given = {"reward": noisy, "steps": rng.integers(5, 40, values.size).astype(float)}
            journal.log_many(
                block_num=block,
                exp_num=np.arange(index, index + values.size),
                block_type=kind,
                block_subtype=subtype,
                task_name=task,
                **{measure: given[measure] for measure in measures},
            )
            index += values.size

        for learned in (None, *tasks * rounds):
            if learned:
                gain = 1 - np.exp(-np.arange(learn) / (learn / 4))
                log("train", learned, skill[learned] + (0.95 - skill[learned]) * gain)
                block += 1
                if sleep:
                    log("train", learned, np.full(learn // 4, 0.95), "sleep")
                    block += 1
                skill = {task: value * (1 if task == learned else keeps) for task, value in skill.items()}
                skill[learned] = 0.95
            if role == "life":
                for task in tasks:
                    log("test", task, np.full(evaluate, skill[task]))
                block += 1
    return into / name


def write_run(
    into: Path,
    tasks: int = 3,
    lifetimes: int = 3,
    learners: tuple[str, ...] = ("keeper", "forgetter"),
    experts: bool = True,
    **how: object,
) -> Path:
    """Write a run folder: lifetimes of each learner, and one expert per task."""
    run = into / f"run-{tasks}-{lifetimes}-{len(learners)}"
    names = [f"task{number:02d}" for number in range(tasks)]
    for learner in learners:
        for seed in range(lifetimes):
            keeps = 0.97 if learner == "keeper" else 0.5
            write_life(run / "lives", f"{learner}-{seed}", names, keeps=keeps, seed=seed, learner=learner, **how)  # type: ignore[arg-type]
    if experts:
        for name in names:
            write_life(run / "experts", f"expert-{name}", [name], role="expert", learner="expert", seed=99)
    return run


@pytest.fixture
def run_folder(tmp_path: Path) -> Run:
    """Return a function that writes a run folder of this test."""
    return partial(write_run, tmp_path)


@pytest.fixture
def two_runs(tmp_path: Path) -> tuple[Path, Path]:
    """Write run folders of two learners with the same lifetime ids, each with its own protocol and experts."""
    for learner, keeps, expert in (("keeper", 0.97, 1.0), ("forgetter", 0.5, 1.5)):
        run = tmp_path / learner
        for number in range(4):
            kind = "condensed" if number < 2 else "dispersed"
            write_life(
                run / "lives",
                f"life-{number}",
                ["a", "b"],
                keeps=keeps,
                seed=number,
                learner=learner,
                scenario_type=kind,
                protocol=f"digest-of-{learner}",
            )
        for task in ("a", "b"):
            write_life(run / "experts", f"expert-{task}", [task], role="expert", learner=learner, scale=expert)
    return tmp_path / "keeper", tmp_path / "forgetter"


@pytest.fixture(scope="session")
def gather_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., GroupedSurvey]:
    """Return a function that writes and gathers a run folder, once for all tests: they only read it."""
    return cache(lambda *given, **how: gather([write_run(tmp_path_factory.mktemp("run"), *given, **how)]))
