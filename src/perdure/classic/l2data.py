"""Writing the data folder of 2019, `$L2DATA/{logs,taskinfo}`, from any logs and experts.

`taskinfo/info.json` has the saturation of the experts of each task, which the 2019 framework compares with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from statistics import fmean

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure import files
from perdure.classic.framework2019 import PREP, moving_average
from perdure.classic.learnkit_writer import tree_of, write_tree
from perdure.curves.experts import Experts, expert_log, read_experts, stated_saturations
from perdure.errors import LogError, NotALogError, WriteError
from perdure.gather.find import find_lifetimes
from perdure.gather.worker import read_own_experts
from perdure.log.model import Lifetime
from perdure.log.places import MANIFEST, taskinfo_file
from perdure.log.read import Options, find, lifetimes, locate
from perdure.log.variants import Settled, settle

_DEFAULTS = Options()
_GENERIC = ("lives", "logs")  # folder names that do not distinguish lifetimes
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
    A lifetime that was written before stays as it is. Experts and twins are not written, unless only one is given. With
    `finished`, unfinished lifetimes are skipped.
    """
    place = locate(log)
    if not any(find(place, options)):
        raise NotALogError("no lifetime here", "expected a log, or a folder of logs", file=place)
    pool = find_lifetimes([log], options=options)
    logs = folder / "logs"
    known = {text: tree for tree, text in _trees(logs)}
    last: dict[str, int] = {}
    written: list[Path] = []
    left_out = [] if finished else list(pool.left_out)
    for source in {source.path: source for source in pool.lifetimes}.values():
        try:
            for life in lifetimes(source.path, options):
                is_life = life.role == "life" or (source.path == place and not life.inside)
                if not is_life or life.inside in source.surplus or (finished and life.complete is False):
                    continue
                rows, manifest = tree_of(life)
                if manifest not in known:
                    name = _syllabus(life) or _name(place, source.path, life.inside)
                    moment = max(_start_ms(life), last.get(name, 0) + 1)
                    while (tree := logs / files.folder_name(f"{name}-{moment}")).exists():
                        moment += 1
                    last[name] = moment
                    known[manifest] = write_tree(rows, manifest, tree)
                written.append(known[manifest])
        except LogError as problem:
            left_out.append((str(source.path), str(problem)))
    return Written(tuple(written), tuple(left_out))


def write_experts(
    log: str | Path, folder: Path, measure: str | None = None, options: Options = _DEFAULTS
) -> tuple[dict[str, float], Written]:
    """Write the saturations of the experts at or below `log` to `folder`/taskinfo/info.json.

    For a run folder, these are the experts of its protocol. Other tasks in the file are kept; another value of the
    same task is refused.
    """
    place = locate(log)
    stated, left_out = saturations(_experts(place, options), measure)
    if not stated:
        why = f"no expert here can serve ({left_out[0][1]})" if left_out else "no expert here"
        raise LogError(why, "give logs that learn one task alone", file=place)
    file = taskinfo_file(folder)
    return write_taskinfo(stated, file), Written((file,), left_out)


def write_run(run: Path, folder: Path, protocol: Mapping[str, str]) -> Written:
    """Write the finished lifetimes of a run folder as trees, and the saturations of its experts, into a data folder.

    `protocol` has the learner and the digest that distinguish the run's trees from others. A data folder has one number
    for each task, so it is refused if lifetimes of other runs, or of this one, would be compared with wrong experts.
    """
    experts = _experts(run, _DEFAULTS)
    complete = tuple(expert for expert in experts.lifetimes if expert.complete is not False)
    stated, left_out = saturations(replace(experts, lifetimes=complete))
    file = taskinfo_file(folder)
    known = {task.lower(): value for task, value in stated_saturations(file).items()} if file.exists() else {}
    changed = [task for task, value in stated.items() if known.get(task) != value]
    written: list[Path] = []
    for tree, text in _trees(folder / "logs"):
        if _provenance(text) == protocol:
            written.append(tree)
            continue
        for task in changed:
            if any(tree.glob(f"*/*/{files.folder_name(task)}")):
                raise LogError(
                    f"{tree.name} is not of this run, and would be compared with its experts of {task}",
                    "choose another --l2data folder for this run",
                    file=folder,
                )
    replaced = [task for task in changed if task in known]
    if replaced and not written:
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
    """Return the experts that the protocol of a run folder plans, or all lifetimes of another folder."""
    if (place / "lives").is_dir():
        return read_own_experts(find_lifetimes([place], options=options).experts, options)
    return read_experts([place], options)


