"""Cut rows into blocks: select the rows that count, and find the boundaries of blocks."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perdure.errors import LogError
from perdure.lazy import pl
from perdure.log.model import Passage
from perdure.log.rules import BLOCK_TYPES, EXPERIENCE_STATUSES, TYPES
from perdure.log.variants import ParameterTable, Settled, names, parameters, settle, table_of, task_of
from perdure.scenario.model import Block, Mode, Scenario, Subtype, Task, VariantMode, joined_pieces
from perdure.scenario.parameters import same_value

if TYPE_CHECKING:
    from perdure.log.model import Lifetime


_MODES: dict[str, Mode] = {block_type: mode for mode, block_type in TYPES.items()}
_PROBE = BLOCK_TYPES.index("probe")
_COMPLETE = EXPERIENCE_STATUSES.index("complete")


_REASONS = ("incomplete", "missing", "not finite")
_AT_ONCE = 1 << 16  # rows compared at once, so that a long table is never copied for the comparison


def in_order(rows: pl.DataFrame, *first: str) -> pl.DataFrame:
    """Return the rows by the columns `first`, block number, experience number, worker id, and their own order.

    The result does not depend on the order of files. Logs of one worker are usually in order already, and to see
    that takes a hundredth of the time of sorting.
    """
    for start, columns in _neighbours(rows, *first, "block_num", "exp_num"):
        rising, same = np.zeros(len(columns[0]) - 1, dtype=bool), np.ones(len(columns[0]) - 1, dtype=bool)
        for column in columns:
            rising |= same & (column[1:] > column[:-1])
            same &= column[1:] == column[:-1]
        if not rising.all():
            worker = rows.get_column("worker_id").slice(start, len(columns[0]))
            same &= (worker[1:] >= worker[:-1]).to_numpy()
            if not (rising | same).all():
                return rows.sort(*first, "block_num", "exp_num", "worker_id", maintain_order=True)
    return rows


def _neighbours(rows: pl.DataFrame, *names: str) -> Iterator[tuple[int, list[npt.NDArray[Any]]]]:
    """Yield pieces of the columns `names`, as numbers, that overlap by one row, with the start of each piece."""
    series = (rows.get_column(name) for name in names)
    columns = [
        column if column.dtype.is_integer() else column.to_physical() for column in series
    ]  # asking costs a query
    for start in range(0, rows.height - 1, _AT_ONCE):
        yield start, [column.slice(start, _AT_ONCE + 1).to_numpy() for column in columns]


def passage(
    lifetime: Lifetime, measure: str | Mapping[str, str], variants: VariantMode, settled: Settled | None = None
) -> Passage:
    """Return the experiences of `lifetime` that count for `measure`, or for that of their label, cut into blocks.

    Rows that are not complete, have no value, or one that is not finite are dropped and counted
    before blocks are formed, so that no block is empty.
    """
    rows = lifetime.experiences
    labels = rows.get_column("task_name")
    tasks: dict[str, Task] = {}
    if variants == "agnostic":
        bare = {label: task_of(lifetime, label).name for label in labels.unique().to_list()}
        if any(label != name for label, name in bare.items()):
            rows = rows.with_columns(labels.cast(pl.String).replace(bare).cast(labels.dtype))
        tasks = {name: Task(name) for name in bare.values()}
    elif variants == "params":
        settled = settled or settle([lifetime.sets])
        named, renamed = names(lifetime, settled)
        rows = rows.with_columns(named) if renamed else rows
        tasks = renamed
    complete = is_complete(rows)
    raw, mapped = _measure(rows, labels, measure)
    counts = complete & np.isfinite(raw)
    dropped = dict.fromkeys(_REASONS, 0)
    every = bool(counts.all())
    if not every:
        losses = (~complete, complete & np.isnan(raw), complete & np.isinf(raw))
        dropped = {why: int(lost.sum()) for why, lost in zip(_REASONS, losses, strict=True)}
        rows, raw, mapped = rows.filter(pl.Series(counts)), raw[counts], mapped[counts]
        labels = labels.filter(pl.Series(counts))
    row_starts = boundaries(rows)
    cuts: tuple[int, ...] = ()
    inside: Sequence[int] = ()
    if (rows.get_column("block_type").to_physical() == _PROBE).any():
        order, row_starts, cuts, inside = _joined(rows, row_starts)
        rows, labels, raw, mapped = rows[order], labels[order], raw[order], mapped[order]
    values, starts = _average(rows, raw, row_starts)
    facts = _BlockFacts.of(rows, labels, row_starts)
    noise = {} if facts.plain else settled.noise if variants == "params" and settled else _noise(lifetime)
    scenario = _scenario_of(lifetime, facts, np.diff(starts), noise, tasks, inside, as_one=variants == "agnostic")
    measures = {} if isinstance(measure, str) else _by_task(lifetime, scenario, mapped[row_starts[:-1]].tolist())
    return Passage(
        scenario=scenario,
        measure=measure if isinstance(measure, str) else _named(measures),
        values=values,
        starts=starts,
        rows=rows,
        row_starts=row_starts,
        dropped=dropped,
        notes=() if facts.plain or variants != "name" else tuple(_notes(lifetime)),
        measures=measures,
        cuts=cuts,
    )


def _joined(
    rows: pl.DataFrame, row_starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], tuple[int, ...], list[int]]:
    """Return the order of rows in which learning blocks are whole and their probes follow them.

    Also return the start of each block in that order, the rows at which a block goes on after probes, and the number
    of rows of its learning block before each probe.
    """
    facts = [rows.get_column(name)[row_starts[:-1]].to_list() for name in ("block_type", "task_name", "block_subtype")]
    modes = [_MODES[kind] for kind in facts[0]]
    groups = joined_pieces(list(zip(modes, *facts[1:], strict=True)))
    pieces = np.concatenate([np.array(group) for group in groups])
    lengths = np.diff(row_starts)[pieces]
    starts = np.append(0, np.cumsum(lengths))
    order = np.repeat(row_starts[pieces] - starts[:-1], lengths) + np.arange(rows.height)
    heads = np.append(0, np.cumsum([len(group) for group in groups]))
    counts, inside, around, before = np.diff(row_starts).tolist(), list[int](), list[int](), [0]
    for group in groups:
        if modes[group[0]] != "probe":
            around = group if modes[group[0]] == "learn" else []
            before = [0, *accumulate(counts[piece] for piece in around)]
        inside.append(before[bisect(around, group[0])] if modes[group[0]] == "probe" else 0)
    return order, starts[heads].astype(np.int64), tuple(np.delete(starts, heads).tolist()), inside


def _named(measures: Mapping[str, str]) -> str:
    return ", ".join(f"{task}={measure}" for task, measure in measures.items())


def parameter_table(lifetime: Lifetime) -> ParameterTable:
    """Return the parameters of the rows that are complete and have a value of some measure."""
    rows = lifetime.experiences
    counts = is_complete(rows)
    values = (rows.get_column(name).to_numpy().astype(np.float64, copy=False) for name in lifetime.measures)
    counts &= np.logical_or.reduce([np.isfinite(value) for value in values]) if lifetime.measures else True
    if not counts.all():
        rows = rows.filter(pl.Series(counts))
    row_starts = boundaries(rows)
    return table_of(rows, row_starts[:-1], experiences(rows, row_starts), None if counts.all() else counts)


def _measure(
    rows: pl.DataFrame, labels: pl.Series, measure: str | Mapping[str, str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return the value of each row, null as NaN, and the number of the column that it is from."""
    if isinstance(measure, str):
        values = rows.get_column(measure).to_numpy().astype(np.float64, copy=False)
        return values, np.broadcast_to(np.int64(0), rows.height)
    raw, mapped = np.full(rows.height, np.nan), np.zeros(rows.height, np.int64)
    labels = labels.cast(pl.String)
    for name in dict.fromkeys(measure.values()):
        matching = labels.is_in([label for label, column in measure.items() if column == name]).to_numpy()
        raw[matching] = rows.get_column(name).to_numpy()[matching]
        mapped[matching] = rows.columns.index(name)
    return raw, mapped


