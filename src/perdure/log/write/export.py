"""Export a lifetime: to a table file, or as scalars to TensorBoard, MLflow, Weights & Biases or Aim.

Tags are `train/TASK/MEASURE` and `eval/TASK/MEASURE`, which our readers of trackers understand. A step is the number
of a record. `Mirror` sends the records of a journal to a tracker while they are written.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.errors import LogError
from perdure.lazy import import_extra, pl
from perdure.log.formats.tensorboard import EventFile, event_records
from perdure.log.model import TIMESTAMP_FORMAT, Lifetime
from perdure.log.read import refuse_overwriting

WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    ".parquet": lambda table, file: table.write_parquet(file),
    ".arrow": lambda table, file: table.write_ipc(file, compat_level=pl.CompatLevel.oldest()),
    ".csv": lambda table, file: table.write_csv(file),
    ".tsv": lambda table, file: table.write_csv(file, separator="\t"),
}


_FORMULA = r"^[=+\-@\t\r\n|%＝＋－＠]"
"""The beginning of a cell that a spreadsheet may take for a formula (OWASP, CSV injection)."""


def without_formula(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet may run it."""
    return f"'{text}" if re.match(_FORMULA, text) else text


def without_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with an apostrophe before texts and names of columns that a spreadsheet may run."""
    texts = pl.col(pl.String, pl.Categorical, pl.Enum).cast(pl.String)
    harmless = table.with_columns(pl.when(texts.str.contains(_FORMULA)).then("'" + texts).otherwise(texts).name.keep())
    return harmless.rename({name: without_formula(name) for name in table.columns})


def export(lifetime: Lifetime, to: Path, *, for_spreadsheets: bool = False) -> None:
    """Write every record to `to`; the suffix names the format, and a half-written file never appears."""
    writer = WRITERS.get(to.suffix.lower())
    if writer is None:
        raise LogError(f"no format for the suffix {to.suffix!r}", f"choose one of {', '.join(WRITERS)}", file=to)
    refuse_overwriting(to, [lifetime.path] if lifetime.path is not None else ())
    if not to.parent.is_dir():
        raise LogError(f"cannot be written: there is no folder {to.parent}", "make it first", file=to)
    try:
        with files.replacement(to) as part:
            writer(without_formulas(lifetime.experiences) if for_spreadsheets else lifetime.experiences, part)
    except (OSError, pl.exceptions.PolarsError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        raise LogError(f"cannot be written: {reason}", "choose another place", file=to) from problem


_MODES = {"train": "train", "test": "eval", "probe": "probe"}
_METRICS = "perdure"  # before the ids of metrics
_TIMESTAMP = TIMESTAMP_FORMAT.replace(".%f", "%.f")  # as Polars has it
_AT_ONCE = 1000
_MIRROR_EVERY_S = 1.0


class Scalars(msgspec.Struct, frozen=True, eq=False):
    """Records in the form that trackers take, in order."""

    tags: tuple[tuple[str, ...], ...]
    """Kind of record → the tag of each measure."""
    which: npt.NDArray[np.int64]
    """Row → kind."""
    steps: npt.NDArray[np.int64]
    moments: npt.NDArray[np.float64]
    """Seconds since 1970."""
    values: npt.NDArray[np.float64]
    """Rows × measures, NaN if a value is missing."""


class Tracker(Protocol):
    """One run in a tracker."""

    def put(self, scalars: Scalars) -> None:
        """Add records."""

    def close(self, metrics: Mapping[str, float], step: int) -> None:
        """End the run, with its scores."""


def scalars_of(lifetime: Lifetime) -> Scalars:
    """Return every complete record of a lifetime."""
    rows = lifetime.experiences.with_row_index("row", offset=0)
    rows = rows.filter(pl.col("block_type").cast(pl.String).is_in(list(_MODES)))
    if "exp_status" in rows.columns:
        rows = rows.filter(pl.col("exp_status").cast(pl.String) == "complete")
    kinds = rows.select(pl.struct(pl.col("block_type", "task_name").cast(pl.String)).alias("kind")).to_series()
    known = kinds.unique(maintain_order=True)
    kind_index = rows.select(kinds.replace_strict(known, pl.Series(range(len(known))), return_dtype=pl.Int64))
    measures = list(lifetime.measures)
    return Scalars(
        tuple(_tags(row["block_type"], row["task_name"], measures) for row in known.to_list()),
        kind_index.to_series().to_numpy(),
        rows["row"].cast(pl.Int64).to_numpy(),
        _moments(rows),
        rows.select(pl.col(measures).cast(pl.Float64).fill_null(np.nan)).to_numpy(),
    )


def _tags(block_type: str, task: str, measures: Sequence[str]) -> tuple[str, ...]:
    """Return the tags of a task, whose name is in lower case as in a log that was read."""
    named = task.lower().replace("/", "_")
    return tuple(f"{_MODES[block_type]}/{named}/{measure.replace('/', '_')}" for measure in measures)


def _moments(rows: pl.DataFrame) -> npt.NDArray[np.float64]:
    if "timestamp" not in rows.columns:
        return np.zeros(rows.height)
    parsed = rows["timestamp"].cast(pl.String).str.to_datetime(_TIMESTAMP, strict=False)
    return (parsed.dt.timestamp("us").cast(pl.Float64) / 1e6).fill_null(0.0).to_numpy()


# -- the trackers ---------------------------------------------------------------------------------


class _TensorBoard:
    def __init__(self, where: str, run: str, facts: Mapping[str, Any]) -> None:  # noqa: ARG002  (it keeps no settings)
        folder = Path(where).expanduser() / run
        with files.writing(folder, "choose another folder", LogError):
            if any(folder.glob("events.out.tfevents.*")):
                raise LogError("holds a run already", "choose another folder", file=folder)
            self._file = EventFile(folder)

    def put(self, scalars: Scalars) -> None:
        self._file.append(event_records(scalars.tags, scalars.which, scalars.steps, scalars.moments, scalars.values))

    def close(self, metrics: Mapping[str, float], step: int) -> None:
        if metrics:
            tags = (tuple(f"{_METRICS}/{name}" for name in metrics),)
            self.put(
                Scalars(
                    tags,
                    np.zeros(1, np.int64),
                    np.array([step]),
                    np.array([time.time()]),
                    np.array([[*metrics.values()]]),
                )
            )


class _MLflow:
    def __init__(self, where: str, run: str, facts: Mapping[str, Any]) -> None:
        client = import_extra("mlflow.tracking", "sending records to mlflow").MlflowClient(tracking_uri=where)
        self._metric = import_extra("mlflow.entities", "sending records to mlflow").Metric
        existing = client.get_experiment_by_name("perdure")
        experiment = existing.experiment_id if existing is not None else client.create_experiment("perdure")
        self._client = client
        self._run = client.create_run(experiment, run_name=run).info.run_id
        for name, value in facts.items():
            client.log_param(self._run, name, value)

    def put(self, scalars: Scalars) -> None:
        self._send(
            [self._metric(_plain(tag), value, int(moment * 1000), step) for tag, value, step, moment in _each(scalars)]
        )

    def _send(self, metrics: list[Any]) -> None:
        for begin in range(0, len(metrics), _AT_ONCE):
            self._client.log_batch(self._run, metrics=metrics[begin : begin + _AT_ONCE])

    def close(self, metrics: Mapping[str, float], step: int) -> None:
        now = int(time.time() * 1000)
        self._send([self._metric(f"{_METRICS}/{name}", value, now, step) for name, value in metrics.items()])
        self._client.set_terminated(self._run)


class _WandB:
    def __init__(self, where: str, run: str, facts: Mapping[str, Any]) -> None:
        wandb = import_extra("wandb", "sending records to wandb")
        self._run = wandb.init(
            project=where or "perdure", name=run, config=dict(facts), mode="offline", reinit="create_new"
        )

    def put(self, scalars: Scalars) -> None:
        row: dict[str, float] = {}
        last = -1
        for tag, value, step, _ in _each(scalars):
            if row and step != last:
                self._run.log(row, step=last)
                row = {}
            row[tag] = value
            last = step
        if row:
            self._run.log(row, step=last)

    def close(self, metrics: Mapping[str, float], step: int) -> None:  # noqa: ARG002  (a summary has no step)
        self._run.summary.update({f"{_METRICS}/{name}": value for name, value in metrics.items()})
        self._run.finish()


class _Aim:
    def __init__(self, where: str, run: str, facts: Mapping[str, Any]) -> None:
        self._run = import_extra("aim", "sending records to aim").Run(repo=where or None, experiment="perdure")
        self._run.name = run
        for name, value in facts.items():
            self._run[name] = value

    def put(self, scalars: Scalars) -> None:
        for tag, value, step, _ in _each(scalars):
            self._run.track(value, name=tag, step=step)

    def close(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            self._run.track(value, name=f"{_METRICS}/{name}", step=step)
        self._run.close()


def _each(scalars: Scalars) -> list[tuple[str, float, int, float]]:
    """Return tag, value, step and moment of every number, record after record."""
    row, column = np.nonzero(~np.isnan(scalars.values))
    tags = [
        scalars.tags[kind][position]
        for kind, position in zip(scalars.which[row].tolist(), column.tolist(), strict=True)
    ]
    numbers = scalars.values[row, column].tolist()
    return list(zip(tags, numbers, scalars.steps[row].tolist(), scalars.moments[row].tolist(), strict=True))


def _plain(tag: str) -> str:
    """Return a tag in the characters that MLflow allows."""
    return re.sub(r"[^\w\-. :/]", "_", tag, flags=re.ASCII)


TRACKERS: Mapping[str, Callable[[str, str, Mapping[str, Any]], Tracker]] = {
    "tensorboard": _TensorBoard,
    "mlflow": _MLflow,
    "wandb": _WandB,
    "aim": _Aim,
}
"""Name → the function that opens a run, given a place, the name of the run, and facts about it."""


def is_tracker(target: str) -> bool:
    """Return whether a target names a tracker, such as `tensorboard:runs`."""
    kind, colon, _ = target.partition(":")
    return bool(colon) and kind in TRACKERS


def open_tracker(target: str, run: str, facts: Mapping[str, Any]) -> Tracker:
    """Open a new run at `target`, TRACKER:PLACE; facts that are None are left out."""
    kind, _, where = target.partition(":")
    return TRACKERS[kind](where, run, {name: value for name, value in facts.items() if value is not None})


# -- the mirror of a journal ----------------------------------------------------------------------


class Mirror:
    """Send the records of a journal to a tracker, at most a second later; its failures never stop the journal."""

    def __init__(self, target: str, run: str, measures: Sequence[str], facts: Mapping[str, Any]) -> None:
        if not is_tracker(target):
            known = ", ".join(f"{name}:…" for name in TRACKERS)
            raise LogError(f"mirror is {target!r}", f"expected one of {known}")
        self._tracker: Tracker | None = open_tracker(target, run, facts)
        self._target = target
        self._measures = tuple(measures)
        self._kinds: dict[tuple[str, str], int] = {}
        self._waiting: list[tuple[int, float, tuple[float, ...]]] = []
        self._step = 0
        self._sent = time.monotonic()

    def add(self, block_type: str, task: str, exp_status: str, values: Mapping[str, Any]) -> None:
        """Take one record; the step counts all records, also those that are not sent."""
        if block_type in _MODES and exp_status == "complete":
            kind = self._kinds.setdefault((block_type, task), len(self._kinds))
            numbers = tuple(np.nan if values.get(name) is None else float(values[name]) for name in self._measures)
            self._waiting.append((kind, time.time(), (self._step, *numbers)))
        self._step += 1
        if len(self._waiting) >= _AT_ONCE or time.monotonic() - self._sent > _MIRROR_EVERY_S:
            self.send()

    def send(self) -> None:
        """Send the waiting records."""
        waiting, self._waiting = self._waiting, []
        self._sent = time.monotonic()
        if not waiting or self._tracker is None:
            return
        tags = tuple(_tags(*kind, self._measures) for kind in self._kinds)
        rows = np.array([row for _, _, row in waiting], np.float64)
        kinds = np.array([kind for kind, _, _ in waiting], np.int64)
        moments = np.array([moment for _, moment, _ in waiting])
        scalars = Scalars(tags, kinds, rows[:, 0].astype(np.int64), moments, rows[:, 1:])
        self._try(lambda tracker: tracker.put(scalars))

    def close(self) -> None:
        """Send the rest, and end the run."""
        self.send()
        self._try(lambda tracker: tracker.close({}, self._step))
        self._tracker = None

    def _try(self, act: Callable[[Tracker], None]) -> None:
        if self._tracker is None:
            return
        try:
            act(self._tracker)
        except Exception as problem:  # a tracker may raise anything, and the record is on disk already
            self._tracker = None
            warnings.warn(
                f"{self._target} takes no more ({type(problem).__name__}: {problem}); the log goes on without it, "
                f"and perdure export LOG --to {self._target} can send all of it later",
                stacklevel=4,
            )
