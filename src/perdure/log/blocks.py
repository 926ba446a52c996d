"""From rows to blocks: which rows count, and where one block ends and the next begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from perdure.errors import LogError
from perdure.frozen import frozen
from perdure.lazy import pl
from perdure.log.facts import Facts, scenario_of
from perdure.log.model import EXPERIENCE_STATUSES, Passage
from perdure.log.parameters import ParameterTable, table_of
from perdure.log.variants import Settled, names, settle, task_of
from perdure.scenario import variants as whose
from perdure.scenario.model import Block, Scenario, Task

if TYPE_CHECKING:
    from perdure.log.model import Lifetime

__all__ = [
    "boundaries",
    "experiences",
    "in_order",
    "is_complete",
    "parameter_table",
    "passage",
]

_COMPLETE = EXPERIENCE_STATUSES.index("complete")


_REASONS = ("incomplete", "missing", "not finite")
_CHUNKS = 16  # pieces that a table may lie in before it is put together again
_AT_ONCE = 1 << 16  # rows compared in one go: a long table is never copied for a glance at it


def in_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows by block number, experience number, worker id, and their own order.

    The result does not depend on the order of files. Logs of one worker usually are in order
    already; seeing that costs a hundredth of a sort.
    """
    for start, (block, experience) in _neighbours(rows, "block_num", "exp_num"):
        same = block[1:] == block[:-1]
        rising = (block[1:] > block[:-1]) | (same & (experience[1:] > experience[:-1]))
        if not rising.all():
            level = same & (experience[1:] == experience[:-1])
            worker = rows.get_column("worker_id").slice(start, len(block))
            level &= (worker[1:] >= worker[:-1]).to_numpy()
            if not (rising | level).all():
                return rows.sort("block_num", "exp_num", "worker_id", maintain_order=True)
    return rows


def _neighbours(rows: pl.DataFrame, *names: str) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
    """The columns `names`, as numbers, in pieces that overlap by one row; and where each piece starts."""
    found = (rows.get_column(name) for name in names)
    columns = [one if one.dtype.is_integer() else one.to_physical() for one in found]  # asking costs a query
    for start in range(0, rows.height - 1, _AT_ONCE):
        yield start, [column.slice(start, _AT_ONCE + 1).to_numpy() for column in columns]


def passage(
    lifetime: Lifetime, measure: str | Mapping[str, str], variants: whose.Mode, settled: Settled | None = None
) -> Passage:
    """The experiences of `lifetime` that count for `measure`, or for that of their label, cut into blocks.

    Rows that are not complete, have no value, or one that is not finite are dropped and counted
    before blocks are formed, so a block left empty does not exist. Of a lifetime that is being written, the
    blocks that have ended are those of before.
    """
    rows, kept = lifetime.experiences, lifetime.kept
    if kept is None or variants == "params":  # what parameter sets are called hangs on all rows
        return _cut(lifetime, rows, measure, variants, settled).passage
    name = (measure if isinstance(measure, str) else tuple(measure.items()), variants)
    before, same = kept.get(name)
    made = _gone_on(lifetime, before, same, measure, variants) if before else None
    made = made or _cut(lifetime, rows, measure, variants, settled)
    kept.put(name, made, rows.height)
    scenario = replace(made.passage.scenario, walks=kept.walks)
    return replace(made.passage, scenario=scenario)


@frozen(eq=False)
class _Cut:
    """Rows cut into blocks, and what is needed to go on with them."""

    passage: Passage
    first_rows: npt.NDArray[np.int64]
    """Where each block begins, among all rows."""
    lost: npt.NDArray[np.int64]
    """How many rows before that do not count, a row for each reason."""
    texts: Mapping[str, str | None] | None
    """Label → its one text of parameters; None where there are several."""
    whole: bool
    """Whether every row counts, as it was recorded."""
    met: _Met
    room: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    """Where the values lie, with room for further ones."""


class _Met(NamedTuple):
    """The tasks of blocks, in the order in which they were first learned, and first met at all."""

    learned: tuple[str, ...]
    any: tuple[str, ...]

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> _Met:
        learned = dict.fromkeys(block.task for block in blocks if block.mode == "learn")
        return cls(tuple(learned), tuple(dict.fromkeys(block.task for block in blocks)))

    def and_then(self, later: _Met) -> _Met:
        learned, met = (tuple(dict.fromkeys((*one, *two))) for one, two in zip(self, later, strict=True))
        return _Met(learned, met)


