"""Simulated lives as lifetimes: in memory, or as logs that anyone can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from perdure.curves.model import Array
from perdure.log.journal import Journal
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.scenario.model import Block, Scenario
from perdure.simulate.learner import IdealLearner, performance

__all__ = ["MEASURE", "expert", "experts", "lifetime", "lifetimes", "write_log"]

MEASURE = "performance"
_TYPES = {"learn": "train", "evaluate": "test"}


def lifetime(learner: IdealLearner, scenario: Scenario, seed: int = 0, id: str | None = None) -> Lifetime:  # noqa: A002
    """One life of `learner` in `scenario`; the same seed is the same life."""
    values = performance(learner, scenario, 1, np.random.default_rng([seed, 1]))[0]
    return _lifetime(learner, scenario, values, seed, id or f"{learner.name}-{seed}", "life")


def lifetimes(learner: IdealLearner, scenario: Scenario, count: int, seed: int = 0) -> tuple[Lifetime, ...]:
    """`count` lives, with the seeds that follow `seed`."""
    return tuple(lifetime(learner, scenario, seed + number) for number in range(count))


def expert(learner: IdealLearner, task: str, length: int, seed: int = 0) -> Lifetime:
    """The same learner on one task alone."""
    scenario = Scenario.of(f"{task} alone", [Block("learn", task, length)])
    values = performance(learner, scenario, 1, np.random.default_rng([seed, 2]))[0]
    return _lifetime(learner, scenario, values, seed, f"{learner.name}-{task}-{seed}", "expert")


def experts(learner: IdealLearner, scenario: Scenario, seed: int = 0) -> tuple[Lifetime, ...]:
    """One expert for each task that `scenario` teaches, as long as the task is learned there."""
    lengths: dict[str, int] = {}
    for block in scenario.blocks:
        if block.mode == "learn":
            lengths[block.task] = lengths.get(block.task, 0) + (block.length or 0)
    return tuple(expert(learner, task, length, seed) for task, length in lengths.items())


def write_log(lived: Lifetime, into: str | os.PathLike[str], protocol: str | None = None) -> Path:
    """The lifetime as a log `into/<id>`, such as a real learner would leave."""
    rows = lived.experiences
    with Journal(
        into,
        lived.id,
        lived.measures,
        learner=lived.learner,
        seed=lived.seed,
        scenario=lived.scenario,
        info=lived.info,
        role=lived.role,
        protocol=protocol,
    ) as journal:
        for part in rows.partition_by("block_num", maintain_order=True):
            journal.log_many(
                block_num=part["block_num"][0],
                exp_num=part["exp_num"].to_numpy(),
                block_type=part["block_type"][0],
                task_name=part["task_name"][0],
                block_subtype=part["block_subtype"][0],
                **{name: part[name].to_numpy() for name in lived.measures},
            )
    return Path(into) / lived.id


def _lifetime(
    learner: IdealLearner, scenario: Scenario, values: Array, seed: int, name: str, role: Literal["life", "expert"]
) -> Lifetime:
    lengths = np.array([block.length or 0 for block in scenario.blocks])
    which = np.repeat(np.arange(len(lengths)), lengths)
    blocks = scenario.blocks
    text: Mapping[str, list[Any]] = {
        "block_type": [_TYPES[block.mode] for block in blocks],
        "block_subtype": [block.subtype for block in blocks],
        "task_name": [block.task for block in blocks],
    }
    rows = pl.DataFrame(
        {
            "block_num": which,
            "exp_num": np.arange(len(which)),
            "worker_id": pl.Series(["0"], dtype=pl.String).new_from_index(0, len(which)),
            **{column: pl.Series(column, words)[which] for column, words in text.items()},
            "task_params": pl.Series(["{}"], dtype=pl.String).new_from_index(0, len(which)),
            "exp_status": pl.Series(["complete"], dtype=pl.String).new_from_index(0, len(which)),
            "timestamp": pl.Series([None], dtype=pl.String).new_from_index(0, len(which)),
            MEASURE: values,
        },
        schema_overrides=dict(STANDARD_COLUMNS),
    )
    return Lifetime(
        id=name,
        experiences=rows.select(*STANDARD_COLUMNS, MEASURE),
        measures={MEASURE: "higher"},
        learner=learner.name,
        seed=seed,
        role=role,
        complete=True,
        info=dict(scenario.info),
    )
