"""Simulated lifetimes, in memory or as logs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from perdure.curves.arrays import Array
from perdure.lazy import pl
from perdure.log.model import Lifetime
from perdure.log.write.bulk import scenario_rows
from perdure.log.write.journal import Journal
from perdure.scenario.model import Block, Scenario
from perdure.simulate.learner import IdealLearner, performance

MEASURE = "performance"


def lifetime(learner: IdealLearner, scenario: Scenario, seed: int = 0, id: str | None = None) -> Lifetime:  # noqa: A002
    """Return one lifetime of `learner` in `scenario`; the same seed gives the same noise in any other scenario."""
    values = performance(learner, scenario, 1, np.random.default_rng([seed, 1]))
    (simulated,) = as_lifetimes(learner, scenario, values, seed)
    return simulated if id is None else replace(simulated, id=id)


def lifetimes(learner: IdealLearner, scenario: Scenario, count: int, seed: int = 0) -> tuple[Lifetime, ...]:
    """Return `count` lifetimes, with the seeds that follow `seed`."""
    return tuple(lifetime(learner, scenario, seed + number) for number in range(count))


def expert(learner: IdealLearner, task: str, length: int, seed: int = 0) -> Lifetime:
    """Return a lifetime of the same learner in one task; each task and each seed has another draw."""
    scenario = expert_scenario(task, length)
    values = performance(learner, scenario, 1, np.random.default_rng([seed, 2, crc32(task.lower().encode())]))
    return as_lifetimes(learner, scenario, values, seed, role="expert")[0]


def experts(
    learner: IdealLearner,
    scenario: Scenario,
    seed: int = 0,
    *,
    each: int | Mapping[str, int] = 1,
    lengths: Sequence[float] = (1.0,),
) -> tuple[Lifetime, ...]:
    """Return `each` experts for each task that `scenario` teaches, drawn separately, with seeds from `seed` on.

    `lengths` are shares of the length for which the task is learned; the experts of a task take them in turn.
    """
    simulated: list[Lifetime] = []
    for task, length in learned_lengths(scenario).items():
        for number in range(each if isinstance(each, int) else each[task]):
            share = lengths[number % len(lengths)]
            simulated.append(expert(learner, task, max(1, round(share * length)), seed + number))
    return tuple(simulated)


def expert_scenario(task: str, length: int) -> Scenario:
    """Return the scenario of an expert, which learns only one task."""
    return Scenario.of(f"{task} alone", [Block("learn", task, length)])


def learned_lengths(scenario: Scenario) -> dict[str, int]:
    """Return the number of learning experiences of each learned task."""
    lengths: dict[str, int] = {}
    for block in scenario.blocks:
        if block.mode == "learn":
            lengths[block.task] = lengths.get(block.task, 0) + (block.length or 0)
    return lengths


def write_log(simulated: Lifetime, into: str | os.PathLike[str], protocol: str | None = None) -> Path:
    """Write the lifetime as a log `into/<id>`, like a real learner."""
    rows = simulated.experiences
    with Journal(
        into,
        simulated.id,
        simulated.measures,
        learner=simulated.learner,
        seed=simulated.seed,
        scenario=simulated.scenario,
        info=simulated.info,
        role=simulated.role,
        protocol=protocol,
    ) as journal:
        for part in rows.partition_by("block_num", maintain_order=True):
            journal.log_many(
                block_num=part["block_num"][0],
                exp_num=part["exp_num"].to_numpy(),
                block_type=part["block_type"][0],
                task_name=part["task_name"][0],
                block_subtype=part["block_subtype"][0],
                **{name: part[name].to_numpy() for name in simulated.measures},
            )
    return Path(into) / simulated.id


def as_lifetimes(
    learner: IdealLearner,
    scenario: Scenario,
    values: Array,
    seed: int = 0,
    *,
    role: Literal["life", "expert"] = "life",
) -> tuple[Lifetime, ...]:
    """Return rows of `performance` as lifetimes with the seeds that follow `seed`."""
    columns = scenario_rows(scenario.joined())
    name = learner.name if role == "life" else f"{learner.name}-{scenario.blocks[0].task}"
    return tuple(
        Lifetime(
            id=f"{name}-{seed + number}",
            experiences=columns.with_columns(pl.Series(MEASURE, row)),
            measures={MEASURE: "higher"},
            learner=learner.name,
            seed=seed + number,
            role=role,
            complete=True,
            info=dict(scenario.info),
        )
        for number, row in enumerate(np.ascontiguousarray(values))
    )
