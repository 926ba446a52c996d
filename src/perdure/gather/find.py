"""Finding: the lifetimes at or below what was given, what each is called, and the experts among them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import PerdureError
from perdure.files import HEADER_LIMIT, read_bytes
from perdure.gather.planned import compare_with_plans
from perdure.log.manifest import ROLES
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text
from perdure.log.read import Options, find, holds_experts, locate, parts

_PASSED_BY = frozenset({"lives", "logs"})  # folders that say nothing of who lives in them


class Found(Struct, frozen=True):
    """Something that is to be scored: where it lies, and what is known of it from there."""

    path: Path
    identity: Identity
    """Of the place: a file of several lifetimes gives each a name of its own behind it."""
    typed: str = ""
    """The id with the argument as typed in front, for lifetimes that would else share one."""
    part: str | None = None
    """Which piece of a file of many lifetimes."""
    run: Path | None = None
    """The run folder whose `lives/` holds it: the experts found in it serve this lifetime, and no other's do."""
    rows: Literal["evaluated", "learned"] | None = None
    """What the rows of a matrix are, where the matrices beside it tell."""
    lifetime: Lifetime | None = None
    """Where it was given as it is, and need not be read."""
    surplus: frozenset[str] = frozenset()
    """The lifetimes in a file of several that the protocol of its run does not plan."""

    def without(self, names: frozenset[str]) -> Found:
        """The same file without these of its lifetimes."""
        return replace(self, surplus=names)

    def inside(self, name: str) -> Found:
        """One lifetime of a file that holds several."""
        who = self.identity
        who = replace(who, id=f"{who.id}#{name}", holder=who.id, argument=who.argument or who.source)
        return replace(self, identity=who, typed=f"{self.typed}#{name}")


class OwnExpert(Struct, frozen=True):
    """An expert that was found among lifetimes."""

    path: str
    run: Path | None
    """The run folder, or file of several lifetimes, whose lifetimes it serves."""
    surplus: frozenset[str] = frozenset()
    """The experts in a file of several that the protocol of its run does not plan."""

    def without(self, names: frozenset[str]) -> OwnExpert:
        """Return the same file without these of its experts."""
        return OwnExpert(self.path, self.run, names)


