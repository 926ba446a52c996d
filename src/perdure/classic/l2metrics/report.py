"""`MetricsReport` of l2metrics 3.1, on Perdure's preset of the same numbers, and its stored experts."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

from perdure import files
from perdure.classic.l2metrics.metric import added_columns, calculated, frames, log_rows, pandas
from perdure.classic.l2metrics.regimes import KEYS, blocks_of, is_known, lifetime_facts, regime_table, task_facts
from perdure.classic.l2metrics31 import METRICS, NAMES
from perdure.curves.experts import read_experts
from perdure.curves.model import Curves
from perdure.curves.prepare import curves
from perdure.errors import LogError, PerdureError, UnknownNameError
from perdure.lazy import pl
from perdure.log.model import Lifetime
from perdure.log.read import locate, read
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
"""The options of a report with their defaults."""
_COMMAND_OPTIONS = frozenset(
    (
        *("recursive", "ste_store_mode", "data_range_file", "noise", "output_dir", "output", "show_eval_lines"),
        *("do_plot", "plot_types", "do_save", "load_settings", "do_save_settings"),
    )
)
"""Options of the command, which scripts pass with the rest because l2metrics ignores names that it does not know."""
_FIGURES = {
    "raw": ("raw", "raw"),
    "eb": ("evaluations", "evaluation"),
    "lb": ("lifetime", "learning"),
    "ste": ("experts", "ste"),
}
"""Perdure's figure and the suffix of the file name, by type of plot."""
_SAVED = tuple(name for name in OPTIONS if name not in ("do_smooth_eval_data", "data_range", "unit"))
_PARAMS_WIDTH = 25  # characters of parameters in a table of regimes

PathText = str | os.PathLike[str]


