"""Find the lifetimes at or below paths, name them, separate the experts among them, and compare them with protocols."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import LogError, PerdureError
from perdure.files import folder_name
from perdure.lazy import pl
from perdure.log.formats.bulk import SUFFIX
from perdure.log.manifest import ROLES, object_in
from perdure.log.model import Identity, Lifetime
from perdure.log.places import MANIFEST, PARTS, PROTOCOL, as_text
from perdure.log.read import Options, find, holds_experts, locate, parts
from perdure.text import join_first, join_words, plural

if TYPE_CHECKING:
    from perdure.runner.plan import RunPlan

_GENERIC_FOLDERS = frozenset({"lives", "logs"})  # their names do not identify a learner


class FoundLog(Struct, frozen=True):
    """A log of lifetimes or of experts, and the facts that its path gives."""

    path: Path
    identity: Identity
    """Identity of the path. Each lifetime in a file of several has its own, with its name added."""
    typed: str = ""
    """The id with the argument as typed in front, for lifetimes that would share one otherwise."""
    part: str | None = None
    """Name of the part of a file of many lifetimes."""
    run: Path | None = None
    """The run folder, or the file of several lifetimes, that holds it. Experts serve only the lifetimes of theirs."""
    rows: Literal["evaluated", "learned"] | None = None
    """Meaning of the rows of a matrix, if the other matrices of its folder show it."""
    lifetime: Lifetime | None = None
    """A lifetime in memory, which is not read."""
    surplus: frozenset[str] = frozenset()
    """Lifetimes of a file of several that the protocol of its run does not plan."""

    def member(self, name: str) -> FoundLog:
        """Return one lifetime of a file that holds several."""
        identity = self.identity
        argument = identity.argument or identity.source
        identity = replace(identity, id=f"{identity.id}#{name}", holder=identity.id, argument=argument)
        return replace(self, identity=identity, typed=f"{self.typed}#{name}")


class Findings(Struct, frozen=True):
    """The logs at or below some paths, the experts among them, and how they differ from their protocols."""

    lifetimes: tuple[FoundLog, ...]
    experts: tuple[FoundLog, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Run folder, and the planned lifetimes that are missing or the logs that are not planned."""
    notes: tuple[str, ...] = ()


def find_lifetimes(
    logs: Sequence[str | os.PathLike[str]],
    given_experts: Sequence[str | os.PathLike[str]] = (),
    options: Options | None = None,
) -> Findings:
    """Find the lifetimes at or below `logs`, and separate the experts among them.

    Logs that are also in `given_experts` are not lifetimes. Run folders are compared with their protocols, and logs
    that are not planned are left out.
    """
    options = options or Options()
    lifetimes: list[FoundLog] = []
    experts: list[FoundLog] = []
    places = [locate(log) for log in logs]
    for log, place in zip(logs, places, strict=True):
        if _is_matrix(place):
            lifetimes.append(_log_at(place, place, log))
            continue
        paths = list(find(place, options))
        if not paths and place.is_dir():
            matrices = _find_matrices(place, log, options)
            if matrices:
                lifetimes.extend(matrices)
                continue
        for path in paths or [place]:  # without a log, the readers report the problem of the place
            found = _log_at(path, place, log)
            if path != place and _is_expert(path, place):
                experts.append(found)
                continue
            names = _part_names(path, options)
            if names != (None,) and holds_experts(path, options):
                found = replace(found, run=path)
                experts.append(found)  # the experts in a file of several serve its lifetimes
            lifetimes.extend(replace(found, part=name) for name in names)
    comparison = compare_with_plans(places, [log.path for log in (*lifetimes, *experts)])
    planned = _distinct(_drop_unplanned(lifetimes, comparison.surplus))
    return Findings(
        _drop_given_experts(planned, given_experts),
        tuple(_drop_unplanned(experts, comparison.surplus)),
        comparison.left_out,
        comparison.notes,
    )


def _drop_unplanned(logs: Sequence[FoundLog], surplus: Mapping[str, frozenset[str]]) -> list[FoundLog]:
    """Drop logs that are not planned, and mark the unplanned lifetimes in files of several."""
    if not surplus:
        return list(logs)
    unplanned = [(log, surplus.get(os.path.abspath(log.path), frozenset[str]())) for log in logs]
    return [replace(log, surplus=names) if names else log for log, names in unplanned if log.path.name not in names]


