"""Read long tables, one row per experience: the lifetime of each row by its identity columns, then its values.

Wide tables and tables of tags become long ones in `stacked_lifetimes`. Every column is read once for all lifetimes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.formats.column_names import IDENTITY, is_bookkeeping, is_spread, offer
from perdure.log.manifest import ROLES
from perdure.log.model import Direction, Lifetime, Role
from perdure.log.problem import Level, Note
from perdure.log.read import Options
from perdure.log.rows import TextTable
from perdure.log.rules import EXPERIENCE_STATUSES, STANDARD_COLUMNS
from perdure.text import join_names, plural

Counts = npt.NDArray[np.int64]

BLOCKS = ("block_num", "block_type", "task_name")
"""A block ends if one of these changes."""

_MODES = {
    "train": "train",
    "test": "test",
    **dict.fromkeys(("learn", "training"), "train"),
    **dict.fromkeys(("evaluate", "eval", "evaluation", "testing"), "test"),
    "probe": "probe",
}
_SUBTYPES = {"wake": "wake", "sleep": "sleep"}
_STATUSES = {status: status for status in EXPERIENCE_STATUSES}

# The values that L2Logger writes by default. It has no word for an unknown time. Only a stream may lack the first two.
_DEFAULTS: Mapping[str, str | None] = {
    "task_name": "stream",
    "block_type": "train",
    "worker_id": "worker-default",
    "block_subtype": "wake",
    "task_params": "{}",
    "exp_status": "complete",
    "timestamp": None,
}
_NEVER_BLANK = ("learner", "lifetime", "seed")
_LARGEST_SEED = 2**63 - 1
_DISTINCT = 20  # different rows of a lifetime; with fewer, equal halves may be chance
_TIMES = 10  # the largest number of copies of every row that is looked for
_CHANGES = 20  # of the task; with fewer, tasks are never interleaved
_TWIN = "twin"  # the column of a baseline's performance in the same rows
_OWNER = "\0owner"  # a name that no column of a file has


# --- the lifetime of each row --------------------------------------------------------------------


class Owner(msgspec.Struct, frozen=True):
    """One lifetime of a table, as its identity columns describe it."""

    inside: str = ""
    """Its name inside the file; empty if the file holds no other."""
    learner: str | None = None
    seed: int | None = None
    stated_type: str | None = None
    role: Role = "life"


class Owners(msgspec.Struct, frozen=True, eq=False):
    """The lifetimes of a table in order of appearance, and the one that each row belongs to."""

    each: tuple[Owner, ...]
    of_row: Counts
    columns: tuple[str, ...] = ()
    """The columns that hold identity and nothing that was experienced."""
    notes: tuple[str, ...] = ()

    def between(self, first: int, last: int) -> tuple[Owners, Counts]:
        """Return the lifetimes from `first` to before `last`, and the rows that belong to them."""
        rows = np.flatnonzero((self.of_row >= first) & (self.of_row < last))
        return Owners(self.each[first:last], self.of_row[rows] - first, self.columns, self.notes), rows


def owners_of(table: TextTable, identity: Sequence[str], declared: Sequence[str], blocks: Sequence[str]) -> Owners:
    """Return the owner of each row: a lifetime is a distinct combination of the columns `identity`.

    `declared` are those that the user mapped. A seed that is not declared, in a table without lifetime and learner,
    is identity only if each of its values spans at least two blocks, which are runs of equal cells in `blocks` (rows,
    if there are no such columns). Otherwise it is noise, with a note.
    """
    zeros = np.zeros(table.rows.height, np.int64)
    if not identity:
        return Owners((Owner(),), zeros)
    # Rows of one lifetime are usually adjacent, so only the first row of each run is looked at.
    rows = table.rows.select(identity)
    heads = np.flatnonzero(_changes(rows).to_numpy())
    runs = table.taken(rows[heads], heads)
    keys = {name: cells.labels(runs, name) for name in identity}
    keys = {name: key for name, key in keys.items() if key.null_count() < key.len()}
    if "role" in keys:
        unknown = ~keys["role"].str.to_lowercase().is_in(list(ROLES))
        expected = f"one of {', '.join(ROLES)} (rename a column that means something else)"
        cells.refuse(runs, "role", unknown.fill_null(True), expected)
    notes: tuple[str, ...] = ()
    if "seed" in keys and not {"lifetime", "learner"} & keys.keys() and "seed" not in declared:
        notes = _noise_notes(table, [name for name in blocks if name in table.rows.columns])
        if notes:
            del keys["seed"]
    for name in _NEVER_BLANK:
        if name in keys:
            cells.refuse(runs, name, keys[name].is_null(), f"a value in every row; it says which {name} a row is of")
    if not keys:
        return Owners((Owner(),), zeros, (), notes)
    known = pl.DataFrame(keys)
    combinations = known.unique(maintain_order=True)
    numbered = combinations.with_row_index("number")
    number = known.join(numbered, on=list(keys), how="left", nulls_equal=True, maintain_order="left")["number"]
    of_row = np.repeat(number.to_numpy().astype(np.int64), np.diff(np.append(heads, table.rows.height)))
    return Owners(_owners(combinations), of_row, tuple(keys), notes)


def _noise_notes(table: TextTable, blocks: Sequence[str]) -> tuple[str, ...]:
    """Return a note if the seed does not distinguish lifetimes."""
    seeds = table.rows.select("seed", *blocks).sort("seed", maintain_order=True)
    spans = (seeds.filter(_changes(seeds)) if blocks else seeds)["seed"].value_counts()["count"]
    short = int((spans < 2).sum())
    if not short or len(spans) == 1:
        return ()
    note = (
        f"the column {table.call('seed')} is taken for noise: {short} of its {len(spans)} values stand in one block "
        "only; where each value is a lifetime of its own, say --column lifetime=seed"
    )
    return (note,)


def _changes(rows: pl.DataFrame) -> pl.Series:
    """Return whether each row differs from the one before it; the first does."""
    differs = [pl.col(name).ne_missing(pl.col(name).shift()) for name in rows.columns]
    changed = rows.select(pl.any_horizontal(differs).alias("changed"))["changed"]
    return changed.scatter(0, True) if rows.height else changed


def _owners(combinations: pl.DataFrame) -> tuple[Owner, ...]:
    rows = combinations.to_dicts()
    if len(rows) == 1:
        names = [""]
    elif "lifetime" in combinations.columns and combinations["lifetime"].n_unique() == len(rows):
        names = combinations["lifetime"].to_list()
    else:
        names = ["/".join(_name_parts(row)) for row in rows]
        count = Counter(names)
        # `a/b` of learner a and learner `a/b` read the same; their place in the file tells them apart.
        names = [f"{name} ({place})" if count[name] > 1 else name for place, name in enumerate(names, start=1)]
    return tuple(
        Owner(name, row.get("learner"), _seed(row.get("seed")), row.get("scenario"), _role(row))
        for row, name in zip(rows, names, strict=True)
    )


def _name_parts(row: Mapping[str, str | None]) -> Iterator[str]:
    if _role(row) != "life":
        yield _role(row)
    for name in IDENTITY:
        if name != "role" and (value := row.get(name)):
            yield value


def _seed(text: str | None) -> int | None:
    if text is None or not text.isdecimal() or len(text) >= 20 or int(text) > _LARGEST_SEED:
        return None
    return int(text)


def _role(row: Mapping[str, str | None]) -> Role:
    return ROLES[(row.get("role") or "life").lower()]


# --- experiences ---------------------------------------------------------------------------------


def lifetimes(table: TextTable, owners: Owners, options: Options) -> Iterator[Lifetime]:
    """Yield the lifetimes of a table under our names, in order of appearance."""
    path = table.parts[0].path
    measures = measures_of(table, path, options, owners.columns)
    twin = {_TWIN: measures[next(iter(measures))]} if _TWIN in options.columns else {}
    rows, starts, found = _experiences(table, {**measures, **twin}, owners)
    spreads = [name for name in table.rows.columns if is_spread(name) and name not in measures]
    notes = (*_infinite(table, rows, measures), *found, *_half_numbers(table, options, owners.columns))
    if spreads:
        notes += (f"{join_names(spreads)}: not used, which only a table of task, stage and value allows",)
    logged = {
        name: np.logical_or.reduceat(rows[name].is_not_null().to_numpy(), starts[:-1]) if rows.height else [False]
        for name in measures
    }
    for number, owner in enumerate(owners.each):
        part = rows.slice(starts[number], starts[number + 1] - starts[number])
        names = [name for name in measures if logged[name][number]] or list(measures)
        if len(names) < len(measures):  # a measure of other lifetimes only
            part = part.select(*STANDARD_COLUMNS, *names, pl.exclude(*STANDARD_COLUMNS, *names))
        lifetime = Lifetime(
            id=owner.inside or path.name,
            experiences=part.drop(_TWIN) if twin else part,
            measures={name: measures[name] for name in names},
            learner=owner.learner,
            seed=owner.seed,
            role=owner.role,
            path=path,
            inside=owner.inside,
            stated_type=owner.stated_type,
            notes=notes,
        )
        yield lifetime
        if twin:
            name = f"{owner.inside}/{_TWIN}" if owner.inside else _TWIN
            values = part.with_columns(pl.col(_TWIN).alias(names[0])).drop(_TWIN)
            yield lifetime.replace(id=name, inside=name, role="twin", experiences=values, notes=())


def stacked_lifetimes(
    table: TextTable,
    owners: Owners,
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
    owners = replace(owners, of_row=owners.of_row[origins], columns=())
    return lifetimes(table.taken(rows, origins), owners, options)


def measures_of(table: TextTable, path: Path, options: Options, identity: tuple[str, ...]) -> dict[str, Direction]:
    """Return the declared measures, or every column of numbers that is neither ours nor bookkeeping by its name."""
    known = {*STANDARD_COLUMNS, *identity, *({_TWIN} & options.columns.keys())}
    others = [name for name in table.rows.columns if name not in known]
    if options.measures is not None:
        for name in options.measures:
            if name not in others:
                raise LogError(f"no column for the measure {name!r}", offer(name, others), file=path)
        return dict(options.measures)
    named = {*options.columns, options.measure, *options.task_measures.values()}
    measures: dict[str, Direction] = {
        name: "higher"
        for name in others
        if (name in named or not is_bookkeeping(name)) and cells.is_measurable(table.rows[name])
    }
    if not measures:
        passed = [name for name in others if is_bookkeeping(name)]
        hint = f" ({join_names(passed)}: by their names no measures)" if passed else ""
        raise LogError(
            f"no measure: none of the columns {join_names(others) or '(none left)'} holds numbers{hint}",
            "log a number per experience, such as a reward",
            file=path,
        )
    return measures


def _experiences(
    table: TextTable, measures: Mapping[str, Direction], owners: Owners
) -> tuple[pl.DataFrame, Counts, tuple[Note | str, ...]]:
    """Return the rows of every lifetime in order, the start of each lifetime, and notes."""
    rows = cells.standard(_read(table, measures, owners)).with_columns(pl.Series(_OWNER, owners.of_row, pl.UInt32))
    starts = np.append(0, np.cumsum(np.bincount(owners.of_row, minlength=len(owners.each)))).astype(np.int64)
    if (np.diff(owners.of_row) < 0).any():
        rows = rows.sort(_OWNER, maintain_order=True)
    if "exp_num" not in rows.columns:
        number = np.arange(rows.height) - np.repeat(starts[:-1], np.diff(starts))
        rows = rows.with_columns(pl.Series("exp_num", number, pl.Int64))
    notes: list[Note | str] = []
    if "block_num" not in rows.columns:
        if mixed := _tasks_of_stream(rows):
            notes.append(
                f"the task changes too often for blocks, so all rows are one stream (its {mixed} tasks are in the "
                "column task_in_file); where this is wrong, number the blocks in a column block_num"
            )
            in_file = rows["task_name"].cast(pl.String)
            rows = rows.with_columns(task_in_file=in_file, task_name=pl.lit(_DEFAULTS["task_name"]))
            rows = cells.standard(rows)
        rows = rows.with_columns(pl.Series("block_num", _block_numbers(rows, starts), pl.Int64))
    notes += _note_repeats(table, rows, measures, np.argsort(owners.of_row, kind="stable"), starts)
    rows = in_order(rows, _OWNER).drop(_OWNER)
    extras = [name for name in rows.columns if name not in STANDARD_COLUMNS and name not in measures]
    return rows.select(*STANDARD_COLUMNS, *measures, *extras), starts, tuple(notes)


def _read(table: TextTable, measures: Mapping[str, Direction], owners: Owners) -> pl.DataFrame:
    """Return the columns in their types, in the order of the file; raise LogError for the first unsound cell."""
    rows = table.rows
    readings: Mapping[str, Callable[[], pl.Series]] = {
        "task_name": lambda: cells.folded(cells.names(table, "task_name", strip=True)),
        "block_type": lambda: cells.words(table, "block_type", _MODES),
        "block_num": lambda: cells.counts(table, "block_num"),
        "exp_num": lambda: cells.counts(table, "exp_num"),
        "worker_id": lambda: cells.names(table, "worker_id", strip=True),
        "block_subtype": lambda: cells.words(table, "block_subtype", _SUBTYPES, blank="wake"),
        "task_params": lambda: cells.objects(table, "task_params"),
        "exp_status": lambda: cells.words(table, "exp_status", _STATUSES, blank="complete"),
        "timestamp": lambda: cells.moments(table, "timestamp"),
    }
    columns = {name: read() for name, read in readings.items() if name in rows.columns}
    columns |= {name: cells.numbers(table, name) for name in measures}
    known = {*STANDARD_COLUMNS, *measures, *owners.columns}
    columns |= {name: cells.typed(rows[name]) for name in rows.columns if name not in known}
    blank = [
        pl.lit(text, STANDARD_COLUMNS[name]).alias(name) for name, text in _DEFAULTS.items() if name not in columns
    ]
    return rows.select(column.alias(name) for name, column in columns.items()).with_columns(blank)


def _tasks_of_stream(rows: pl.DataFrame) -> int:
    """Return the number of tasks if they are interleaved, else 0.

    They are if all rows are learned and the task changes at least half as often as in a random order.
    """
    if (rows["block_type"] != "train").any():
        return 0
    changes = int(_changes(rows.select(_OWNER, "task_name")).sum())
    counts = rows.group_by(_OWNER, "task_name").len()
    shares = counts.with_columns(pl.col("len").cast(pl.Float64)).group_by(_OWNER)
    same_task = shares.agg(of=pl.col("len").pow(2).sum() / pl.col("len").sum())["of"].sum()
    return (
        counts["task_name"].n_unique() if changes >= max(_CHANGES + counts.height, (rows.height - same_task) / 2) else 0
    )


def _block_numbers(rows: pl.DataFrame, starts: Counts) -> Counts:
    """Return the number of each row's block in its lifetime: a new block begins if mode or task changes."""
    changed = _changes(rows.select("block_type", "task_name")).to_numpy().copy()
    changed[starts[:-1]] = True
    number: Counts = np.cumsum(changed, dtype=np.int64)
    return number - np.repeat(number[starts[:-1]], np.diff(starts))


