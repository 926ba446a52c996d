"""A long table, one row per experience, as lifetimes: every column is read once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.formats.column_names import is_bookkeeping, offer
from perdure.log.formats.row_identity import Counts, Lives
from perdure.log.model import EXPERIENCE_STATUSES, STANDARD_COLUMNS, Direction, Lifetime
from perdure.log.problem import Note
from perdure.log.read import Options
from perdure.log.rows import Table
from perdure.words import plural, some

__all__ = ["BLOCKS", "lifetimes", "measures_of"]

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
_OWNER = "\0owner"  # whose a row is, while they are sorted; no column of a file is called so


def lifetimes(table: Table, whose: Lives, options: Options) -> Iterator[Lifetime]:
    """The lifetimes of a table under our names, in order of appearance."""
    path = table.parts[0].path
    measures = measures_of(table, path, options, whose.columns)
    rows, starts = _experiences(table, measures, whose)
    notes = (*_infinite(table, rows, measures), *_repeated(table, whose))
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


def _infinite(table: Table, rows: pl.DataFrame, measures: Mapping[str, Direction]) -> Iterator[Note]:
    """Yield a note on the first infinite value of each measure."""
    for name in measures:
        if rows[name].is_infinite().any():
            infinite = cells.numbers(table, name).is_infinite().fill_null(False)
            row, count = int(infinite.arg_true()[0]), int(infinite.sum())
            what = f"{table.call(name)} is infinite ({plural(count, 'such row')})"
            yield table.note(row, "warning", what, "a value that is not finite does not count; it is dropped")


def _repeated(table: Table, whose: Lives) -> Iterator[Note]:
    """Yield a note on the first row that is in the table twice.

    Rows with numbers of their own are compared with each other. Other rows may be equal by chance, so that only a
    lifetime whose rows all appear twice is reported: its second half repeats the first, or each row follows its copy.
    """
    rows = table.rows.hash_rows().to_numpy()
    if "exp_num" in table.rows.columns:
        order = np.argsort(rows, kind="stable")
        again = order[1:][rows[order[1:]] == rows[order[:-1]]]
        first = int(again.min()) if again.size else None
    else:
        order = np.argsort(whose.of_row, kind="stable")
        starts = np.searchsorted(whose.of_row[order], np.arange(len(whose.who) + 1))
        first = None
        for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            own, half = rows[order[start:end]], (end - start) // 2
            if (end - start) % 2 or np.unique(own).size < _DISTINCT:
                continue
            if (own[:half] == own[half:]).all():
                first = int(order[start + half])
            elif (own[::2] == own[1::2]).all():
                first = int(order[start + 1])
            if first is not None:
                break
    if first is not None:
        yield table.note(first, "error", "this row repeats an earlier one", "keep each row once")


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


def _experiences(table: Table, measures: Mapping[str, Direction], whose: Lives) -> tuple[pl.DataFrame, Counts]:
    """The rows of every lifetime, one after the other and each in order, and where each begins."""
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
    extras = [name for name in given.columns if name not in STANDARD_COLUMNS and name not in measures]
    given = given.select(*STANDARD_COLUMNS, *measures, *extras)
    if count == 1:
        return in_order(given), starts
    if not _rising(given):
        given = given.sort(_OWNER, "block_num", "exp_num", "worker_id", maintain_order=True)
    return given.drop(_OWNER), starts


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
