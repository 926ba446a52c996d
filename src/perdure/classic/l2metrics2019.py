"""The classes of l2metrics as of December 2019: reports, predefined metrics, and custom metrics.

`from perdure.classic.l2metrics2019 import AgentMetric, AgentMetricsReport` replaces `from l2metrics import …`. As a
command: `python -m perdure.classic.l2metrics2019 -log_dir NAME -syllabus_type agent -syllabus_subtype CL`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from perdure.classic.learnkit import LearnkitPhase
from perdure.classic.learnkit_writer import phases
from perdure.classic.sites2019 import every_block
from perdure.curves.model import Curves
from perdure.errors import LogError, PerdureError, UnknownNameError
from perdure.gather.survey import survey
from perdure.lazy import pl
from perdure.log.model import Passage
from perdure.log.read import read
from perdure.log.rules import STANDARD_COLUMNS
from perdure.metrics import declare
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.declare import Metric
from perdure.metrics.score import Score
from perdure.scenario.lint import KINDS
from perdure.settings import Settings
from perdure.settings.presets import FRAMEWORK_2019

# --- data frames ---------------------------------------------------------------------------------

_NAMES = {"worker_id": "worker", "task_name": "class_name", "task_params": "params"}
_OURS = ("block_num", "block_type", "block_subtype", "exp_status", "phase", "block", "task", *_NAMES.values())


def read_log_data(log_dir: str | os.PathLike[str]) -> Any:
    """Read the rows of a log under the names of 2019, into pandas if it is installed, else into Polars."""
    lifetime = read(log_dir)
    return _frames(lifetime.passage(lifetime.measure(), "name"))[0]


def parse_blocks(log_data: Any) -> Any:
    """Return the blocks of a log, or of rows from `read_log_data`: number, phase, task, parameters and length."""
    rows = read_log_data(log_data) if isinstance(log_data, str | os.PathLike) else log_data
    table = pl.DataFrame({name: list(rows[name]) for name in ("block", "phase", "class_name", "params", "task")})
    blocks = table.group_by("block", maintain_order=True).agg(
        pl.first("phase", "class_name", "params"), length=pl.col("task").n_unique()
    )
    parsed = [LearnkitPhase.parse(text) for text in blocks["phase"]]
    return _frame(
        blocks.select(
            "block",
            "phase",
            pl.Series("phase_number", [phase and phase.number for phase in parsed]),
            pl.Series("phase_type", [phase and phase.mode for phase in parsed]),
            pl.col("class_name").alias("task_name"),
            "params",
            "length",
        )
    )


def _frames(passage: Passage) -> tuple[Any, Any]:
    """Return the rows that count, and their blocks, numbered from 0.

    As in logs of 2019, `task` is the number of an episode, and `class_name` the name of a task.
    """
    rows, starts = passage.rows, passage.row_starts
    measured = [name for name in rows.columns if name not in (*STANDARD_COLUMNS, *_OURS)]
    data = _frame(
        pl.DataFrame(
            {
                "block": np.repeat(np.arange(len(starts) - 1), np.diff(starts)),
                "phase": phases(rows),
                "task": rows["exp_num"],
                **{name: rows[column].cast(pl.String) for column, name in _NAMES.items()},
                **{name: rows[name] for name in measured},
            }
        )
    )
    return data, parse_blocks(data)


def _frame(table: pl.DataFrame) -> Any:
    if find_spec("pandas") is None:
        return table
    return import_module("pandas").DataFrame(table.to_dict(as_series=False))


# --- metrics -------------------------------------------------------------------------------------


class _Metric(ABC):
    """A metric, calculated from the log, its blocks, and the results of the metrics before it."""

    capability = "continual_learning"
    description = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """The metric's name in the report; a plain attribute works as well."""

    @abstractmethod
    def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
        """Return a number, or numbers by name; `metrics_dict` may be changed in place as well."""

    def validate(self, phase_info: Any) -> None:  # noqa: B027 - optional
        """Raise an error if the blocks do not allow the metric; to be overridden."""


