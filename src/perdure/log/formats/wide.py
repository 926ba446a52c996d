"""Read tables in which a row is an evaluation of several tasks, or one cell of an accuracy matrix.

- *wide*: a column that names the active task, and a column per task, such as Continual World's `progress.tsv`. Each
  row is a stretch of learning of the active task, then one evaluation of every task.
- *tagged*: a row per step and a column per tag, as trackers keep them. Tags name mode, task and measure. If no tag
  tells what was learned, the evaluations are an accuracy matrix, provided that one more task is evaluated each time,
  or that the tool numbers experiences in the order of learning.
- *triplets*: evaluated experience, trained experience, value, such as Avalanche's `eval_results.csv`. They are the
  known cells of an accuracy matrix, in any order. A cell that is present was measured, zeros included.
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
from perdure.log.accuracy_matrix import LIMITS, AccuracyMatrix, MatrixLifetime, binomial_error, errors_of_means
from perdure.log.formats.column_names import COUNTS, ERRORS, SPREADS, STEPS, Tag, is_bookkeeping, plain, tags_of
from perdure.log.formats.long import Counts, Owners, measures_of, stacked_lifetimes
from perdure.log.formats.matrix import lifetime_of, matrix_of_cells
from perdure.log.model import Direction, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options
from perdure.log.rows import TextTable
from perdure.text import join_names

Array = npt.NDArray[np.float64]

_BEFORE = ("none", "nan", "-1")  # no task is being learned


# --- wide ----------------------------------------------------------------------------------------

_VALUE = "value"  # the measure of columns that are called by their tasks only
_PREFERRED = ("success", "accuracy", "acc")  # scored first if a table has several measures
_INDEXED = re.compile(r"(?P<before>(?:.*/)?)(?P<index>\d{1,9})/(?P<task>[^/]+)/(?P<measure>.+)")
_MEAN = re.compile(r"/(?:avg|mean)$")
_SPREAD = re.compile(r"/(?:std|min|max)$")  # of the episodes behind a mean, not a measure of a learner
_X = "x"  # the steps in Continual World's own scripts
_NO_TASK = -1


class _Tasks(msgspec.Struct, frozen=True):
    """The tasks of a wide table in order, and the columns of their evaluations."""

    names: tuple[str, ...]
    columns: Mapping[str, Mapping[int, str]]
    """Measure → task → column, the measure that is scored first."""
    active: Mapping[str, int]
    """Cell of the active-task column → task."""
    notes: tuple[str, ...] = ()


def wide_lifetimes(table: TextTable, owners: Owners, options: Options) -> Iterator[Lifetime]:
    """Yield the lifetimes of a wide table. Its rows become rows of a long table and keep their lines."""
    active = cells.labels(table, "active_task").str.to_lowercase().replace(dict.fromkeys(_BEFORE))
    tasks = _tasks_of(table, active, owners.columns)
    learned = active.replace_strict(dict(tasks.active), default=None, return_dtype=pl.Int64)
    listed = ", ".join(tasks.names[:6]) + (", …" if len(tasks.names) > 6 else "")
    expected = f"a task that has a column ({listed}), its number, or nothing where none is learned"
    cells.refuse(table, "active_task", active.is_not_null() & learned.is_null(), expected)
    numbers = learned.fill_null(_NO_TASK).to_numpy()
    measured = {measure: _wide_values(table, tasks, measure, numbers) for measure in tasks.columns}
    steps = sorted(_steps(table, _X), key=lambda name: plain(name).startswith("current_task"))
    if steps and (start := table.rows[steps[0]].cast(pl.Float64, strict=False) == 0).any():
        # No step was taken: the row is from before any learning.
        numbers = np.where(start.fill_null(False).to_numpy(), _NO_TASK, numbers)
    never = [name for number, name in enumerate(tasks.names) if not (learned == number).any()]
    notes = (*tasks.notes, *_never_learned(never))
    if options.measures is None:
        options = replace(options, measures=dict.fromkeys(tasks.columns, "higher"))
    count = len(tasks.names)
    for lifetime in stacked_lifetimes(
        table,
        owners,
        options,
        names=tasks.names,
        tasks=np.column_stack([numbers, np.tile(np.arange(count), (table.rows.height, 1))]),
        modes=["train", *["test"] * count],
        measured=measured,
        steps=steps,
        place=f"in the columns of the tasks {', '.join(tasks.names)}",
    ):
        yield replace(lifetime, notes=notes)


def _never_learned(tasks: Sequence[str]) -> tuple[str, ...]:
    return (f"evaluated and never learned: {', '.join(tasks)}",) if tasks else ()


def _steps(table: TextTable, *more: str) -> list[str]:
    return [name for name in table.rows.columns if plain(name) in STEPS or name in more]


def _floats(table: TextTable, name: str) -> Array:
    return cells.numbers(table, name).to_numpy().astype(np.float64, copy=False)


def _wide_values(table: TextTable, tasks: _Tasks, measure: str, active: Counts) -> Array:
    """Return a measure as rows × (learning, then each task), NaN if it is missing.

    Learning is measured by the training column of that measure, else by the evaluation of the active task.
    """
    evaluated = np.full((table.rows.height, len(tasks.names)), np.nan)
    for number, name in tasks.columns[measure].items():
        evaluated[:, number] = _floats(table, name)
    learned = np.where(active == _NO_TASK, np.nan, evaluated[np.arange(len(active)), active])
    training = next((name for name in table.rows.columns if _is_training(name, measure)), None)
    if training is not None and cells.is_measurable(table.rows[training]):
        values = _floats(table, training)
        learned = np.where(np.isnan(values), learned, values)
    return np.column_stack([learned, evaluated])


def _is_training(column: str, measure: str) -> bool:
    before, separator, rest = column.partition("/")
    return bool(separator) and before.lower() in ("train", "training") and _MEAN.sub("", rest) == measure


def _tasks_of(table: TextTable, active: pl.Series, identity: Sequence[str]) -> _Tasks:
    """Return the tasks, by Continual World's names of columns, by the names of active tasks, or by the columns."""
    rows, path = table.rows, table.parts[0].path
    others = [name for name in rows.columns if name not in (*identity, "active_task", _X) and not is_bookkeeping(name)]
    columns = [name for name in others if cells.is_measurable(rows[name])]
    if not columns:
        raise LogError(
            f"no column of numbers for a task (found: {join_names(rows.columns)})", "give one per task", file=path
        )
    names = active.drop_nulls().unique(maintain_order=True).to_list()
    return _indexed_tasks(columns) or _named_tasks(columns, names) or _counted_tasks(columns, names)


