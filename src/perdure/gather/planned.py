"""Comparing run folders with their protocols: planned lifetimes that are missing, and logs that are not planned."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

from msgspec import Struct

from perdure.errors import LogError, PerdureError
from perdure.files import folder_name
from perdure.lazy import pl
from perdure.log.formats.bulk import SUFFIX
from perdure.log.manifest import object_in
from perdure.log.places import MANIFEST, PARTS, PROTOCOL, as_text
from perdure.text import listed, plural

Planned = Mapping[str, Sequence[str]]
"""Part of a run folder → the ids that its protocol plans there."""

_WORDS = {"lives": "lifetime", "experts": "expert", "twins": "twin"}
_MOST_NAMES = 5  # that a message lists


class PlanComparison(Struct, frozen=True):
    """Differences between run folders and their protocols."""

    surplus: Mapping[str, frozenset[str]] = {}
    """Absolute path of each log that is not planned → its ids, which are several in a file of several lifetimes."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Run folder, and what is missing there or not planned."""
    notes: tuple[str, ...] = ()
    """Notes on planned lifetimes that need not be there yet."""


def compare_with_plans(places: Iterable[Path], logs: Iterable[Path]) -> PlanComparison:
    """Compare the run folders at or below `places` with their protocols; `logs` are what was found there.

    A part of a run folder is compared only if all of it was given: to name one lifetime is to ask for it alone.
    """
    found = {os.path.abspath(log) for log in logs}
    covered: dict[str, tuple[str, set[str]]] = {}
    for place in places:
        for run, shown, parts in _covered(place, found):
            covered.setdefault(run, (shown, set()))[1].update(parts)
    inside: dict[str, list[str]] = {run: [] for run in covered}
    for log in found:
        runs = (str(above) for above in Path(log).parents if str(above) in covered)
        for run in islice(runs, 1):  # the nearest
            inside[run].append(log)
    compared = [_compared(Path(run), shown, parts, inside[run]) for run, (shown, parts) in covered.items()]
    return PlanComparison(
        {log: names for one in compared for log, names in one.surplus.items()},
        tuple(pair for one in compared for pair in one.left_out),
        tuple(note for one in compared for note in one.notes),
    )


def planned_names(run: Path) -> Planned:
    """Return the ids that the protocol of a run folder plans, by the part of the folder they belong to."""
    try:
        return _planned_names(run, (run / PROTOCOL).stat().st_mtime_ns)
    except OSError as problem:
        raise PerdureError(f"cannot be read ({problem.strerror})", "check the file", file=run / PROTOCOL) from problem


@lru_cache(maxsize=64)
def _planned_names(run: Path, _changed: int) -> Planned:
    from perdure.runner.folder import RunFolder  # most logs are not in a run folder, and do without
    from perdure.runner.plan import RunPlan

    return RunPlan(RunFolder(run).protocol()).names


def _covered(place: Path, logs: Collection[str]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """The run folders at or below a place: path, how the user would write it, and the parts that lie there whole."""
    top = os.path.abspath(place)
    if not place.is_dir() or top in logs:
        return
    above, name = os.path.split(top)
    if name in PARTS and os.path.isfile(os.path.join(above, PROTOCOL)):
        yield above, as_text(above), (name,)
        return
    for folder, names, files in os.walk(top):
        if PROTOCOL in files:
            yield folder, as_text(place / os.path.relpath(folder, top)), PARTS
        # The search for logs went no further either.
        names[:] = sorted(one for one in names if one[0] != "." and os.path.join(folder, one) not in logs)


def _compared(run: Path, shown: str, parts: Collection[str], logs: Sequence[str]) -> PlanComparison:
    try:
        planned = planned_names(run)
    except PerdureError as problem:
        # A protocol.json that no lifetimes lie beside may be another program's.
        return PlanComparison(left_out=((shown, str(problem)),) if (run / "lives").is_dir() else ())
    present = {log: _names_in(Path(log)) for log in logs}
    left_out: list[tuple[str, str]] = []
    notes: list[str] = []
    for part in (one for one in PARTS if one in parts):
        there = {name for log, names in present.items() if Path(log).parent == run / part for name in names}
        missing = [name for name in planned[part] if name not in there]
        if not missing:
            continue
        why, excused = _excused(run, planned)
        later = [name for name in missing if name in excused]
        now = [name for name in missing if name not in excused]
        if later:
            notes.append(f"{shown}: {_count(later, part, planned)} not there: {why}")
        if now:
            fix = "run its protocol again into this folder to complete it"
            left_out.append((shown, f"{_count(now, part, planned)} missing ({_named(now)}); {fix}"))
    known = {run / part: frozenset(planned[part]) for part in PARTS}
    surplus = {log: names - known.get(Path(log).parent, frozenset()) for log, names in present.items()}
    surplus = {log: names for log, names in surplus.items() if names}
    if surplus:
        left_out.append((shown, _unplanned(run, surplus, planned)))
    return PlanComparison(surplus, tuple(left_out), tuple(notes))


def _names_in(log: Path) -> frozenset[str]:
    """The ids in a log; none for a file that cannot be read, which is reported when it is scored."""
    if log.is_dir():
        with contextlib.suppress(LogError):  # a copy of another lifetime does not become the one that its folder names
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


def _excused(run: Path, planned: Planned) -> tuple[str, frozenset[str]]:
    """Return why planned ids need not be there, and which."""
    from perdure.runner.folder import is_held, shards_of

    everything = [name for part in PARTS for name in planned[part]]
    if is_held(run):
        return "a run is active", frozenset(everything)
    shards = shards_of(run)
    theirs = {name for shard in shards for name in everything[shard.number - 1 :: shard.count]}
    numbers = listed(shard.number for shard in shards)
    why = f"only shard {numbers} of {shards[0].count} ran here" if shards else ""
    return why, frozenset(everything) - theirs if shards else frozenset()


def _unplanned(run: Path, surplus: Mapping[str, frozenset[str]], planned: Planned) -> str:
    paths = (Path(log).parent.relative_to(run) / name for log, names in surplus.items() for name in names)
    names = sorted(as_text(path.as_posix()) for path in paths)
    plan = listed(plural(len(planned[part]), _WORDS[part]) for part in PARTS if planned[part])
    return (
        f"{plural(len(names), 'log')} that its {PROTOCOL} does not plan: {_named(names)} (planned: {plan}); "
        "raise the number in the protocol and run it again, or move the rest to another folder"
    )


def _count(names: Sequence[str], part: str, planned: Planned) -> str:
    return f"{len(names)} of {plural(len(planned[part]), f'planned {_WORDS[part]}')}"


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