class Findings(Struct, frozen=True):
    """The lifetimes at or below some places, the experts among them, and how they differ from their protocols."""

    lifetimes: tuple[Found, ...]
    experts: tuple[OwnExpert, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Run folder, and what is missing there or not planned."""
    notes: tuple[str, ...] = ()


def find_lifetimes(
    logs: Sequence[str | os.PathLike[str]],
    given: Sequence[str | os.PathLike[str]] = (),
    options: Options | None = None,
) -> Findings:
    """Find the lifetimes at or below `logs`, and the experts among them, which are no lives.

    What lies there and was also `given` as an expert is no life either. A run folder is compared with its protocol:
    what that does not plan is left out.
    """
    options = options or Options()
    lives: list[Found] = []
    experts: list[OwnExpert] = []
    places = [locate(log) for log in logs]
    for log, place in zip(logs, places, strict=True):
        if _is_matrix(place):
            lives.append(_found(place, place, log))
            continue
        below = list(find(place, options))
        if not below and place.is_dir():
            matrices = _matrices_below(place, log, options)
            if matrices:
                lives.extend(matrices)
                continue
        if not below:
            below = [place]  # the readers say best what is wrong with it
        for path in below:
            if path != place and _is_expert(path, place):
                experts.append(OwnExpert(str(path), run_of(path)))
                continue
            found, pieces = _found(path, place, log), _pieces(path, options)
            if pieces != (None,) and holds_experts(path, options):
                experts.append(OwnExpert(str(path), path))  # those among them serve the others
                found = replace(found, run=path)
            lives.extend(replace(found, part=piece) for piece in pieces)
    compared = compare_with_plans(places, [*(one.path for one in lives), *(Path(one.path) for one in experts)])
    return Findings(
        _without(_once(_planned(lives, compared.surplus)), given),
        tuple(_planned(experts, compared.surplus)),
        compared.left_out,
        compared.notes,
    )


_Log = TypeVar("_Log", Found, OwnExpert)


def _planned(logs: Sequence[_Log], surplus: Mapping[str, frozenset[str]]) -> list[_Log]:
    """Return the logs that are planned, or that hold planned lifetimes."""
    if not surplus:
        return list(logs)
    more = [(one, surplus.get(os.path.abspath(one.path), frozenset[str]())) for one in logs]
    return [one.without(names) if names else one for one, names in more if Path(one.path).name not in names]


def _once(lives: Sequence[Found]) -> list[Found]:
    """The lives, each place counted once however often it was given."""
    seen: dict[tuple[Path, str | None], Found] = {}
    for one in lives:
        seen.setdefault((one.path.resolve(), one.part), one)
    return list(seen.values())


def _matrices_below(place: Path, typed: str | os.PathLike[str], options: Options) -> list[Found]:
    """The accuracy matrices of a folder that holds nothing else; those of one folder belong together."""
    from perdure.log.formats.matrix import ways_round

    found: list[Found] = []
    paths = sorted(one for one in place.rglob("*") if not one.name.startswith(".") and _is_matrix(one))
    for folder in dict.fromkeys(one.parent for one in paths):
        beside = [one for one in paths if one.parent == folder]
        sound = [one for one in beside if _reads(one, options)]  # what is wrong with the others is said of each
        ways = ways_round(sound, options)  # files that decide must agree, the others follow them
        rows = {path: way.rows for path, way in ways.items()}
        found += [replace(_found(one, place, typed), rows=rows.get(one)) for one in beside]
    return found


def _reads(path: Path, options: Options) -> bool:
    from perdure.log.formats.matrix import ways_round

    try:
        ways_round([path], options)
    except PerdureError:
        return False
    return True


def _pieces(path: Path, options: Options) -> Sequence[str | None]:
    """The pieces of a file of many lifetimes; what is wrong with a file is said when it is read."""
    try:
        return parts(path, options)
    except PerdureError:
        return (None,)


def _found(path: Path, place: Path, typed: str | os.PathLike[str]) -> Found:
    """What is known of a lifetime at `path` from the argument `place` at or below which it lies."""
    top = as_text(place.resolve().name) or as_text(place.resolve())
    rest = as_text(path.relative_to(place).as_posix()) if path != place else ""
    return Found(
        path,
        Identity(
            id=f"{top}/{rest}" if rest else top,
            source=as_text(path),
            argument=as_text(os.fspath(typed)) if rest else "",
            holder=_holder(path, place, top),
        ),
        typed=f"{as_text(os.fspath(typed)).rstrip('/')}/{rest}" if rest else as_text(os.fspath(typed)),
        run=run_of(path),
    )


def _holder(path: Path, place: Path, top: str) -> str:
    """The nearest folder above that says who lives there; below an argument, by its name from there."""
    if path == place:
        above = path.absolute().parent
        while above.name in _PASSED_BY and above.parent != above:
            above = above.parent
        return as_text(above)
    folders = [top, *path.relative_to(place).parts[:-1]]
    while len(folders) > 1 and folders[-1] in _PASSED_BY:
        folders.pop()
    return as_text("/".join(folders))


def named_apart(lives: Sequence[Found]) -> tuple[Found, ...]:
    """The lifetimes with ids that differ: those that would share one have the argument as typed in front."""
    again = Counter(one.identity.id for one in lives)
    apart = [
        replace(one, identity=replace(one.identity, id=one.typed)) if again[one.identity.id] > 1 else one
        for one in lives
    ]
    still = Counter(one.identity.id for one in apart)
    seen: Counter[str] = Counter()
    for at, one in enumerate(apart):
        name = one.identity.id
        seen[name] += 1
        if still[name] > 1 and seen[name] > 1:  # the same lifetime given twice, or twice in one file
            apart[at] = replace(one, identity=replace(one.identity, id=f"{name} ({seen[name]})"))
    return tuple(apart)


def _is_matrix(path: Path) -> bool:
    if not path.is_file():
        return False
    from perdure.log.formats.matrix import looks_like_matrix  # most logs are folders, and need none of it

    return looks_like_matrix(path)


def _is_expert(path: Path, place: Path) -> bool:
    """Whether a lifetime below `place` is an expert or a twin: it lies in `experts/` beside `lives/`, or says so."""
    above = place
    for name in path.relative_to(place).parts[:-1]:
        if name in ("experts", "twins") and (above / "lives").is_dir():
            return True
        above /= name
    try:
        manifest = msgspec.json.decode(read_bytes(path / "manifest.json", HEADER_LIMIT))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    role = manifest.get("role") if isinstance(manifest, dict) else None
    return isinstance(role, str) and ROLES.get(role.lower()) in ("expert", "twin")


def _without(lives: Sequence[Found], experts: Sequence[str | os.PathLike[str]]) -> tuple[Found, ...]:
    """The lives less those found below a folder that were given as experts too."""
    places = {locate(path).resolve() for path in experts}
    if not places:
        return tuple(lives)
    resolved = cache(Path.resolve)  # many lives share their folder

    def among_experts(path: Path) -> bool:
        # No link was followed below a folder, so a life is where its parent is.
        whole = resolved(path.parent) / path.name
        return not places.isdisjoint((whole, *whole.parents))

    return tuple(one for one in lives if not one.identity.argument or not among_experts(one.path))


def run_of(path: Path) -> Path | None:
    """Return the run folder of a lifetime or an expert: the one whose `lives/` or `experts/` holds it."""
    for folder in path.resolve().parents:
        if folder.name == "lives" or (folder.name in ("experts", "twins") and (folder.parent / "lives").is_dir()):
            return folder.parent
    return None


def unused_experts(found: Iterable[OwnExpert], runs: Iterable[Path | None]) -> tuple[tuple[str, str], ...]:
    """Return path and reason of the experts whose run folders are not among `runs`, so that they serve nothing."""
    scored = set(runs)
    why = "but no lifetime of that run is scored; give it by --experts to use it"
    return tuple(
        (expert.path, f"{expert.path}: an expert of {expert.run}, {why}")
        for expert in found
        if expert.run is not None and expert.run not in scored
    )
