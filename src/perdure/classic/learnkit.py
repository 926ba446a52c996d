"""The 2019 learnkit tree, `<worker>/<phase>/<task>/{block-report,data-log}.tsv`, as a lifetime.

Columns are those of S004 Fig. 1.3. In these files "task" is an episode's number and "sub_task" a sub-episode's; the
name of a task is in "class_name". See S003 §1.1.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import LogError, nearest
from perdure.lazy import pl
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.manifest import direction_of, manifest_in, role_of
from perdure.log.model import Direction, Lifetime
from perdure.log.places import DATA_FILE, MANIFEST, as_text, sources
from perdure.log.read import Options
from perdure.log.rows import TextTable, tables
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.variants import parameters
from perdure.text import join_names

BLOCK_REPORT = "block-report.tsv"
_SHARED = ("timestamp", "class_name", "phase", "worker", "block", "task", "seed")
EPISODE_COLUMNS = (*_SHARED, "steps", "sub_task", "termination_status")
BATCH_COLUMNS = (*_SHARED, "batch_id", "batch_size", "source")
SPACES = ("action_space", "observation_space")
_ADDED = ("block_subtype", "task_params")  # columns that our writer adds if a lifetime needs them
_BOOKKEEPING = frozenset((*EPISODE_COLUMNS, *BATCH_COLUMNS, *SPACES, *_ADDED))
_PHASE = r"(?ia)(?:(\d{1,9})-)?(\d{1,9})\.?(train|test)"

# Working columns. No header can hold such a name, because a NUL byte in text is refused.
_FOLDER, _RANK, _BLOCK, _REPORTED = "\0folder", "\0rank", "\0block", "\0reported"
_WORKING = (_FOLDER, _RANK, _BLOCK, _REPORTED)
_RENAMED = ("timestamp", "class_name", "worker", "block", "task", "termination_status", "block_subtype", "task_params")


class LearnkitPhase(Struct, frozen=True):
    """A phase named by an annotation or a folder: `1.train`, or `2-1.test` with its place in the syllabus."""

    number: int
    mode: str
    order: int | None = None

    @classmethod
    def parse(cls, text: str) -> LearnkitPhase | None:
        """Return the phase that `text` names, or None."""
        match = re.fullmatch(_PHASE, text.strip())
        if not match:
            return None
        order, number, mode = match.groups()
        return cls(int(number), mode.lower(), None if order is None else int(order))

    @staticmethod
    def ranks(phases: Iterable[LearnkitPhase]) -> dict[LearnkitPhase, int]:
        """Return each phase's rank: by its order if all have one, else 0.test, 1.train, 1.test, 2.train, …"""
        distinct = set(phases)
        ordered = all(phase.order is not None for phase in distinct)

        def key(phase: LearnkitPhase) -> tuple[int, int, int]:
            return (phase.order or 0) if ordered else 0, phase.number, int(phase.mode == "test")

        ranks = {place: rank for rank, place in enumerate(sorted({key(phase) for phase in distinct}))}
        return {phase: ranks[key(phase)] for phase in distinct}


class _Learnkit:
    name = "learnkit"
    summary = "a folder with <worker>/<phase>/<task>/data-log.tsv, phases named like 1.train"

    def recognises(self, path: Path) -> bool:
        """Return whether a data file is in its place in the tree."""
        try:
            return any(
                os.path.isfile(os.path.join(task, DATA_FILE))
                for worker in _folders(path)
                for phase in _folders(worker)
                if LearnkitPhase.parse(os.path.basename(phase))
                for task in _folders(phase)
            )
        except OSError:
            return False

    def read(self, path: Path, options: Options) -> Lifetime:
        """Read the lifetime in this tree; a sub-episode that is not DONE is an incomplete row."""
        notes: list[str] = []
        logs = [table for table in _tables(path, DATA_FILE, notes) if table.rows.height]
        if not logs:
            raise LogError(
                f"no record in any {DATA_FILE} ({'; '.join(notes) or 'headers only, or no file'})",
                "give a tree that holds records",
                file=path,
            )
        reports = [table for table in _tables(path, BLOCK_REPORT, notes) if table.rows.height]
        manifest = manifest_in(path)
        for table in logs:
            _require(table, ("class_name", "block", "task"))
        for table in reports:
            _require(table, ("class_name", "block", "params"))
        measurable = _infer(logs, reports)
        measures = dict(options.measures or _declared(manifest, path / MANIFEST) or measurable)
        if not measures:
            raise LogError(
                f"no measure: no reward, and no other column of numbers (found: {join_names(_columns(logs))})",
                "log a column of numbers",
                file=path,
            )
        for table in logs:
            _require(table, tuple(measures))
        # Our own writer puts every parameter into the block report; its other columns were not parameters.
        parameters = [] if manifest else _parameters(logs, {*measures, *measurable})
        return Lifetime(
            id=str(manifest.get("id") or as_text(path.resolve().name)),
            experiences=_experiences(logs, reports, measures, parameters, written_by_us=bool(manifest)),
            measures=measures,
            learner=manifest.get("learner"),
            seed=manifest.get("seed"),
            role=role_of(manifest.get("role"), path / MANIFEST),
            complete=manifest.get("complete"),
            path=path,
            manifest=manifest,
            notes=tuple(notes),
            variants="params",  # S003 App. A: a block is a unique combination of task and parameters
        )