def _distinct(logs: Iterable[FoundLog]) -> list[FoundLog]:
    seen: dict[tuple[Path, str | None], FoundLog] = {}
    for log in logs:
        seen.setdefault((log.path.resolve(), log.part), log)
    return list(seen.values())


def _find_matrices(place: Path, typed: str | os.PathLike[str], options: Options) -> list[FoundLog]:
    """Return the accuracy matrices in a folder without logs. Those of one subfolder are read the same way round."""
    from perdure.log.formats.matrix import ways_round

    matrices: list[FoundLog] = []
    paths = sorted(path for path in place.rglob("*") if not path.name.startswith(".") and _is_matrix(path))
    for folder in dict.fromkeys(path.parent for path in paths):
        siblings = [path for path in paths if path.parent == folder]
        readable = [path for path in siblings if _is_readable_matrix(path, options)]
        # Matrices that show their orientation must agree, and decide that of the others.
        rows = {path: way.rows for path, way in ways_round(readable, options).items()}
        matrices += [replace(_log_at(path, place, typed), rows=rows.get(path)) for path in siblings]
    return matrices


def _is_readable_matrix(path: Path, options: Options) -> bool:
    from perdure.log.formats.matrix import ways_round

    try:
        ways_round([path], options)
    except PerdureError:
        return False
    return True


def _part_names(path: Path, options: Options) -> Sequence[str | None]:
    """Return the names of the parts of a file of many lifetimes. Reading a faulty file reports the problem later."""
    try:
        return parts(path, options)
    except PerdureError:
        return (None,)


def _log_at(path: Path, place: Path, typed: str | os.PathLike[str]) -> FoundLog:
    """Return the log at `path`, found at or below the argument `place`, which the user wrote as `typed`."""
    top = as_text(place.resolve().name) or as_text(place.resolve())
    rest = as_text(path.relative_to(place).as_posix()) if path != place else ""
    return FoundLog(
        path,
        Identity(
            id=f"{top}/{rest}" if rest else top,
            source=as_text(path),
            argument=as_text(os.fspath(typed)) if rest else "",
            holder=_holder(path, place, top),
        ),
        typed=f"{as_text(os.fspath(typed)).rstrip('/')}/{rest}" if rest else as_text(os.fspath(typed)),
        run=run_folder_of(path),
    )


def _holder(path: Path, place: Path, top: str) -> str:
    """Return the nearest parent folder that identifies a learner: below an argument, relative to it."""
    if path == place:
        folder = path.absolute().parent
        while folder.name in _GENERIC_FOLDERS and folder.parent != folder:
            folder = folder.parent
        return as_text(folder)
    folders = [top, *path.relative_to(place).parts[:-1]]
    while len(folders) > 1 and folders[-1] in _GENERIC_FOLDERS:
        folders.pop()
    return as_text("/".join(folders))


def with_distinct_ids(logs: Sequence[FoundLog]) -> tuple[FoundLog, ...]:
    """Return the logs with different ids: those that share one get the argument as typed in front, or a number."""
    counts = Counter(log.identity.id for log in logs)
    seen: Counter[str] = Counter()
    distinct: list[FoundLog] = []
    for log in logs:
        name = log.typed if counts[log.identity.id] > 1 else log.identity.id
        seen[name] += 1
        unique = f"{name} ({seen[name]})" if seen[name] > 1 else name  # the same lifetime may be given twice
        distinct.append(replace(log, identity=replace(log.identity, id=unique)))
    return tuple(distinct)


def _is_matrix(path: Path) -> bool:
    if not path.is_file():
        return False
    from perdure.log.formats.matrix_files import looks_like_matrix

    return looks_like_matrix(path)


def _is_expert(path: Path, place: Path) -> bool:
    """Return whether a log below `place` is an expert or a twin: by its folder next to `lives/`, or by its manifest."""
    folder = place
    for name in path.relative_to(place).parts[:-1]:
        if name in ("experts", "twins") and (folder / "lives").is_dir():
            return True
        folder /= name
    try:
        role = object_in(path / MANIFEST).get("role")
    except LogError:
        return False
    return isinstance(role, str) and ROLES.get(role.lower()) in ("expert", "twin")