class AgentMetric(_Metric):
    """A metric of an agent, whose log has a reward for each episode."""


class ClassificationMetric(_Metric):
    """A metric of a classifier, whose log has an error for each batch."""


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


# As in 2019, these are means over every block, of learning and of evaluation.
_PER_BLOCK: Mapping[str, Callable[[Score], float | None]] = {
    "global_within_block_saturation": lambda score: _mean(block.saturation for block in score.blocks),
    "global_num_eps_to_saturation": lambda score: _mean(block.experiences_to_saturation for block in score.blocks),
}


class Predefined(AgentMetric, ClassificationMetric):
    """A metric of Perdure under its names of 2019: `outputs` maps each name to the id of a metric."""

    name = ""

    def __init__(self, name: str, outputs: Mapping[str, str], capability: str = "continual_learning") -> None:
        self.name, self.outputs, self.capability = name, dict(outputs), capability

    def of(self, score: Score) -> dict[str, float | None]:
        """Return the values in a lifetime's score; None for a metric without one."""
        return {
            key: _PER_BLOCK[key](score) if key in _PER_BLOCK else score[metric_id]
            for key, metric_id in self.outputs.items()
        }

    def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:  # noqa: ARG002
        """Raise an error, because only a report has the experts."""
        raise PerdureError(f"{self.name} is predefined", "add it to a MetricsReport, which calculates it")


def GlobalMean() -> Predefined:  # noqa: N802 - a class in 2019
    """Return the mean over the whole syllabus."""
    return Predefined("Global Mean", {"global_perf": "global_perf"})


def WithinBlockSaturation() -> Predefined:  # noqa: N802 - a class in 2019
    """Return the saturation of each block and the time to it, averaged over blocks."""
    return Predefined("Average Within Block Saturation Calculation", dict.fromkeys(_PER_BLOCK, "saturation"))


_ADAPTING = "adapting_to_new_tasks"
PREDEFINED: tuple[Predefined, ...] = (
    WithinBlockSaturation(),
    Predefined("Normalized Integral of Reward", {"global_normalized_integral": "normalized_integral"}),
    Predefined("Recovery Time", {"global_recovery_time": "recovery_time"}),
    Predefined(
        "Performance Maintenance on Test Sets",
        {
            "global_maintenance_saturation": "maintenance_on_test",
            "global_maintenance_num_eps_to_saturation": "maintenance_on_test_time",
            "global_maintenance_perf": "maintenance_on_test_mean",
        },
    ),
    Predefined("Performance Relative to Single Task Expert", {"global_ste_relative": "ste_relative"}),
    Predefined(
        "Transfer Matrix",
        {"global_forward_transfer": "ste_forward_transfer", "global_reverse_transfer": "ste_reverse_transfer"},
        _ADAPTING,
    ),
    Predefined("Improvement of Time-to-Learn", {"global_time_to_learn_gain": "time_to_learn_gain"}, _ADAPTING),
    Predefined("Transfer of Continual Learning", {"global_cl_transfer": "transfer_of_continual_learning"}, _ADAPTING),
    GlobalMean(),
)
"""The default metrics of a report, in the order in which they are printed."""


# --- reports -------------------------------------------------------------------------------------


