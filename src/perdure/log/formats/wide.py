"""A wide table, one row per evaluation time and one column per task, as lifetimes.

Each row is a stretch of learning of the task that its active-task column names, then one evaluation of
every task. Continual World's `progress.tsv` is such a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats import long
from perdure.log.formats.column_names import STEPS, is_bookkeeping, plain
from perdure.log.formats.row_identity import Counts, Lives
from perdure.log.model import Lifetime
from perdure.log.read import Options
from perdure.log.rows import Table
from perdure.text import some

Array = npt.NDArray[np.float64]

_VALUE = "value"  # what is measured, where columns are called by their tasks alone
_FIRST = ("success", "accuracy", "acc")  # what is scored, where a table measures several things
_INDEXED = re.compile(r"(?P<before>(?:.*/)?)(?P<index>\d{1,9})/(?P<task>[^/]+)/(?P<measure>.+)")
_MEAN = re.compile(r"/(?:avg|mean)$")
_SPREAD = re.compile(r"/(?:std|min|max)$")  # of the episodes behind a mean; no measure of a learner
_X = "x"  # Continual World's own scripts call the steps so
_NONE = ("none", "nan", "-1")  # nothing is being learned
_NOBODY = -1


class _Tasks(msgspec.Struct, frozen=True):
    """The tasks in order, and where their evaluations stand."""

    names: tuple[str, ...]
    columns: Mapping[str, Mapping[int, str]]
    """Per measure, the column of each task."""
    meant: Mapping[str, int]
    """What the active-task column may say → which task that is."""
    notes: tuple[str, ...] = ()


def lifetimes(table: Table, whose: Lives, options: Options) -> Iterator[Lifetime]:
    """The lifetimes of a wide table; its rows become rows of a long one, each with the line it came from."""
    active = cells.labels(table, "active_task").str.to_lowercase()
    active = active.replace(dict.fromkeys(_NONE))
    tasks = _tasks(table, active, whose.columns)
    learned = active.replace_strict(dict(tasks.meant), default=None, return_dtype=pl.Int64)
    shown = ", ".join(tasks.names[:6]) + (", …" if len(tasks.names) > 6 else "")
    expected = f"a task that has a column ({shown}), its number, or nothing where none is learned"
    cells.refuse(table, "active_task", active.is_not_null() & learned.is_null(), expected)
    active_numbers = learned.fill_null(_NOBODY).to_numpy()
    measured = {measure: _values(table, tasks, measure, active_numbers) for measure in tasks.columns}
    steps = _steps(table)
    if steps and (start := table.rows[steps[0]].cast(pl.Float64, strict=False) == 0).any():
        # No step was taken: the row is from before any learning.
        active_numbers = np.where(start.fill_null(False).to_numpy(), _NOBODY, active_numbers)
    count = len(tasks.names)
    evaluated = np.tile(np.arange(count), (table.rows.height, 1))
    never = [name for number, name in enumerate(tasks.names) if not (learned == number).any()]
    notes = (*tasks.notes, *([f"evaluated and never learned: {', '.join(never)}"] if never else []))
    if options.measures is None:
        options = replace(options, measures=dict.fromkeys(tasks.columns, "higher"))
    for one in long.stacked_lifetimes(
        table,
        whose,
        options,
        names=tasks.names,
        tasks=np.column_stack([active_numbers, evaluated]),
        modes=["train", *["test"] * count],
        measured=measured,
        steps=steps,
        place=f"in the columns of the tasks {', '.join(tasks.names)}",
    ):
        yield replace(one, notes=notes)


def _values(table: Table, tasks: _Tasks, measure: str, active: Counts) -> Array:
    """A measure, rows × (learning, then each task); NaN where there is none.

    What was measured while learning is the training column of that measure, else the active task's evaluation.
    """
    nothing = np.full(table.rows.height, np.nan)
    columns = tasks.columns[measure]
    evaluated = np.column_stack(
        [
            _floats(cells.numbers(table, columns[number])) if number in columns else nothing
            for number in range(len(tasks.names))
        ]
    )
    learned = np.where(active == _NOBODY, np.nan, evaluated[np.arange(len(active)), active])
    said = next((name for name in table.rows.columns if _is_training(name, measure)), None)
    if said is not None and cells.is_measurable(table.rows[said]):
        training = _floats(cells.numbers(table, said))
        learned = np.where(np.isnan(training), learned, training)
    return np.column_stack([learned, evaluated])


def _floats(values: pl.Series) -> Array:
    return values.to_numpy().astype(np.float64, copy=False)


def _is_training(column: str, measure: str) -> bool:
    before, separator, rest = column.partition("/")
    return bool(separator) and before.lower() in ("train", "training") and _MEAN.sub("", rest) == measure


def _steps(table: Table) -> list[str]:
    """The columns that say how far learning has come, over the lifetime first."""
    found = [name for name in table.rows.columns if plain(name) in STEPS or name == _X]
    return sorted(found, key=lambda name: plain(name).startswith("current_task"))


def _tasks(table: Table, active: pl.Series, identity: Sequence[str]) -> _Tasks:
    """The task columns, by Continual World's pattern, by the names of active tasks, or as they stand."""
    rows, path = table.rows, table.parts[0].path
    others = [name for name in rows.columns if name not in (*identity, "active_task", _X) and not is_bookkeeping(name)]
    columns = [name for name in others if cells.is_measurable(rows[name])]
    if not columns:
        raise LogError(f"no column of numbers for a task (found: {some(rows.columns)})", "give one per task", file=path)
    said = active.drop_nulls().unique(maintain_order=True).to_list()
    return _indexed(columns) or _named(columns, said) or _numbered(columns, said)


