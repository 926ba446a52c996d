"""The classes of l2metrics as December 2019 had them: reports, predefined metrics, and metrics of one's own.

`from perdure.classic.l2metrics2019 import AgentMetric, AgentMetricsReport` in place of `from l2metrics import …`. As a
command: `python -m perdure.classic.l2metrics2019 -log_dir NAME -syllabus_type agent -syllabus_subtype CL`.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from perdure.classic.frames2019 import blocks_in, frames
from perdure.classic.sites2019 import every_block
from perdure.curves.model import Curves
from perdure.errors import LogError, PerdureError, UnknownNameError
from perdure.gather.survey import survey
from perdure.log.read import read
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.declare import Metric, metric
from perdure.metrics.score import Score
from perdure.scenario.lint import KINDS
from perdure.settings import Settings
from perdure.settings.presets import FRAMEWORK_2019


class _Metric(ABC):
    """A metric: a name, and what it calculates from the log, its blocks, and what was calculated before it."""

    capability = "continual_learning"
    description = ""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in the report; a plain attribute will do."""

    @abstractmethod
    def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:
        """A number, or numbers by name; `metrics_dict` may be filled in place as well."""

    def validate(self, phase_info: Any) -> None:  # noqa: B027 - may be left as it is
        """Raise where the blocks do not allow it; nothing unless it is overridden."""


class AgentMetric(_Metric):
    """A metric of an agent, whose log has a reward for each episode."""


class ClassificationMetric(_Metric):
    """A metric of a classifier, whose log has an error for each batch."""


class Predefined(AgentMetric, ClassificationMetric):
    """A metric of Perdure's own under the names of then: `outputs` are what it prints, and the ids behind them."""

    def __init__(self, name: str, outputs: Mapping[str, str], capability: str = "continual_learning") -> None:
        self._name, self.outputs, self.capability = name, dict(outputs), capability

    @property
    def name(self) -> str:
        """What it is called in the report."""
        return self._name

    def of(self, score: Score) -> dict[str, float | None]:
        """What the score of a lifetime says; None where there is no value."""
        return {key: _PER_BLOCK[key](score) if key in _PER_BLOCK else score[one] for key, one in self.outputs.items()}

    def calculate(self, dataframe: Any, phase_info: Any, metrics_dict: dict[str, Any]) -> Any:  # noqa: ARG002
        """Only a report knows the experts, and so it calculates these by itself."""
        raise PerdureError(f"{self.name} is predefined", "add it to a MetricsReport, which calculates it")


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return math.fsum(known) / len(known) if known else None


# Then as now these are means over every block, of learning and of evaluation.
_PER_BLOCK: Mapping[str, Callable[[Score], float | None]] = {
    "global_within_block_saturation": lambda score: _mean([one.saturation for one in score.blocks]),
    "global_num_eps_to_saturation": lambda score: _mean([one.experiences_to_saturation for one in score.blocks]),
}


def GlobalMean() -> Predefined:  # noqa: N802 - the name of a class of then
    """The mean over the whole syllabus."""
    return Predefined("Global Mean", {"global_perf": "global_perf"})


def WithinBlockSaturation() -> Predefined:  # noqa: N802 - the name of a class of then
    """The saturation of each block and when it is reached, averaged over blocks."""
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
"""What a report holds unless told otherwise, in the order in which it is printed."""


