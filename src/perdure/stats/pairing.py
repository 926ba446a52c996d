"""Pairing: match the lifetimes of two systems by seed and task order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from perdure.errors import PerdureError
from perdure.metrics.score import Score
from perdure.text import plural

Want = Literal["auto", "yes", "no"]


class Pairing(Struct, frozen=True):
    """The lifetimes of two systems, paired or not; `told` gives the reason."""

    paired: bool
    ours: tuple[Score, ...]
    theirs: tuple[Score, ...]
    told: str
    """Whether lifetimes are paired, and on what grounds."""
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def n(self) -> int:
        """Lifetimes of the system."""
        return len(self.ours)

    @property
    def baseline_n(self) -> int:
        """Lifetimes of the baseline."""
        return len(self.theirs)


def pair(ours: Sequence[Score], theirs: Sequence[Score], want: Want = "auto") -> Pairing:
    """Match lifetimes by seed and task order.

    `auto` pairs only if every lifetime of both sides has exactly one partner; `yes` pairs those that have one and
    leaves the others out, by id if no lifetime states a seed; `no` never pairs.
    """
    if want == "no":
        return Pairing(False, tuple(ours), tuple(theirs), "not paired, as requested")
    stated = all(life.seed is not None for life in (*ours, *theirs))
    partners, repeated = _partners(ours, theirs, by_id=want == "yes" and not stated)
    known = any(life.order for life in (*ours, *theirs))
    by_seed = "seed and task order" if known else "seed (task orders are not known)"
    ground = by_seed if stated or want == "auto" else "id, since not every lifetime states a seed"
    whole = len(partners) == len(ours) == len(theirs) and not repeated
    if want == "auto":
        if stated and whole:
            return _matched(partners, f"paired: all {len(ours)} lifetimes match by {by_seed}", ())
        return Pairing(False, tuple(ours), tuple(theirs), _why_not(ours, theirs, partners, stated, repeated))
    if repeated:
        raise PerdureError(
            f"{repeated} occurs twice on one side, so its partner is unknown", "use --paired no", where="--paired yes"
        )
    if len(partners) < 2:
        raise PerdureError(
            f"{len(partners)} of {len(ours)} and {len(theirs)} lifetimes match by {ground}, and pairs need "
            "the same seed and the same order of tasks on both sides",
            "use --paired no",
            where="--paired yes",
        )
    matched = {id(life) for couple in partners for life in couple}
    alone = tuple((life.id, f"no partner by {ground}") for life in (*ours, *theirs) if id(life) not in matched)
    told = f"paired, as requested: {len(partners)} pairs match by {ground}"
    return _matched(
        partners, told + (f"; left out, without a partner: {plural(len(alone), 'lifetime')}" if alone else ""), alone
    )


def _partners(ours: Sequence[Score], theirs: Sequence[Score], *, by_id: bool) -> tuple[list[tuple[Score, Score]], str]:
    """Return the pairs, and the first key that occurs twice on one side (empty if none does)."""

    def key(life: Score) -> object:
        return life.id if by_id else (life.seed, life.order)

    repeated = ""
    for side in (ours, theirs):
        for found, count in Counter(key(life) for life in side).items():
            if count > 1 and not repeated:
                repeated = f"id {found!r}" if by_id else f"seed {found[0]!r} with the same order"  # type: ignore[index]
    known = {key(life): life for life in theirs}
    return [(life, known[key(life)]) for life in ours if key(life) in known], repeated


def _matched(partners: Sequence[tuple[Score, Score]], told: str, alone: tuple[tuple[str, str], ...]) -> Pairing:
    return Pairing(True, tuple(one for one, _ in partners), tuple(other for _, other in partners), told, alone)


def _why_not(
    ours: Sequence[Score],
    theirs: Sequence[Score],
    partners: Sequence[tuple[Score, Score]],
    stated: bool,
    repeated: str,
) -> str:
    if not stated:
        without = sum(life.seed is None for life in (*ours, *theirs))
        return f"not paired: {without} of {len(ours) + len(theirs)} lifetimes state no seed (--paired yes pairs by id)"
    if repeated:
        return f"not paired: {repeated} occurs twice on one side"
    return f"not paired: {len(partners)} of {len(ours)} and {len(theirs)} lifetimes match by seed and task order" + (
        " (--paired yes pairs those and leaves the others out)" if len(partners) > 1 else ""
    )