class MetricsReport:
    """The metrics of one log: those of l2metrics, and those that are added. Options are keyword arguments."""

    def __init__(self, experts: Sequence[PathText | Lifetime] | None = None, **options: Any) -> None:
        """Read the log and prepare it; `experts` are logs to compare with, in place of those that are stored."""
        for name in options:
            if name not in OPTIONS and name not in _COMMAND_OPTIONS:
                raise UnknownNameError("option of MetricsReport", name, OPTIONS)
        values = {name: options.get(name, default) for name, default in OPTIONS.items()}
        self.options: Mapping[str, Any] = values
        self.log_dir = Path(values["log_dir"])
        self.perf_measure: str = values["perf_measure"]
        self.task_metrics = [name for name in NAMES if self._wanted(name)]
        self.settings = Settings(
            _PRESET,
            measure=self.perf_measure,
            variants="agnostic" if values["variant_mode"] == "agnostic" else "name",
            aggregate=values["aggregation_method"],
            expert_average=values["ste_averaging_method"],
            scale=values["normalization_method"],
            window=values["smoothing_method"],
            width=values["window_length"],
            smooth_evaluation=bool(values["do_smooth_eval_data"]) or None,
            clamp=bool(values["clamp_outliers"]) or None,
            bounds={task: (span["min"], span["max"]) for task, span in (values["data_range"] or {}).items()} or None,
            lower_is_better=False,  # l2metrics has no other measures
        )
        self._lifetime = read(self.log_dir)
        self._experts = _expert_logs(experts)
        self._context = Context(expert_average=self.settings.expert_average)
        self._metrics: list[Any] = []
        self._noise = 0.0
        self.ll_metrics_dict: dict[str, Any] = {}
        """The results, once calculated."""
        self._curves = self._prepared()

    def _wanted(self, name: str) -> bool:
        """Return whether the options ask for a number of l2metrics, of whose methods there are two or more."""
        for kind in ("maintenance", "transfer"):
            if kind in name:
                return self.options[f"{kind}_method"] == "both" or name.endswith(self.options[f"{kind}_method"])
        return True

    def _prepared(self) -> Curves:
        settings = self.settings.replace(noise=self._noise) if self._noise else self.settings
        prep = prepared(settings, PRESETS.get(_PRESET))
        return curves(self._lifetime, prep, self._experts, measure=self.perf_measure, direction="higher")

    def add(self, metrics_list: Any) -> None:
        """Add a metric, or several; each receives the results of those before it."""
        self._metrics.extend(metrics_list if isinstance(metrics_list, list) else [metrics_list])

    def add_noise(self, mean: float, std: float) -> None:
        """Add normal noise to the learner's prepared values; unlike in l2metrics, the same each time."""
        if mean:
            raise PerdureError(f"noise of mean {mean:g} is a shift of every value", "give 0, and the deviation alone")
        self._noise = std
        self._curves = self._prepared()

    def calculate(self) -> None:
        """Calculate every metric of l2metrics, then those that were added, in order."""
        table = regime_table(self._curves, self._context)
        self._table = {name: values for name, values in table.items() if self._wanted(name)}
        self._added: dict[str, list[float | None]] = {}
        if self._metrics:
            rows, blocks, metrics_df = frames(self._curves, self._context)
            metrics_df = metrics_df[[name for name in metrics_df.columns if self._wanted(name)]].copy()
            for metric in self._metrics:
                metrics_df = calculated(metric, rows, blocks, metrics_df)
            self._added = added_columns(metrics_df)
        how = self.settings.aggregate
        values = {
            name: measure(METRICS[NAMES[name]], self._curves, self._context, aggregate=how).value
            for name in self.task_metrics
        }
        tasks = task_facts(self._curves, self._table, self.task_metrics)
        block_tasks = [block.task for block in self._curves.scenario.blocks]
        for name, cells in self._added.items():
            for task, facts in tasks.items():
                task_cells = [cell for cell, block_task in zip(cells, block_tasks, strict=True) if block_task == task]
                facts[name] = _aggregate(task_cells, "mean")
            values[name] = _aggregate((facts[name] for facts in tasks.values()), how)
        self.lifetime_values: dict[str, float | None] = values
        self.ll_metrics_dict = {
            **{name: None if value is None else round(value, 10) for name, value in values.items()},
            **lifetime_facts(self._curves, self._lifetime, self.log_dir.name),
            "task_metrics": tasks,
        }

    # --- results ----------------------------------------------------------------------------------

    @property
    def regime_metrics(self) -> pl.DataFrame:
        """A row for each regime: the columns of l2metrics, and those that were added."""
        self._require_results()
        blocks, keys = blocks_of(self._curves), list(KEYS)
        if self.options["variant_mode"] == "aware" and blocks["task_params"].n_unique() > 1:
            keys.append("task_params")
            params = pl.col("task_params")
            short = params.str.slice(0, _PARAMS_WIDTH) + "..."
            blocks = blocks.with_columns(
                pl.when(params.str.len_chars() > _PARAMS_WIDTH).then(short).otherwise(params).alias("task_params")
            )
        table = self._table
        means = [
            trained if is_known(trained) else evaluated
            for trained, evaluated in zip(table["avg_train_perf"], table["avg_eval_perf"], strict=True)
        ]
        return blocks.select(keys).with_columns(
            *(pl.Series(name, table[name]) for name in ("saturation", "exp_to_sat", "term_perf", "exp_to_term_perf")),
            pl.Series("avg_perf", means, dtype=pl.Float64).fill_nan(None),
            *(pl.Series(name, cells, dtype=pl.Float64) for name, cells in self._added.items()),
            pl.lit(self.log_dir.name).alias("run_id"),
        )

    @property
    def regime_metrics_df(self) -> Any:
        """`regime_metrics` for pandas."""
        return pandas().DataFrame(self.regime_metrics.to_dict(as_series=False))

    @property
    def ll_metrics_df(self) -> Any:
        """One row for pandas: the lifetime's numbers and facts."""
        self._require_results()
        facts = {name: value for name, value in self.ll_metrics_dict.items() if not isinstance(value, dict)}
        return pandas().DataFrame([{**facts, **self.lifetime_values}])

    @property
    def task_metrics_df(self) -> Any:
        """A row for each task, for pandas."""
        self._require_results()
        return pandas().DataFrame(self.ll_metrics_dict["task_metrics"]).T.rename_axis("task_name")

    def report(self) -> None:
        """Print the lifetime's numbers, including those of added metrics."""
        self._require_results()
        width = max(map(len, self.lifetime_values))
        print("\nLifetime Metrics:")  # noqa: T201 - its purpose
        for name, value in self.lifetime_values.items():
            print(f"{name:<{width}}  {'N/A' if value is None else f'{value:.2f}'}")  # noqa: T201

    def save_metrics(self, output_dir: PathText = "", filename: str | None = None) -> None:
        """Write `NAME_metrics.json` and `NAME_regime.tsv`; a missing number is null."""
        self._require_results()
        results = json.dumps(self.ll_metrics_dict, ensure_ascii=False, allow_nan=False)
        files.deliver(self._target(output_dir, filename, "_metrics.json"), f"{results}\n".encode())
        regimes = self.regime_metrics.write_csv(separator="\t")
        files.deliver(self._target(output_dir, filename, "_regime.tsv"), regimes.encode())

    def save_data(self, output_dir: PathText = "", filename: str | None = None) -> None:
        """Write `NAME_data.feather`: every row that counts, as measured and as prepared."""
        log_rows(self._curves).write_ipc(self._target(output_dir, filename, "_data.feather"))

    def save_settings(self, output_dir: PathText = "", filename: str | None = None) -> None:
        """Write `NAME_settings.json`."""
        settings = {**{name: self.options[name] for name in _SAVED}, "log_dir": str(self.log_dir)}
        files.deliver(self._target(output_dir, filename, "_settings.json"), f"{json.dumps(settings)}\n".encode())

    def plot(
        self,
        plot_types: str | Sequence[str] = ("all",),
        save: bool = False,
        show_eval_lines: bool = True,  # noqa: ARG002 - drawn either way
        output_dir: PathText = "",
        task_colors: Mapping[str, str] | None = None,  # noqa: ARG002 - the figures have their own colours
    ) -> dict[str, Any]:
        """Draw the figures by type, and write them as PNG if `save`; a figure without data is left out."""
        from perdure.reports.data import gather
        from perdure.reports.figures import FIGURES, save_figure

        wanted = [plot_types] if isinstance(plot_types, str) else list(plot_types)
        data = gather(self._lifetime, self._experts, self.settings)
        handles: dict[str, Any] = {}
        for name, (kind, suffix) in _FIGURES.items():
            if "all" not in wanted and name not in wanted:
                continue
            try:
                handles[name] = FIGURES[kind].draw(data)
            except PerdureError:
                continue
            if save:
                save_figure(handles[name], self._target(output_dir, None, f"_{suffix}.png"))
        return handles

    def _target(self, output_dir: PathText, filename: str | None, suffix: str) -> Path:
        name = self.log_dir.name if filename is None else filename.replace(" ", "_")
        folder = Path(output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}{suffix}"

    def _require_results(self) -> None:
        if not self.ll_metrics_dict:
            raise PerdureError("nothing was calculated yet", "call calculate() first")


