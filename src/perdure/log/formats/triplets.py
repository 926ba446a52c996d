"""Triplets (evaluated experience, trained experience, value) as lifetimes: Avalanche's `eval_results.csv`.

They are the known cells of an accuracy matrix, in any order. A cell that is there was measured, zeros included.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.accuracy_matrix import AccuracyMatrix
from perdure.log.formats import long
from perdure.log.formats.column_names import plain
from perdure.log.formats.matrix import MatrixLifetime, lifetime_of, matrix_of_cells
from perdure.log.formats.row_identity import Lives
from perdure.log.read import Options
from perdure.log.rows import Table

_BEFORE = ("none", "nan", "-1")  # evaluated before anything was trained
_DERIVED = ("forgetting", "bwt", "fwt", "loss")  # computed from the accuracies, or not what is asked


def lifetimes(table: Table, whose: Lives, options: Options) -> Iterator[MatrixLifetime]:
    """One accuracy matrix per lifetime; experiences are tasks, in the order in which they were trained."""
    path = table.parts[0].path
    evaluated = cells.labels(table, "eval_exp")
    cells.refuse(table, "eval_exp", evaluated.is_null(), "the experience that was evaluated")
    trained = cells.labels(table, "training_exp")
    trained = trained.set(trained.str.to_lowercase().is_in(_BEFORE), None)
    chosen = _chosen(table, options, whose.columns)
    rows = pl.DataFrame({"evaluated": evaluated, "trained": trained, "value": cells.numbers(table, chosen)})
    by_lifetime = rows.with_columns(of=whose.of_row).partition_by("of", maintain_order=True, include_key=False)
    for who, own in zip(whose.who, by_lifetime, strict=True):
        name = who.inside or path.stem
        matrix = _matrix(own, options, f"{path} ({name})" if who.inside else str(path), chosen)
        yield replace(
            lifetime_of(matrix, name, path, chosen if chosen == options.measure else "accuracy"),
            learner=who.learner,
            seed=who.seed,
            role=who.role,
            inside=who.inside,
            stated_type=who.stated_type,
        )


def _chosen(table: Table, options: Options, identity: tuple[str, ...]) -> str:
    """The column of values: the measure that was named, else the accuracy, else the only one there is."""
    others = table.rows.drop("eval_exp", "training_exp")
    measures = list(long.measures_of(Table(others, table.parts, table.called), table.parts[0].path, options, identity))
    if len(measures) == 1 or options.measure in measures:
        return options.measure if options.measure in measures else measures[0]
    accuracies = [name for name in measures if plain(name).endswith(("accuracy", "acc"))]
    values = [name for name in measures if not plain(name).endswith(_DERIVED)]
    for found in (accuracies, values):
        if len(found) == 1:
            return found[0]
    raise LogError(
        f"any of the columns {', '.join(measures)} may be the accuracy",
        "say which with --measure",
        file=table.parts[0].path,
    )


def _matrix(rows: pl.DataFrame, options: Options, source: str, chosen: str) -> AccuracyMatrix:
    tasks = rows["trained"].drop_nulls().unique(maintain_order=True).to_list()
    if not tasks:
        raise LogError("training_exp is blank in every row", "nothing was learned", file=source)
    notes = []
    others = [one for one in rows["evaluated"].unique(maintain_order=True).to_list() if one not in tasks]
    at = {task: number for number, task in enumerate((*tasks, *others))}
    row = rows["evaluated"].replace_strict(at, return_dtype=pl.Int64).to_numpy()
    column = rows["trained"].replace_strict(at, default=-1, return_dtype=pl.Int64).to_numpy() + 1
    again = rows.height - rows.select("evaluated", "trained").n_unique()
    if again:
        notes.append(f"{again} cells were evaluated again; the last value of each counts")
    values = np.full((len(at), len(tasks) + 1), np.nan)
    values[row, column] = rows["value"].to_numpy()  # numpy keeps the last of several
    unit = options.unit or (None if plain(chosen).endswith(("accuracy", "acc")) else "raw")
    names, renamed = _names(tasks)
    made = matrix_of_cells(
        values[: len(tasks)], names, unit, source, dict(zip(others, values[len(tasks) :], strict=True))
    )
    return replace(made, notes=(*notes, *renamed, *made.notes))


def _names(tasks: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Experiences by their names; those that are numbers as a matrix numbers its tasks, from task1."""
    if not all(task.isdecimal() and len(task) < 10 for task in tasks):
        return tasks, ()
    first = 1 if min(map(int, tasks)) >= 1 else 0
    return [f"task{int(task) + 1 - first}" for task in tasks], (f"experience {first} is task1",)