def _drop_given_experts(logs: Sequence[FoundLog], experts: Sequence[str | os.PathLike[str]]) -> tuple[FoundLog, ...]:
    """Drop the logs found below a folder that were also given as experts."""
    places = {locate(path).resolve() for path in experts}
    if not places:
        return tuple(logs)
    resolved = cache(Path.resolve)  # many lifetimes share their folder

    def is_given(path: Path) -> bool:
        # The search follows no links below a folder, so the parent of a log decides its real path.
        real = resolved(path.parent) / path.name
        return not places.isdisjoint((real, *real.parents))

    return tuple(log for log in logs if not log.identity.argument or not is_given(log.path))


def run_folder_of(path: Path) -> Path | None:
    """Return the run folder of a lifetime or an expert: the one whose `lives/` or `experts/` holds it."""
    for folder in path.resolve().parents:
        if folder.name == "lives" or (folder.name in ("experts", "twins") and (folder.parent / "lives").is_dir()):
            return folder.parent
    return None


def unused_experts(experts: Iterable[FoundLog], runs: Iterable[Path | None]) -> tuple[tuple[str, str], ...]:
    """Return path and reason of the experts whose run folders are not among `runs`."""
    scored = set(runs)
    other_run = "an expert of {}, but no lifetime of that run is scored; give it by --experts to use it"
    alone = "holds experts without a lifetime; give it by --experts to use them"
    return tuple(
        (str(expert.path), f"{expert.path}: {alone if expert.path == expert.run else other_run.format(expert.run)}")
        for expert in experts
        if expert.run is not None and expert.run not in scored
    )


# --- planned lifetimes ---------------------------------------------------------------------------

PlannedNames = Mapping[str, Sequence[str]]
"""Part of a run folder → the ids that its protocol plans in it."""

_NOUNS = {"lives": "lifetime", "experts": "expert", "twins": "twin"}


class PlanComparison(Struct, frozen=True):
    """Differences between run folders and their protocols."""

    surplus: Mapping[str, frozenset[str]] = {}
    """Absolute path of each log that is not planned → its ids: several for a file of several lifetimes."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Run folder, and the planned lifetimes that are missing or the logs that are not planned."""
    notes: tuple[str, ...] = ()
    """Notes on planned lifetimes that may still be missing."""


def compare_with_plans(places: Iterable[Path], logs: Iterable[Path]) -> PlanComparison:
    """Compare the run folders at or below `places`, which hold `logs`, with their protocols.

    A part of a run folder is compared only if `places` cover all of it, because one lifetime may be scored by itself.
    """
    paths = {os.path.abspath(log) for log in logs}
    runs: dict[str, tuple[str, set[str]]] = {}
    for place in places:
        for run, shown, covered in _find_runs(place, paths):
            runs.setdefault(run, (shown, set()))[1].update(covered)
    logs_of: dict[str, list[str]] = {run: [] for run in runs}
    for path in paths:
        nearest = next((str(folder) for folder in Path(path).parents if str(folder) in runs), None)
        if nearest is not None:
            logs_of[nearest].append(path)
    comparisons = [_compare_run(Path(run), shown, covered, logs_of[run]) for run, (shown, covered) in runs.items()]
    return PlanComparison(
        {log: names for comparison in comparisons for log, names in comparison.surplus.items()},
        tuple(pair for comparison in comparisons for pair in comparison.left_out),
        tuple(note for comparison in comparisons for note in comparison.notes),
    )


def plan_of(run: Path) -> RunPlan:
    """Return the plan of a run folder. Raise PerdureError if it has no protocol."""
    try:
        return _plan_of(run, (run / PROTOCOL).stat().st_mtime_ns)
    except OSError as problem:
        raise PerdureError(f"cannot be read ({problem.strerror})", "check the file", file=run / PROTOCOL) from problem


@lru_cache(maxsize=64)
def _plan_of(run: Path, _changed: int) -> RunPlan:
    from perdure.runner.folder import RunFolder  # imported late: most logs are not in a run folder
    from perdure.runner.plan import RunPlan

    return RunPlan(RunFolder(run).protocol())


