"""`MetricsReport` of l2metrics 3.1, on Perdure's preset of the same numbers; what is added reaches every output."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from perdure import files
from perdure.classic.l2metrics.frames import frames, log_rows, pandas
from perdure.classic.l2metrics.lifetime import lifetime_facts, task_facts
from perdure.classic.l2metrics.metric import added, calculated
from perdure.classic.l2metrics.regimes import KEYS, blocks_of, regime_table
from perdure.classic.l2metrics.store import stored, unconverted
from perdure.classic.l2metrics31 import L2METRICS_31, NAMES
from perdure.curves.model import Curves
from perdure.curves.prepare import curves
from perdure.errors import PerdureError, UnknownNameError
from perdure.lazy import pl
from perdure.log.model import Lifetime
from perdure.log.read import read
from perdure.metrics.measure import Context, measure
from perdure.metrics.presets import PRESETS, prepared
from perdure.settings import Settings
from perdure.settings.presets import L2METRICS_31 as _PRESET

OPTIONS: Mapping[str, Any] = {
    "log_dir": "",
    "perf_measure": "reward",
    "variant_mode": "aware",
    "ste_averaging_method": "metrics",
    "aggregation_method": "mean",
    "maintenance_method": "mrlep",
    "transfer_method": "ratio",
    "normalization_method": "task",
    "smoothing_method": "flat",
    "do_smooth_eval_data": False,
    "window_length": None,
    "clamp_outliers": False,
    "data_range": None,
    "unit": "exp_num",
}
"""What a report is told, and what it takes where it is not."""
_OF_THE_COMMAND = frozenset(
    (
        *("recursive", "ste_store_mode", "data_range_file", "noise", "output_dir", "output", "show_eval_lines"),
        *("do_plot", "plot_types", "do_save", "load_settings", "do_save_settings"),
    )
)
"""What scripts hand over with the rest, since l2metrics heeds no name that it does not know."""
_FIGURES = {
    "raw": ("raw", "raw"),
    "eb": ("evaluations", "evaluation"),
    "lb": ("lifetime", "learning"),
    "ste": ("experts", "ste"),
}
"""Type of plot → our kind, and the end of its file's name."""
_IN_SETTINGS = tuple(name for name in OPTIONS if name not in ("do_smooth_eval_data", "data_range", "unit"))
_LONGEST = 25  # characters of parameters that a table of regimes shows


