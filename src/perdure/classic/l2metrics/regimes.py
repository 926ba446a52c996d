"""The tables of l2metrics: a row for each regime, the facts of each task, and the facts of the lifetime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from statistics import fmean
from typing import Any

import numpy as np

from perdure.classic.l2metrics31 import METRICS, NAMES, Regimes, by_experience, saturation_of
from perdure.curves.arrays import LOWEST, SCALED, Array
from perdure.curves.model import Curves
from perdure.lazy import pl
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime
from perdure.metrics.measure import Context, evaluate, experts_at
from perdure.scenario.sites import Site

_NAN = float("nan")
KEYS = ("block_num", "block_type", "block_subtype", "task_name", "regime_num")
"""The columns that identify a regime."""

_OPTIONAL = ("recovery_time", "perf_recovery", "maintenance", "perf_maintenance", "forward_transfer", "backward")
_SATURATIONS = (
    "se_task_saturation",
    "se_task_exp_to_sat",
    "se_ste_saturation",
    "se_ste_exp_to_sat",
    "se_saturation",
    "se_exp_to_sat",
)
OWN = (
    *("saturation", "exp_to_sat", "term_perf", "exp_to_term_perf", "recovery_time", "perf_recovery"),
    *("maintenance_val_mrtlp", "perf_maintenance_mrtlp", "maintenance_val_mrlep", "perf_maintenance_mrlep"),
    *("avg_train_perf", "avg_eval_perf", "forward_transfer_ratio", "forward_transfer_contrast"),
    *("backward_transfer_ratio", "backward_transfer_contrast", "ste_rel_perf", *_SATURATIONS, "sample_efficiency"),
)
"""The columns of l2metrics, in its order."""
_LISTS = {
    "ste_rel_perf_vals": "ste_rel_perf",
    "ste_saturation_vals": "se_ste_saturation",
    "ste_exp_to_sat_vals": "se_ste_exp_to_sat",
    "se_saturation_vals": "se_saturation",
    "se_exp_to_sat_vals": "se_exp_to_sat",
    "sample_efficiency_vals": "sample_efficiency",
}
"""The column that holds each of a task's lists."""

Table = dict[str, list[Any]]
"""A value for each regime, by column; NaN where a regime has none."""


# --- regimes -------------------------------------------------------------------------------------


def blocks_of(curves: Curves) -> pl.DataFrame:
    """Return a row per regime: its numbers and kinds, its task, its first parameters, and its number of rows."""
    rows, starts = curves.passage.rows, curves.passage.row_starts
    first = rows[starts[:-1].tolist()]
    return pl.DataFrame(
        {
            "regime_num": range(len(first)),
            **{name: first[name] for name in ("block_num", "block_type", "block_subtype")},
            "task_name": [block.task for block in curves.scenario.blocks],
            "task_params": first["task_params"],
            "length": starts[1:] - starts[:-1],
        }
    )


def regime_table(curves: Curves, context: Context) -> Table:
    """Return the columns of l2metrics; an optional column without any value is left out, as in l2metrics."""
    blocks = curves.scenario.blocks
    columns: Table = {name: [_NAN] * len(blocks) for name in OWN}
    for name, index, value in (
        *_block_cells(curves),
        *_maintenance_cells(curves, context),
        *_site_cells(curves, context),
        *_expert_cells(curves, context),
    ):
        columns[name][index] = value
    return {
        name: values
        for name, values in columns.items()
        if not name.startswith(_OPTIONAL) or any(is_known(value) for value in values)
    }


def is_known(cell: Any) -> bool:
    """Return whether a cell has a value: it is not NaN."""
    return not isinstance(cell, float) or cell == cell  # noqa: PLR0124


_Cells = Iterator[tuple[str, int, Any]]
"""Column, regime and value."""


def _block_cells(curves: Curves) -> _Cells:
    regimes = Regimes(curves)
    for index, block in enumerate(curves.scenario.blocks):
        length = len(regimes.series[index])
        peak, peak_index = saturation_of(regimes.series[index])
        yield "saturation", index, peak
        yield "exp_to_sat", index, peak_index
        yield "term_perf", index, float(regimes.terminal[index])
        yield "exp_to_term_perf", index, int(0.95 * length) if block.mode == "learn" else length // 2


