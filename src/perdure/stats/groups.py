"""Groups: which lifetimes may be pooled, and what each group comes to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from perdure.errors import PerdureError
from perdure.metrics.many import Scores
from perdure.stats.estimate import estimates
from perdure.stats.model import LEVEL, Group, Pool, ScoredLife
from perdure.stats.robust import RESAMPLES
from perdure.stats.sources import pool_of

__all__ = ["check_pool_across", "check_poolable", "differing", "groups", "merged", "name_of", "split", "usable"]

# What must not differ inside a group, and how it is called.
_MUST_AGREE = {
    "preset": "preset",
    "measure": "measure",
    "protocol": "protocol",
    "scenario_type": "scenario type",
    "settings": "settings",
}


def groups(
    scores: Scores | Pool,
    pattern: str | None = None,
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[Group, ...]:
    """The lifetimes grouped by learner, scenario type, protocol and measure, and each group's estimates.

    `pattern` is a regular expression searched for in lifetime ids: what its first bracket matches (or
    all of it, where it has none) names the group, and lifetimes without a match are left out. Partial
    lifetimes are left out and counted. Presets, measures, protocols, scenario types and settings that
    differ inside a group are refused, and so is a lifetime that is there twice.
    """
    pool = scores if isinstance(scores, Pool) else pool_of(scores)
    found: list[Group] = []
    for name, lives in split(pool.lives, pattern).items():
        check_poolable(lives, f"group {name!r}")
        counted, left_out = usable(lives)
        made = _group(name, counted, pool, level, seed, resamples)
        if pool.guarded:
            learned = tuple(life for life in counted if not life.not_learned)
            made = replace(made, learned_only=_group(name, learned, pool, level, seed, resamples))
        found.append(replace(made, left_out=left_out))
    return tuple(found)


def _group(name: str, lives: Sequence[ScoredLife], pool: Pool, level: float, seed: int, resamples: int) -> Group:
    first = lives[0] if lives else None
    learners = {life.learner for life in lives}
    return Group(
        group=name,
        n=len(lives),
        estimates=estimates(lives, pool.bars, name, level=level, seed=seed, resamples=resamples),
        lives=tuple(life.id for life in lives),
        learner=first.learner if first and len(learners) == 1 else None,
        scenario_type=first.scenario_type if first else None,
        protocol=first.protocol if first else None,
        measure=first.measure if first else None,
        preset=first.preset if first else "standard",
    )


def split(lives: Sequence[ScoredLife], pattern: str | None = None) -> dict[str, tuple[ScoredLife, ...]]:
    """The lives by the name of their group, in the order in which groups first appear."""
    if pattern is None:
        several = len({life.measure for life in lives}) > 1
        named = [(name_of(life, measure=several), life) for life in lives]
    else:
        named = _by_pattern(lives, pattern)
    parts: dict[str, list[ScoredLife]] = {}
    for name, life in named:
        parts.setdefault(name, []).append(life)
    return {name: tuple(part) for name, part in parts.items()}


def name_of(life: ScoredLife, *, measure: bool = False) -> str:
    """`learner · scenario type · protocol` as far as they are known; `all` where nothing is."""
    known = [life.learner, life.scenario_type, life.protocol, life.measure if measure else None]
    return " · ".join(one for one in known if one) or "all"


def _by_pattern(lives: Sequence[ScoredLife], pattern: str) -> list[tuple[str, ScoredLife]]:
    try:
        searched = re.compile(pattern)
    except re.error as problem:
        raise PerdureError(f"--group {pattern!r}: not a regular expression ({problem})") from problem
    named: list[tuple[str, ScoredLife]] = []
    for life in lives:
        match = searched.search(life.id)
        if match:
            named.append((match[1] if searched.groups and match[1] is not None else match[0], life))
    if not named:
        ids = ", ".join(life.id for life in lives[:3])
        raise PerdureError(f"--group {pattern!r}: no lifetime id matches it (ids are like {ids})")
    return named


def check_poolable(lives: Sequence[ScoredLife], where: str) -> None:
    """Refuse lives that must not be pooled, saying what differs, and lives that are there twice."""
    _check_agree(lives, where, tuple(_MUST_AGREE), "Score them apart, or group them apart with --group")
    _check_once(lives, where)


def _check_agree(lives: Sequence[ScoredLife], where: str, fields: Sequence[str], advice: str) -> None:
    for field in fields:
        called = _MUST_AGREE[field]
        found: dict[str, str] = {}
        for life in lives:
            found.setdefault(str(getattr(life, field) or "not stated"), life.id)
        if len(found) > 1:
            shown = "; ".join(f"{value} (as in {example})" for value, example in list(found.items())[:4])
            if field == "settings":
                (one, by_one), (other, by_other) = list(found.items())[:2]
                shown = f"{differing(one, other)} (as in {by_one} and {by_other})"
            raise PerdureError(f"{where}: results of different {called} are never pooled; found {shown}. {advice}")


def _check_once(lives: Sequence[ScoredLife], where: str) -> None:
    seen: dict[object, ScoredLife] = {}
    for life in lives:
        for key in (life.id, (life.identity, life.seed) if life.identity else None):
            if key is not None and seen.setdefault(key, life) is not life:
                places = f"{seen[key].source} and {life.source}"
                raise PerdureError(
                    f"{where}: lifetime {life.identity or life.id!r} is there twice ({places}); "
                    "a lifetime counts once, so give each a name of its own or leave the copy out"
                )


def check_pool_across(lives: Sequence[ScoredLife], *, widely: bool = False) -> None:
    """Refuse to pool what was scored differently; learners and scenario types may differ, the rest only `widely`."""
    where, fields = (
        "these lifetimes",
        ("preset", "settings") if widely else ("preset", "settings", "measure", "protocol"),
    )
    _check_agree(lives, where, fields, "Score them the same way, or give --across to pool protocols and measures")
    for part in split(lives).values():
        # Two score files may both number their lives from 0; they are the same lives if the values are.
        _check_once([replace(life, id=f"{life.id} {sorted(life.values.items())}") for life in part], where)


def differing(first: str, second: str) -> str:
    """The first place where two descriptions differ."""
    at = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
    begin = max(0, at - 30)
    return f"{first[begin : begin + 60]!r} against {second[begin : begin + 60]!r}"


def usable(lives: Sequence[ScoredLife]) -> tuple[tuple[ScoredLife, ...], tuple[tuple[str, str], ...]]:
    """The lives that count, and those that do not: a life cut short is no sample of whole lives."""
    counted = tuple(life for life in lives if life.complete is not False)
    partial = tuple((life.id, "it did not reach its end") for life in lives if life.complete is False)
    return counted, partial


def merged(pools: Sequence[Pool], name: str) -> Pool:
    """Several places as one; what is known of a metric in one of them holds for all."""
    bars = {metric: bar for pool in reversed(pools) for metric, bar in pool.bars.items()}
    order = dict.fromkeys(metric for pool in pools for metric in pool.bars)
    return Pool(
        name,
        tuple(life for pool in pools for life in pool.lives),
        {metric: bars[metric] for metric in order},
        tuple(one for pool in pools for one in pool.left_out),
        guarded=any(pool.guarded for pool in pools),
    )
