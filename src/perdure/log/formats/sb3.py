"""Read files of Stable-Baselines3: `monitor.csv` of episodes while learning, `evaluations.npz` of evaluations.

Both as its 2.x sources write them (`common/monitor.py`, `common/callbacks.py`): a monitor's first line is `#` and JSON
with `t_start` and `env_id`, then a CSV of `r,l,t` and the keywords that the user configured; `EvalCallback` saves the
arrays `timesteps`, `results`, `ep_lengths` and, of tasks that can succeed, `successes`.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure import files
from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats.matrix_files import arrays_of
from perdure.log.formats.table import rows_lifetimes
from perdure.log.model import Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options
from perdure.log.rows import TextTable, bytes_of, json_in, table_in

Array = npt.NDArray[np.float64]

_MONITOR = "monitor.csv"
_EVALUATIONS = "evaluations.npz"
_TESTED = re.compile(r"(?:^|[^a-z])(?:eval|evaluation|test)(?:[^a-z]|$)", re.IGNORECASE)
_GENERIC = re.compile(r"monitor|logs?|results?|evals?|evaluations?|tests?|\d+|", re.IGNORECASE)
_ALONE = (
    "only one task was learned (a single curve, or an expert); to measure forgetting, keep the monitors of all tasks "
    "of a lifetime in one folder, and evaluate earlier tasks while later ones are learned (EvalCallback with log_path "
    "LIFE/TASK)"
)


class _Monitor(msgspec.Struct, frozen=True):
    """One monitor file."""

    task: str
    start: float
    tested: bool
    rows: pl.DataFrame
    """reward, steps, elapsed, and the columns that the user configured."""


class _StableBaselines:
    name = "sb3"
    summary = (
        "Stable-Baselines3: a monitor.csv or evaluations.npz of one task, or a folder with the monitors of a lifetime "
        "(pong.monitor.csv, …) and a folder of evaluations.npz per task"
    )

    def recognises(self, path: Path) -> bool:
        """Return whether a monitor begins with `#{`, or evaluations hold timesteps and results."""
        if path.is_dir():
            return bool(_monitors(path))
        return _is_monitor(path) or _is_evaluations(path)

    def read(self, path: Path, options: Options) -> Lifetime:
        """Return the lifetime in a folder, or the only task in a file."""
        notes: list[str] = []
        if path.is_dir():
            rows = _life(path, notes, options.max_unpacked)
        elif path.name.endswith(_MONITOR):
            rows = _order([_learned([_monitor(path, notes)], path)])
        else:
            rows = _evaluated_alone(path, options.max_unpacked)
        learned = rows.filter(pl.col("block_type") == "train")["task_name"].n_unique()
        if learned == 1:
            notes.append(_ALONE)
        (life,) = rows_lifetimes(rows, path, options, name=_name_from_path(path))
        return replace(life, notes=(*notes, *life.notes))


SB3 = _StableBaselines()


def _monitors(folder: Path) -> list[Path]:
    """Return the monitors in a folder, and those that Monitor put into the folders of evaluations in it."""
    try:
        direct = sorted(path for path in folder.iterdir() if _is_monitor(path))
    except OSError:
        return []
    tested = [place.with_name(_MONITOR) for place in folder.glob(f"*/{_EVALUATIONS}")] if direct else []
    return [*direct, *sorted(filter(_is_monitor, tested))]


def _is_monitor(path: Path) -> bool:
    if not path.name.endswith(_MONITOR) or not path.is_file():
        return False
    try:
        with files.open_regular(path) as file:
            return file.read(2) == b"#{"
    except OSError:
        return False


def _is_evaluations(path: Path) -> bool:
    if path.suffix.lower() != ".npz" or not path.is_file():
        return False
    try:
        with files.open_regular(path) as file, zipfile.ZipFile(file) as archive:
            return {"timesteps.npy", "results.npy"} <= set(archive.namelist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def _name_from_path(path: Path) -> str:
    """Return the name of a file or folder, or of its parent if its own name is generic."""
    stem = path.name.removesuffix(_MONITOR).removesuffix(".npz").strip("._-") if path.suffix else path.name
    return as_text(stem if not _GENERIC.fullmatch(stem) else path.absolute().parent.name) or "task"


# --- monitors ------------------------------------------------------------------------------------


def _monitor(path: Path, notes: list[str]) -> _Monitor:
    content = bytes_of(path)
    first, newline, rest = content.partition(b"\n")
    header = json_in(first.removeprefix(b"#"), path, "expected #{…}", "the first line is no JSON", line=1)
    if not first.startswith(b"#") or not isinstance(header, dict) or not newline:
        raise LogError("no monitor", "expected #{…} on the first line, and r,l,t on the second", file=path, line=1)
    table = table_in(rest, path, ",", notes, line=2)
    if table is None or not {"r", "l", "t"} <= set(table.rows.columns):
        raise LogError("no columns r, l and t", "a monitor has a line per episode", file=path, line=2)
    start = header.get("t_start")
    task = header.get("env_id")
    return _Monitor(
        task=_task(task if isinstance(task, str) and task not in ("", "None") else _name_from_path(path)),
        start=float(start) if isinstance(start, int | float) and abs(start) < 1e15 else 0.0,
        tested=bool(_TESTED.search(path.name.removesuffix(_MONITOR))),
        rows=_episodes(table),
    )


def _episodes(table: TextTable) -> pl.DataFrame:
    reward, steps, elapsed = (cells.numbers(table, name) for name in ("r", "l", "t"))
    cells.refuse(table, "r", reward.is_null(), "the return of an episode")
    cells.refuse(table, "l", ~(steps >= 0).fill_null(False), "the number of steps of an episode")
    cells.refuse(table, "t", ~elapsed.is_finite().fill_null(False), "the seconds since the monitor began")
    columns = {"reward": reward, "steps": steps, "elapsed": elapsed}
    reserved = {*columns, "task_name", "block_type", "at"}
    others = [name for name in table.rows.columns if name not in ("r", "l", "t") and name.lower() not in reserved]
    return pl.DataFrame({**columns, **{name: table.rows[name] for name in others}})


def _task(name: str) -> str:
    return as_text(name).strip().lower() or "task"


def _learned(monitors: Sequence[_Monitor], path: Path) -> pl.DataFrame:
    """Return the episodes of several monitors in the order of their ends; `at` counts the steps of learning."""
    stacked = pl.concat(
        [
            monitor.rows.with_columns(
                pl.lit(monitor.task).alias("task_name"),
                pl.lit("test" if monitor.tested else "train").alias("block_type"),
                (pl.col("elapsed") + monitor.start).alias("at"),
            )
            for monitor in monitors
        ],
        how="diagonal_relaxed",
    ).sort("at", maintain_order=True)
    if not stacked.height:
        raise LogError("not a single episode", "nothing was finished yet", file=path)
    counted = pl.when(pl.col("block_type") == "train").then(pl.col("steps")).otherwise(0.0).cum_sum()
    return stacked.with_columns(counted.alias("at"))


# --- evaluations ---------------------------------------------------------------------------------


def _evaluations(path: Path, task: str, limit: float) -> pl.DataFrame:
    """Return a row per episode of evaluation; `at` counts the steps of learning."""
    arrays = arrays_of(path, bytes_of(path), limit)
    try:
        steps, results = arrays["timesteps"].astype(np.float64), arrays["results"].astype(np.float64)
        successes = arrays["successes"].astype(np.float64) if "successes" in arrays else None
    except (KeyError, ValueError, TypeError) as problem:
        raise LogError(
            f"no evaluations ({problem})", "expected timesteps and results in numbers", file=path
        ) from problem
    if results.ndim != 2 or steps.shape != results.shape[:1] or not results.size or not np.isfinite(steps).all():
        raise LogError(
            f"results of {results.shape} for timesteps of {steps.shape}", "expected a row for each", file=path
        )
    if not np.isfinite(results).all():
        raise LogError("a result that is not a finite number", "evaluate again", file=path)
    columns = {"reward": results.ravel()}
    if successes is not None and successes.shape == results.shape:
        columns["success"] = successes.ravel()
    columns["at"] = np.repeat(steps, results.shape[1])
    return pl.DataFrame(columns).with_columns(pl.lit(task).alias("task_name"), pl.lit("test").alias("block_type"))


def _evaluated_alone(path: Path, limit: float) -> pl.DataFrame:
    """Return the rows of one task that was learned between its evaluations, whose means stand for learning too."""
    tested = _evaluations(path, _task(_name_from_path(path)), limit)
    means = tested.group_by("at", "task_name", maintain_order=True).agg(pl.exclude("block_type").mean())
    learned = means.with_columns(pl.lit("train").alias("block_type"))
    return _order([learned, tested])


def _order(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return learning and evaluations in one order: learning up to a step comes before the evaluation there."""
    rows = pl.concat(parts, how="diagonal_relaxed").sort("at", maintain_order=True)
    return rows.rename({"at": "total_steps"})