# --- notes ---------------------------------------------------------------------------------------


def _infinite(table: TextTable, rows: pl.DataFrame, measures: Mapping[str, Direction]) -> Iterator[Note]:
    """Yield a note on the first infinite value of each measure."""
    for name in measures:
        if rows[name].is_infinite().any():
            infinite = cells.numbers(table, name).is_infinite().fill_null(False)
            row, count = int(infinite.arg_true()[0]), int(infinite.sum())
            what = f"{table.call(name)} is infinite ({plural(count, 'such row')})"
            yield table.note(row, "warning", what, "a value that is not finite does not count; it is dropped")


def _note_repeats(
    table: TextTable, given: pl.DataFrame, measures: Mapping[str, Direction], order: Counts, starts: Counts
) -> Iterator[Note]:
    """Yield a note on the first repeated row; `order` gives the row of the table for each of `given`.

    Rows with numbers of their own are compared with each other. Rows without may be equal by chance, so that only a
    lifetime is reported whose rows all appear several times, one after the other or all of them again.
    """
    names = ["task_name", "block_type", *measures]
    if "exp_num" in table.rows.columns:
        keys = [_OWNER, "block_num", "exp_num", "worker_id", *names]
        for columns, level, what in (
            (keys, "error", "this row repeats an earlier one"),
            (keys[:4], "warning", "an earlier row has the same experience; such rows are averaged"),
        ):
            repeated = ~given.select(columns).hash_rows().is_first_distinct()
            if repeated.any():
                row = int(order[repeated.to_numpy()].min())
                yield table.note(row, cast("Level", level), what, "number experiences once, and keep each row once")
                return
        names.append("exp_num")
    hashes = given.select(names).hash_rows().to_numpy()
    for start, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        block = hashes[start:end]
        if np.unique(block).size < _DISTINCT:
            continue
        for times in (times for times in range(2, _TIMES + 1) if len(block) % times == 0):
            rounds, each = block.reshape(times, -1), block.reshape(-1, times)
            adjacent = bool((each == each[:, :1]).all())
            if adjacent or (rounds == rounds[0]).all():
                first = start + (1 if adjacent else rounds.shape[1])
                yield table.note(int(order[first]), "error", "this row repeats an earlier one", "keep each row once")
                return


def _half_numbers(table: TextTable, options: Options, identity: tuple[str, ...]) -> Iterator[str]:
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
