"""Writing any lifetime as a 2019 learnkit tree, for tools that read that layout."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from perdure import files
from perdure.classic.learnkit import (
    BATCH_COLUMNS,
    BLOCK_REPORT,
    EPISODE_COLUMNS,
    EXPERIENCE,
    SPACES,
    LearnkitPhase,
    sub_episodes_rise,
)
from perdure.errors import LogError, WriteError
from perdure.files import folder_name
from perdure.lazy import pl
from perdure.log.blocks import in_order
from perdure.log.manifest import written_role
from perdure.log.model import Lifetime
from perdure.log.places import DATA_FILE, MANIFEST
from perdure.log.rules import STANDARD_COLUMNS, is_object
from perdure.log.variants import task_of

_ROWS_AT_ONCE = 1 << 20
_PLACE = ("worker", "phase", "class_name")
_OWNED = ("timestamp", "class_name", "phase", "worker", "block", "task", "termination_status")
_BLOCK = ("block_num", "worker_id", "task_name")
_PARAMS, _PHASE = "\0params", "\0phase"  # working columns, under names that no column of a log can have


def write_learnkit(lifetime: Lifetime, into: str | os.PathLike[str], name: str | None = None) -> Path:
    """Write a lifetime as a learnkit tree.

    Phases are made from the blocks; an evaluation before any learning is `0.test`. Names that are not safe as folders
    are encoded. Facts that the tree has no place for (directions of measures, learner, seed) are in its
    `manifest.json`.

    Parameters
    ----------
    lifetime
        The lifetime.
    into
        Folder in which the tree's folder is created.
    name
        Name of the tree's folder, which must not exist. By default the lifetime's id.

    Returns
    -------
    Path
        The tree's folder.

    Raises
    ------
    LogError
        If the folder exists, or the lifetime cannot be written as a tree.

    Examples
    --------
    >>> perdure.write_learnkit(perdure.read("logs/naive-0"), "learnkit").name
    'naive-0'
    """
    return write_tree(*tree_of(lifetime), Path(into) / folder_name(lifetime.id if name is None else name))


def tree_of(lifetime: Lifetime) -> tuple[pl.DataFrame, bytes]:
    """Return the rows of a lifetime's tree, and its manifest, which differs from that of any other lifetime."""
    rows = _columns(lifetime)
    checksum = hashlib.blake2b(digest_size=16)
    for start in range(0, rows.height, _ROWS_AT_ONCE):
        checksum.update(rows[start : start + _ROWS_AT_ONCE].write_csv().encode())
    return rows, msgspec.json.encode({**_manifest(lifetime), "records": checksum.hexdigest()})


def write_tree(rows: pl.DataFrame, manifest: bytes, root: Path) -> Path:
    """Write a tree to a new folder, atomically, and return the folder."""
    if root.exists():
        raise LogError("exists already", "give another name, or remove it", file=root)
    unfinished = root.with_name(f".{root.name}.{os.urandom(4).hex()}.part")
    try:
        unfinished.mkdir(parents=True)
        files.write(unfinished / MANIFEST, manifest)
        for (worker, phase, task), part in rows.partition_by(_PLACE, as_dict=True, maintain_order=True).items():
            folder = unfinished / folder_name(worker) / folder_name(phase) / folder_name(task)
            folder.mkdir(parents=True)
            part.drop(_PARAMS).write_csv(folder / DATA_FILE, separator="\t")
            blocks = part.unique("block", keep="first", maintain_order=True)
            report = blocks.select("phase", "worker", "class_name", "block", pl.col(_PARAMS).alias("params"))
            report.write_csv(folder / BLOCK_REPORT, separator="\t")
        unfinished.rename(root)
    except OSError as problem:
        reason = problem.strerror or problem
        raise WriteError(
            f"cannot be written: {reason}", "give another place: nothing was written", file=root
        ) from problem
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return root


def _manifest(lifetime: Lifetime) -> Mapping[str, object]:
    return {
        "id": lifetime.id,
        "learner": lifetime.learner,
        "role": written_role(lifetime),
        "seed": lifetime.seed,
        "protocol": lifetime.manifest.get("protocol"),
        "complete": lifetime.complete,
        "measures": dict(lifetime.measures),
        "scenario": _scenario(lifetime),
    }


def _scenario(lifetime: Lifetime) -> Mapping[str, object]:
    """Return the facts of the scenario (variants, bounds, type), which are not in the tree's columns."""
    stated = lifetime.manifest.get("scenario")
    scenario = dict(stated) if isinstance(stated, Mapping) else {}
    tasks = list(scenario["tasks"]) if isinstance(scenario.get("tasks"), list) else []
    labels = {str(task.get("label")).lower() for task in tasks if isinstance(task, Mapping)}
    for label in lifetime.experiences["task_name"].unique(maintain_order=True):
        if label not in labels:
            task = task_of(lifetime, label)
            tasks.append({"label": label, "name": task.name, "variant": task.variant})
    info = scenario.get("info")
    return {**scenario, "tasks": tasks, "info": {**(info if isinstance(info, Mapping) else {}), **lifetime.info}}