def _indexed_tasks(columns: Sequence[str]) -> _Tasks | None:
    """Return the tasks of columns such as `test/stochastic/0/hammer-v1/success`; the active task is a number."""
    matches = [match for name in columns if not _SPREAD.search(name) and (match := _INDEXED.fullmatch(name))]
    if not matches:
        return None
    tasks = {int(match["index"]): match["task"].lower() for match in matches}
    numbers = {index: number for number, index in enumerate(sorted(tasks))}
    names, notes = _distinct([tasks[index] for index in numbers])
    measures: dict[str, dict[int, str]] = {}
    for match in matches:
        measure, before = _MEAN.sub("", match["measure"]), match["before"].strip("/")
        # The first way of testing needs no name of its own; a second one (deterministic) keeps its name.
        way = "" if before == matches[0]["before"].strip("/") else before.rpartition("/")[2] + "/"
        measures.setdefault(way + measure, {})[numbers[int(match["index"])]] = match.string
    active = {name: number for number, name in enumerate(names)} | {
        str(position): number for position, number in numbers.items()
    }
    return _Tasks(tuple(names), _preferred_first(measures), active, notes)


def _distinct(tasks: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return different names: a task that is learned again under another number is a variant of itself."""
    total, occurrences = Counter(tasks), Counter[str]()
    names = []
    for task in tasks:
        occurrences[task] += 1
        names.append(f"{task}_{occurrences[task]}" if total[task] > 1 else task)
    if max(total.values()) == 1:
        return names, ()
    return names, ("tasks that stand under several numbers are variants: _1 is the first, _2 the second, …",)


def _named_tasks(columns: Sequence[str], active: Sequence[str]) -> _Tasks | None:
    """Return the tasks of columns that contain the name of an active task, alone or between separators."""
    folded = {name.lower(): name for name in columns}
    for separators in ("", "/", "_.:- "):
        frames = dict.fromkeys(frame for name in folded for task in active if (frame := _frame(name, task, separators)))
        if frames:
            break
    else:
        return None
    tasks: dict[str, int] = {}
    measures: dict[str, dict[int, str]] = {}
    for before, after in frames:
        measure = "/".join(part for text in (before, after) if (part := text.strip("/_.:- "))) or _VALUE
        for name, column in folded.items():
            task = name.removeprefix(before).removesuffix(after)
            if task and before + task + after == name:
                measures.setdefault(measure, {})[tasks.setdefault(task, len(tasks))] = column
    return _Tasks(tuple(tasks), _preferred_first(measures), tasks)


def _frame(name: str, task: str, separators: str) -> tuple[str, str] | None:
    """Return the text before and after `task` in a column's name; None if `task` is not a part of its own."""
    before, match, after = name.partition(task)
    separate = (not before or before[-1] in separators) and (not after or after[0] in separators)
    return (before, after) if match and separate else None


def _counted_tasks(columns: Sequence[str], active: Sequence[str]) -> _Tasks:
    """Return the tasks of columns that are called by them; the active task counts them from 0 or from 1."""
    names = [name.lower() for name in columns]
    numbers = [int(cell) for cell in active if cell.isdecimal()]
    first = 1 if numbers and min(numbers) >= 1 and max(numbers) == len(names) else 0
    tasks = {name: number for number, name in enumerate(names)}
    tasks |= {str(number + first): number for number in range(len(names))}
    notes = (f"active tasks are counted from {first}: {first} is {names[0]}",) if numbers else ()
    return _Tasks(tuple(names), {_VALUE: dict(enumerate(columns))}, tasks, notes)


def _preferred_first(measures: Mapping[str, Mapping[int, str]]) -> Mapping[str, Mapping[int, str]]:
    names = [name for name in _PREFERRED if name in measures]
    return {name: measures[name] for name in (*names, *measures)}


# --- tagged --------------------------------------------------------------------------------------

Slot = tuple[str, str]
"""Mode and task."""

WHAT_TO_LOG = (
    "log eval/TASK/MEASURE at every evaluation of every task, and train/TASK/MEASURE while learning; or say what your "
    "tags are, as in --column evaluate='score/{task}' --column learn='reward/{task}'"
)
_LOWER = ("loss", "error", "perplexity", "regret")
_SINGLE = {"learn": "rollout/ep_rew_mean", "evaluate": "eval/mean_reward"}  # Stable-Baselines3's, of one task


def tagged_lifetimes(table: TextTable, owners: Owners, options: Options) -> Iterator[Lifetime]:
    """Yield the lifetimes of a table of tags, each with its rows in the order of the file."""
    path = table.parts[0].path
    names = [name for name in table.rows.columns if name not in owners.columns]
    columns = options.columns if {"learn", "evaluate"} & options.columns.keys() else {}
    tags = tags_of(names, columns)
    notes: tuple[str, ...] = ()
    if not tags and not columns and (known := {mode: tag for mode, tag in _SINGLE.items() if tag in names}):
        tags = tags_of(names, known)
        notes = (f"one task alone, by the tags {', '.join(known.values())}; to measure forgetting, {WHAT_TO_LOG}",)
    own_name = as_text(path.stem if path.is_file() else path.absolute().name).lower() or "task"
    tags = _comparable(
        {
            name: tag if tag.task is not None else replace(tag, task=own_name)
            for name, tag in tags.items()
            if cells.is_measurable(table.rows[name])
        }
    )
    if not tags:
        listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise LogError(f"no tag that names a task (found: {listed or 'none'})", WHAT_TO_LOG, file=path)
    read = _learning_and_tests if any(tag.mode == "learn" for tag in tags.values()) else _tests
    for number, owner in enumerate(owners.each):
        rows = np.flatnonzero(owners.of_row == number)
        part = table.taken(table.rows[rows], rows)
        for lifetime in read(part, tags, Owners((owner,), np.zeros(len(rows), np.int64)), options):
            yield replace(lifetime, notes=(*notes, *lifetime.notes))


def _comparable(tags: Mapping[str, Tag]) -> dict[str, Tag]:
    """Return the tags without those of learning that measure something no evaluation does, as `train/loss/actor`."""
    evaluated = {tag.measure for tag in tags.values() if tag.mode == "evaluate"}
    if len(evaluated) == 1 and not evaluated & {tag.measure for tag in tags.values() if tag.mode == "learn"}:
        (only,) = evaluated  # the measure may have another name while learning
        tasks = {tag.task for tag in tags.values() if tag.mode == "evaluate"}
        learned = {tag.measure for tag in tags.values() if tag.mode == "learn" and tag.task in tasks}
        if len(learned) == 1:
            tags = {
                name: replace(tag, measure=only) if tag.measure in learned and tag.task in tasks else tag
                for name, tag in tags.items()
            }
    return {name: tag for name, tag in tags.items() if not evaluated or tag.measure in evaluated}


def _learning_and_tests(
    table: TextTable, tags: Mapping[str, Tag], owner: Owners, options: Options
) -> Iterator[Lifetime]:
    slots, measures = _slots(tags), _tag_measures(tags)
    if options.measures is None:
        options = replace(options, measures=measures)
    learned = {task for mode, task in slots if mode == "learn"}
    notes = _never_learned([task for mode, task in slots if mode == "evaluate" and task not in learned])
    for lifetime in stacked_lifetimes(
        table,
        owner,
        options,
        names=[task for _, task in slots],
        tasks=np.tile(np.arange(len(slots)), (table.rows.height, 1)),
        modes=[mode for mode, _ in slots],
        measured={measure: _tag_values(table, tags, slots, measure) for measure in measures},
        steps=_steps(table),
        place=f"under the tags {', '.join(tags)}",
    ):
        yield replace(lifetime, notes=notes)


def _slots(tags: Mapping[str, Tag]) -> list[Slot]:
    """Return the modes and tasks that a row may have, learning first."""
    slots = dict.fromkeys((tag.mode, str(tag.task)) for tag in tags.values())
    return sorted(slots, key=lambda slot: slot[0] != "learn")


def _tag_measures(tags: Mapping[str, Tag]) -> dict[str, Direction]:
    """Return the measures, those first of which higher values are better."""
    measures: dict[str, Direction] = {
        tag.measure: "lower" if any(word in tag.measure.lower() for word in _LOWER) else "higher"
        for tag in tags.values()
    }
    return dict(sorted(measures.items(), key=lambda pair: pair[1] == "lower"))


def _tag_values(table: TextTable, tags: Mapping[str, Tag], slots: Sequence[Slot], measure: str) -> Array:
    """Return a measure as rows × slots, NaN if it is missing."""
    values = np.full((table.rows.height, len(slots)), np.nan)
    for name, tag in tags.items():
        if tag.measure == measure:
            column, slot = _floats(table, name), slots.index((tag.mode, str(tag.task)))
            values[:, slot] = np.where(np.isnan(column), values[:, slot], column)
    return values


def _tests(table: TextTable, tags: Mapping[str, Tag], owner: Owners, options: Options) -> Iterator[Lifetime]:
    """Read evaluations without learning as the cells of an accuracy matrix."""
    slots, measures = _slots(tags), list(_tag_measures(tags))
    measure = options.measure if options.measure in measures else measures[0]
    values = _tag_values(table, tags, slots, measure)
    rounds = np.flatnonzero(~np.isnan(values).all(axis=1))
    values = values[rounds]
    tasks = [task for _, task in slots]
    order, reason = _learning_order(values, tasks, tags)
    if order is None:
        raise LogError(
            f"{len(rounds)} evaluations of {', '.join(tasks[:6])}{', …' if len(tasks) > 6 else ''}, and nothing says "
            "which task was learned when",
            WHAT_TO_LOG,
            file=table.parts[0].path,
        )
    row, column = np.nonzero(~np.isnan(values))
    triplets = pl.DataFrame(
        {
            "eval_exp": pl.Series(tasks, dtype=pl.String)[column],
            "training_exp": pl.Series(order, dtype=pl.String)[row],
            measure: values[row, column],
        }
    )
    origins = rounds[row]
    options = replace(options, measures=None, measure=measure)
    owners = replace(owner, of_row=owner.of_row[origins])
    for lifetime in triplet_lifetimes(table.taken(triplets, origins), owners, options):
        yield replace(lifetime, notes=(reason, *lifetime.notes))


def _learning_order(
    values: Array, tasks: Sequence[str], tags: Mapping[str, Tag]
) -> tuple[Sequence[str | None] | None, str]:
    """Return the task that was learned before each round of evaluations, and how that is known."""
    already: set[int] = set()
    order: list[str | None] = []
    for row in values:
        evaluated = set(np.flatnonzero(~np.isnan(row)).tolist())
        new = evaluated - already
        if len(new) != 1 or not already <= evaluated:
            break
        order.append(tasks[new.pop()])
        already = evaluated
    else:
        return order, "each round evaluates one more task, which was learned just before it"
    numbered = {tag.number: str(tag.task) for tag in tags.values() if tag.number is not None}
    before = len(values) - len(tasks)
    if len(numbered) == len(tasks) and before in (0, 1):
        counted = [numbered[number] for number in sorted(numbered)]
        return [*([None] * before), *counted], "experiences were learned in the order of their numbers, one per round"
    return None, ""


# --- triplets ------------------------------------------------------------------------------------

_ACCURACY = ("accuracy", "acc")
_BASE = ("base", "before", "initial", "pretrained")
_STAGE = re.compile(r"\d{1,6}[-_. ]+(.+)")
_DERIVED = ("forgetting", "bwt", "fwt", "loss")  # computed from the accuracies, or not a score


def triplet_lifetimes(table: TextTable, owners: Owners, options: Options) -> Iterator[MatrixLifetime]:
    """Yield an accuracy matrix for each lifetime; experiences are tasks, in the order in which they were trained."""
    path = table.parts[0].path
    evaluated = cells.labels(table, "eval_exp")
    cells.refuse(table, "eval_exp", evaluated.is_null(), "the experience that was evaluated")
    trained = cells.labels(table, "training_exp")
    trained = trained.replace(_stage_tasks(trained, set(evaluated)))
    trained = trained.set(trained.str.to_lowercase().is_in((*_BEFORE, *_BASE)), None)
    measure = _measure_column(table, options, owners.columns)
    called = "accuracy" if measure != options.measure and plain(measure).endswith(_ACCURACY) else measure
    rows = pl.DataFrame(
        {
            "evaluated": evaluated,
            "trained": trained,
            "value": cells.numbers(table, measure),
            **_item_columns(table, measure),
        }
    )
    spread = next((name for name in table.rows.columns if plain(name) in SPREADS and name != measure), None)
    unused = spread is not None and rows["error"].null_count() == rows.height
    notes = (f"{spread} does not count without the number of items; add a column n",) if unused else ()
    by_lifetime = rows.with_columns(of=owners.of_row).partition_by("of", maintain_order=True, include_key=False)
    for owner, part in zip(owners.each, by_lifetime, strict=True):
        name = owner.inside or path.stem
        matrix = _triplet_matrix(part, options, f"{path} ({name})" if owner.inside else str(path), measure)
        lifetime = lifetime_of(matrix, name, path, called)
        yield replace(
            lifetime,
            notes=(*lifetime.notes, *notes),
            learner=owner.learner,
            seed=owner.seed,
            role=owner.role,
            inside=owner.inside,
            stated_type=owner.stated_type,
        )


def _stage_tasks(trained: pl.Series, evaluated: set[str]) -> dict[str, str]:
    """Return the task of each stage called NUMBER-TASK, unless an evaluated task has that name."""
    matches = {name: _STAGE.fullmatch(name) for name in trained.unique().to_list() if name and name not in evaluated}
    return {name: match[1] for name, match in matches.items() if match and match[1] in (*evaluated, *_BASE)}


def _measure_column(table: TextTable, options: Options, identity: tuple[str, ...]) -> str:
    """Return the measure that was named, else the accuracy, else the only measure."""
    others = TextTable(table.rows.drop("eval_exp", "training_exp"), table.parts, table.called)
    measures = [
        name for name in measures_of(others, table.parts[0].path, options, identity) if plain(name) not in COUNTS
    ]
    if options.measure in measures:
        return options.measure
    accuracies = [name for name in measures if plain(name).endswith(_ACCURACY)]
    values = [name for name in measures if not plain(name).endswith(_DERIVED)]
    for candidates in (measures, accuracies, values):
        if len(candidates) == 1:
            return candidates[0]
    what = f"any of the columns {', '.join(measures)} may be the accuracy"
    raise LogError(what, "say which with --measure", file=table.parts[0].path)


def _triplet_matrix(rows: pl.DataFrame, options: Options, source: str, measure: str) -> AccuracyMatrix:
    tasks = rows["trained"].drop_nulls().unique(maintain_order=True).to_list()
    if not tasks:
        raise LogError("training_exp is blank in every row", "nothing was learned", file=source)
    others = [name for name in rows["evaluated"].unique(maintain_order=True).to_list() if name not in tasks]
    numbers = {task: number for number, task in enumerate((*tasks, *others))}
    row = rows["evaluated"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy()
    column = rows["trained"].replace_strict(numbers, default=-1, return_dtype=pl.Int64).to_numpy() + 1
    repeats = rows.height - rows.select("evaluated", "trained").n_unique()
    notes = (f"{repeats} cells were evaluated again; the last value of each counts",) if repeats else ()
    values = np.full((len(numbers), len(tasks) + 1), np.nan)
    values[row, column] = rows["value"].to_numpy()  # NumPy keeps the last of several
    errors, counts = np.full_like(values, np.nan), np.full_like(values, np.nan)
    errors[row, column], counts[row, column] = rows["error"].to_numpy(), rows["items"].to_numpy()
    unit = options.unit or (None if plain(measure).endswith(_ACCURACY) else "raw")
    if all(task.isdecimal() and len(task) < 10 for task in tasks):
        first = 1 if min(map(int, tasks)) >= 1 else 0
        tasks = [f"task{int(task) + 1 - first}" for task in tasks]
        notes = (*notes, f"experience {first} is task1")
    never = dict(zip(others, values[len(tasks) :], strict=True))
    matrix = matrix_of_cells(values[: len(tasks)], tasks, unit, source, never)
    if matrix.unit != "raw":  # the largest error that a mean of values between two limits can have
        errors = np.where(np.isnan(errors), binomial_error(values, counts, LIMITS[matrix.unit]), errors)
    by_task = zip((*matrix.tasks, *matrix.others), map(errors_of_means, errors, counts), strict=True)
    known = {task: found for task, found in by_task if found.known}
    return replace(matrix, notes=(*notes, *matrix.notes), errors=known)


def _item_columns(table: TextTable, measure: str) -> dict[str, pl.Series]:
    """Return the standard error of each value over its items and their number, null if the table has none."""
    named = {plain(name): name for name in table.rows.columns}
    wanted = {
        "error": (*(f"{plain(measure)}_{error}" for error in ERRORS), *ERRORS),
        "items": COUNTS,
        "spread": SPREADS,
    }
    columns = {
        key: cells.numbers(table, found)
        for key, names in wanted.items()
        if (found := next((named[name] for name in names if name in named and named[name] != measure), None))
    }
    if "error" not in columns and "spread" in columns and "items" in columns:
        columns["error"] = columns["spread"] / columns["items"].sqrt()
    nothing = pl.repeat(None, table.rows.height, dtype=pl.Float64, eager=True)
    return {key: columns.get(key, nothing) for key in ("error", "items")}
