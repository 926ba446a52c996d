"""Name the learners of lifetimes, and read their seeds, from their paths if their logs record neither."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from perdure.gather.model import ScoredLifetime
from perdure.log.formats import packed
from perdure.log.model import Identity

_SEED = re.compile(r"(?i)(?<![a-z0-9])(?:seed[-_= ]?|s=?)(\d{1,9})(?![a-z0-9])")
"""A seed in a name: seed0, er_s3, seed=3."""
_NUMBERED = re.compile(
    r"(?i)(?:(?:seed|s|run|rep|repeat|repetition|replicate|trial|fold|life|lifetime)[-_= ]*)?[\W\d_]*\d[\W\d_]*"
)
"""A name that only numbers: seed0, run-3, 7, 2026-01-31."""
_COUNTED = r"(.*?[^\W\d].*?)[-_. ]?(\d+)"
_GENERIC = (
    *("lives", "logs", "log", "results", "result", "matrix", "matrices", "acc", "accuracy", "accuracies", "eval"),
    *("evaluation", "evaluations", "eval_results", "evaluation_results", "metrics", "scores"),
)
"""Names that say what is in a folder or file, and identify no learner."""
_SEPARATORS = "-_.= "


class _Place(Struct):
    """The names in the path of a lifetime."""

    own: str
    """Its own name: of its file or folder, or in a file of several."""
    folders: tuple[str, ...]
    """The names that may identify its learner, outermost first."""
    fewest: int
    """Number of `folders` that always stay: those down to the argument."""
    every: tuple[str, ...]
    """All names below the argument and its own, as they were."""


def name_lifetimes(lifetimes: Sequence[ScoredLifetime], *, by_id: bool = False) -> list[ScoredLifetime]:
    """Return the lifetimes with the learner's name in `holder` and the seed, both from the path if not recorded.

    METHOD/FILE, METHOD/seed3/FILE, METHOD_s3.csv and METHOD/seed=3.csv name METHOD. Folders that only number, and names
    that recur in every folder, name nothing. A name that several folders share begins with the folder that differs.

    Parameters
    ----------
    lifetimes
        All lifetimes of a survey.
    by_id
        Whether their ids are used as paths, as for scores that were made before.
    """
    places = [
        _place_in_id(lifetime.score.identity) if by_id else _place_of(lifetime.score.identity) for lifetime in lifetimes
    ]
    unnamed = [
        place
        for place, lifetime in zip(places, lifetimes, strict=True)
        if place is not None and not lifetime.score.learner
    ]
    _take_methods_from_own_names(unnamed)
    while _drop_generic(unnamed) or _drop_numbered(unnamed) or _drop_recurring(unnamed):
        pass
    names = distinct_names({place.folders for place in unnamed})
    named: list[ScoredLifetime] = []
    for place, lifetime in zip(places, lifetimes, strict=True):
        identity = lifetime.score.identity
        if place is not None:
            holder = identity.holder if identity.learner else names[place.folders]
            seed = _seed_in(place) if identity.seed is None else identity.seed
            identity = replace(identity, holder=holder, seed=seed)
        same = identity == lifetime.score.identity
        named.append(lifetime if same else replace(lifetime, score=replace(lifetime.score, identity=identity)))
    return named


def is_numbered(name: str) -> bool:
    """Return whether a name only numbers lifetimes: seed0, run-3, 7."""
    return _NUMBERED.fullmatch(name) is not None


def _place_of(identity: Identity) -> _Place | None:
    """Return the names in the path of a lifetime; None for one in memory."""
    if not identity.source:
        return None
    path = Path(os.path.abspath(identity.source))
    name = path.name if path.is_dir() else packed.stem(path)
    before, mark, inside = identity.id.rpartition("#")
    names = (*path.parts[1:-1], name, *((inside,) if mark and before.endswith(path.name) else ()))
    # An argument that is the lifetime itself says nothing about the folders above.
    below = len(Path(identity.source).parts) - len(Path(identity.argument).parts) if identity.argument else 0
    fewest = len(path.parts) - 1 - below if below > 0 else 1
    return _Place(names[-1], names[:-1], fewest, names[fewest - 1 :] if below > 0 else names[-2:])


def _place_in_id(identity: Identity) -> _Place | None:
    """Return the names in an id that is a path; None for any other id."""
    path, _, inside = identity.id.partition("#")
    if "/" not in path:
        return None
    *folders, last = path.split("/")
    names = (*folders, packed.stem(Path(last)), *((inside,) if inside else ()))
    return _Place(names[-1], names[:-1], 1, names)


def _seed_in(place: _Place) -> int | None:
    found = (_SEED.search(name) for name in reversed(place.every))
    return next((int(match[1]) for match in found if match), None)


def _take_methods_from_own_names(places: Sequence[_Place]) -> None:
    """Move the method in a lifetime's own name, as in er_s3 and sgd_s3, to the names that identify it."""
    numbered: dict[tuple[str, ...], list[tuple[_Place, str, str]]] = {}
    others: Counter[tuple[str, ...]] = Counter()
    for place in places:
        method = _SEED.sub("", place.own).strip(_SEPARATORS)
        if is_numbered(place.own) or not method:
            place.own = ""
        elif method != place.own:
            place.folders, place.own = (*place.folders, method), ""
        elif match := re.fullmatch(_COUNTED, place.own):
            numbered.setdefault(place.folders, []).append((place, match[1].strip(_SEPARATORS), match[2]))
        else:
            others[place.folders] += 1
    for folders, found in numbered.items():
        numbers: dict[str, set[str]] = {}
        for _, method, number in found:
            numbers.setdefault(method, set()).add(number)
        each = list(numbers.values())
        # er_0, er_1, sgd_0, sgd_1: two methods, each with the same numbers.
        if not others[folders] and len(each) > 1 and len(each[0]) > 1 and all(one == each[0] for one in each):
            for place, method, _ in found:
                place.folders, place.own = (*folders, method), ""


