"""The figures of a page, with the lifetimes and scales that they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from perdure.gather.model import ScoredLifetime
from perdure.reports.axes import Looks
from perdure.reports.figures import FIGURES, Canvas, Figure, FigureView, NothingToDrawError
from perdure.reports.figures.curves import (
    LifetimeCurves,
    group_curves,
    lifetime_curves,
    lifetimes_by_order,
    uses_scaled,
    value_range,
)
from perdure.reports.figures.declare import averaged_lives, flags_text, task_looks
from perdure.reports.figures.lifetimes import SCENARIO_NOTE, draw_lifetime, draw_scenario
from perdure.reports.figures.matrices import draw_accuracy, mean_matrix
from perdure.reports.figures.metric_values import recovery_metrics
from perdure.reports.figures.transfer import draw_transfer, transfer_matrices
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.answer import keeping
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged, Group
from perdure.text import join_words, plural

_CANVAS = Canvas(width=600, size=12, title="", legend=False, spread=1.5)
"""All figures of a page have one width, so that their text has one size, on phones too."""
_MOST_OPENING = 3
_MOST_GROUPS = 8
_MOST_SCENARIOS = 4
_ONE_LIFETIME = "faint: as logged · strong: smoothed"
_MEAN = "strong: mean with its 95 % band · faint: single lifetimes"


class Picture(msgspec.Struct, frozen=True):
    """A figure as SVG, and its caption."""

    svg: str
    caption: str = ""
    legend: str = ""
    """Meaning of its lines."""


class Pictures(msgspec.Struct, frozen=True):
    """Figures of one kind, side by side: a heading, and a note for all of them."""

    heading: str
    note: str
    figures: tuple[Picture, ...]

    def merged(self) -> Iterator[Picture]:
        """Yield the figures with the note in their captions."""
        for figure in self.figures:
            yield msgspec.structs.replace(figure, caption=" ".join(filter(None, (self.note, figure.caption))))


# --- the first screen ------------------------------------------------------------------------------


def opening_figures(data: GroupedSurvey) -> Pictures:
    """Return one figure per learner, all on one scale: the mean of its group, or its accuracy matrix.

    The median lifetime of a group is shown if each lifetime has its own order of blocks.
    """
    chosen = _opening_groups(data)
    if not chosen:
        first = [life for life in data.lifetimes[:1] if thinned_lifetime(life).blocks]
        return Pictures("", "", tuple(lifetime_picture(data, life) for life in first))
    if all(group.unit for group in chosen):
        return msgspec.structs.replace(_shared_matrices(chosen, data), heading="")
    # Measured and scaled values are never side by side: one lifetime that must be scaled scales all.
    lives = [life for group in chosen for life in data.of_group(group) or data.partial(group)]
    scaled = any(uses_scaled(thinned_lifetime(life), FigureView()) for life in lives)
    view = FigureView(values="scaled" if scaled else "auto")
    drawn: list[tuple[LifetimeCurves, str]] = []
    for group in chosen:
        try:
            curves = group_curves(data, msgspec.structs.replace(view, group=group.group))
        except NothingToDrawError:
            continue
        caption = f"{curves.id}. {curves.left_out}".strip()
        median, note = _median_lifetime(data, group)
        if not curves.each and median is not None and thinned_lifetime(median).blocks:
            curves = lifetime_curves(median, view)
            title = _group_title(group)
            caption = f"{median.id if median.id.startswith(title) else f'{title}: {median.id}'}{note}."
        drawn.append((curves, caption))
    limits, looks = _shared_limits(curves for curves, _ in drawn), task_looks(data)
    figures = tuple(
        Picture(
            draw_lifetime(curves, looks, _canvas_with_limits(limits.get(curves.y))).inline(),
            caption,
            _MEAN if curves.each else _ONE_LIFETIME,
        )
        for curves, caption in drawn
    )
    return Pictures("", "", figures)


def _opening_groups(data: GroupedSurvey) -> list[Group]:
    chosen = _group_per_learner(data.groups)
    return chosen if len(chosen) <= _MOST_OPENING else _extremes(chosen)


def _group_per_learner(groups: Sequence[Group]) -> list[Group]:
    """Return each learner's group of the first scenario type, or else its first."""
    by_learner: dict[str | None, list[Group]] = {}
    for group in groups:
        if group.n or group.left_out:
            by_learner.setdefault(group.learner or group.group, []).append(group)
    first = groups[0].scenario_type if groups else None
    return [
        next((group for group in groups if group.scenario_type == first), groups[0]) for groups in by_learner.values()
    ]


def _extremes(groups: Sequence[Group]) -> list[Group]:
    """Return the groups that keep least and most; without values, the first two."""
    valued = [
        (retention.mean, index)
        for index, group in enumerate(groups)
        if (retention := keeping(group)) and retention.mean is not None
    ]
    ordered = [groups[index] for _, index in sorted(valued)]
    return [ordered[0], ordered[-1]] if len(ordered) > 1 else list(groups[:2])


