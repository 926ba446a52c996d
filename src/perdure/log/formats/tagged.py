"""A table of tagged scalars, one row per step and one column per tag, as lifetimes: what trackers keep and export.

Tags say mode, task and measure. Where none says what was being learned, a set of evaluated tasks that grows by one
each time, or experiences that the tool counts in the order of learning, still tell: that is an accuracy matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats import long, triplets
from perdure.log.formats.column_names import STEPS, Tag, plain, tags_of
from perdure.log.formats.row_identity import Lives
from perdure.log.model import Direction, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options
from perdure.log.rows import Table

Array = npt.NDArray[np.float64]
Slot = tuple[str, str]
"""Mode and task."""

WHAT_TO_LOG = (
    "log eval/TASK/MEASURE at every evaluation of every task, and train/TASK/MEASURE while learning; or say what your "
    "tags are, as in --column evaluate='score/{task}' --column learn='reward/{task}'"
)
_LOWER = ("loss", "error", "perplexity", "regret")
_SINGLE = {"learn": "rollout/ep_rew_mean", "evaluate": "eval/mean_reward"}  # Stable-Baselines3's, of one task


def single_task(names: Sequence[str]) -> Mapping[str, str]:
    """The patterns of a run of one task, where these are its tags."""
    return {mode: tag for mode, tag in _SINGLE.items() if tag in names}


def lifetimes(table: Table, whose: Lives, options: Options) -> Iterator[Lifetime]:
    """The lifetimes of a table of tags, each with its rows in the order of the file."""
    path = table.parts[0].path
    names = [name for name in table.rows.columns if name not in whose.columns]
    given = options.columns if {"learn", "evaluate"} & options.columns.keys() else {}
    tags = tags_of(names, given)
    notes: tuple[str, ...] = ()
    if not tags and not given and (known := single_task(names)):
        tags = tags_of(names, known)
        notes = (f"one task alone, by the tags {', '.join(known.values())}; to measure forgetting, {WHAT_TO_LOG}",)
    measured = {name: tag for name, tag in tags.items() if cells.is_measurable(table.rows[name])}
    tags = _comparable({name: _named(tag, path) for name, tag in measured.items()})
    if not tags:
        shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise LogError(f"no tag that names a task (found: {shown or 'none'})", WHAT_TO_LOG, file=path)
    for number, who in enumerate(whose.who):
        mine = np.flatnonzero(whose.of_row == number)
        own = table.taken(table.rows[mine], mine)
        alone = Lives((who,), np.zeros(len(mine), np.int64))
        learned = any(tag.mode == "learn" for tag in tags.values())
        for one in (_lived if learned else _rounds)(own, tags, alone, options):
            yield replace(one, notes=(*notes, *one.notes))


def _named(tag: Tag, path: Path) -> Tag:
    name = as_text(path.stem if path.is_file() else path.absolute().name).lower() or "task"
    return tag if tag.task is not None else replace(tag, task=name)


def _comparable(tags: Mapping[str, Tag]) -> dict[str, Tag]:
    """The tags without those of learning that measure what no evaluation does, as `train/loss/actor`."""
    tested = {tag.measure for tag in tags.values() if tag.mode == "evaluate"}
    if len(tested) == 1 and not tested & {tag.measure for tag in tags.values() if tag.mode == "learn"}:
        (only,) = tested  # called differently while learning
        tasks = {tag.task for tag in tags.values() if tag.mode == "evaluate"}
        learning = {tag.measure for tag in tags.values() if tag.mode == "learn" and tag.task in tasks}
        if len(learning) == 1:
            tags = {
                name: replace(tag, measure=only) if tag.measure in learning and tag.task in tasks else tag
                for name, tag in tags.items()
            }
    return {name: tag for name, tag in tags.items() if not tested or tag.measure in tested}


def _lived(table: Table, tags: Mapping[str, Tag], who: Lives, options: Options) -> Iterator[Lifetime]:
    """Per row what was learned and then what was evaluated, as rows of a long table."""
    slots = _slots(tags)
    measures = _measures(tags)
    measured = {measure: _values(table, tags, slots, measure) for measure in measures}
    if options.measures is None:
        options = replace(options, measures=measures)
    learned = {task for mode, task in slots if mode == "learn"}
    never = [task for mode, task in slots if mode == "evaluate" and task not in learned]
    for one in long.stacked_lifetimes(
        table,
        who,
        options,
        names=[task for _, task in slots],
        tasks=np.tile(np.arange(len(slots)), (table.rows.height, 1)),
        modes=[mode for mode, _ in slots],
        measured=measured,
        steps=_steps(table),
        place=f"under the tags {', '.join(tags)}",
    ):
        yield replace(one, notes=(f"evaluated and never learned: {', '.join(never)}",) if never else ())


def _slots(tags: Mapping[str, Tag]) -> list[Slot]:
    """What can stand in a row, what was learned first."""
    found = dict.fromkeys((tag.mode, str(tag.task)) for tag in tags.values())
    return sorted(found, key=lambda slot: slot[0] != "learn")


def _measures(tags: Mapping[str, Tag]) -> dict[str, Direction]:
    """The measures, those first of which more is better."""
    names = dict.fromkeys(tag.measure for tag in tags.values())
    found: dict[str, Direction] = {
        name: "lower" if any(word in name.lower() for word in _LOWER) else "higher" for name in names
    }
    return dict(sorted(found.items(), key=lambda pair: pair[1] == "lower"))


def _values(table: Table, tags: Mapping[str, Tag], slots: Sequence[Slot], measure: str) -> Array:
    """A measure, rows × slots; NaN where there is none."""
    values = np.full((table.rows.height, len(slots)), np.nan)
    for name, tag in tags.items():
        if tag.measure == measure:
            found = cells.numbers(table, name).to_numpy().astype(np.float64, copy=False)
            at = slots.index((tag.mode, str(tag.task)))
            values[:, at] = np.where(np.isnan(found), values[:, at], found)
    return values


def _steps(table: Table) -> list[str]:
    return [name for name in table.rows.columns if plain(name) in STEPS]


def _rounds(table: Table, tags: Mapping[str, Tag], who: Lives, options: Options) -> Iterator[Lifetime]:
    """Evaluations alone, as the cells of an accuracy matrix, where they tell what was learned before each round."""
    path = table.parts[0].path
    slots, measures = _slots(tags), list(_measures(tags))
    measure = options.measure if options.measure in measures else measures[0]
    values = _values(table, tags, slots, measure)
    rounds = np.flatnonzero(~np.isnan(values).all(axis=1))
    tasks = [task for _, task in slots]
    order, because = _order(values[rounds], tasks, tags)
    if order is None:
        raise LogError(
            f"{len(rounds)} evaluations of {', '.join(tasks[:6])}{', …' if len(tasks) > 6 else ''}, and nothing says "
            "which task was learned when",
            WHAT_TO_LOG,
            file=path,
        )
    row, column = np.nonzero(~np.isnan(values[rounds]))
    trained: list[str | None] = [order[at] for at in row]
    found = pl.DataFrame(
        {
            "eval_exp": pl.Series([tasks[at] for at in column], dtype=pl.String),
            "training_exp": pl.Series(trained, dtype=pl.String),
            measure: values[rounds][row, column],
        }
    )
    origins = rounds[row]
    asked = replace(options, measures=None, measure=measure)
    for one in triplets.lifetimes(table.taken(found, origins), replace(who, of_row=who.of_row[origins]), asked):
        yield replace(one, notes=(because, *one.notes))


def _order(values: Array, tasks: Sequence[str], tags: Mapping[str, Tag]) -> tuple[list[str | None] | None, str]:
    """What was learned before each round, as far as the rounds tell, and how they do."""
    seen: set[int] = set()
    order: list[str | None] = []
    for row in values:
        here = set(np.flatnonzero(~np.isnan(row)).tolist())
        new = here - seen
        if len(new) != 1 or not seen <= here:
            break
        order.append(tasks[new.pop()])
        seen = here
    else:
        return order, "each round evaluates one more task, which was learned just before it"
    numbered = {tag.number: str(tag.task) for tag in tags.values() if tag.number is not None}
    before = len(values) - len(tasks)
    if len(numbered) == len(tasks) and before in (0, 1):
        counted: list[str | None] = [numbered[number] for number in sorted(numbered)]
        return [*([None] * before), *counted], "experiences were learned in the order of their numbers, one per round"
    return None, ""
