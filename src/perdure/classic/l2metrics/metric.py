"""The metric class of l2metrics 3.1, the pandas frames that it receives, and its use as one of Perdure's metrics."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from perdure.classic.l2metrics.regimes import KEYS, OWN, blocks_of, regime_table, unscaled
from perdure.classic.l2metrics2019 import identifier
from perdure.curves.arrays import Array, smooth
from perdure.curves.model import Curves
from perdure.errors import MetricError
from perdure.lazy import import_extra, pl
from perdure.log.rules import STANDARD_COLUMNS
from perdure.metrics import declare
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.measure import Context
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site


class L2Metric(ABC):
    """A metric whose `calculate` adds columns to the table of regimes, and returns the table."""

    capability: Any = None
    name: Any = ""
    description: Any = ""
    requires: Any = {}  # noqa: RUF012 - an attribute or a property, as l2metrics has it

    @abstractmethod
    def calculate(self, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
        """Return `metrics_df` with the new columns; all three are pandas frames, as l2metrics makes them."""


Metric = L2Metric  # l2metrics' name


def calculated(metric: Any, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
    """Return the table that a metric returns; raise MetricError if it returns something else."""
    table = metric.calculate(dataframe, block_info, metrics_df)
    if not hasattr(table, "columns"):
        raise MetricError(
            f"{type(metric).__name__}.calculate gave {type(table).__name__}", "let it give back metrics_df"
        )
    return table


def added_columns(metrics_df: Any) -> dict[str, list[float | None]]:
    """Return the columns of numbers that are not l2metrics' own, a value for each regime."""
    columns: dict[str, list[float | None]] = {}
    for name in metrics_df.columns:
        if name in (*KEYS, *OWN, "task_params"):
            continue
        cells = [float(cell) if isinstance(cell, Real) and math.isfinite(cell) else None for cell in metrics_df[name]]
        if any(cell is not None for cell in cells):
            columns[str(name)] = cells
    return columns


def declared(metric: Any, column: str | None = None) -> declare.Metric:
    """Return a metric of l2metrics as one of Perdure's, for `perdure score --metrics FILE.py`.

    `column` selects one of the columns that it adds. A task's values are averaged, then the tasks, as in l2metrics.
    Call it at the end of the file that defines the class, or in another file.
    """
    cache: WeakKeyDictionary[Curves, Mapping[str, list[float | None]]] = WeakKeyDictionary()
    label = column or str(metric.name or type(metric).__name__)
    metric_id = identifier(label)

    def formula(life: Curves, site: Site, context: Context) -> float:
        if life not in cache:
            cache[life] = added_columns(calculated(metric, *frames(life, context)))
        columns = cache[life]
        name = column or next(iter(columns), "")
        if len(columns) > 1 and column is None:
            raise NoValue(f"{metric_id} adds {', '.join(columns)}; say which: declared(…, {next(iter(columns))!r})")
        value = columns[name][site.blocks["at"][0]] if name in columns else None
        if value is None:
            raise NoValue(f"{metric_id} says nothing of this block")
        return value

    formula.__doc__ = str(metric.description or "").strip() or f"{label}, as calculated for l2metrics."
    return declare.metric(_each_block, name=metric_id, source="l2metrics 3.1")(formula)


def _each_block(scenario: Scenario) -> Iterator[Site]:
    """a block"""  # noqa: D403 - completes "the scenario needs …"
    for index, block in enumerate(scenario.blocks):
        yield Site(block.task, {"at": (index,)})


def stand_in() -> None:
    """Make `import l2metrics` import this package, for files that must not be changed.

    A module of l2metrics that is already imported stays. This cannot be undone, and is never done automatically.
    """
    package = sys.modules["perdure.classic.l2metrics"]
    for name in ("l2metrics", "l2metrics.core", "l2metrics.report"):
        sys.modules.setdefault(name, package)


# --- frames --------------------------------------------------------------------------------------


def pandas() -> Any:
    """Return pandas, which only metrics written for its frames need."""
    return import_extra("pandas", "a metric written for l2metrics")


def frames(curves: Curves, context: Context) -> tuple[Any, Any, Any]:
    """Return `dataframe`, `block_info` and `metrics_df` as pandas frames."""
    rows = pandas().DataFrame(log_rows(curves).to_dict(as_series=False)).set_index("regime_num", drop=False)
    blocks = blocks_of(curves)
    if curves.prep.variants == "agnostic":
        blocks = blocks.drop("task_params")
    block_info = pandas().DataFrame(blocks.to_dict(as_series=False))
    several_sets = "task_params" in blocks.columns and blocks["task_params"].n_unique() > 1
    metrics_df = block_info[[*KEYS, *(("task_params",) if several_sets else ())]].copy()
    for name, values in regime_table(curves, context).items():
        column = np.empty(len(values), dtype=object)  # keeps lists and mappings as cells
        column[:] = values
        metrics_df[name] = column
    return rows, block_info, metrics_df


def log_rows(curves: Curves) -> pl.DataFrame:
    """Return the rows that count, in l2metrics' order of columns, with the measure after each step of preparation."""
    passage, measure = curves.passage, curves.passage.measure
    rows = passage.rows
    if len(rows) != len(curves.values):
        raise NoValue(
            "several rows share an experience number, and l2metrics counts rows: score with --preset l2metrics-3.1"
        )
    lengths = np.diff(passage.row_starts)
    tasks = np.repeat(np.array([block.task for block in curves.scenario.blocks], dtype=object), lengths)
    steps = {f"{measure}_{step}": values for step, values in _steps(curves).items()}
    rows = rows.with_columns(
        pl.Series("regime_num", np.repeat(np.arange(len(lengths)), lengths)),
        pl.Series("task_name", tasks, dtype=pl.String),
        pl.Series(measure, curves.values),
        *(pl.Series(name, values) for name, values in steps.items()),
    )
    first = [name for name in ("block_num", "regime_num", *STANDARD_COLUMNS) if name in rows.columns]
    return rows.select(*dict.fromkeys([*first, *(name for name in rows.columns if name not in steps), *steps]))


def _steps(curves: Curves) -> dict[str, Array]:
    """Return the values after each step of the preparation that was taken."""
    prep, blocks = curves.prep, curves.scenario.blocks
    steps = {"raw": curves.as_logged}
    if prep.window != "none":
        shown = [index for index, block in enumerate(blocks) if block.mode == "learn" or prep.smooth_evaluation]
        steps["smoothed"] = smooth(
            curves.measured, curves.starts, shown, window=prep.window, width=prep.width, alignment=prep.alignment
        )
    if prep.clamp:
        steps["filtered"] = unscaled(curves)
    if prep.scale != "none":
        steps["normalized"] = curves.values
    return steps
