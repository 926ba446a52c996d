"""Find the lifetimes at or below paths, name them, and separate the experts among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.files import HEADER_LIMIT, read_bytes
from perdure.gather.run_plans import compare_with_plans
from perdure.log.manifest import ROLES
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options, find, holds_experts, locate, parts

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
    from perdure.log.formats.matrix import looks_like_matrix  # imported only for files: most logs are folders

    return looks_like_matrix(path)


def _is_expert(path: Path, place: Path) -> bool:
    """Return whether a log below `place` is an expert or a twin: by its folder next to `lives/`, or by its manifest."""
    folder = place
    for name in path.relative_to(place).parts[:-1]:
        if name in ("experts", "twins") and (folder / "lives").is_dir():
            return True
        folder /= name
    try:
        manifest = msgspec.json.decode(read_bytes(path / "manifest.json", HEADER_LIMIT))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    role = manifest.get("role") if isinstance(manifest, dict) else None
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
    why = "but no lifetime of that run is scored; give it by --experts to use it"
    return tuple(
        (str(expert.path), f"{expert.path}: an expert of {expert.run}, {why}")
        for expert in experts
        if expert.run is not None and expert.run not in scored
    )