class MetricsReport:
    """Metrics over one log: those predefined, and those that are added. See its two kinds."""

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
        """Read the log: a path, or a bare name under `$L2DATA/logs`. `metrics` replace those predefined.

        A syllabus of continual learning (CL) is not asked about transfer between tasks.
        """
        if syllabus_subtype is not None and syllabus_subtype.replace("_", "-").upper() not in KINDS:
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
        """Metric → what it calculated, once that was done."""
        alone = (syllabus_subtype or "").upper() == "CL"
        predefined = [one for one in PREDEFINED if not (alone and one.capability == _ADAPTING)]
        for one in predefined if metrics is None else metrics:
            self.add(one)

    def add(self, metric: _Metric) -> None:
        """Take a further metric; it is calculated after those before it."""
        if not isinstance(metric, self.kind):
            raise PerdureError(f"{metric!r} is no {self.kind.__name__}", "subclass that, and give an instance of it")
        self._metrics.append(metric)

    def calculate(self) -> None:
        """Every metric, in order; each sees the log, its blocks, and what those before it calculated."""
        settings = Settings(FRAMEWORK_2019, measure=self._measure)
        score = survey(self._lifetime, self._experts, settings).scores[0]
        dataframe, phase_info = frames(self._lifetime.passage(self._measure, "name"))
        metrics_dict: dict[str, Any] = {}
        for one in self._metrics:
            one.validate(phase_info)
            if isinstance(one, Predefined):
                value: Any = one.of(score)
            else:
                value = one.calculate(dataframe, phase_info, metrics_dict)
            if isinstance(value, Mapping):  # pandas gives NumPy's numbers, which print as such
                value = {key: getattr(each, "item", lambda each=each: each)() for key, each in value.items()}
            self.values[one.name] = value
            if isinstance(value, Mapping):
                metrics_dict.update(value)

    def report(self) -> None:
        """Print what was calculated, a metric and its value at a time."""
        for name, value in self.values.items():
            print(f"\nMetric: {name}\nValue: {value}")  # noqa: T201 - what it is for


class AgentMetricsReport(MetricsReport):
    """The metrics of an agent: the log has a column `reward`."""

    kind = AgentMetric
    measure = "reward"


class ClassificationMetricsReport(MetricsReport):
    """The metrics of a classifier: the log has an error, or another measure, for each batch."""

    kind = ClassificationMetric


def read_log_data(log_dir: str | os.PathLike[str]) -> Any:
    """The rows of a log under the names of 2019, as a pandas DataFrame where pandas is installed, else a Polars one."""
    lifetime = read(log_dir)
    return frames(lifetime.passage(lifetime.measure(), "name"))[0]


def parse_blocks(log_data: Any) -> Any:
    """The blocks of a log, or of the rows that `read_log_data` gave: number, phase, task, parameters, length."""
    if not isinstance(log_data, str | os.PathLike):
        return blocks_in(log_data)
    lifetime = read(log_data)
    return frames(lifetime.passage(lifetime.measure(), "name"))[1]


def declared(one: _Metric, key: str | None = None) -> Metric:
    """A metric of 2019 as one of Perdure's, for `perdure score --metrics FILE.py`: `key` says which of its numbers.

    Call it at the end of the file that holds the class.
    """

    def formula(life: Curves) -> float:
        given = one.calculate(*frames(life.passage), {})
        value = given
        if isinstance(given, Mapping):
            value = given.get(key) if key else next(iter(given.values()), None)
        if value is None:
            raise NoValue(f"{one.name} gives no {key or 'value'}")
        return float(value)

    formula.__doc__ = one.description or f"{one.name}."
    called = "_".join("".join(letter if letter.isalnum() else " " for letter in key or one.name).lower().split())
    return metric(every_block, name=called, source="l2metrics, 2019", preset=FRAMEWORK_2019)(formula)


def main(arguments: Sequence[str] | None = None) -> int:
    """What `python -m l2metrics` and `calc_metrics.py` did, with their options."""
    parser = argparse.ArgumentParser(prog="python -m perdure.classic.l2metrics2019", description=__doc__)
    parser.add_argument("-log_dir", required=True, help="a log: its folder, or its name under $L2DATA/logs")
    parser.add_argument("-syllabus_type", choices=("agent", "classification"), help="what the log is of")
    parser.add_argument("-syllabus_subtype", help=f"one of {', '.join(KINDS)}")
    given = parser.parse_args(arguments)
    try:
        kind = ClassificationMetricsReport if given.syllabus_type == "classification" else AgentMetricsReport
        report = kind(given.log_dir, given.syllabus_subtype)
        report.calculate()
    except PerdureError as problem:
        print(f"l2metrics: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    report.report()
    return 0


if __name__ == "__main__":
    sys.exit(main())
