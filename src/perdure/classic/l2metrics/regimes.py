"""The table that l2metrics fills, a row for each regime: its own numbers at the places where it keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from perdure.classic.l2metrics31 import L2METRICS_31, NAMES, Regimes, by_experience, saturation_of
from perdure.curves.model import Curves
from perdure.lazy import pl
from perdure.metrics.declare import Metric
from perdure.metrics.measure import Context, evaluate, experts_at
from perdure.scenario.sites import Site

_NONE = float("nan")
KEYS = ("block_num", "block_type", "block_subtype", "task_name", "regime_num")
"""What says which regime a row is of."""

_OPTIONAL = ("recovery_time", "perf_recovery", "maintenance", "perf_maintenance", "forward_transfer", "backward")
_PARTS = (
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
    *("backward_transfer_ratio", "backward_transfer_contrast", "ste_rel_perf", *_PARTS, "sample_efficiency"),
)
"""Its own columns, in its order."""


def blocks_of(curves: Curves) -> pl.DataFrame:
    """One row per regime: its numbers and kinds, its task, the parameters it begins with, and how many rows it has."""
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


def regime_table(curves: Curves, context: Context) -> dict[str, list[Any]]:
    """Column → a value for each regime, NaN where it has none; a column without any is left out, as l2metrics does."""
    return _Filling(curves, context).table()


class _Filling(Struct, frozen=True, eq=False):
    """What l2metrics' columns are filled from."""

    curves: Curves
    context: Context

    def table(self) -> dict[str, list[Any]]:
        blocks = self.curves.scenario.blocks
        columns: dict[str, list[Any]] = {name: [_NONE] * len(blocks) for name in OWN}
        for name, index, value in (*self._blocks(), *self._tasks(), *self._transfers(), *self._experts()):
            columns[name][index] = value
        return {
            name: values
            for name, values in columns.items()
            if not name.startswith(_OPTIONAL) or any(one == one for one in values)  # noqa: PLR0124 - NaN is not
        }

    def _blocks(self) -> Iterator[tuple[str, int, Any]]:
        life = Regimes(self.curves)
        for index, block in enumerate(self.curves.scenario.blocks):
            length = len(life.series[index])
            peak, at = saturation_of(life.series[index])
            yield "saturation", index, peak
            yield "exp_to_sat", index, at
            yield "term_perf", index, float(life.terminal[index])
            yield "exp_to_term_perf", index, int(0.95 * length) if block.mode == "learn" else length // 2
        for name in ("avg_train_perf", "avg_eval_perf"):
            for site, (value, *_) in self._found(NAMES[name]):
                yield name, site.blocks["at"][0], value

    def _tasks(self) -> Iterator[tuple[str, int, Any]]:
        blocks = self.curves.scenario.blocks
        for site, (value, *_) in self._found("recovery_time"):
            yield "recovery_time", site.blocks["later"][0], value
        for site, (value, *_) in self._found("performance_recovery"):
            yield "perf_recovery", max(i for i, block in enumerate(blocks) if block.task == site.task), value
        seen = {
            site.blocks["at"][0]
            for name in ("mean_learning_performance", "mean_evaluation_performance")
            for site in L2METRICS_31[name].sites(self.curves.scenario)
        }
        for how in ("mrtlp", "mrlep"):
            kept: dict[str, list[float]] = {}
            for site, (value, *_) in self._found(NAMES[f"perf_maintenance_{how}"]):
                yield f"maintenance_val_{how}", site.blocks["at"][0], value
                kept.setdefault(str(site.task), []).append(value)
            for task, values in kept.items():
                last = max(i for i in seen if blocks[i].task == task)
                yield f"perf_maintenance_{how}", last, sum(values) / len(values)

    def _transfers(self) -> Iterator[tuple[str, int, Any]]:
        for way in ("forward", "backward"):
            for how in ("ratio", "contrast"):
                name = f"{way}_transfer_{how}"
                for site, (value, *_) in self._found(NAMES[name]):
                    yield name, site.blocks["after"][0], {site.key[0]: value}

    def _experts(self) -> Iterator[tuple[str, int, Any]]:
        """What is said of a task beside its experts stands in its last wake learning."""
        for site, values in self._found("relative_performance"):
            yield "ste_rel_perf", site.blocks["learned"][-1], values
        life = Regimes(self.curves)
        for site, values in self._found("sample_efficiency"):
            last = site.blocks["learned"][-1]
            peak, at = saturation_of(by_experience(*life.rows(site.blocks["learned"])))
            if not at:
                continue
            experts = experts_at(self.curves, site, self.context)
            beside = [saturation_of(by_experience(one.all_learning.values, one.numbers())) for one in experts]
            beside = [one for one in beside if one[1]]
            lists = (
                [one for one, _ in beside],
                [index for _, index in beside],
                [peak / one for one, _ in beside],
                [index / at for _, index in beside],
            )
            yield from ((name, last, value) for name, value in zip(_PARTS, (peak, at, *lists), strict=True))
            yield "sample_efficiency", last, values

    def _found(self, name: str) -> Iterator[tuple[Site, list[float]]]:
        """Every site of one of l2metrics' numbers that has a value, with the values, one for each expert."""
        metric: Metric = L2METRICS_31[name]
        for site in metric.sites(self.curves.scenario):
            results = evaluate(metric, self.curves, site, self.context) or ()
            values = [one.value for one in results if one.value is not None]
            if values:
                yield site, values
