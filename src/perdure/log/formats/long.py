"""A long table, one row per experience, as lifetimes: every column is read once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.formats.column_names import is_bookkeeping, offer
from perdure.log.formats.row_identity import Counts, Lives
from perdure.log.model import EXPERIENCE_STATUSES, STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.problem import Level, Note
from perdure.log.read import Options
from perdure.log.rows import Table
from perdure.text import plural, some

BLOCKS = ("block_num", "block_type", "task_name")
"""Where one of these changes, a block ends."""

_MODES = {
    "train": "train",
    "test": "test",
    "learn": "train",
    "training": "train",
    "evaluate": "test",
    "eval": "test",
    "evaluation": "test",
    "testing": "test",
}
_SUBTYPES = {"wake": "wake", "sleep": "sleep"}
_STATUSES = {status: status for status in EXPERIENCE_STATUSES}

# What L2Logger writes where its caller says nothing. It has no word for a time that nobody noted.
_DEFAULTS: Mapping[str, str | None] = {
    "worker_id": "worker-default",
    "block_subtype": "wake",
    "task_params": "{}",
    "exp_status": "complete",
    "timestamp": None,
}
_DISTINCT = 20  # different rows of a lifetime, below which equal halves may be chance
_TIMES = 10  # that a table may hold every row
_OWNER = "\0owner"  # whose a row is, while they are sorted; no column of a file is called so


def lifetimes(table: Table, whose: Lives, options: Options) -> Iterator[Lifetime]:
    """The lifetimes of a table under our names, in order of appearance."""
    path = table.parts[0].path
    measures = measures_of(table, path, options, whose.columns)
    rows, starts, repeated = _experiences(table, measures, whose)
    notes = (*_infinite(table, rows, measures), *repeated, *_half_numbers(table, options, whose.columns))
    logged = _logged(rows, measures, starts)
    for number, who in enumerate(whose.who):
        own = rows.slice(starts[number], starts[number + 1] - starts[number])
        names = [name for name in measures if logged[name][number]] or list(measures)
        if len(names) < len(measures):  # another lifetime's measure is none of this one's
            own = own.select(*STANDARD_COLUMNS, *names, pl.exclude(*STANDARD_COLUMNS, *names))
        yield Lifetime(
            id=who.inside or path.name,
            experiences=own,
            measures={name: measures[name] for name in names},
            learner=who.learner,
            seed=who.seed,
            role=who.role,
            path=path,
            inside=who.inside,
            stated_type=who.stated_type,
            notes=notes,
        )


def stacked_lifetimes(
    table: Table,
    whose: Lives,
    options: Options,
    *,
    names: Sequence[str],
    tasks: Counts,
    modes: Sequence[str],
    measured: Mapping[str, npt.NDArray[np.float64]],
    steps: Sequence[str],
    place: str,
) -> Iterator[Lifetime]:
    """Read a table in which each row holds several experiences, such as an evaluation of every task.

    `tasks` and each array of `measured` have a row per row of the table and a column per experience, whose mode is in
    `modes`. Tasks are positions in `names`. An experience of task -1 or without a value does not exist. Every
    experience keeps the line of its row, and its cells in the columns `steps`. `place` says in a message which cells
    should hold numbers.
    """
    known = np.logical_or.reduce([~np.isnan(values) for values in measured.values()]) & (tasks >= 0)
    if not known.any():
        raise LogError(f"no number {place}", "give one where a task was evaluated", file=table.parts[0].path)
    origins, columns = np.nonzero(known)
    rows = pl.DataFrame(
        {
            "task_name": pl.Series(names, dtype=pl.String)[tasks[known]],
            "block_type": pl.Series(modes, dtype=pl.String)[columns],
            **{name: pl.Series(values[known]).fill_nan(None) for name, values in measured.items()},
            **{name: cells.typed(table.rows[name])[origins] for name in steps if name not in measured},
        }
    )
    return lifetimes(table.taken(rows, origins), replace(whose, of_row=whose.of_row[origins], columns=()), options)


def _infinite(table: Table, rows: pl.DataFrame, measures: Mapping[str, Direction]) -> Iterator[Note]:
    """Yield a note on the first infinite value of each measure."""
    for name in measures:
        if rows[name].is_infinite().any():
            infinite = cells.numbers(table, name).is_infinite().fill_null(False)
            row, count = int(infinite.arg_true()[0]), int(infinite.sum())
            what = f"{table.call(name)} is infinite ({plural(count, 'such row')})"
            yield table.note(row, "warning", what, "a value that is not finite does not count; it is dropped")


def _repeated(
    table: Table, given: pl.DataFrame, measures: Mapping[str, Direction], order: Counts, starts: Counts
) -> Iterator[Note]:
    """Yield a note on the first row that is in the table again; `order` gives the row of the table for each of `given`.

    Rows with numbers of their own are compared with each other. Rows without may be equal by chance, so that only a
    lifetime is reported whose rows all appear several times, one after the other or all of them again.
    """
    owner = pl.Series(_OWNER, np.repeat(np.arange(len(starts) - 1), np.diff(starts)))
    numbered = "exp_num" in table.rows.columns
    names = ["task_name", "block_type", *measures]
    if numbered:
        keys = [*("block_num", "exp_num", "worker_id"), *names]
        for columns, level, what in (
            (keys, "error", "this row repeats an earlier one"),
            (keys[:3], "warning", "an earlier row has the same experience; such rows are averaged"),
        ):
            again = ~given.select(columns).with_columns(owner).hash_rows().is_first_distinct()
            if again.any():
                row = int(order[again.to_numpy()].min())
                yield table.note(row, cast("Level", level), what, "number experiences once, and keep each row once")
                return
        names.append("exp_num")
    rows = given.select(names).hash_rows().to_numpy()
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        own = rows[start:end]
        if np.unique(own).size < _DISTINCT:
            continue
        for times in (times for times in range(2, _TIMES + 1) if len(own) % times == 0):
            whole, each = own.reshape(times, -1), own.reshape(-1, times)
            if (whole == whole[0]).all() or (each == each[:, :1]).all():
                first = start + (1 if (each == each[:, :1]).all() else whole.shape[1])
                yield table.note(int(order[first]), "error", "this row repeats an earlier one", "keep each row once")
                return


def _half_numbers(table: Table, options: Options, identity: tuple[str, ...]) -> Iterator[str]:
    """Yield a note on each column that holds too few numbers to be a measure."""
    for name in table.rows.columns if options.measures is None else ():
        column = table.rows[name]
        if name in STANDARD_COLUMNS or name in identity or is_bookkeeping(name) or column.dtype != pl.String:
            continue
        written = column.len() - column.null_count()
        numbers = column.cast(pl.Float64, strict=False).count()
        if numbers > 0 and 10 * numbers >= written > 2 * numbers:
            yield (
                f"the column {table.call(name)} is not a measure: only {numbers} of its {written} cells are numbers; "
                "repair it, or name the measure (--measure)"
            )


def measures_of(table: Table, path: Path, options: Options, identity: tuple[str, ...]) -> dict[str, Direction]:
    """The measures as declared, or every column of numbers that is neither ours nor bookkeeping by its name."""
    others = [name for name in table.rows.columns if name not in STANDARD_COLUMNS and name not in identity]
    if options.measures is not None:
        for name in options.measures:
            if name not in others:
                raise LogError(f"no column for the measure {name!r}", offer(name, others), file=path)
        return dict(options.measures)
    found: dict[str, Direction] = {
        name: "higher"
        for name in others
        if (name in options.columns or not is_bookkeeping(name)) and cells.is_measurable(table.rows[name])
    }
    if not found:
        passed = [name for name in others if is_bookkeeping(name)]
        hint = f" ({some(passed)}: by their names no measures)" if passed else ""
        raise LogError(
            f"no measure: none of the columns {some(others) or '(none left)'} holds numbers{hint}",
            "log a number per experience, such as a reward",
            file=path,
        )
    return found


def _experiences(
    table: Table, measures: Mapping[str, Direction], whose: Lives
) -> tuple[pl.DataFrame, Counts, tuple[Note, ...]]:
    """Return the rows of every lifetime, each in order, where each begins, and notes on repeated rows."""
    given = cells.standard(_read(table, measures, whose))
    count = len(whose.who)
    starts = np.concatenate([[0], np.cumsum(np.bincount(whose.of_row, minlength=count))]).astype(np.int64)
    if count > 1:
        given = given.with_columns(pl.Series(_OWNER, whose.of_row))
        if (np.diff(whose.of_row) < 0).any():
            given = given.sort(_OWNER, maintain_order=True)
    lengths = np.diff(starts)
    if "exp_num" not in given.columns:
        number = np.arange(given.height) - np.repeat(starts[:-1], lengths)
        given = given.with_columns(pl.Series("exp_num", number, pl.Int64))
    if "block_num" not in given.columns:
        number = _runs(given, starts)
        given = given.with_columns(pl.Series("block_num", number, pl.Int64))
    repeated = tuple(_repeated(table, given, measures, np.argsort(whose.of_row, kind="stable"), starts))
    extras = [name for name in given.columns if name not in STANDARD_COLUMNS and name not in measures]
    given = given.select(*STANDARD_COLUMNS, *measures, *extras)
    if count == 1:
        return in_order(given), starts, repeated
    if not _rising(given):
        given = given.sort(_OWNER, "block_num", "exp_num", "worker_id", maintain_order=True)
    return given.drop(_OWNER), starts, repeated


def _read(table: Table, measures: Mapping[str, Direction], whose: Lives) -> pl.DataFrame:
    """The columns in their types, in the order of the file; the first cell that breaks a rule is named."""
    rows = table.rows
    column: dict[str, pl.Series | pl.Expr] = {
        "task_name": cells.folded(cells.names(table, "task_name", strip=True)),
        "block_type": cells.words(table, "block_type", _MODES),
    }
    readings: Mapping[str, Callable[[], pl.Series]] = {
        "block_num": lambda: cells.counts(table, "block_num"),
        "exp_num": lambda: cells.counts(table, "exp_num"),
        "worker_id": lambda: cells.names(table, "worker_id", strip=True),
        "block_subtype": lambda: cells.words(table, "block_subtype", _SUBTYPES, blank="wake"),
        "task_params": lambda: cells.objects(table, "task_params"),
        "exp_status": lambda: cells.words(table, "exp_status", _STATUSES, blank="complete"),
        "timestamp": lambda: cells.moments(table, "timestamp"),
    }
    for name, reading in readings.items():
        if name in rows.columns:
            column[name] = reading()
        elif name in _DEFAULTS:
            column[name] = pl.lit(_DEFAULTS[name], STANDARD_COLUMNS[name])
    column |= {name: cells.numbers(table, name) for name in measures}
    known = {*STANDARD_COLUMNS, *measures, *whose.columns}
    column |= {name: cells.typed(rows[name]) for name in rows.columns if name not in known}
    given = rows.select(one.alias(name) for name, one in column.items() if isinstance(one, pl.Series))
    return given.with_columns(one.alias(name) for name, one in column.items() if isinstance(one, pl.Expr))


def _runs(rows: pl.DataFrame, starts: Counts) -> Counts:
    """The number of each row's block within its lifetime: a new one wherever the mode or the task changes."""
    differs = [pl.col(name).ne_missing(pl.col(name).shift()) for name in ("block_type", "task_name")]
    changed = rows.select(pl.any_horizontal(differs))["block_type"].to_numpy().copy()
    changed[starts[:-1]] = True
    run: Counts = np.cumsum(changed, dtype=np.int64)
    return run - np.repeat(run[starts[:-1]], np.diff(starts))


def _rising(rows: pl.DataFrame) -> bool:
    """Whether each row comes after the one before it by owner, block and experience, so that nothing need be sorted."""
    owner, block, experience = (rows[name].to_numpy() for name in (_OWNER, "block_num", "exp_num"))
    same = (owner[1:] == owner[:-1]) & (block[1:] == block[:-1])
    later = (block[1:] > block[:-1]) | (owner[1:] != owner[:-1]) | (same & (experience[1:] > experience[:-1]))
    return bool(later.all())


def _logged(rows: pl.DataFrame, measures: Mapping[str, Direction], starts: Counts) -> dict[str, npt.NDArray[np.bool_]]:
    """Whether each lifetime has a value of each measure at all."""
    everyone = np.ones(len(starts) - 1, dtype=bool)
    return {
        name: everyone
        if not rows[name].null_count()
        else np.logical_or.reduceat(rows[name].is_not_null().to_numpy(), starts[:-1])
        for name in measures
    }