def _trees(logs: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the trees in a data folder, each with its manifest."""
    for tree in sorted(logs.glob("[!.]*")):
        try:
            yield tree, files.read_bytes(tree / MANIFEST, files.HEADER_LIMIT)
        except OSError:  # a tree of another tool
            yield tree, b""


def _provenance(manifest: bytes) -> dict[str, str]:
    """Return the learner and the protocol's digest in a tree's manifest."""
    try:
        content = msgspec.json.decode(manifest)
        return {"learner": content["learner"], "digest": content["protocol"]["digest"]}
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, TypeError):
        return {}


def _syllabus(life: Lifetime) -> str:
    scenario = life.manifest.get("scenario")
    return str(scenario.get("name") or "") if isinstance(scenario, Mapping) else ""


def _start_ms(life: Lifetime) -> int:
    """Return the start of a lifetime in milliseconds: from its manifest, its first record, or the age of its file."""
    try:
        return int(datetime.fromisoformat(str(life.manifest.get("started"))).timestamp() * 1000)
    except ValueError:
        first = life.experiences["timestamp"].drop_nulls().head(1).to_list()
    try:
        return int(datetime.strptime(first[0], _TIME).timestamp() * 1000)
    except (IndexError, ValueError):
        return int(life.path.stat().st_mtime * 1000) if life.path is not None and life.path.exists() else 0


def _name(place: Path, path: Path, inside: str) -> str:
    """Return the path of a lifetime from the argument's own name down, as one word."""
    parts = (part for part in path.relative_to(place).parts if part not in _GENERIC)
    return "-".join([place.resolve().name, *parts, *([inside] if inside else [])])


# --- taskinfo/info.json --------------------------------------------------------------------------


def saturations(experts: Experts, measure: str | None = None) -> tuple[dict[str, float], tuple[tuple[str, str], ...]]:
    """Return the mean saturation of each task's experts, as measured, and the experts left out with the reason."""
    settled = settle([expert.sets for expert in experts.lifetimes])
    by_task: dict[str, list[float]] = {}
    left_out = list(experts.left_out)
    for expert in experts.lifetimes:
        try:
            task, value = _saturation(expert, measure, settled)
        except LogError as problem:
            left_out.append((str(expert.path or expert.id), str(problem)))
        else:
            by_task.setdefault(task, []).append(value)
    return {task: fmean(values) for task, values in by_task.items()}, tuple(left_out)


def _saturation(expert: Lifetime, measure: str | None, settled: Settled) -> tuple[str, float]:
    column = expert.measure(measure)
    direction = expert.measures[column]
    log = expert_log(expert, column, direction, replace(PREP, variants=expert.variants), settled)
    best = float(moving_average(log.measured).max())
    return log.task, -best if direction == "lower" else best


def write_taskinfo(stated: dict[str, float], file: Path, *, replacing: bool = False) -> dict[str, float]:
    """Write saturations to `file`, keep those of other tasks in it, and return all of them.

    Another value of the same task is refused, because lifetimes may have been scored with it, unless `replacing`.
    """
    known = stated_saturations(file) if file.exists() else {}
    merged = {**{task: value for task, value in known.items() if task.lower() not in stated}, **stated}
    for task, value in known.items():
        if not replacing and stated.get(task.lower(), value) != value:
            raise LogError(
                f"states {value!r:.40} for {task}, and these experts give {stated[task.lower()]:g}",
                "move it away, or write to another folder",
                file=file,
            )
    with files.writing(file, "give another path", WriteError):
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write(file, (json.dumps(merged, indent=2, ensure_ascii=False) + "\n").encode())
    return merged