def _site_cells(curves: Curves, context: Context) -> _Cells:
    """Yield the values that l2metrics stores at the regime of their measurement."""
    for name in ("avg_train_perf", "avg_eval_perf"):
        for site, (value, *_) in _values(NAMES[name], curves, context):
            yield name, site.blocks["at"][0], value
    for site, (value, *_) in _values("recovery_time", curves, context):
        yield "recovery_time", site.blocks["later"][0], value
    for site, (value, *_) in _values("performance_recovery", curves, context):
        tasks = [block.task for block in curves.scenario.blocks]
        yield "perf_recovery", max(index for index, task in enumerate(tasks) if task == site.task), value
    for name in NAMES:
        if "transfer" in name:
            for site, (value, *_) in _values(NAMES[name], curves, context):
                yield name, site.blocks["after"][0], {site.key[0]: value}


def _maintenance_cells(curves: Curves, context: Context) -> _Cells:
    """Yield each change of a task, and the mean of its changes at the task's last regime that counts."""
    blocks = curves.scenario.blocks
    seen = {
        site.blocks["at"][0]
        for name in ("mean_learning_performance", "mean_evaluation_performance")
        for site in METRICS[name].sites(curves.scenario)
    }
    for method in ("mrtlp", "mrlep"):
        by_task: dict[str, list[float]] = {}
        for site, (value, *_) in _values(NAMES[f"perf_maintenance_{method}"], curves, context):
            yield f"maintenance_val_{method}", site.blocks["at"][0], value
            by_task.setdefault(str(site.task), []).append(value)
        for task, values in by_task.items():
            last = max(index for index in seen if blocks[index].task == task)
            yield f"perf_maintenance_{method}", last, sum(values) / len(values)


def _expert_cells(curves: Curves, context: Context) -> _Cells:
    """Yield the comparisons of a task with its experts, at the task's last wake learning."""
    for site, values in _values("relative_performance", curves, context):
        yield "ste_rel_perf", site.blocks["learned"][-1], values
    regimes = Regimes(curves)
    for site, values in _values("sample_efficiency", curves, context):
        last = site.blocks["learned"][-1]
        peak, peak_index = saturation_of(by_experience(*regimes.rows(site.blocks["learned"])))
        if not peak_index:
            continue
        experts = [
            saturation_of(by_experience(expert.all_learning.values, expert.numbers()))
            for expert in experts_at(curves, site, context)
        ]
        experts = [(best, index) for best, index in experts if index]
        cells: tuple[Any, ...] = (
            peak,
            peak_index,
            [best for best, _ in experts],
            [index for _, index in experts],
            [peak / best for best, _ in experts],
            [index / peak_index for _, index in experts],
        )
        yield from ((name, last, cell) for name, cell in zip(_SATURATIONS, cells, strict=True))
        yield "sample_efficiency", last, values


def _values(name: str, curves: Curves, context: Context) -> Iterator[tuple[Site, list[float]]]:
    """Yield every site of a metric that has a value, with the values, one for each expert."""
    for site in METRICS[name].sites(curves.scenario):
        results = evaluate(METRICS[name], curves, site, context) or ()
        values = [result.value for result in results if result.value is not None]
        if values:
            yield site, values


# --- tasks and lifetime --------------------------------------------------------------------------


