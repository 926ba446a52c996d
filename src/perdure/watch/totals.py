"""How far all lifetimes are together, how long they will still take, and how both are said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from perdure.frozen import frozen
from perdure.metrics.engine.metric import Metric
from perdure.stats.answer import kept_by
from perdure.stats.sentences import MARKS
from perdure.watch.followed import Progress
from perdure.words import number, plural

__all__ = ["Planned", "Totals", "called", "headline", "kept_of", "kept_words", "so_far", "time_left", "totals"]

_ORDER = ("running", "quiet", "failed", "gone", "waiting", "done")


@frozen
class Planned:
    """How many lifetimes and experts a run is to have."""

    lifetimes: int = 0
    experts: int = 0


@frozen
class Totals:
    """Everything that is followed, counted."""

    lifetimes: int
    """Those that are there, or that are planned where these are more."""
    states: Mapping[str, int] = field(default_factory=dict)
    done: int = 0
    """Experiences logged."""
    total: int | None = None
    """Experiences planned; None where some lifetime does not say how long it will be."""
    left_s: float | None = None
    experts: tuple[int, int] = (0, 0)
    """How many experts have ended, of how many."""

    @property
    def share(self) -> float | None:
        """How much of the experiences is done, 0 to 1; of lifetimes, where their lengths are not known."""
        if self.total:
            return min(1.0, self.done / self.total)
        return self.states.get("done", 0) / self.lifetimes if self.lifetimes else None

    @property
    def over(self) -> bool:
        """Whether nothing more is to come."""
        return bool(self.lifetimes) and self.states.get("done", 0) == self.lifetimes

    def as_json(self) -> dict[str, Any]:
        """The same for a machine."""
        return {
            "lifetimes": self.lifetimes,
            "states": dict(self.states),
            "done": self.done,
            "total": self.total,
            "left_s": self.left_s,
            "experts": {"done": self.experts[0], "total": self.experts[1]},
        }


def totals(lives: Sequence[Progress], planned: Planned | None = None, experts: tuple[int, int] = (0, 0)) -> Totals:
    """The lifetimes together; those that are planned and not begun are taken to be as long as the others are."""
    planned = planned or Planned()
    count = max(planned.lifetimes, len(lives))
    lengths = [one.done if one.state == "done" else one.total for one in lives]
    known = [one for one in lengths if one is not None]
    whole = round(sum(known) * count / len(known)) if known and len(known) == len(lengths) else None
    speed = sum(one.per_s for one in lives if one.per_s)
    longest = max((one.left_s for one in lives if one.left_s is not None), default=0.0)
    # What will never be finished is not waited for.
    stuck = sum((one.total or 0) - one.done for one in lives if one.state in ("quiet", "failed", "gone"))
    done = sum(one.done for one in lives)
    left = None if whole is None or not speed else max(longest, (whole - stuck - done) / speed)
    counted = Counter(one.state for one in lives)
    return Totals(
        count,
        {state: counted[state] for state in _ORDER if counted[state]},
        done,
        whole,
        left,
        (experts[0], max(planned.experts, experts[1])),
    )


def headline(found: Totals) -> str:
    """`4 running, 6 of 10 lifetimes done · 68 % · about 3 min left`."""
    if not found.lifetimes:
        return "No lifetime here yet; waiting for the first."
    others = [f"{count} {state}" for state, count in found.states.items() if state != "done"]
    begun = sum(found.states.values())
    others += [f"{found.lifetimes - begun} not begun"] if found.lifetimes > begun else []
    done = f"{found.states.get('done', 0)} of {plural(found.lifetimes, 'lifetime')} done"
    parts = [", ".join([*others, done])]
    ended, every = found.experts
    if ended < every:
        parts.append(f"{ended} of {plural(every, 'expert')} done")
    if found.share is not None and not found.over:
        parts.append(f"{found.share:.0%}".replace("%", " %"))
    if found.left_s is not None:
        parts.append(f"about {time_left(found.left_s)} left")
    return " · ".join(parts)


def so_far(found: Totals) -> str:
    """`So far, from 6 of 10 lifetimes`; nothing once all have ended."""
    done = found.states.get("done", 0)
    return "" if found.over else f"So far, from {done} of {plural(found.lifetimes, 'lifetime')}"


def time_left(seconds: float | None) -> str:
    """`45 s`, `12 min`, `3.4 h`; nothing where it is not known."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def kept_of(one: Progress) -> str | None:
    """The metric that says whether a lifetime keeps what it learns, where it has a value."""
    return next((metric for metric in kept_by().values() if one.values.get(metric) is not None), None)


def kept_words(one: Progress, metrics: Mapping[str, Metric]) -> str:
    """`−28.0 ✗`: what a lifetime kept or lost, as precise as the margin that is tolerated, and the verdict on it."""
    kept = kept_of(one)
    if kept is None:
        return ""
    points = kept == kept_by()["log"] and kept in metrics  # a matrix has units of its own
    value = number(one.values[kept], (2 * metrics[kept].margin or None) if points else None)
    return f"{value} {MARKS.get(one.verdicts.get(kept, ''), '')}".rstrip()


def called(ids: Sequence[str]) -> dict[str, str]:
    """Lifetimes by as much of their id as tells them apart: without the folders that all of them lie in."""
    folders = [one.split("/")[:-1] for one in ids]
    common = 0
    while folders and all(len(one) > common and one[common] == folders[0][common] for one in folders):
        common += 1
    return {one: "/".join(one.split("/")[common:]) for one in ids}
