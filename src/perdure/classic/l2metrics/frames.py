"""What l2metrics hands to a metric: the rows, the blocks, and what was calculated before, as frames of pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from perdure.classic.l2metrics.lifetime import unscaled
from perdure.classic.l2metrics.regimes import KEYS, blocks_of, regime_table
from perdure.curves.arrays import Array, smooth
from perdure.curves.model import Curves
from perdure.lazy import of_extra, pl
from perdure.log.model import STANDARD_COLUMNS
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.measure import Context


def pandas() -> Any:
    """The library, which only metrics written for its frames need."""
    return of_extra("pandas", "a metric written for l2metrics")


def frames(curves: Curves, context: Context) -> tuple[Any, Any, Any]:
    """`dataframe`, `block_info` and `metrics_df`, as `Metric.calculate` takes them."""
    library = pandas()
    rows = library.DataFrame(log_rows(curves).to_dict(as_series=False))
    rows = rows.set_index("regime_num", drop=False)
    blocks = blocks_of(curves)
    if curves.prep.variants == "agnostic":
        blocks = blocks.drop("task_params")
    block_info = library.DataFrame(blocks.to_dict(as_series=False))
    told = "task_params" in blocks.columns and blocks["task_params"].n_unique() > 1
    metrics_df = block_info[[*KEYS, *(("task_params",) if told else ())]].copy()
    for name, values in regime_table(curves, context).items():
        column = np.empty(len(values), dtype=object)  # lists and mappings are cells here, not rows
        column[:] = values
        metrics_df[name] = column
    return rows, block_info, metrics_df


def log_rows(curves: Curves) -> pl.DataFrame:
    """The rows that count, in its order of columns: the measure as prepared, and beside it what it was before."""
    passage, measure = curves.passage, curves.passage.measure
    rows = passage.rows
    if len(rows) != len(curves.values):
        raise NoValue(
            "several rows share an experience number, and l2metrics counts rows: score with --preset l2metrics-3.1"
        )
    lengths = np.diff(passage.row_starts)
    known = ["block_num", "regime_num", *(name for name in STANDARD_COLUMNS if name != "block_num")]
    others = [name for name in rows.columns if name not in (*STANDARD_COLUMNS, "regime_num")]
    tasks = np.repeat(np.array([block.task for block in curves.scenario.blocks], dtype=object), lengths)
    whole = rows.with_columns(
        pl.Series("regime_num", np.repeat(np.arange(len(lengths)), lengths)),
        pl.Series("task_name", tasks, dtype=pl.String),
        pl.Series(measure, curves.values),
        *(pl.Series(f"{measure}_{step}", values) for step, values in _steps(curves).items()),
    )
    made = [f"{measure}_{step}" for step in _steps(curves)]
    return whole.select([name for name in (*known, *others) if name in whole.columns and name not in made] + made)


def _steps(curves: Curves) -> dict[str, Array]:
    """The values after each step of the preparation that was taken."""
    prep, blocks = curves.prep, curves.scenario.blocks
    steps = {"raw": curves.as_logged}
    values = curves.measured
    if prep.window != "none":
        which = [index for index, block in enumerate(blocks) if block.mode == "learn" or prep.smooth_evaluation]
        values = smooth(values, curves.starts, which, window=prep.window, width=prep.width, alignment=prep.alignment)
        steps["smoothed"] = values
    if prep.clamp:
        steps["filtered"] = unscaled(curves)
    if prep.scale != "none":
        steps["normalized"] = curves.values
    return steps