def _gone_on(
    lifetime: Lifetime, before: _Cut, same: int, measure: str | Mapping[str, str], variants: whose.Mode
) -> _Cut | None:
    """The blocks of before that have ended since, and those behind them; None where all has to be cut anew."""
    head = before.passage
    # A block has ended where the first row of the next one is still there; the last one is cut again.
    ended = int(np.searchsorted(before.first_rows, same, side="left")) - 1
    if ended < 1 or before.texts is None:
        return None
    first = int(before.first_rows[ended])
    further = _cut(lifetime, lifetime.experiences[first:], measure, variants)
    tail = further.passage
    texts = {**before.texts, **(further.texts or {})}
    measures = {**head.measures, **tail.measures}
    if further.texts is None or any(texts[label] != text for label, text in before.texts.items()):
        return None
    if any(measures[task] != name for task, name in head.measures.items()):
        return None
    whole = before.whole and further.whole
    values, rows = int(head.starts[ended]), int(head.row_starts[ended])
    table = lifetime.experiences if whole else pl.concat([head.rows[:rows], tail.rows], rechunk=False)
    lost = before.lost[:, ended : ended + 1]
    room, total = before.room, values + len(tail.values)
    if len(room) < total:  # twice as much as is needed, so that values are moved a few times only
        room = np.empty(2 * total)
        room[:values] = head.values[:values]
    room[values:total] = tail.values
    all_values = room[:total]
    all_values.flags.writeable = False
    found = {task.label: task for task in (*head.scenario.tasks, *tail.scenario.tasks)}
    blocks = (*head.scenario.blocks[:ended], *tail.scenario.blocks)
    met = _Met.of(blocks) if ended < len(before.first_rows) - 1 else before.met.and_then(further.met)
    tasks = tuple(found[label] for label in dict.fromkeys((*met.learned, *met.any)))
    scenario = Scenario(lifetime.id, tasks, blocks, dict(lifetime.info))
    ordered = {task.label: measures[task.label] for task in scenario.tasks} if measures else {}
    made = Passage(
        scenario=scenario,
        measure=tail.measure if not ordered else _named(ordered),
        values=all_values,
        starts=np.concatenate([head.starts[:ended], tail.starts + values]),
        rows=table if whole or table.n_chunks() <= _CHUNKS else table.rechunk(),
        row_starts=np.concatenate([head.row_starts[:ended], tail.row_starts + rows]),
        dropped={why: count + int(lost[at, 0]) for at, (why, count) in enumerate(tail.dropped.items())},
        measures=ordered,
    )
    return _Cut(
        made,
        np.concatenate([before.first_rows[:ended], further.first_rows + first]),
        np.concatenate([before.lost[:, :ended], further.lost + lost], axis=1),
        texts,
        whole,
        met,
        room,
    )


def _cut(
    lifetime: Lifetime,
    recorded: pl.DataFrame,
    measure: str | Mapping[str, str],
    variants: whose.Mode,
    settled: Settled | None = None,
) -> _Cut:
    """Rows of a lifetime as blocks."""
    rows = recorded
    labels = rows.get_column("task_name")
    tasks: dict[str, Task] = {}
    if variants == "agnostic":
        bare = {label: task_of(lifetime, label).name for label in labels.unique().to_list()}
        if any(label != name for label, name in bare.items()):
            rows = rows.with_columns(labels.cast(pl.String).replace(bare).cast(labels.dtype))
        tasks = {name: Task(name) for name in bare.values()}
    elif variants == "params":
        settled = settled or settle([lifetime.sets])
        named, made = names(lifetime, settled)
        rows = rows.with_columns(named) if made else rows
        tasks = made
    complete = is_complete(rows)
    raw, own = _measured(rows, labels, measure)
    counts = complete & np.isfinite(raw)
    dropped = dict.fromkeys(_REASONS, 0)
    every = bool(counts.all())
    losses = () if every else (~complete, complete & np.isnan(raw), complete & np.isinf(raw))
    if not every:
        dropped = {why: int(lost.sum()) for why, lost in zip(_REASONS, losses, strict=True)}
        rows, raw, own = rows.filter(pl.Series(counts)), raw[counts], own[counts]
        labels = labels.filter(pl.Series(counts))
    row_starts = boundaries(rows)
    first_rows = row_starts[:-1] if every else np.flatnonzero(counts)[row_starts[:-1]]
    values, starts = _averaged(rows, raw, row_starts)
    facts = Facts.of(rows, labels, row_starts)
    noise = {} if facts.plain else settled.noise if variants == "params" and settled else _noise(lifetime)
    scenario = scenario_of(lifetime, facts, np.diff(starts), noise, tasks, as_one=variants == "agnostic")
    measures = {} if isinstance(measure, str) else _by_task(lifetime, scenario, own[row_starts[:-1]].tolist())
    found = Passage(
        scenario=scenario,
        measure=measure if isinstance(measure, str) else _named(measures),
        values=values,
        starts=starts,
        rows=rows,
        row_starts=row_starts,
        dropped=dropped,
        notes=() if facts.plain or variants != "name" else tuple(_notes(lifetime)),
        measures=measures,
    )
    before = [np.cumsum(lost)[first_rows] for lost in losses] or np.zeros((len(_REASONS), len(first_rows)), np.int64)
    return _Cut(
        found,
        first_rows,
        np.asarray(before, dtype=np.int64),
        dict(zip(facts.labels, facts.first, strict=True)) if facts.plain else None,
        rows is recorded,
        _Met.of(scenario.blocks),
    )