def _columns(lifetime: Lifetime) -> pl.DataFrame:
    """Return the rows under the tree's names, in the order of the figure: measures after the status, then the rest."""
    rows = in_order(lifetime.experiences)
    _refuse(lifetime, rows)
    phase, sub_task = phases(rows), _sub_task(rows)
    params = rows["task_params"].fill_null("{}").replace("", "{}")
    renamed: dict[str, pl.Expr] = {
        "timestamp": pl.col("timestamp"),
        "class_name": pl.col("task_name"),
        "phase": pl.lit(phase),
        "worker": pl.col("worker_id"),
        "block": pl.col("block_num"),
        "task": pl.col("exp_num"),
        "sub_task": pl.lit(sub_task),
        "termination_status": pl.when(pl.col("exp_status") == "complete")
        .then(pl.lit("DONE"))
        .otherwise(pl.lit("INCOMPLETE")),
    }
    names = list(BATCH_COLUMNS if "batch_id" in rows.columns else EPISODE_COLUMNS)
    if (rows["exp_status"] == "incomplete").any() or (sub_task > 1).any():
        names += [name for name in ("sub_task", "termination_status") if name not in names]
    others = [name for name in rows.columns if name not in STANDARD_COLUMNS and name not in lifetime.measures]
    names += [name for name in lifetime.measures if name not in names]
    extras = [name for name in others if name not in renamed and name not in (*names, *SPACES)]
    parameters = {name for text in params.unique() for name in json.loads(text)}
    names += [name for name in extras if name not in parameters]
    names += [name for name in SPACES if name not in names]
    names += [name for name in extras if name in parameters]
    blank = {name: pl.lit(lifetime.seed if name == "seed" else None) for name in names if name not in rows.columns}
    columns = {name: renamed.get(name, blank.get(name, pl.col(name))) for name in names}
    same = {"phase": phase, "sub_task": sub_task}
    for name in others:
        if name in renamed and not (name in same and same[name].equals(rows[name])):
            columns[f"{name}_logged"] = pl.col(name)
    if (rows["block_subtype"] != "wake").any():
        columns["block_subtype"] = pl.col("block_subtype")
    if _varies(rows.select(*_BLOCK, phase.alias(_PHASE), params.alias(_PARAMS))):
        columns["task_params"] = pl.lit(params)
    columns[_PARAMS] = pl.lit(params)
    return rows.select(column.alias(name) for name, column in columns.items())


def _refuse(lifetime: Lifetime, rows: pl.DataFrame) -> None:
    """Raise LogError for a lifetime that text files cannot hold."""
    if not rows.height:
        raise LogError("no experiences", "leave it out: there is nothing to write", where=lifetime.id)
    for text in rows["task_params"].unique().drop_nulls():
        if text and not is_object(text):
            raise LogError(f"task_params {text[:60]!r} is not a JSON object", "repair the log first", where=lifetime.id)
    for name, column in zip(rows.columns, rows, strict=True):
        if name in lifetime.measures and name in (*_OWNED, "sub_task"):
            raise LogError(f"the measure {name!r} has the name of a learnkit column", "rename it", where=lifetime.id)
        if not name.isprintable() or name != name.strip() or not name:
            raise LogError(f"a column called {name!r} cannot stand in a header", "rename it", where=lifetime.id)
        if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
            raise LogError(f"column {name!r} holds {column.dtype}, not text or numbers", "drop it", where=lifetime.id)
        if column.dtype == pl.String and column.str.contains("\0", literal=True).any():
            raise LogError(f"column {name!r} holds a NUL byte, which no text file may", "remove it", where=lifetime.id)


def phases(rows: pl.DataFrame) -> pl.Series:
    """Return the phase of each row: as logged if that fits the blocks, else counted from learning to learning."""
    learning = rows["block_type"] == "train"
    if "phase" in rows.columns and rows["phase"].dtype == pl.String and not rows["phase"].null_count():
        parsed = {text: LearnkitPhase.parse(text) for text in rows["phase"].unique()}
        known = {text: phase for text, phase in parsed.items() if phase}
        ranks = LearnkitPhase.ranks(known.values())
        rank = rows["phase"].replace_strict({text: ranks[phase] for text, phase in known.items()}, default=None)
        train = rows["phase"].is_in([text for text, phase in known.items() if phase.mode == "train"])
        if len(known) == len(parsed) and (rank.diff().drop_nulls() >= 0).all() and (train == learning).all():
            return rows["phase"]
    number = (learning & ~learning.shift(fill_value=False)).cast(pl.Int64).cum_sum()
    return number.cast(pl.String) + "." + rows["block_type"].cast(pl.String)


def _sub_task(rows: pl.DataFrame) -> pl.Series:
    """Return the number of each row within its experience and worker: as logged if that rises, else from 1."""
    numbered = "sub_task" in rows.columns and rows["sub_task"].dtype.is_integer() and not rows["sub_task"].null_count()
    if numbered and sub_episodes_rise(rows):
        return rows["sub_task"]
    return rows.select(pl.int_range(1, pl.len() + 1).over(EXPERIENCE).alias("sub_task"))["sub_task"]


def _varies(rows: pl.DataFrame) -> bool:
    """Return whether a block has several parameter sets, of which its report can hold one."""
    return bool((rows.group_by(*_BLOCK, _PHASE).agg(pl.col(_PARAMS).n_unique())[_PARAMS] > 1).any())
