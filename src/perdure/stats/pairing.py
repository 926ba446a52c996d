"""Pairing: match the lifetimes of two systems by seed and task order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from perdure.errors import PerdureError
from perdure.metrics.score import Score

Want = Literal["auto", "yes", "no"]


class Pairing(Struct, frozen=True):
    """The lifetimes of two systems, paired or not; `told` gives the reason."""

    paired: bool
    ours: tuple[Score, ...]
    theirs: tuple[Score, ...]
    told: str
    """Whether lifetimes are paired, and on what grounds."""

    @property
    def n(self) -> int:
        """Lifetimes of the system."""
        return len(self.ours)

    @property
    def baseline_n(self) -> int:
        """Lifetimes of the baseline."""
        return len(self.theirs)


def pair(ours: Sequence[Score], theirs: Sequence[Score], want: Want = "auto") -> Pairing:
    """Match lifetimes by seed and task order if every lifetime has exactly one partner, and seeds occur once per side.

    No lifetime is left out to make pairs. `yes` matches by id if no lifetime states a seed, and raises an error if
    that fails; `no` never pairs.
    """
    if want == "no":
        return Pairing(False, tuple(ours), tuple(theirs), "not paired, as requested")
    lifetimes = (*ours, *theirs)
    stated = all(lifetime.seed is not None for lifetime in lifetimes)
    by_id = want == "yes" and all(lifetime.seed is None for lifetime in lifetimes)
    ordered = any(lifetime.order for lifetime in lifetimes)
    ground = "id" if by_id else "seed and task order" if ordered else "seed (task orders are not known)"

    def key(lifetime: Score) -> object:
        return lifetime.id if by_id else (lifetime.seed, lifetime.order)

    def unique(lifetime: Score) -> object:
        return lifetime.id if by_id else lifetime.seed

    partners = {key(lifetime): lifetime for lifetime in theirs}
    matched = [lifetime for lifetime in ours if key(lifetime) in partners]
    problem = ""
    if not stated and not by_id:
        without = sum(lifetime.seed is None for lifetime in lifetimes)
        advice = " (--paired yes pairs by id)" if want == "auto" and without == len(lifetimes) else ""
        problem = f"{without} of {len(lifetimes)} lifetimes state no seed{advice}"
    elif repeated := [name for side in (ours, theirs) for name, n in Counter(map(unique, side)).items() if n > 1]:
        problem = f"{'id' if by_id else 'seed'} {repeated[0]!r} occurs twice on one side"
    elif not len(matched) == len(ours) == len(theirs):
        problem = f"{len(matched)} of {len(ours)} and {len(theirs)} lifetimes match by {ground}"
    if not problem:
        told = f"paired: all {len(ours)} lifetimes match by {ground}"
        return Pairing(True, tuple(ours), tuple(partners[key(lifetime)] for lifetime in ours), told)
    if want == "yes":
        raise PerdureError(f"{problem}; no lifetime is left out to make pairs", "use --paired no", where="--paired yes")
    return Pairing(False, tuple(ours), tuple(theirs), f"not paired: {problem}")
