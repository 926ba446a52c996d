"""The data folder of 2019, `$L2DATA/{logs,taskinfo}`, written from any logs and experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure import files
from perdure.classic.learnkit_writer import tree_of, write_tree
from perdure.classic.taskinfo import saturations, stated_in, write_taskinfo
from perdure.curves.experts import Experts, read_experts
from perdure.errors import LogError, NotALogError
from perdure.gather.find import find_lifetimes
from perdure.gather.worker import read_own_experts
from perdure.log.model import Lifetime
from perdure.log.places import MANIFEST, taskinfo_file
from perdure.log.read import Options, find, lifetimes, locate

_DEFAULTS = Options()
_PASSED = ("lives", "logs")  # folders whose names say nothing of a lifetime
_TIME = "%Y%m%dT%H%M%S.%f"


class Written(Struct, frozen=True):
    """Trees and saturations written into a data folder, and the lifetimes left out with the reason."""

    files: tuple[Path, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason."""
    notes: tuple[str, ...] = ()


def write_trees(log: str | Path, folder: Path, options: Options = _DEFAULTS, *, finished: bool = False) -> Written:
    """Write every lifetime at or below `log` as a tree `folder`/logs/<syllabus>-<timestamp>.

    The timestamp is when the lifetime started, in milliseconds, and a later one if a different lifetime has that name.
    A lifetime that is there already stays as it is. Experts and twins are not written, unless one alone is given. With
    `finished`, lifetimes that have not reached their end are passed by.
    """
    place = locate(log)
    if not any(find(place, options)):
        raise NotALogError("no lifetime here", "expected a log, or a folder of logs", file=place)
    there = find_lifetimes([log], options=options)
    logs = folder / "logs"
    known = {text: tree for tree, text in _trees(logs)}
    last: dict[str, int] = {}
    written: list[Path] = []
    left_out = [] if finished else list(there.left_out)
    for found in {one.path: one for one in there.lifetimes}.values():
        try:
            for life in lifetimes(found.path, options):
                is_life = life.role == "life" or (found.path == place and not life.inside)
                if not is_life or life.inside in found.surplus or (finished and life.complete is False):
                    continue
                rows, manifest = tree_of(life)
                if manifest not in known:
                    name = _syllabus(life) or _name(place, found.path, life.inside)
                    moment = max(_started(life), last.get(name, 0) + 1)
                    while (tree := logs / files.folder_name(f"{name}-{moment}")).exists():
                        moment += 1
                    last[name] = moment
                    known[manifest] = write_tree(rows, manifest, tree)
                written.append(known[manifest])
        except LogError as problem:
            left_out.append((str(found.path), str(problem)))
    return Written(tuple(written), tuple(left_out))


def write_experts(
    log: str | Path, folder: Path, measure: str | None = None, options: Options = _DEFAULTS
) -> tuple[dict[str, float], Written]:
    """Write what the experts at or below `log` achieve to `folder`/taskinfo/info.json; a run's are its own.

    What the file states of other tasks is kept; another value of the same task is refused.
    """
    place = locate(log)
    stated, left_out = saturations(_experts(place, options), measure)
    if not stated:
        why = f"no expert here can serve ({left_out[0][1]})" if left_out else "no expert here"
        raise LogError(why, "give logs that learn one task alone", file=place)
    file = taskinfo_file(folder)
    return write_taskinfo(stated, file), Written((file,), left_out)


def write_run(run: Path, folder: Path, protocol: Mapping[str, str]) -> Written:
    """Write the finished lifetimes of a run folder as trees, and what its experts achieve, into a data folder.

    `protocol` has the learner and the digest that tell the run's trees from others. A data folder has one number for
    each task, so it is refused if lifetimes of other runs there, or of this one, would be compared with wrong experts.
    """
    experts = _experts(run, _DEFAULTS)
    stated, left_out = saturations(
        replace(experts, lifetimes=tuple(one for one in experts.lifetimes if one.complete is not False))
    )
    file = taskinfo_file(folder)
    known = stated_in(file)
    changed = [task for task, value in stated.items() if known.get(task) != value]
    mine: list[Path] = []
    for tree, text in _trees(folder / "logs"):
        if _made_by(text) == protocol:
            mine.append(tree)
            continue
        for task in changed:
            if any(tree.glob(f"*/*/{files.folder_name(task)}")):
                raise LogError(
                    f"{tree.name} is not of this run, and would be compared with its experts of {task}",
                    "choose another --l2data folder for this run",
                    file=folder,
                )
    replaced = [task for task in changed if task in known]
    if replaced and not mine:
        raise LogError(
            f"states {known[replaced[0]]:g} for {replaced[0]}, and the experts of this run give "
            f"{stated[replaced[0]]:g}",
            "choose another --l2data folder for this run",
            file=file,
        )
    trees = write_trees(run, folder, finished=True)
    if not stated:
        return trees
    write_taskinfo(stated, file, replacing=True)
    notes = tuple(f"{file}: {task} was {known[task]:g}, and is {stated[task]:g} now" for task in replaced)
    return Written((*trees.files, file), (*trees.left_out, *left_out), notes)


def _experts(place: Path, options: Options) -> Experts:
    """The experts that the protocol of a run folder plans, or everything at a place that is not one."""
    if (place / "lives").is_dir():
        return read_own_experts(find_lifetimes([place], options=options).experts, options)
    return read_experts([place], options)


def _trees(logs: Path) -> Iterator[tuple[Path, bytes]]:
    """The trees in a data folder, each with its manifest."""
    for tree in sorted(logs.glob("[!.]*")):
        try:
            yield tree, files.read_bytes(tree / MANIFEST, files.HEADER_LIMIT)
        except OSError:  # another tool's
            yield tree, b""


def _made_by(manifest: bytes) -> dict[str, str]:
    """The learner and the protocol's digest that a tree's manifest states."""
    try:
        told = msgspec.json.decode(manifest)
        return {"learner": told["learner"], "digest": told["protocol"]["digest"]}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return {}


def _syllabus(life: Lifetime) -> str:
    scenario = life.manifest.get("scenario")
    return str(scenario.get("name") or "") if isinstance(scenario, Mapping) else ""


def _started(life: Lifetime) -> int:
    """When a lifetime started, in milliseconds: by its manifest, its first record, or the age of its file."""
    try:
        return int(datetime.fromisoformat(str(life.manifest.get("started"))).timestamp() * 1000)
    except ValueError:
        first = life.experiences["timestamp"].drop_nulls().head(1).to_list()
    try:
        return int(datetime.strptime(first[0], _TIME).timestamp() * 1000)
    except (IndexError, ValueError):
        return int(life.path.stat().st_mtime * 1000) if life.path is not None and life.path.exists() else 0


def _name(place: Path, path: Path, inside: str) -> str:
    """The path of a lifetime from the argument's own name down, as one word: for one that names no syllabus."""
    parts = (one for one in path.relative_to(place).parts if one not in _PASSED)
    return "-".join([place.resolve().name, *parts, *([inside] if inside else [])])