def _drop_generic(places: Sequence[_Place]) -> bool:
    found = [place for place in places if _is_free(place) and place.folders[-1].lower() in _GENERIC]
    return _drop_last(found)


def _drop_numbered(places: Sequence[_Place]) -> bool:
    """Drop folders that only number, as in METHOD/seed3/FILE, if each holds one lifetime, of the same name."""
    by_parent: dict[tuple[str, ...], list[_Place]] = {}
    for place in places:
        if place.folders and is_numbered(place.folders[-1]):
            by_parent.setdefault(place.folders[:-1], []).append(place)
    held = Counter(place.folders for place in places)
    return _drop_last(
        [
            place
            for siblings in by_parent.values()
            if len({sibling.own for sibling in siblings}) == 1 and all(held[one.folders] == 1 for one in siblings)
            for place in siblings
            if _is_free(place)
        ]
    )


def _drop_recurring(places: Sequence[_Place]) -> bool:
    """Drop names that are the only one in each of several folders, as in er/run.npy and sgd/run.npy."""
    children: dict[tuple[str, ...], set[str]] = {}
    parents: dict[str, set[tuple[str, ...]]] = {}
    for place in places:
        for depth in range(1, len(place.folders)):
            children.setdefault(place.folders[:depth], set()).add(place.folders[depth])
        children.setdefault(place.folders, set()).add("")  # a lifetime itself
        parents.setdefault(place.folders[-1], set()).add(place.folders[:-1])
    recurring = {
        name for name, above in parents.items() if len(above) > 1 and all(children[one] == {name} for one in above)
    }
    return _drop_last([place for place in places if place.folders[-1] in recurring and _is_free(place)])


def _is_free(place: _Place) -> bool:
    """Return whether the last name may be dropped."""
    return len(place.folders) > place.fewest


def _drop_last(places: Sequence[_Place]) -> bool:
    for place in places:
        place.folders = place.folders[:-1]
    return bool(places)


def distinct_names(paths: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], str]:
    """Return the last name of each path, with as many names before it as it takes to be different."""
    depths = dict.fromkeys(paths, 1)
    while True:
        names = {path: "/".join(path[-depth:]) for path, depth in depths.items()}
        counts = Counter(names.values())
        longer = [path for path, name in names.items() if counts[name] > 1 and depths[path] < len(path)]
        if not longer:
            return names
        for path in longer:
            depths[path] += 1