def _find_runs(place: Path, logs: Collection[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the run folders at or below a place: path, path as the user would write it, and parts that are covered."""
    top = os.path.abspath(place)
    if not place.is_dir() or top in logs:
        return
    parent, name = os.path.split(top)
    if name in PARTS and os.path.isfile(os.path.join(parent, PROTOCOL)):
        yield parent, as_text(parent), (name,)
        return
    for folder, names, files in os.walk(top):
        if PROTOCOL in files:
            yield folder, as_text(place / os.path.relpath(folder, top)), PARTS
        # The search for logs does not descend into these either.
        names[:] = sorted(name for name in names if name[0] != "." and os.path.join(folder, name) not in logs)


def _compare_run(run: Path, shown: str, covered: Collection[str], logs: Sequence[str]) -> PlanComparison:
    try:
        planned = plan_of(run).names
    except PerdureError as problem:
        # Without lives/ next to it, a protocol.json may belong to another program.
        return PlanComparison(left_out=((shown, str(problem)),) if (run / "lives").is_dir() else ())
    present = {log: _read_names(Path(log)) for log in logs}
    left_out: list[tuple[str, str]] = []
    notes: list[str] = []
    for part in (part for part in PARTS if part in covered):
        names_in_part = {name for log, names in present.items() if Path(log).parent == run / part for name in names}
        missing = [name for name in planned[part] if name not in names_in_part]
        if not missing:
            continue
        why, excused = _excused_names(run, planned)
        later = [name for name in missing if name in excused]
        now = [name for name in missing if name not in excused]
        if later:
            notes.append(f"{shown}: {_count_text(later, part, planned)} not there: {why}")
        if now:
            fix = "run its protocol again into this folder to complete it"
            left_out.append((shown, f"{_count_text(now, part, planned)} missing ({join_first(now)}); {fix}"))
    known = {run / part: frozenset(planned[part]) for part in PARTS}
    surplus = {log: names - known.get(Path(log).parent, frozenset()) for log, names in present.items()}
    surplus = {log: names for log, names in surplus.items() if names}
    if surplus:
        left_out.append((shown, _surplus_text(run, surplus, planned)))
    return PlanComparison(surplus, tuple(left_out), tuple(notes))


def _read_names(log: Path) -> frozenset[str]:
    """Return the ids in a log. A file that cannot be read has no ids here; scoring it reports the problem."""
    if log.is_dir():
        with contextlib.suppress(LogError):  # the manifest decides, because a copied log may have another folder name
            recorded = object_in(log / MANIFEST).get("id")
            if isinstance(recorded, str) and folder_name(recorded) != log.name:
                return frozenset({recorded})
    if log.suffix.lower() != SUFFIX or not log.is_file():
        return frozenset({log.name})
    from perdure.runner.folder import names_in

    try:
        return names_in(log)
    except pl.exceptions.ColumnNotFoundError:  # a table of one lifetime
        return frozenset({log.name})
    except (OSError, pl.exceptions.PolarsError):
        return frozenset()


def _excused_names(run: Path, planned: PlannedNames) -> tuple[str, frozenset[str]]:
    """Return the planned ids that may still be missing, after the reason."""
    from perdure.runner.folder import is_held, shards_of

    everything = [name for part in PARTS for name in planned[part]]
    if is_held(run):
        return "a run is active", frozenset(everything)
    shards = shards_of(run)
    assigned = {name for shard in shards for name in everything[shard.number - 1 :: shard.count]}
    numbers = join_words(shard.number for shard in shards)
    why = f"only shard {numbers} of {shards[0].count} ran here" if shards else ""
    return why, frozenset(everything) - assigned if shards else frozenset()


def abandoned_runs(runs: Iterable[Path]) -> list[Path]:
    """Return the run folders in which a run was active and none is."""
    from perdure.runner.folder import is_abandoned  # imported late: most logs are not in a run folder

    return [run for run in runs if is_abandoned(run)]


def _surplus_text(run: Path, surplus: Mapping[str, frozenset[str]], planned: PlannedNames) -> str:
    paths = (Path(log).parent.relative_to(run) / name for log, names in surplus.items() for name in names)
    names = sorted(as_text(path.as_posix()) for path in paths)
    plan = join_words(plural(len(planned[part]), _NOUNS[part]) for part in PARTS if planned[part])
    return (
        f"{plural(len(names), 'log')} that its {PROTOCOL} does not plan: {join_first(names)} (planned: {plan}); "
        "raise the number in the protocol and run it again, or move the rest to another folder"
    )


def _count_text(names: Sequence[str], part: str, planned: PlannedNames) -> str:
    return f"{len(names)} of {plural(len(planned[part]), f'planned {_NOUNS[part]}')}"