def task_facts(curves: Curves, table: Table, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return for each task its numbers, and the values that they come from; None or an empty list if missing."""
    blocks = curves.scenario.blocks
    tasks = [block.task for block in blocks]
    learned = [block.task for block in blocks if block.mode == "learn"]
    facts: dict[str, dict[str, Any]] = {}
    for task in dict.fromkeys([*learned, *tasks]):  # those that are only evaluated come last
        positions = [index for index, name in enumerate(tasks) if name == task]
        cells = {
            name: [values[index] for index in positions if is_known(values[index])] for name, values in table.items()
        }
        row: dict[str, Any] = {}
        for name in names:
            if "transfer" in name:
                row[name] = _transfers(task, table.get(name, ()), tasks)
            else:
                values = cells.get(name) or []
                values = values[0] if values and isinstance(values[0], list) else values
                row[name] = fmean(values) if values else None
        # l2metrics does not report the only recovery of a log, because one value has no slope.
        row["recovery_times"] = cells["recovery_time"] if "perf_recovery" in table else []
        row |= {f"{name}_vals": cells.get(name, []) for name in ("avg_train_perf", "avg_eval_perf")}
        for method in ("mrlep", "mrtlp"):
            if f"perf_maintenance_{method}" in names:
                row[f"maintenance_val_{method}"] = _runs(table.get(f"maintenance_val_{method}", ()), positions)
        row |= {name: next(iter(cells.get(column, ())), []) for name, column in _LISTS.items()}
        row |= {name: next(iter(cells.get(name, ())), None) for name in ("se_task_saturation", "se_task_exp_to_sat")}
        facts[task] = row | _counts(curves, positions)
    return facts


def _transfers(task: str, column: Sequence[Any], tasks: Sequence[str]) -> dict[str, list[float]]:
    """Return for each target the values of transfer from `task` to it, in order."""
    by_target: dict[str, list[float]] = {}
    for cell, target in zip(column, tasks, strict=False):
        if isinstance(cell, Mapping) and task in cell:
            by_target.setdefault(target, []).append(cell[task])
    return by_target


def _runs(column: Sequence[Any], positions: Sequence[int]) -> list[list[float]]:
    """Return the values of a task's regimes in runs, which a regime without a value interrupts."""
    cells = [column[index] for index in positions] if column else []
    return [list(run) for known, run in groupby(cells, is_known) if known]


def lifetime_facts(curves: Curves, lifetime: Lifetime, name: str) -> dict[str, Any]:
    """Return the facts of a lifetime that are not metrics."""
    times = sorted(str(text) for text in curves.passage.rows["timestamp"].drop_nulls())
    first, last = (
        (datetime.strptime(text, TIMESTAMP_FORMAT) for text in (times[0], times[-1])) if times else (None, None)
    )
    scaled = curves.prep.scale != "none"
    return {
        "run_id": name,
        **{key: str(lifetime.info.get(key) or "") for key in ("complexity", "difficulty", "scenario_type")},
        "metrics_column": curves.passage.measure,
        **_counts(curves, range(len(curves.scenario.blocks))),
        "runtime": (last - first).total_seconds() if first and last else None,
        "normalization_data_range": {task: _range(curves, task) for task in curves.ranges} if scaled else None,
    }


def _counts(curves: Curves, blocks: Sequence[int]) -> dict[str, Any]:
    values = [curves.over((index,)).values for index in blocks]
    sizes = {"learn": 0, "evaluate": 0}
    for index, block_values in zip(blocks, values, strict=True):
        sizes[curves.scenario.blocks[index].mode] += len(block_values)
    return {
        "min": min(float(block_values.min()) for block_values in values),
        "max": max(float(block_values.max()) for block_values in values),
        "num_lx": sizes["learn"],
        "num_ex": sizes["evaluate"],
    }


def unscaled(curves: Curves) -> Array:
    """Return the prepared values as they were before they were scaled: smoothed and clamped."""
    values = curves.values.copy()
    for index, block in enumerate(curves.scenario.blocks):
        span = slice(curves.starts[index], curves.starts[index + 1])
        values[span] = _unscaled(values[span], curves, block.task)
    return values


def _unscaled(values: Array, curves: Curves, task: str) -> Array:
    if curves.prep.scale == "none":
        return values
    span = curves.ranges[task]
    return span.low + (values - LOWEST) / SCALED * (span.high - span.low)


def _range(curves: Curves, task: str) -> dict[str, float]:
    """Return a task's own range, even if all tasks were scaled by one."""
    task_range = curves.ranges[task]
    if curves.prep.scale == "task" or task_range.given:
        return {"min": task_range.low, "max": task_range.high}
    blocks = [index for index, block in enumerate(curves.scenario.blocks) if block.task == task]
    learned = [expert.all_learning.values for expert in curves.experts.get(task, ())]
    values = _unscaled(np.concatenate([*(curves.over((index,)).values for index in blocks), *learned]), curves, task)
    return {"min": float(values.min()), "max": float(values.max())}
