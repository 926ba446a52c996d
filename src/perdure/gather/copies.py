"""Copies among lifetimes: the first counts, the others are left out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from msgspec import Struct

from perdure.gather.model import ScoredLifetime
from perdure.metrics.score import Score

_ONCE = " in the same tasks and blocks, and counts once; if both were lived, record the learner and seed of each"
_ANY = object()  # stands for every learner, or every seed


class Once(Struct, frozen=True, eq=False):
    """Lifetimes that count, and what was found of the others."""

    lifetimes: tuple[ScoredLifetime, ...]
    copies: tuple[tuple[str, str], ...] = ()
    """Path and reason of each copy."""
    notes: tuple[str, ...] = ()


def count_once(lives: Iterable[ScoredLifetime]) -> Once:
    """Leave out lifetimes with the tasks, blocks and values of an earlier one of the same learner and seed.

    A learner or seed that is not recorded may be any. Lifetimes that differ in their recorded seeds all count,
    because a deterministic learner repeats its values; a note says so.
    """
    kept: list[ScoredLifetime] = []
    copies: list[tuple[str, str]] = []
    repeated: list[tuple[Score, Score]] = []
    seen: dict[tuple[object, ...], Score] = {}
    for life in lives:
        one = life.score
        if not one.digest:
            kept.append(life)
            continue
        values = (one.digest, one.preset, one.how)
        learners = (one.learner, None) if one.learner else (_ANY,)
        seeds = (_ANY,) if one.seed is None else (one.seed, None)
        original = next((seen[key] for key in product((values,), learners, seeds) if key in seen), None)
        if original is not None:
            copies.append((one.identity.source or one.id, f"{one.id} has the values of {original.id}{_ONCE}"))
            continue
        repeated += [(one, seen[key]) for key in product((values,), learners, (_ANY,)) if key in seen][:1]
        for key in product((values,), (one.learner, _ANY), (one.seed, _ANY)):
            seen.setdefault(key, one)
        kept.append(life)
    return Once(tuple(kept), tuple(copies), tuple(_warning(repeated)))


def _warning(repeated: list[tuple[Score, Score]]) -> Iterable[str]:
    """Say how many lifetimes repeat the values of another with another seed."""
    if repeated:
        again, first = repeated[0]
        count = "1 lifetime has" if len(repeated) == 1 else f"{len(repeated)} lifetimes have"
        yield (
            f"{count} the same values as one with another seed, as {again.id} and {first.id}: all are counted, "
            "though a learner that ignores its seed is observed only once"
        )