def _aggregate(values: Iterable[float | None], how: str) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return median(known) if how == "median" else fmean(known)


# --- stored experts ------------------------------------------------------------------------------

MODES = ("w", "a")
"""Replace the stored experts of the task, or add to them."""


def _store() -> Path:
    """Return the folder of logs that serve as experts in later runs."""
    return files.data_folder() / "taskinfo" / "experts"


def store_expert(log_dir: PathText, mode: str = "w") -> Path:
    """Copy the log of an expert to `$L2DATA/taskinfo/experts`, so that it serves every log scored from now on."""
    place = locate(log_dir)
    scenario = read(place).passage(None, "name").scenario
    tasks = list(dict.fromkeys(block.task for block in scenario.blocks if block.mode == "learn"))
    if len(tasks) != 1:
        raise LogError(
            f"an expert learns one task, and this learns {len(tasks)} ({', '.join(tasks)})",
            "give such a log",
            file=place,
        )
    folder = _store() / tasks[0]
    if mode == "w":
        shutil.rmtree(folder, ignore_errors=True)
    number = max((int(log.name) for log in folder.glob("*") if log.name.isdigit()), default=0) + 1
    target = folder / f"{number:04}"
    shutil.copytree(place, target)
    return target


def _expert_logs(experts: Sequence[PathText | Lifetime] | None) -> tuple[Lifetime, ...]:
    """Return the given experts, or the stored ones, of each task the newest first."""
    if experts is not None:
        return tuple(expert if isinstance(expert, Lifetime) else read(expert) for expert in experts)
    folders = sorted(_store().glob("*"))
    converted = {folder.name for folder in folders}
    pickles = sorted(file.stem for file in (files.data_folder() / "taskinfo").glob("*.pickle"))
    if left := [task for task in pickles if task.lower() not in converted]:
        warnings.warn(
            f"experts of {', '.join(left)} are stored as pickles, which can run code and are not loaded; "
            "examples/l2metrics/experts.py, run where l2metrics is, writes them as logs",
            stacklevel=3,
        )
    logs = [log for folder in folders for log in sorted(folder.glob("*"), reverse=True)]
    return read_experts([str(log) for log in logs]).lifetimes if logs else ()