def _folders(path: str | Path) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(entry.path for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _tables(root: Path, name: str, notes: list[str]) -> list[TextTable]:
    """Read the files called `name`, with worker and phase from their folders if they are not columns."""
    if not root.is_dir():
        raise LogError("no such folder", f"expected <worker>/<phase>/<task>/{DATA_FILE} below it", file=root)
    files = sources(root, name)
    for source in files:
        if source.relative.count("/") != 3:
            raise LogError(
                f"not at <worker>/<phase>/<task>/{name}", "move it there, or out of this log", file=source.name
            )
    return [_place_blocks(table, root) for table in tables(files, "\t", notes)]


def _columns(logs: Sequence[TextTable]) -> list[str]:
    return list(dict.fromkeys(name for table in logs for name in table.rows.columns if name != _FOLDER))


def _place_blocks(table: TextTable, root: Path) -> TextTable:
    heights = np.diff([*(part.start for part in table.parts), table.rows.height])
    owner = np.repeat(np.arange(len(table.parts)), heights)
    places = [part.path.relative_to(root).parts for part in table.parts]
    worker = pl.Series("worker", [place[0] for place in places], pl.String).gather(owner)
    phase = pl.Series("phase", [place[1] for place in places], pl.String).gather(owner)
    missing = [column for column in (worker, phase) if column.name not in table.rows.columns]
    return replace(table, rows=table.rows.with_columns(*missing, phase.alias(_FOLDER)))


def _require(table: TextTable, columns: Sequence[str]) -> None:
    present = [name for name in table.rows.columns if name != _FOLDER]
    for name in columns:
        if name not in present:
            raise LogError(
                f"no column {name!r} (found: {join_names(present)})",
                nearest(name, present),
                file=table.parts[0].path,
                line=1,
            )


def _declared(manifest: Mapping[str, Any], file: Path) -> Mapping[str, Direction] | None:
    """Return the measures in our writer's manifest; the tree itself has no place for them."""
    declared = manifest.get("measures")
    if not (isinstance(declared, dict) and declared):
        return None
    return {name: direction_of(name, direction, file) for name, direction in declared.items()}


def _infer(logs: Sequence[TextTable], reports: Sequence[TextTable]) -> dict[str, Direction]:
    """Return reward if it was logged; else every column of numbers that is neither bookkeeping nor a parameter."""
    columns = _columns(logs)
    if "reward" in columns:
        return {"reward": "higher"}
    # In the figure, the columns after the observation space are parameters; numbers elsewhere are measures.
    parameters: set[str] = set()
    for table in logs:
        names = table.rows.columns
        if SPACES[-1] in names:
            parameters.update(names[names.index(SPACES[-1]) + 1 :])
    for report in reports:
        for text in cells.objects(report, "params").unique():
            parameters.update(json.loads(text))
    measurable = [
        name
        for name in columns
        if name not in _BOOKKEEPING | parameters
        and any(name in table.rows.columns and cells.is_measurable(table.rows[name]) for table in logs)
    ]
    return {name: "lower" if "error" in name.lower() else "higher" for name in measurable}


def _parameters(logs: Sequence[TextTable], measures: Collection[str]) -> list[str]:
    """Return the columns that hold a task's parameters: those that are neither bookkeeping, space nor measure."""
    return [name for name in _columns(logs) if name not in {*_BOOKKEEPING, *STANDARD_COLUMNS, *measures, *_WORKING}]


def _experiences(
    logs: Sequence[TextTable],
    reports: Sequence[TextTable],
    measures: Mapping[str, Direction],
    parameters: Sequence[str],
    *,
    written_by_us: bool,
) -> pl.DataFrame:
    phases = _phases([*logs, *reports])
    rows = pl.concat([_standard(table, phases, measures) for table in logs], how="diagonal")
    rows = _with_block_numbers(_with_parameters(rows, reports, phases, parameters))
    rows = in_order(rows) if written_by_us else _with_batches_apart(in_order(rows))
    extras = [name for name in rows.columns if name not in (*STANDARD_COLUMNS, *measures, *_WORKING)]
    extras = [name for name in extras if name not in _BOOKKEEPING or rows[name].null_count() < rows.height]
    rows = rows.with_columns(cells.typed(rows[name]) for name in extras)
    return _by_sub_episode(cells.standard(rows.select(*STANDARD_COLUMNS, *measures, *extras)))


def _phases(all_tables: Sequence[TextTable]) -> dict[str, tuple[int, str]]:
    """Return the rank and mode of every phase, by its text."""
    known: dict[str, LearnkitPhase] = {}
    for table in all_tables:
        texts = cells.names(table, "phase")
        for text, folder in table.rows.select("phase", _FOLDER).unique(maintain_order=True).rows():
            phase, place = LearnkitPhase.parse(text), LearnkitPhase.parse(folder)
            if phase is None:
                cells.refuse(table, "phase", texts == text, "a phase such as 1.train, 1.test or 2-1.test")
                continue
            known[text] = phase
            if place and (place.number, place.mode) != (phase.number, phase.mode):
                wrong = (texts == text) & (table.rows[_FOLDER] == folder)
                cells.refuse(table, "phase", wrong, f"the phase of its folder, {folder}")
    ranks = LearnkitPhase.ranks(known.values())
    return {text: (ranks[phase], phase.mode) for text, phase in known.items()}


def _key(table: TextTable, phases: Mapping[str, tuple[int, str]]) -> dict[str, pl.Series]:
    """Return the columns that identify a block, in a data log and in a block report."""
    ranks = {text: rank for text, (rank, _) in phases.items()}
    return {
        _RANK: table.rows["phase"].replace_strict(ranks, return_dtype=pl.Int64),
        "worker_id": cells.names(table, "worker"),
        "task_name": cells.names(table, "class_name").str.to_lowercase(),
        _BLOCK: cells.counts(table, "block"),
    }


def _standard(
    table: TextTable, phases: Mapping[str, tuple[int, str]], measures: Mapping[str, Direction]
) -> pl.DataFrame:
    """Return a table in Perdure's columns; other columns stay text."""
    rows = table.rows
    modes = {text: mode for text, (_, mode) in phases.items()}
    columns: dict[str, pl.Series | pl.Expr] = {
        **_key(table, phases),
        "exp_num": cells.counts(table, "task"),
        "block_type": rows["phase"].replace_strict(modes, return_dtype=STANDARD_COLUMNS["block_type"]),
        "block_subtype": pl.lit("wake", STANDARD_COLUMNS["block_subtype"]),
        "task_params": pl.lit(None, pl.String()),
        "exp_status": pl.lit("complete", STANDARD_COLUMNS["exp_status"]),
        "timestamp": pl.lit(None, pl.String()),
    }
    columns |= {name: cells.numbers(table, name) for name in measures}
    if "block_subtype" in rows.columns:
        columns["block_subtype"] = cells.words(table, "block_subtype", {"wake": "wake", "sleep": "sleep"}, "wake")
    if "task_params" in rows.columns:
        columns["task_params"] = cells.objects(table, "task_params")
    if "termination_status" in rows.columns:
        done = pl.col("termination_status").str.strip_chars().str.to_uppercase() == "DONE"
        status = pl.when(done.fill_null(False)).then(pl.lit("complete")).otherwise(pl.lit("incomplete"))
        columns["exp_status"] = status.cast(STANDARD_COLUMNS["exp_status"])
    if "timestamp" in rows.columns:
        columns["timestamp"] = pl.col("timestamp")
    others = [name for name in rows.columns if name not in (*_RENAMED, *measures, *_WORKING)]
    return rows.select(
        *(pl.col(name).alias(f"{name}_in_file" if name in STANDARD_COLUMNS else name) for name in others),
        *(column.alias(name) for name, column in columns.items()),
    )


def _with_parameters(
    rows: pl.DataFrame, reports: Sequence[TextTable], phases: Mapping[str, tuple[int, str]], columns: Sequence[str]
) -> pl.DataFrame:
    """Add `task_params`: the row's own, or else those of the block report and of the row's columns.

    The block report decides about a parameter that is also a column.
    """
    key = (_RANK, "worker_id", "task_name", _BLOCK)
    blocks: list[pl.DataFrame] = []
    for report in reports:
        table = pl.DataFrame({**_key(report, phases), _REPORTED: cells.objects(report, "params")})
        changed = table.select(pl.col(_REPORTED) != pl.col(_REPORTED).first().over(key)).to_series()
        cells.refuse(report, "params", changed, "the parameters this block was first reported with")
        blocks.append(table)
    if blocks:
        rows = rows.join(pl.concat(blocks).unique(key), on=key, how="left", maintain_order="left")
        reported = rows[_REPORTED].fill_null("{}")
    else:
        reported = pl.repeat("{}", rows.height, dtype=pl.String, eager=True)
    merged = _merge(reported, [rows[name] for name in columns]) if columns else reported
    return rows.with_columns(rows["task_params"].fill_null(merged).alias("task_params"))


def _merge(reported: pl.Series, columns: Sequence[pl.Series]) -> pl.Series:
    """Return the reported parameters of each row's block and the row's own cells as one JSON object."""
    known = {text: parameters(text) for text in reported.unique()}
    pieces: list[pl.Series] = []
    for column in columns:
        without = [text for text, params in known.items() if column.name not in params]
        cell = cells.as_json(column)
        # An absent parameter is the same as null, so a blank cell adds nothing.
        piece = pl.lit(json.dumps(column.name) + ":") + pl.lit(cell)
        added = pl.when(pl.lit(reported.is_in(without)) & pl.lit(cell.is_not_null())).then(piece)
        pieces.append(pl.select(added.alias(column.name)).to_series())
    rest = reported.str.strip_chars().str.slice(1).str.strip_suffix("}").str.strip_chars().replace("", None)
    inner = pl.concat_str(*(pl.lit(piece) for piece in (rest, *pieces)), separator=",", ignore_nulls=True)
    return pl.select(pl.lit("{") + inner + pl.lit("}")).to_series()


def _with_block_numbers(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `block_num`: as logged if it rises from phase to phase; else new numbers, and the old ones as `block`."""
    blocks = rows.select(_RANK, _BLOCK).unique().sort(_RANK, _BLOCK)
    if (blocks[_BLOCK].diff().drop_nulls() > 0).all():
        return rows.with_columns(pl.col(_BLOCK).alias("block_num"))
    numbered = blocks.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("block_num"))
    rows = rows.join(numbered, on=(_RANK, _BLOCK), how="left", maintain_order="left")
    return rows.with_columns(pl.col(_BLOCK).cast(pl.String).alias("block"))


def _with_batches_apart(rows: pl.DataFrame) -> pl.DataFrame:
    """Number batches consecutively if a dataset ("task") has several, because a batch is an experience."""
    if "batch_id" not in rows.columns:
        return rows
    batches = rows.select("block_num", "exp_num", "batch_id").unique(maintain_order=True)
    if not batches.select("block_num", "exp_num").is_duplicated().any():
        return rows
    batches = batches.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("number"))
    key = ("block_num", "exp_num", "batch_id")
    rows = rows.with_columns(pl.col("exp_num").cast(pl.String).alias("task"))
    rows = rows.join(batches, on=key, how="left", maintain_order="left", nulls_equal=True)
    return in_order(rows.with_columns(pl.col("number").alias("exp_num")).drop("number"))


EXPERIENCE = ("block_num", "exp_num", "worker_id")
"""The columns that identify an experience."""


def _by_sub_episode(rows: pl.DataFrame) -> pl.DataFrame:
    """Sort the rows of an experience by their sub-episode, so that the order of files has no effect."""
    if "sub_task" not in rows.columns or not rows["sub_task"].dtype.is_integer() or sub_episodes_rise(rows):
        return rows
    return rows.sort(*EXPERIENCE, "sub_task", maintain_order=True)


def sub_episodes_rise(rows: pl.DataFrame) -> bool:
    """Return whether the numbers of sub-episodes never fall within an experience."""
    same = pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in EXPERIENCE)
    return not rows.select((same & (pl.col("sub_task").diff() < 0)).any()).item()


LEARNKIT = _Learnkit()