class SyllabusReport:
    """Metrics over one log: the predefined ones and those that are added. Use one of its subclasses."""

    kind: type[Any] = _Metric
    measure: str | None = None

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        syllabus_subtype: str | None = None,
        *,
        metrics: Sequence[_Metric] | None = None,
        experts: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        """Read the log: a path, or a bare name under `$L2DATA/logs`. `metrics` replace the predefined ones.

        With the subtype CL (continual learning), metrics of transfer between tasks are left out.
        """
        subtype = (syllabus_subtype or "").replace("_", "-").upper()
        if syllabus_subtype is not None and subtype not in KINDS:
            raise UnknownNameError("syllabus_subtype", syllabus_subtype, KINDS)
        self.log_dir = log_dir
        self.syllabus_subtype = syllabus_subtype
        self._lifetime = read(log_dir)
        self._measure = self._lifetime.measure(self.measure if self.measure in self._lifetime.measures else None)
        if self.measure and self._measure != self.measure:
            raise LogError(
                f"no column {self.measure!r}, which this kind of report needs (found: "
                f"{', '.join(self._lifetime.measures)})",
                "take ClassificationMetricsReport, or rename the column",
                file=log_dir,
            )
        self._experts = tuple(experts)
        self._metrics: list[_Metric] = []
        self.values: dict[str, Any] = {}
        """The results by metric, once calculated."""
        predefined = [metric for metric in PREDEFINED if subtype != "CL" or metric.capability != _ADAPTING]
        for metric in predefined if metrics is None else metrics:
            self.add(metric)

    def add(self, metric: _Metric) -> None:
        """Add a metric, which is calculated after those before it."""
        if not isinstance(metric, self.kind):
            raise PerdureError(f"{metric!r} is no {self.kind.__name__}", "subclass that, and give an instance of it")
        self._metrics.append(metric)

    def calculate(self) -> None:
        """Calculate every metric in order, from the log, its blocks, and the results so far."""
        settings = Settings(FRAMEWORK_2019, measure=self._measure)
        score = survey(self._lifetime, self._experts, settings).scores[0]
        dataframe, phase_info = _frames(self._lifetime.passage(self._measure, "name"))
        results: dict[str, Any] = {}
        for metric in self._metrics:
            metric.validate(phase_info)
            if isinstance(metric, Predefined):
                value: Any = metric.of(score)
            else:
                value = metric.calculate(dataframe, phase_info, results)
            if isinstance(value, Mapping):  # pandas returns NumPy scalars, which print with their type
                value = {key: item.item() if hasattr(item, "item") else item for key, item in value.items()}
                results.update(value)
            self.values[metric.name] = value

    def report(self) -> None:
        """Print each metric with its value."""
        for name, value in self.values.items():
            print(f"\nMetric: {name}\nValue: {value}")  # noqa: T201 - its purpose


MetricsReport = SyllabusReport  # l2metrics' name


class AgentMetricsReport(SyllabusReport):
    """The metrics of an agent, whose log has a column `reward`."""

    kind = AgentMetric
    measure = "reward"


class ClassificationMetricsReport(SyllabusReport):
    """The metrics of a classifier, whose log has an error, or another measure, for each batch."""

    kind = ClassificationMetric


def declared(classic: _Metric, key: str | None = None) -> Metric:
    """Return a metric of 2019 as one of Perdure's, for `perdure score --metrics FILE.py`; `key` selects its number.

    Call it at the end of the file that defines the class.
    """

    def formula(life: Curves) -> float:
        value = classic.calculate(*_frames(life.passage), {})
        if isinstance(value, Mapping):
            value = value.get(key) if key else next(iter(value.values()), None)
        if value is None:
            raise NoValue(f"{classic.name} gives no {key or 'value'}")
        return float(value)

    formula.__doc__ = classic.description or f"{classic.name}."
    return declare.metric(
        every_block, name=identifier(key or classic.name), source="l2metrics, 2019", preset=FRAMEWORK_2019
    )(formula)


def identifier(text: str) -> str:
    """Return a name such as `Best Episode` as an id: `best_episode`."""
    return "_".join("".join(character if character.isalnum() else " " for character in text).lower().split())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as `python -m l2metrics` and `calc_metrics.py` did; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m perdure.classic.l2metrics2019", description=__doc__)
    parser.add_argument("-log_dir", required=True, help="a log: its folder, or its name under $L2DATA/logs")
    parser.add_argument("-syllabus_type", choices=("agent", "classification"), help="what the log is of")
    parser.add_argument("-syllabus_subtype", help=f"one of {', '.join(KINDS)}")
    options = parser.parse_args(arguments)
    try:
        kind = ClassificationMetricsReport if options.syllabus_type == "classification" else AgentMetricsReport
        report = kind(options.log_dir, options.syllabus_subtype)
        report.calculate()
    except PerdureError as problem:
        print(f"l2metrics: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    report.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
