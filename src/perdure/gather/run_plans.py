"""Compare run folders with their protocols: planned lifetimes that are missing, and logs that are not planned."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from perdure.errors import LogError, PerdureError
from perdure.files import folder_name
from perdure.lazy import pl
from perdure.log.formats.bulk import SUFFIX
from perdure.log.manifest import object_in
from perdure.log.places import MANIFEST, PARTS, PROTOCOL, as_text
from perdure.text import join_words, plural

PlannedNames = Mapping[str, Sequence[str]]
"""Part of a run folder → the ids that its protocol plans in it."""

_NOUNS = {"lives": "lifetime", "experts": "expert", "twins": "twin"}
_MAX_NAMES = 5  # in one message


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
        for run, shown, parts in _find_runs(place, paths):
            runs.setdefault(run, (shown, set()))[1].update(parts)
    logs_of: dict[str, list[str]] = {run: [] for run in runs}
    for path in paths:
        nearest = next((str(folder) for folder in Path(path).parents if str(folder) in runs), None)
        if nearest is not None:
            logs_of[nearest].append(path)
    comparisons = [_compare_run(Path(run), shown, parts, logs_of[run]) for run, (shown, parts) in runs.items()]
    return PlanComparison(
        {log: names for comparison in comparisons for log, names in comparison.surplus.items()},
        tuple(pair for comparison in comparisons for pair in comparison.left_out),
        tuple(note for comparison in comparisons for note in comparison.notes),
    )


def planned_names(run: Path) -> PlannedNames:
    """Return the ids that the protocol of a run folder plans, by the part of the folder they belong to."""
    try:
        return _planned_names(run, (run / PROTOCOL).stat().st_mtime_ns)
    except OSError as problem:
        raise PerdureError(f"cannot be read ({problem.strerror})", "check the file", file=run / PROTOCOL) from problem


@lru_cache(maxsize=64)
def _planned_names(run: Path, _changed: int) -> PlannedNames:
    from perdure.runner.folder import RunFolder  # imported late: most logs are not in a run folder
    from perdure.runner.plan import RunPlan

    return RunPlan(RunFolder(run).protocol()).names


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


def _compare_run(run: Path, shown: str, parts: Collection[str], logs: Sequence[str]) -> PlanComparison:
    try:
        planned = planned_names(run)
    except PerdureError as problem:
        # Without lives/ next to it, a protocol.json may belong to another program.
        return PlanComparison(left_out=((shown, str(problem)),) if (run / "lives").is_dir() else ())
    present = {log: _read_names(Path(log)) for log in logs}
    left_out: list[tuple[str, str]] = []
    notes: list[str] = []
    for part in (part for part in PARTS if part in parts):
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
            left_out.append((shown, f"{_count_text(now, part, planned)} missing ({_name_text(now)}); {fix}"))
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


def _surplus_text(run: Path, surplus: Mapping[str, frozenset[str]], planned: PlannedNames) -> str:
    paths = (Path(log).parent.relative_to(run) / name for log, names in surplus.items() for name in names)
    names = sorted(as_text(path.as_posix()) for path in paths)
    plan = join_words(plural(len(planned[part]), _NOUNS[part]) for part in PARTS if planned[part])
    return (
        f"{plural(len(names), 'log')} that its {PROTOCOL} does not plan: {_name_text(names)} (planned: {plan}); "
        "raise the number in the protocol and run it again, or move the rest to another folder"
    )


def _count_text(names: Sequence[str], part: str, planned: PlannedNames) -> str:
    return f"{len(names)} of {plural(len(planned[part]), f'planned {_NOUNS[part]}')}"


def _name_text(names: Sequence[str]) -> str:
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
