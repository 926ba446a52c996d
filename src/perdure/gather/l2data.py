"""The data folder of 2019, `$L2DATA/{logs,taskinfo}`, written from any logs and experts."""

from __future__ import annotations

from pathlib import Path

from perdure.curves.experts import read_experts
from perdure.errors import LogError, NotALog
from perdure.files import folder_name
from perdure.frozen import frozen
from perdure.log.places import taskinfo_file
from perdure.log.read import Options, find, lifetimes, locate
from perdure.log.write.learnkit import write_learnkit
from perdure.metrics.taskinfo import saturations, write_taskinfo

__all__ = ["Written", "write_experts", "write_trees"]

_DEFAULTS = Options()
_PASSED = ("lives", "logs")  # folders whose names say nothing of a lifetime


@frozen
class Written:
    """What was written into a data folder, and what could not be."""

    files: tuple[Path, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


def write_trees(log: str | Path, folder: Path, options: Options = _DEFAULTS) -> Written:
    """Every lifetime at or below `log` as a tree under `folder`/logs; what is there stays.

    Experts and twins are none, unless one alone is given.
    """
    place = locate(log)
    lives = place / "lives" if (place / "lives").is_dir() else place
    found = list(find(lives, options))
    if not found:
        raise NotALog("no lifetime here", "expected a log, or a folder of logs", file=place)
    written: list[Path] = []
    left_out: list[tuple[str, str]] = []
    for path in found:
        try:
            for life in lifetimes(path, options):
                if life.role == "life" or (path == place and not life.inside):
                    name = _name(place, path, life.inside)
                    there = folder / "logs" / folder_name(name)
                    written.append(there if there.is_dir() else write_learnkit(life, folder / "logs", name))
        except LogError as problem:
            left_out.append((str(path), str(problem)))
    return Written(tuple(written), tuple(left_out))


def write_experts(
    log: str | Path, folder: Path, measure: str | None = None, options: Options = _DEFAULTS
) -> tuple[dict[str, float], Written]:
    """What the experts at or below `log` achieve, as `folder`/taskinfo/info.json states it; a run's are its own."""
    place = locate(log)
    own = place / "experts" if (place / "experts").is_dir() and (place / "lives").is_dir() else place
    stated, left_out = saturations(read_experts([own], options), measure)
    if not stated:
        why = f"no expert here can serve ({left_out[0][1]})" if left_out else "no expert here"
        raise LogError(why, "give logs that learn one task alone", file=place)
    file = taskinfo_file(folder)
    return write_taskinfo(stated, file), Written((file,), left_out)


def _name(place: Path, path: Path, inside: str) -> str:
    """What a lifetime's tree is called: the path from the argument's own name down, as one word."""
    parts = (one for one in path.relative_to(place).parts if one not in _PASSED)
    return "-".join([place.resolve().name, *parts, *([inside] if inside else [])])
