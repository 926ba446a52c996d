"""Single-task experts that stay at hand between runs: folders of logs under `$L2DATA/taskinfo/experts`, no pickles."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from perdure.curves.experts import read_experts
from perdure.errors import LogError
from perdure.files import data_folder
from perdure.log.model import Lifetime
from perdure.log.read import locate, read

MODES = ("w", "a")
"""Write in place of what was stored of the task, or add to it."""


def _folder() -> Path:
    return data_folder() / "taskinfo" / "experts"


def store_expert(log_dir: str | os.PathLike[str], mode: str = "w") -> Path:
    """Keep the log of an expert as it is; it serves every log that is scored from now on."""
    place = locate(log_dir)
    tasks = list(
        dict.fromkeys(
            block.task for block in read(place).passage(None, "name").scenario.blocks if block.mode == "learn"
        )
    )
    if len(tasks) != 1:
        raise LogError(
            f"an expert learns one task, and this learns {len(tasks)} ({', '.join(tasks)})",
            "give such a log",
            file=place,
        )
    own = _folder() / tasks[0]
    if mode == "w":
        shutil.rmtree(own, ignore_errors=True)
    number = max((int(one.name) for one in own.glob("*") if one.name.isdigit()), default=0) + 1
    target = own / f"{number:04}"
    shutil.copytree(place, target)
    return target


def stored() -> tuple[Lifetime, ...]:
    """The experts that were stored, of each task the newest first."""
    logs = [log for task in sorted(_folder().glob("*")) for log in sorted(task.glob("*"), reverse=True)]
    return read_experts([str(one) for one in logs]).lifetimes if logs else ()


def unconverted() -> tuple[str, ...]:
    """The tasks whose experts are there only as pickles of l2metrics, which are never loaded."""
    kept = {one.name for one in _folder().glob("*")}
    return tuple(
        sorted(one.stem for one in (data_folder() / "taskinfo").glob("*.pickle") if one.stem.lower() not in kept)
    )