class MetricsReport:
    """The metrics of one log: l2metrics' own, and those that are added; options are its keyword arguments."""

    def __init__(self, experts: Sequence[str | os.PathLike[str] | Lifetime] | None = None, **options: Any) -> None:
        """Read the log and prepare it; `experts` are logs to compare with, in place of those that are stored."""
        for name in options:
            if name not in OPTIONS and name not in _OF_THE_COMMAND:
                raise UnknownNameError("option of MetricsReport", name, OPTIONS)
        told = {name: options.get(name, otherwise) for name, otherwise in OPTIONS.items()}
        self.options: Mapping[str, Any] = told
        self.log_dir = Path(told["log_dir"])
        self.perf_measure: str = told["perf_measure"]
        self.task_metrics = [name for name in NAMES if self._asked(name)]
        self.settings = Settings(
            _PRESET,
            measure=self.perf_measure,
            variants="agnostic" if told["variant_mode"] == "agnostic" else "name",
            aggregate=told["aggregation_method"],
            expert_average=told["ste_averaging_method"],
            scale=told["normalization_method"],
            window=told["smoothing_method"],
            width=told["window_length"],
            smooth_evaluation=bool(told["do_smooth_eval_data"]) or None,
            clamp=bool(told["clamp_outliers"]) or None,
            bounds={task: (one["min"], one["max"]) for task, one in (told["data_range"] or {}).items()} or None,
            lower_is_better=False,  # it knows no other measures
        )
        self._lifetime = read(self.log_dir)
        self._experts = _expert_logs(experts)
        self._metrics: list[Any] = []
        self._noise = 0.0
        self.ll_metrics_dict: dict[str, Any] = {}
        """What was calculated, once that was done."""
        self._curves = self._prepared()

    def _asked(self, name: str) -> bool:
        how = {"maintenance": self.options["maintenance_method"], "transfer": self.options["transfer_method"]}
        wanted = next((told for kind, told in how.items() if kind in name), "both")
        return wanted == "both" or name.endswith(wanted)

    def _prepared(self) -> Curves:
        settings = self.settings.replace(noise=self._noise) if self._noise else self.settings
        prep = prepared(settings, PRESETS.get(_PRESET))
        return curves(self._lifetime, prep, self._experts, measure=self.perf_measure, direction="higher")

    def add(self, metrics_list: Any) -> None:
        """Take a further metric, or several; each sees what those before it calculated."""
        self._metrics.extend(metrics_list if isinstance(metrics_list, list) else [metrics_list])

    def add_noise(self, mean: float, std: float) -> None:
        """Add normal noise to the learner's prepared values; the same each time, unlike l2metrics'."""
        if mean:
            raise PerdureError(f"noise of mean {mean:g} is a shift of every value", "give 0, and the deviation alone")
        self._noise = std
        self._curves = self._prepared()

    def calculate(self) -> None:
        """Every metric of l2metrics, then those that were added, in order."""
        table: dict[str, list[Any]] = self._regimes()
        own: dict[str, list[float | None]] = {}
        if self._metrics:
            rows, blocks, metrics_df = frames(self._curves, self._context)
            metrics_df = metrics_df[[name for name in metrics_df.columns if self._kept(name)]].copy()
            for one in self._metrics:
                metrics_df = calculated(one, rows, blocks, metrics_df)
            own = added(metrics_df)
        self._own, self._table = own, table
        values = {
            name: measure(
                L2METRICS_31[NAMES[name]], self._curves, self._context, aggregate=self.settings.aggregate
            ).value
            for name in self.task_metrics
        }
        tasks = task_facts(self._curves, table, self.task_metrics)
        blocks_tasks = [block.task for block in self._curves.scenario.blocks]
        for name, cells in own.items():
            for task, facts in tasks.items():
                told = [one for one, of in zip(cells, blocks_tasks, strict=True) if of == task and one is not None]
                facts[name] = math.fsum(told) / len(told) if told else None
            values[name] = _aggregate([facts[name] for facts in tasks.values()], self.settings.aggregate)
        self.lifetime_values: dict[str, float | None] = values
        self.ll_metrics_dict = {
            **{name: None if value is None else round(value, 10) for name, value in values.items()},
            **lifetime_facts(self._curves, self._lifetime, self.log_dir.name),
            "task_metrics": tasks,
        }

    @cached_property
    def _context(self) -> Context:
        return Context(expert_average=self.settings.expert_average)

    def _kept(self, column: str) -> bool:
        return not any(kind in column for kind in ("maintenance", "transfer")) or self._asked(column)

    def _regimes(self) -> dict[str, list[Any]]:
        return {name: one for name, one in regime_table(self._curves, self._context).items() if self._kept(name)}

    # --- what it shows ----------------------------------------------------------------------------

    @property
    def regime_metrics(self) -> pl.DataFrame:
        """A row for each regime, and what was added beside what l2metrics writes."""
        self._refuse_early()
        blocks, shown = blocks_of(self._curves), list(KEYS)
        if self.options["variant_mode"] == "aware" and blocks["task_params"].n_unique() > 1:
            shown.append("task_params")
            long = pl.col("task_params").str.len_chars() > _LONGEST
            cut = pl.col("task_params").str.slice(0, _LONGEST) + "..."
            blocks = blocks.with_columns(pl.when(long).then(cut).otherwise(pl.col("task_params")).alias("task_params"))
        table = self._table
        means = [
            one if one == one else other  # noqa: PLR0124 - NaN is not
            for one, other in zip(table["avg_train_perf"], table["avg_eval_perf"], strict=True)
        ]
        return blocks.select(shown).with_columns(
            *(pl.Series(name, table[name]) for name in ("saturation", "exp_to_sat", "term_perf", "exp_to_term_perf")),
            pl.Series("avg_perf", means, dtype=pl.Float64).fill_nan(None),
            *(pl.Series(name, cells, dtype=pl.Float64) for name, cells in self._own.items()),
            pl.lit(self.log_dir.name).alias("run_id"),
        )

    @property
    def regime_metrics_df(self) -> Any:
        """`regime_metrics` for pandas."""
        return pandas().DataFrame(self.regime_metrics.to_dict(as_series=False))

    @property
    def ll_metrics_df(self) -> Any:
        """One row for pandas: the lifetime's numbers, and what the log says of it."""
        self._refuse_early()
        said = {name: one for name, one in self.ll_metrics_dict.items() if not isinstance(one, dict)}
        return pandas().DataFrame([{**said, **self.lifetime_values}])

    @property
    def task_metrics_df(self) -> Any:
        """A row for each task, for pandas."""
        self._refuse_early()
        return pandas().DataFrame(self.ll_metrics_dict["task_metrics"]).T.rename_axis("task_name")

    def report(self) -> None:
        """Print the lifetime's numbers, those of added metrics among them."""
        self._refuse_early()
        width = max(map(len, self.lifetime_values))
        print("\nLifetime Metrics:")  # noqa: T201 - what it is for
        for name, value in self.lifetime_values.items():
            print(f"{name:<{width}}  {'N/A' if value is None else f'{value:.2f}'}")  # noqa: T201

    def save_metrics(self, output_dir: str | os.PathLike[str] = "", filename: str | None = None) -> None:
        """Write `NAME_metrics.json` and `NAME_regime.tsv`; a number that is missing is null."""
        self._refuse_early()
        told = json.dumps(self.ll_metrics_dict, ensure_ascii=False, allow_nan=False)
        files.deliver(self._target(output_dir, filename, "_metrics.json"), f"{told}\n".encode())
        regimes = self.regime_metrics.write_csv(separator="\t")
        files.deliver(self._target(output_dir, filename, "_regime.tsv"), regimes.encode())

    def save_data(self, output_dir: str | os.PathLike[str] = "", filename: str | None = None) -> None:
        """Write `NAME_data.feather`: every row that counts, as measured and as prepared."""
        log_rows(self._curves).write_ipc(self._target(output_dir, filename, "_data.feather"))

    def save_settings(self, output_dir: str | os.PathLike[str] = "", filename: str | None = None) -> None:
        """Write `NAME_settings.json`."""
        told = {**{name: self.options[name] for name in _IN_SETTINGS}, "log_dir": str(self.log_dir)}
        files.deliver(self._target(output_dir, filename, "_settings.json"), f"{json.dumps(told)}\n".encode())

    def plot(
        self,
        plot_types: str | Sequence[str] = ("all",),
        save: bool = False,
        show_eval_lines: bool = True,  # noqa: ARG002 - drawn either way
        output_dir: str | os.PathLike[str] = "",
        task_colors: Mapping[str, str] | None = None,  # noqa: ARG002 - colours are the figures' own
    ) -> dict[str, Any]:
        """The figures by type, written as PNG where `save` says so; one for which there is nothing is left out."""
        from perdure.reports.data import gather
        from perdure.reports.figures import draw, save_figure

        wanted = [plot_types] if isinstance(plot_types, str) else list(plot_types)
        material = gather(self._lifetime, self._experts, self.settings)
        drawn: dict[str, Any] = {}
        for name, (kind, end) in _FIGURES.items():
            if "all" not in wanted and name not in wanted:
                continue
            try:
                drawn[name] = draw(kind, material)
            except PerdureError:
                continue
            if save:
                save_figure(drawn[name], self._target(output_dir, None, f"_{end}.png"))
        return drawn

    def _target(self, output_dir: str | os.PathLike[str], filename: str | None, end: str) -> Path:
        name = self.log_dir.name if filename is None else filename.replace(" ", "_")
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}{end}"

    def _refuse_early(self) -> None:
        if not self.ll_metrics_dict:
            raise PerdureError("nothing was calculated yet", "call calculate() first")


def _expert_logs(given: Sequence[str | os.PathLike[str] | Lifetime] | None) -> tuple[Lifetime, ...]:
    if given is not None:
        return tuple(one if isinstance(one, Lifetime) else read(one) for one in given)
    if left := unconverted():
        warnings.warn(
            f"experts of {', '.join(left)} are stored as pickles, which can run code and are not loaded; "
            "examples/l2metrics/experts.py, run where l2metrics is, writes them as logs",
            stacklevel=3,
        )
    return stored()


def _aggregate(values: Sequence[float | None], how: str) -> float | None:
    known = sorted(one for one in values if one is not None)
    if not known:
        return None
    middle = len(known) // 2
    if how == "median":
        return known[middle] if len(known) % 2 else (known[middle - 1] + known[middle]) / 2
    return math.fsum(known) / len(known)