def _indexed(columns: Sequence[str]) -> _Tasks | None:
    """Columns such as `test/stochastic/0/hammer-v1/success`: the active task is told by its number."""
    found = [match for name in columns if not _SPREAD.search(name) and (match := _INDEXED.fullmatch(name))]
    if not found:
        return None
    tasks = {int(match["index"]): match["task"].lower() for match in found}
    numbers = {index: number for number, index in enumerate(sorted(tasks))}
    names, notes = _distinct([tasks[index] for index in numbers])
    measures: dict[str, dict[int, str]] = {}
    for match in found:
        measure, before = _MEAN.sub("", match["measure"]), match["before"].strip("/")
        # The first way of testing needs no name of its own; a second one (deterministic) keeps its.
        way = "" if before == found[0]["before"].strip("/") else before.rpartition("/")[2] + "/"
        measures.setdefault(way + measure, {})[numbers[int(match["index"])]] = match.string
    meant = {name: number for number, name in enumerate(names)} | {str(at): number for at, number in numbers.items()}
    return _Tasks(tuple(names), _most_telling_first(measures), meant, notes)


def _distinct(tasks: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """A task that is learned again under another number, with a head of its own, is a variant of itself."""
    again = Counter(tasks)
    seen: Counter[str] = Counter()
    names = []
    for task in tasks:
        seen[task] += 1
        names.append(f"{task}_{seen[task]}" if again[task] > 1 else task)
    if max(again.values()) == 1:
        return names, ()
    return names, ("tasks that stand under several numbers are variants: _1 is the first, _2 the second, …",)


def _named(columns: Sequence[str], said: Sequence[str]) -> _Tasks | None:
    """Columns in which the name of an active task stands, alone or between separators."""
    folded = {name.lower(): name for name in columns}
    for separators in ("", "/", "_.:- "):
        holes = dict.fromkeys(hole for name in folded for task in said if (hole := _hole(name, task, separators)))
        if holes:
            break
    else:
        return None
    tasks: dict[str, int] = {}
    measures: dict[str, dict[int, str]] = {}
    for before, after in holes:
        measure = "/".join(part for one in (before, after) if (part := one.strip("/_.:- "))) or _VALUE
        for name, column in folded.items():
            task = name.removeprefix(before).removesuffix(after)
            if task and before + task + after == name:
                measures.setdefault(measure, {})[tasks.setdefault(task, len(tasks))] = column
    return _Tasks(tuple(tasks), _most_telling_first(measures), tasks)


def _hole(name: str, task: str, separators: str) -> tuple[str, str] | None:
    """What stands before and after `task` in a column's name; None where it does not stand there by itself."""
    at = name.find(task)
    if at < 0:
        return None
    before, after = name[:at], name[at + len(task) :]
    alone = (not before or before[-1] in separators) and (not after or after[0] in separators)
    return (before, after) if alone else None


def _numbered(columns: Sequence[str], said: Sequence[str]) -> _Tasks:
    """Columns that are called by their tasks, which the active-task column counts, from 0 or from 1."""
    names = [name.lower() for name in columns]
    numbers = [int(one) for one in said if one.isdecimal()]
    first = 1 if numbers and min(numbers) >= 1 and max(numbers) == len(names) else 0
    meant = {name: number for number, name in enumerate(names)}
    meant |= {str(number + first): number for number in range(len(names))}
    notes = (f"active tasks are counted from {first}: {first} is {names[0]}",) if numbers else ()
    return _Tasks(tuple(names), {_VALUE: dict(enumerate(columns))}, meant, notes)


def _most_telling_first(measures: Mapping[str, Mapping[int, str]]) -> Mapping[str, Mapping[int, str]]:
    names = [name for name in _FIRST if name in measures]
    return {name: measures[name] for name in (*names, *measures)}