def _by_task(lifetime: Lifetime, scenario: Scenario, columns: list[int]) -> dict[str, str]:
    """Return task → measure, by the column that each block's values are from."""
    measures: dict[str, str] = {}
    for block, column in zip(scenario.blocks, columns, strict=True):
        name = lifetime.experiences.columns[column]
        if measures.setdefault(block.task, name) != name:
            raise LogError(
                f"the variants of {block.task!r} are measured by {measures[block.task]!r} and {name!r}, and cannot "
                "be one task",
                "give them one measure, or score --variants name",
                where=lifetime.id,
            )
    return {task.label: measures[task.label] for task in scenario.tasks}


def is_complete(rows: pl.DataFrame) -> npt.NDArray[np.bool_]:
    """Return whether each row is of a complete experience."""
    complete: npt.NDArray[np.bool_] = rows.get_column("exp_status").to_physical().to_numpy() == _COMPLETE
    return complete


def _changed(rows: pl.DataFrame, *names: str) -> npt.NDArray[np.bool_]:
    """Return whether each row differs from the one before it in any of `names`; the first row does."""
    changed = np.ones(rows.height, dtype=bool)
    for start, columns in _neighbours(rows, *names):
        differs = [column[1:] != column[:-1] for column in columns]
        changed[start + 1 : start + len(columns[0])] = np.logical_or.reduce(differs)
    return changed