# --- lives ---------------------------------------------------------------------------------------


def _life(folder: Path, notes: list[str], limit: float) -> pl.DataFrame:
    """Return the monitors of a folder in order of time, with the evaluations in and below it by their steps."""
    places = [folder / _EVALUATIONS, *sorted(folder.glob(f"*/{_EVALUATIONS}"))]
    evaluation_files = [place for place in places if _is_evaluations(place)]
    evaluated = {_letters(place.parent.name) for place in evaluation_files}
    monitors = [(_task(_name_from_path(path)), _monitor(path, notes)) for path in _monitors(folder)]
    # Variants of one environment have its id, so a monitor called as a folder of evaluations is of that task.
    lived = _learned(
        [replace(one, task=name) if _letters(name) in evaluated else one for name, one in monitors], folder
    )
    tasks = lived["task_name"].unique(maintain_order=True).to_list()
    if not evaluation_files:
        return _order([lived])
    tested = [_evaluations(place, _evaluated_task(place, folder, tasks), limit) for place in evaluation_files]
    never = sorted({str(evaluation["task_name"][0]) for evaluation in tested} - set(tasks))
    if never:
        notes.append(
            f"evaluated and never learned: {', '.join(never)} (learned: {', '.join(tasks)}); a folder of evaluations "
            "is called after its task"
        )
    if len(tasks) > 1:
        notes.append(
            "evaluations are placed by their timesteps, counted over the whole lifetime (reset_num_timesteps=False)"
        )
    return _order([lived, *tested])


def _evaluated_task(place: Path, folder: Path, tasks: Sequence[str]) -> str:
    """Return the task of evaluations: the only one, else the one that gave their folder its name."""
    if len(tasks) == 1:
        return tasks[0]
    if place.parent == folder:
        raise LogError(
            f"evaluations of one of the tasks {', '.join(tasks)}, and nothing says of which",
            "put them into a folder called after it: EvalCallback(…, log_path='LIFE/TASK')",
            file=place,
        )
    called = _letters(place.parent.name)
    return next((task for task in tasks if _letters(task) == called), _task(place.parent.name))


def _letters(name: str) -> str:
    """Return the letters and digits of a name, which a folder can have: `alepongv5` for `ALE/Pong-v5`."""
    return re.sub(r"[^0-9a-z]", "", name.lower())
