"""What l2metrics writes of a lifetime and of its tasks, beside their numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

import numpy as np

from perdure.curves.arrays import LOWEST, SCALED, Array
from perdure.curves.model import Curves
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime

_LISTS = {
    "ste_rel_perf_vals": "ste_rel_perf",
    "ste_saturation_vals": "se_ste_saturation",
    "ste_exp_to_sat_vals": "se_ste_exp_to_sat",
    "se_saturation_vals": "se_saturation",
    "se_exp_to_sat_vals": "se_exp_to_sat",
    "sample_efficiency_vals": "sample_efficiency",
}
"""A task's list → the column whose cell it is."""


def task_order(curves: Curves) -> list[str]:
    """Tasks by their first learning, then those that are only evaluated."""
    blocks = curves.scenario.blocks
    learned = [block.task for block in blocks if block.mode == "learn"]
    return list(dict.fromkeys([*learned, *(block.task for block in blocks)]))


def lifetime_facts(curves: Curves, lifetime: Lifetime, name: str) -> dict[str, Any]:
    """What stands beside the lifetime's numbers."""
    times = sorted(str(one) for one in curves.passage.rows["timestamp"].drop_nulls())
    scaled = curves.prep.scale != "none"
    return {
        "run_id": name,
        **{key: str(lifetime.info.get(key) or "") for key in ("complexity", "difficulty", "scenario_type")},
        "metrics_column": curves.passage.measure,
        **_counts(curves, range(len(curves.scenario.blocks))),
        "runtime": (_time(times[-1]) - _time(times[0])).total_seconds() if times else None,
        "normalization_data_range": {task: _range(curves, task) for task in curves.ranges} if scaled else None,
    }


def unscaled(curves: Curves) -> Array:
    """The prepared values as they were before they were scaled: smoothed and clamped."""
    found = curves.values.copy()
    for index, block in enumerate(curves.scenario.blocks):
        span = slice(curves.starts[index], curves.starts[index + 1])
        found[span] = _before(found[span], curves, block.task)
    return found


def _before(values: Array, curves: Curves, task: str) -> Array:
    if curves.prep.scale == "none":
        return values
    span = curves.ranges[task]
    return span.low + (values - LOWEST) / SCALED * (span.high - span.low)


def _range(curves: Curves, task: str) -> dict[str, float]:
    """A task's own range, also where all tasks were scaled by one."""
    own = curves.ranges[task]
    if curves.prep.scale == "task" or own.given:
        return {"min": own.low, "max": own.high}
    blocks = [index for index, block in enumerate(curves.scenario.blocks) if block.task == task]
    learned = [one.all_learning.values for one in curves.experts.get(task, ())]
    values = _before(np.concatenate([*(curves.over((index,)).values for index in blocks), *learned]), curves, task)
    return {"min": float(values.min()), "max": float(values.max())}


def _time(text: str) -> datetime:
    return datetime.strptime(text, TIMESTAMP_FORMAT)


def _counts(curves: Curves, blocks: Sequence[int]) -> dict[str, Any]:
    values = [curves.over((index,)).values for index in blocks]
    modes = [curves.scenario.blocks[index].mode for index in blocks]
    return {
        "min": min(float(one.min()) for one in values),
        "max": max(float(one.max()) for one in values),
        "num_lx": sum(len(one) for one, mode in zip(values, modes, strict=True) if mode == "learn"),
        "num_ex": sum(len(one) for one, mode in zip(values, modes, strict=True) if mode == "evaluate"),
    }


def task_facts(curves: Curves, table: Mapping[str, list[Any]], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Task → its numbers, and the values that they come from; None where there is none."""
    blocks = curves.scenario.blocks
    found: dict[str, dict[str, Any]] = {}
    for task in task_order(curves):
        own = [index for index, block in enumerate(blocks) if block.task == task]

        def cells(column: str, own: Sequence[int] = own) -> list[Any]:
            return [table[column][index] for index in own if _told(table[column][index])] if column in table else []

        facts: dict[str, Any] = {}
        for name in names:
            if "transfer" in name:
                facts[name] = _transfers(task, table.get(name, ()), [block.task for block in blocks])
            else:
                values = cells(name)
                values = values[0] if values and isinstance(values[0], list) else values
                facts[name] = math.fsum(values) / len(values) if values else None
        # A single recovery of a whole log is not reported by l2metrics, since it has no slope.
        facts["recovery_times"] = cells("recovery_time") if "perf_recovery" in table else []
        facts |= {f"{name}_vals": cells(name) for name in ("avg_train_perf", "avg_eval_perf")}
        for how in ("mrlep", "mrtlp"):
            if f"perf_maintenance_{how}" in names:
                facts[f"maintenance_val_{how}"] = _clumps(table.get(f"maintenance_val_{how}", ()), own)
        facts |= {name: next(iter(cells(column)), []) for name, column in _LISTS.items()}
        facts |= {name: next(iter(cells(name)), None) for name in ("se_task_saturation", "se_task_exp_to_sat")}
        found[task] = facts | _counts(curves, own)
    return found


def _told(cell: Any) -> bool:
    return not isinstance(cell, float) or not math.isnan(cell)


def _transfers(task: str, column: Sequence[Any], tasks: Sequence[str]) -> dict[str, list[float]]:
    """Target → the values of transfer from `task` to it, in order."""
    found: dict[str, list[float]] = {}
    for cell, target in zip(column, tasks, strict=False):
        if isinstance(cell, Mapping) and task in cell:
            found.setdefault(target, []).append(cell[task])
    return found


def _clumps(column: Sequence[Any], own: Sequence[int]) -> list[list[float]]:
    """The values of a task's regimes, in runs that no regime without a value interrupts."""
    told = [column[index] for index in own] if column else []
    return [list(run) for known, run in groupby(told, _told) if known]