def _named(measures: Mapping[str, str]) -> str:
    return ", ".join(f"{task}={one}" for task, one in measures.items())


def parameter_table(lifetime: Lifetime) -> ParameterTable:
    """The parameters of the rows that are complete and have a value of some measure, whichever is scored."""
    rows = lifetime.experiences
    counts = is_complete(rows)
    values = (rows.get_column(name).to_numpy().astype(np.float64, copy=False) for name in lifetime.measures)
    counts &= np.logical_or.reduce([np.isfinite(one) for one in values]) if lifetime.measures else True
    if not counts.all():
        rows = rows.filter(pl.Series(counts))
    row_starts = boundaries(rows)
    return table_of(rows, row_starts[:-1], experiences(rows, row_starts), None if counts.all() else counts)


def _measured(
    rows: pl.DataFrame, labels: pl.Series, measure: str | Mapping[str, str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The value that counts in each row, null as NaN, and which of the log's columns it is from."""
    if isinstance(measure, str):
        values = rows.get_column(measure).to_numpy().astype(np.float64, copy=False)
        return values, np.broadcast_to(np.int64(0), rows.height)
    raw, own = np.full(rows.height, np.nan), np.zeros(rows.height, np.int64)
    labels = labels.cast(pl.String)
    for name in dict.fromkeys(measure.values()):
        here = labels.is_in([label for label, one in measure.items() if one == name]).to_numpy()
        raw[here] = rows.get_column(name).to_numpy()[here]
        own[here] = rows.columns.index(name)
    return raw, own


def _by_task(lifetime: Lifetime, scenario: Scenario, columns: list[int]) -> dict[str, str]:
    """Task → its measure, by the column that each block's values are from."""
    found: dict[str, str] = {}
    for block, column in zip(scenario.blocks, columns, strict=True):
        name = lifetime.experiences.columns[column]
        if found.setdefault(block.task, name) != name:
            raise LogError(
                f"the variants of {block.task!r} are measured by {found[block.task]!r} and {name!r}, and cannot "
                "be one task",
                "give them one measure, or score --variants name",
                where=lifetime.id,
            )
    return {task.label: found[task.label] for task in scenario.tasks}


def is_complete(rows: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Whether each row tells of an experience that came to its end."""
    complete: npt.NDArray[np.bool_] = rows.get_column("exp_status").to_physical().to_numpy() == _COMPLETE
    return complete


def _changed(rows: pl.DataFrame, *names: str) -> npt.NDArray[np.bool_]:
    """Whether a row differs from the one before it in any of `names`; the first row does."""
    changed = np.ones(rows.height, dtype=bool)
    for start, columns in _neighbours(rows, *names):
        differs = [column[1:] != column[:-1] for column in columns]
        changed[start + 1 : start + len(columns[0])] = np.logical_or.reduce(differs)
    return changed


def boundaries(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Where a block number, mode, subtype or task begins, with the number of rows at the end."""
    changed = _changed(rows, "block_num", "block_type", "block_subtype", "task_name")
    return np.append(np.flatnonzero(changed), rows.height).astype(np.int64)


def experiences(rows: pl.DataFrame, row_starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Where each experience begins: rows that share a number within a block are one."""
    first = _changed(rows, "exp_num")
    first[row_starts[:-1]] = True
    return np.flatnonzero(first).astype(np.int64)


def _averaged(
    rows: pl.DataFrame, raw: npt.NDArray[np.float64], row_starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """One value per experience, and where each block starts among them."""
    experience_starts = experiences(rows, row_starts)
    if len(experience_starts) == len(raw):
        return raw, row_starts
    counts = np.diff(np.append(experience_starts, raw.size))
    values = np.add.reduceat(raw, experience_starts) / counts
    starts = np.searchsorted(experience_starts, row_starts).astype(np.int64)
    return values, starts


def _noise(lifetime: Lifetime) -> dict[str, frozenset[str]]:
    return {label: found.noise for label, found in lifetime.sets.labels.items()}


def _notes(lifetime: Lifetime) -> Iterator[str]:
    """Said where a label that is scored as one task holds several parameter sets."""
    for label, found in lifetime.sets.labels.items():
        if found.apart:
            yield (
                f"{label} holds {len(found.sets)} parameter sets, each constant within its blocks, and is scored as "
                "one task; --variants params takes each for a task of its own"
            )