def _median_lifetime(data: GroupedSurvey, group: Group) -> tuple[ScoredLifetime | None, str]:
    """Return the median lifetime of a group by its retention, and a note for the caption."""
    lives = data.of_group(group) or data.partial(group)
    retention = keeping(group)
    valued = [
        (measured.value, life)
        for life in lives
        if retention
        and (measured := life.score.metrics.get(retention.metric)) is not None
        and measured.value is not None
    ]
    if retention is None or len(valued) < 3:
        return (lives[0] if lives else None), (f", the first of {len(lives)}" if len(lives) > 1 else "")
    valued.sort(key=lambda pair: pair[0])
    note = f", the median lifetime (of {len(valued)}) by {retention.metric.replace('_', ' ')}"
    return valued[(len(valued) - 1) // 2][1], note


def _shared_matrices(groups: Sequence[Group], data: GroupedSurvey) -> Pictures:
    """Return accuracy matrices, those with one unit on one scale of colours."""
    matrices = []
    for view in [FigureView(group=group.group) for group in groups] or [FigureView()]:
        try:
            matrices.append(mean_matrix(data, view))
        except NothingToDrawError:
            continue
    limits = {
        y: (min(matrix.limits[0] for matrix in same), max(matrix.limits[1] for matrix in same))
        for y in {matrix.y for matrix in matrices}
        if (same := [matrix for matrix in matrices if matrix.y == y])
    }
    figures = tuple(
        Picture(
            draw_accuracy(matrix, _canvas_with_limits(limits[matrix.y])).inline(),
            f"{matrix.caption}{_flags(matrix.flags)}.",
        )
        for matrix in matrices
    )
    about = f"How well each task is done after each task was learned: {join_words(limits)}."
    return Pictures("Accuracy matrices", about, figures)


# --- lifetimes -------------------------------------------------------------------------------------


def lifetime_pictures(data: GroupedSurvey) -> Iterator[tuple[ScoredLifetime, Picture]]:
    """Yield every lifetime with its figure, all of one measure on one scale."""
    known = (
        lifetime_curves(life) for life in data.lifetimes if thinned_lifetime(life).blocks
    )  # one by one: there may be thousands
    limits, looks = _shared_limits(known), task_looks(data)
    for life in data.lifetimes:
        yield life, _lifetime_picture(life, looks, limits)


def lifetime_picture(data: GroupedSurvey, life: ScoredLifetime) -> Picture:
    """Return the figure of one lifetime: its accuracy matrix if it is one."""
    if life.score.identity.unit:
        matrix = mean_matrix(data, FigureView(lifetime=life.id))
        return Picture(draw_accuracy(matrix, _CANVAS).inline(), matrix.caption)
    return _lifetime_picture(life, task_looks(data), {})


def _lifetime_picture(life: ScoredLifetime, looks: Looks, limits: Mapping[str, tuple[float, float]]) -> Picture:
    if not thinned_lifetime(life).blocks:
        return Picture("", "Its blocks are not known: these are scores alone.")
    curves = lifetime_curves(life)
    return Picture(draw_lifetime(curves, looks, _canvas_with_limits(limits.get(curves.y))).inline(), "", _ONE_LIFETIME)


def _shared_limits(curves: Iterable[LifetimeCurves]) -> dict[str, tuple[float, float]]:
    """Return label of the y axis → limits that all lifetimes share."""
    by_label: dict[str, list[float]] = {}
    for curve in curves:
        by_label.setdefault(curve.y, []).extend(value_range(curve))
    return {
        y: (low - 0.04 * (high - low), high + 0.04 * (high - low))
        for y, values in by_label.items()
        if values and (low := min(values)) < (high := max(values))
    }


def _canvas_with_limits(limits: tuple[float, float] | None) -> Canvas:
    return msgspec.structs.replace(_CANVAS, limits=limits)


# --- folded sections -------------------------------------------------------------------------------

_CAPTIONS = {
    "over-time": "How the values behind recovery change over a lifetime of the group.",
    "experts": "A lifetime's learning, stitched together, against its experts (dashed); crosses: first at its best.",
    "efficiency-maintenance": "What is kept, and how fast it is learned: a point per lifetime, the mean larger.",
    "performance-cost": "What is achieved, and what it costs, beside experts.",
    "stability-plasticity": "What is carried over and what is kept: a point per lifetime, the mean larger.",
    "profiles": "The share of lifetimes and tasks that end above each level, with 95 % bands.",
    "metrics": "Means with intervals; dashed lines are thresholds.",
    "capabilities": "Core Capabilities: the mean ratio to experts over syllabi; 1 is as good as an expert.",
    "forgetting": "Loss of each task: just learned minus the end.",
}


def sections(data: GroupedSurvey) -> dict[str, list[Pictures]]:
    """Return section → rows of figures, without empty sections."""
    groups = [group for group in data.groups if data.of_group(group)][:_MOST_GROUPS]
    views = [FigureView(group=group.group) for group in groups] or [FigureView()]
    recovery = tuple(name for name in recovery_metrics() if name in data.survey.metrics)
    several = len(data.lifetimes) > 1
    on_first_screen = groups == _opening_groups(data) and all(group.unit for group in groups)
    matrices = [
        Pictures("Forgetting", "", tuple(_pictures(data, "forgetting"))),
        *([] if on_first_screen else [_shared_matrices(groups, data)]),
        *_transfers(data, views),
    ]
    if all(len(row.figures) <= 1 for row in matrices):
        matrices = [Pictures("", "", tuple(picture for row in matrices for picture in row.merged()))]
    by_section = {
        "matrices": matrices,
        "recovery": [_by_group(data, "over-time", views, recovery)],
        "experts": [
            _by_group(data, "experts", views),
            Pictures("", "", tuple(_pictures(data, "efficiency-maintenance", "performance-cost"))),
        ],
        "scenario": [Pictures("", SCENARIO_NOTE, tuple(_scenarios(data)))],
        "overall": [
            Pictures("", "", tuple(_pictures(data, "metrics"))) if several else Pictures("", "", ()),
            Pictures("", "", tuple(_pictures(data, *("stability-plasticity", "profiles") * several, "capabilities"))),
        ],
    }
    filled = {name: [row for row in rows if row.figures] for name, rows in by_section.items()}
    return {name: rows for name, rows in filled.items() if rows}


def _pictures(data: GroupedSurvey, *kinds: str) -> Iterator[Picture]:
    """Yield a figure of each kind with its caption, if there is something to draw."""
    for kind in kinds:
        # Groups, unlike tasks, are named only in the figure.
        figure = _figure(data, kind, FigureView(), msgspec.structs.replace(_CANVAS, legend=True))
        if figure:
            flags = figure.data["flags"] if kind == "forgetting" else ()
            yield Picture(figure.inline(), f"{_CAPTIONS[kind].removesuffix('.')}{_flags(flags)}.")


def _by_group(data: GroupedSurvey, kind: str, views: Sequence[FigureView], metrics: tuple[str, ...] = ()) -> Pictures:
    """Return a figure of each group."""
    figures = []
    for view in views:
        figure = _figure(data, kind, msgspec.structs.replace(view, metrics=metrics))
        if figure:
            name = _group_title(data.group(view.group)) if len(views) > 1 and view.group else ""
            figures.append(Picture(figure.inline(), name))
    return Pictures("", _CAPTIONS[kind], tuple(figures))


def _figure(data: GroupedSurvey, kind: str, view: FigureView, canvas: Canvas = _CANVAS) -> Figure | None:
    try:
        return FIGURES[kind].draw(data, view, canvas)
    except NothingToDrawError:
        return None


def _transfers(data: GroupedSurvey, views: Sequence[FigureView]) -> Iterator[Pictures]:
    """Yield each kind of transfer, with a figure per group."""
    by_metric: dict[str, list[Picture]] = {}
    notes: dict[str, str] = {}
    for view in views:
        try:
            matrices = transfer_matrices(data, view)
        except NothingToDrawError:
            continue
        _, name = averaged_lives(data, view)
        for matrix in matrices:
            how = "how learning a task (row) changes another (column)"
            if data.survey.metrics[matrix.metric].expert:
                how = "how well a task (column) is done after another (row) was learned"
            title = matrix.metric.replace("_", " ").capitalize()
            notes[matrix.metric] = f"{title} {matrix.meaning}: {how}; above {matrix.threshold:g}: helps."
            caption = name if len(views) > 1 else ""
            svg = draw_transfer([matrix], name, _CANVAS).inline()
            by_metric.setdefault(matrix.metric, []).append(
                Picture(svg, f"{caption}{_flags(matrix.flags)}".lstrip(". "))
            )
    for metric, pictures in by_metric.items():
        yield Pictures(metric.replace("_", " ").capitalize(), notes[metric], tuple(pictures))


def _flags(flags: Sequence[Flagged]) -> str:
    return f". Flags: {flags_text(flags)}" if flags else ""


def _scenarios(data: GroupedSurvey) -> Iterator[Picture]:
    """Yield each different order of blocks once."""
    orders, looks = list(lifetimes_by_order(data.lifetimes).values()), task_looks(data)
    for lives in orders[:_MOST_SCENARIOS]:
        blocks = thinned_lifetime(lives[0]).blocks
        if blocks:
            figure = draw_scenario(lives[0], looks, _CANVAS)
            others = f" and {plural(len(lives) - 1, 'lifetime')} like it" if len(lives) > 1 else ""
            experiences = (
                "" if lives[0].score.identity.unit else f", {sum(block.length for block in blocks)} experiences"
            )
            yield Picture(figure.inline(), f"{lives[0].id}{others}: {figure.label}{experiences}.")
    if len(orders) > _MOST_SCENARIOS:
        yield Picture("", f"{plural(len(orders) - _MOST_SCENARIOS, 'more task order')} not shown.")


def _group_title(group: Group) -> str:
    return group.group if group.group != "all" else group.learner or "all lifetimes"