def boundaries(rows: pl.DataFrame) -> npt.NDArray[np.int64]:
    """Return the rows at which a block number, mode, subtype or task begins, and the number of rows."""
    changed = _changed(rows, "block_num", "block_type", "block_subtype", "task_name")
    return np.append(np.flatnonzero(changed), rows.height).astype(np.int64)


def experiences(rows: pl.DataFrame, row_starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the first row of each experience: rows with the same number within a block are one."""
    return np.flatnonzero(_begins(rows, row_starts)).astype(np.int64, copy=False)


def _begins(rows: pl.DataFrame, row_starts: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    first = _changed(rows, "exp_num")
    first[row_starts[:-1]] = True
    return first


def _average(
    rows: pl.DataFrame, raw: npt.NDArray[np.float64], row_starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return one value per experience, and the start of each block among them."""
    begins = _begins(rows, row_starts)
    if begins.all():
        return raw, row_starts
    experience_starts = np.flatnonzero(begins)
    counts = np.diff(np.append(experience_starts, raw.size))
    values = np.add.reduceat(raw, experience_starts) / counts
    starts = np.searchsorted(experience_starts, row_starts).astype(np.int64)
    return values, starts


def _noise(lifetime: Lifetime) -> dict[str, frozenset[str]]:
    return {label: label_sets.noise for label, label_sets in lifetime.sets.labels.items()}


def _notes(lifetime: Lifetime) -> Iterator[str]:
    """Yield a note on each label that is scored as one task and holds several parameter sets."""
    for label, label_sets in lifetime.sets.labels.items():
        if label_sets.apart:
            yield (
                f"{label} holds {len(label_sets.sets)} parameter sets, each constant within its blocks, and is scored "
                "as one task; --variants params takes each for a task of its own"
            )


# --- the scenario of a log -----------------------------------------------------------------------


class _BlockFacts(msgspec.Struct, frozen=True):
    """The cells of each block's first row, and the parameters of its last."""

    kinds: list[str]
    tasks: list[str]
    subtypes: list[Subtype]
    numbers: list[int]
    first: list[str | None]
    last: list[str | None]
    labels: list[str]
    """The tasks as logged."""

    @classmethod
    def of(cls, rows: pl.DataFrame, labels: pl.Series, row_starts: npt.NDArray[np.int64]) -> _BlockFacts:
        first, last = row_starts[:-1].tolist(), (row_starts[1:] - 1).tolist()
        names = ("block_type", "task_name", "block_subtype", "block_num", "task_params")
        kinds, tasks, subtypes, numbers, texts = (rows.get_column(name)[first].to_list() for name in names)
        ends = rows.get_column("task_params")[last].to_list()
        return cls(kinds, tasks, subtypes, numbers, texts, ends, labels[first].to_list())

    @property
    def plain(self) -> bool:
        """Whether every label has one text of parameters, judged by the ends of its blocks."""
        texts = {(label, text) for label, text in zip(self.labels, self.first, strict=True)}
        return self.first == self.last and len(texts) == len(set(self.labels))


def _scenario_of(
    lifetime: Lifetime,
    facts: _BlockFacts,
    lengths: npt.NDArray[np.int64],
    noise: Mapping[str, frozenset[str]],
    tasks: Mapping[str, Task],
    inside: Sequence[int],
    *,
    as_one: bool,
) -> Scenario:
    """Return the scenario as scored; with `as_one`, variants are one task and each block keeps its label."""
    params = [
        _params(first, last, noise.get(label, frozenset()))
        for first, last, label in zip(facts.first, facts.last, facts.labels, strict=True)
    ]
    blocks = [
        Block(
            _MODES[kind], task, length, first_params, subtype, number, label.lower() if as_one and label != task else ""
        )
        for kind, task, length, first_params, subtype, number, label in zip(
            facts.kinds, facts.tasks, lengths.tolist(), params, facts.subtypes, facts.numbers, facts.labels, strict=True
        )
    ]
    blocks = [replace(block, inside=place) for block, place in zip(blocks, inside, strict=True)] if inside else blocks
    described = (tasks.get(task) or task_of(lifetime, task) for task in dict.fromkeys(facts.tasks))
    return Scenario.of(lifetime.id, blocks, described, info=lifetime.info)


def _params(first: str | None, last: str | None, noise: frozenset[str]) -> dict[str, Any]:
    """Return a block's parameters: those that its first and its last row share, without noise."""
    params = parameters(first)
    if first != last:
        ends = parameters(last)
        params = {name: value for name, value in params.items() if name in ends and same_value(value, ends[name])}
    return {name: value for name, value in params.items() if name not in noise} if noise else params
