"""What trackers let people download of a chart: W&B's CSV of a panel, and MLflow's metrics.csv; a lifetime per run.

W&B writes a column for the axis, and of each run and metric `RUN - METRIC`, `RUN - METRIC__MIN`, `RUN - METRIC__MAX`.
MLflow writes `run_id,key,value,step,timestamp`, a row per value (`convertMetricsToCsv` of its `MetricsPlotPanel`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats import packed
from perdure.log.formats.mlflow import settled
from perdure.log.formats.runs import Row, Scalar, in_rows, run_lifetimes
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options, SeveralLifetimes
from perdure.log.rows import Table

_MLFLOW = {"run_id", "key", "value", "step", "timestamp"}
_BETWEEN, _LOW, _HIGH = " - ", "__MIN", "__MAX"
_SAMPLED = "the CSV of a chart holds a sample of a long run; its offline folder or its history holds all of it"
_LARGEST = 2.0**63


class _Charts(SeveralLifetimes[Lifetime]):
    name = "charts"
    summary = (
        "the CSV of a chart of Weights & Biases (Step, RUN - METRIC, RUN - METRIC__MIN, …), or MLflow's metrics.csv "
        "(run_id,key,value,step,timestamp)"
    )

    def recognises(self, path: Path) -> bool:
        """By the names of its columns."""
        if packed.inner_kind(path) != ".csv" or not path.is_file():
            return False
        header = packed.first_line(path) or []
        return set(header) == _MLFLOW or bool(_curves(header))

    def lifetimes(self, path: Path, options: Options, part: str | None = None) -> Iterator[Lifetime]:  # noqa: ARG002
        """A lifetime per run, by its tags."""
        notes: list[str] = []
        table = packed.table(path, notes, options.max_unpacked)
        if table is None:
            raise LogError(f"no values here ({'; '.join(notes)})", f"expected {self.summary}", file=path)
        # What is missing is an empty text here, in quotes as everything is.
        table = Table(table.rows.with_columns(pl.col(pl.String).replace("", None)), table.parts)
        sampled = set(table.rows.columns) != _MLFLOW
        runs = _of_wandb(table) if sampled else _of_mlflow(table)
        for run, rows in runs.items():
            for one in run_lifetimes(rows, path, options, f"{as_text(packed.stem(path))}#{run}"):
                yield replace(one, inside=run, notes=(*notes, *one.notes, *((_SAMPLED,) if sampled else ())))


def _curves(header: Sequence[str]) -> list[str]:
    """The columns of a chart that are the values of a run, not their bounds."""
    there = set(header)
    return [one for one in header if _BETWEEN in one and {f"{one}{_LOW}", f"{one}{_HIGH}"} <= there]


def _of_wandb(table: Table) -> dict[str, list[Row]]:
    """Run → its rows, a column per tag, in the order of the axis."""
    curves = _curves(table.rows.columns)
    values = {name: cells.numbers(table, name).to_list() for name in curves}
    runs: dict[str, list[Row]] = {}
    for run in dict.fromkeys(name.rpartition(_BETWEEN)[0] for name in curves):
        own = {name: name.rpartition(_BETWEEN)[2] for name in curves if name.rpartition(_BETWEEN)[0] == run}
        told = ({tag: values[name][at] for name, tag in own.items()} for at in range(table.rows.height))
        runs[run] = [row for row in told if any(one is not None for one in row.values())]
    return {run: rows for run, rows in runs.items() if rows}


def _of_mlflow(table: Table) -> dict[str, list[Row]]:
    """Run → its rows, a column per tag, in the order of time or of steps, as those of its file store are."""
    numbers = {name: cells.numbers(table, name).to_list() for name in ("value", "step", "timestamp")}
    runs: dict[str, list[Scalar]] = {}
    told = zip(table.rows["run_id"].to_list(), table.rows["key"].to_list(), strict=True)
    for at, (run, tag) in enumerate(told):
        value, step, moment = (numbers[name][at] for name in ("value", "step", "timestamp"))
        if value is None or run is None or tag is None:
            continue
        if step is None or not -_LARGEST < step < _LARGEST:
            raise table.refusal(at, f"step {step}", "expected a whole number")
        runs.setdefault(run, []).append(Scalar(tag, int(step), value, moment or 0.0))
    ordered = {run: sorted(found, key=lambda one: one.moment or 0.0) for run, found in runs.items()}
    return {run: list(in_rows(settled(found))) for run, found in ordered.items()}


CHARTS = _Charts()
