"""Declaration of figures: one function each, and the view of the lifetimes that every figure takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

from perdure.errors import PerdureError, UnknownNameError
from perdure.gather.model import ScoredLifetime
from perdure.metrics.declare import METRICS
from perdure.reports.axes import Looks
from perdure.reports.data import group_names
from perdure.reports.palette import looks
from perdure.reports.svg import Canvas, Figure
from perdure.stats.decide import flags_of_scores
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged
from perdure.text import plural


class FigureView(msgspec.Struct, frozen=True):
    """Selection of the lifetime, group and axes that a figure shows.

    Attributes
    ----------
    lifetime
        Id of the lifetime, for figures of one. By default the first.
    group
        Name of the group, for figures of a mean. By default the first.
    axis
        Unit of the horizontal axis.
    values
        Values as measured, or scaled to 1–101 by each task's range. ``"auto"`` scales if the ranges do not share
        an axis.
    metrics
        Metrics, for figures of several. By default those with a threshold.
    """

    lifetime: str | None = None
    group: str | None = None
    axis: Literal["experiences", "steps"] = "experiences"
    values: Literal["auto", "measured", "scaled"] = "auto"
    metrics: tuple[str, ...] = ()


class NothingToDrawError(PerdureError):
    """The lifetimes have nothing that a kind of figure shows."""

    def __init__(self, why: str, kind: str = "") -> None:
        self.why = why
        name = f" as {kind}" if kind else ""
        super().__init__(f"nothing to draw{name}: {why}", "choose another kind of figure")


class FigureKind(msgspec.Struct, frozen=True):
    """A kind of figure."""

    name: str
    function: Callable[[GroupedSurvey, FigureView, Canvas], Figure]
    summary: str

    def draw(self, data: GroupedSurvey, view: FigureView | None = None, canvas: Canvas | None = None) -> Figure:
        """Draw the figure. Raise `NothingToDrawError` with the reason if there is nothing to draw."""
        try:
            return self.function(data, view or FigureView(), canvas or Canvas())
        except NothingToDrawError as problem:
            raise NothingToDrawError(problem.why, self.name) from None


Numbers = dict[str, Any]
"""Numbers that a figure shows, by name."""

FIGURES: dict[str, FigureKind] = {}
"""Name → kind of figure, in the order of lists and of the gallery."""


def figure(
    function: Callable[[GroupedSurvey, FigureView, Canvas], Figure],
) -> Callable[[GroupedSurvey, FigureView, Canvas], Figure]:
    """Register a function as a kind of figure, by its name; the first line of its docstring describes the kind."""
    name = function.__name__.replace("_", "-")
    FIGURES[name] = FigureKind(name, function, (inspect.getdoc(function) or "").partition("\n")[0])
    return function


def figure_kind(name: str) -> FigureKind:
    """Return the kind of this name. Raise `UnknownNameError` if there is none."""
    if name not in FIGURES:
        raise UnknownNameError("figure", name, FIGURES)
    return FIGURES[name]


# --- lifetimes, metrics and colours of a view ------------------------------------------------------


def view_of(data: GroupedSurvey, name: str | None, view: FigureView) -> FigureView:
    """Return the view of the lifetime of this name, or else of the group."""
    of = "lifetime" if name in {life.id for life in data.lifetimes} else "group"
    return msgspec.structs.replace(view, **{of: name})


def averaged_lives(data: GroupedSurvey, view: FigureView) -> tuple[tuple[ScoredLifetime, ...], str]:
    """Return the lifetimes that a figure averages, and the name of the lifetime or group; empty for the only group."""
    group = data.group(view.group) if view.group is not None else data.groups[0] if data.groups else None
    if view.lifetime is not None:
        lives: tuple[ScoredLifetime, ...] = (data.life(view.lifetime),)
    elif group:
        lives = data.of_group(group) or data.partial(group)[:1]
    else:
        lives = data.lifetimes[:1]
    if len(lives) == 1:
        return lives, lives[0].id
    return lives, group.group if group and group.group != "all" else ""


def first_life(data: GroupedSurvey, view: FigureView, why: str = "there is no lifetime") -> ScoredLifetime:
    """Return the lifetime that a figure of one lifetime shows. Raise `NothingToDrawError` if there is none."""
    lives, _ = averaged_lives(data, view)
    if not lives:
        raise NothingToDrawError(why)
    return lives[0]


def figure_metrics(data: GroupedSurvey, view: FigureView, *, judged: bool = True) -> tuple[str, ...]:
    """Return the metrics of the view; default: the headline metrics, or else those with a threshold.

    Headline metrics of matrices without a threshold count unless metrics must be `judged`.
    """
    known = data.survey.metrics
    names = tuple(METRICS.canonical(name) for name in view.metrics)
    for name in names:
        if name not in known:
            raise UnknownNameError("metric", name, known)
    with_threshold = [name for name, metric in known.items() if metric.threshold is not None]
    kind = "matrix" if any(score.identity.unit for score in data.survey.scores) else "log"
    leading = tuple(name for name in (with_threshold if judged else known) if known[name].headline == kind)
    return names or leading or tuple(name for name in with_threshold if not known[name].headline)


def display_names(data: GroupedSurvey) -> dict[str, str]:
    """Return group → its name in legends: the learner if it has one group."""
    return {group: names[0] for group, names in group_names(data.groups, data).items()}


def task_looks(data: GroupedSurvey) -> Looks:
    """Return task → look, the same in every figure of these lifetimes."""
    return looks(data.tasks)


# --- captions --------------------------------------------------------------------------------------


def count_text(lives: Sequence[ScoredLifetime], counts: Iterable[int]) -> str:
    """Return `means of 2 to 5 of 11 lifetimes`, the lifetimes behind each value; empty for a single lifetime."""
    known = [int(count) for count in counts if count]
    if len(lives) == 1 or not known:
        return ""
    least, most = min(known), max(known)
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"mean{'s' * (least != most)} of {number}{f' of {len(lives)}' * (least != len(lives))} lifetimes"


def lifetimes_text(lives: Sequence[ScoredLifetime], name: str, counts: Iterable[int]) -> str:
    """Return `keeper, mean of 3 of 11 lifetimes`."""
    return ", ".join(part for part in (name, count_text(lives, counts)) if part)


def flags_of(lives: Sequence[ScoredLifetime], metric: str) -> tuple[Flagged, ...]:
    """Return the flags of a metric's values, each with its number of lifetimes."""
    return flags_of_scores([life.score for life in lives], metric)


def flags_text(flags: Sequence[Flagged]) -> str:
    """Return `relearned (3 lifetimes); …`."""
    return "; ".join(f"{item.flag} ({plural(item.n, 'lifetime')})" for item in flags)
