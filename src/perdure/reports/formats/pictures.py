"""The figures of a page, with the lifetimes and scales that they share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from perdure.gather.model import ScoredLifetime
from perdure.reports.axes import Looks
from perdure.reports.figures import FIGURES, Canvas, Figure, FigureView, NothingToDrawError
from perdure.reports.figures.curves import LifetimeCurves, lifetime_curves, uses_scaled, value_range
from perdure.reports.figures.declare import averaged_lives, flags_text, task_looks
from perdure.reports.figures.lifetimes import draw_lifetime, draw_scenario
from perdure.reports.figures.matrices import draw_accuracy, mean_matrix
from perdure.reports.figures.metric_values import recovery_metrics
from perdure.reports.figures.transfer import draw_transfer, transfer_matrices
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.answer import keeping
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged, Group
from perdure.text import plural

_CANVAS = Canvas(width=600, size=12, title="", legend=False, spread=1.5)
"""All figures of a page have one width, so that their text has one size, on phones too."""
_MOST_OPENING = 3
_MOST_GROUPS = 8
_MOST_SCENARIOS = 4


class Picture(msgspec.Struct, frozen=True):
    """A figure as SVG, and its caption."""

    svg: str
    caption: str = ""


# --- the first screen ------------------------------------------------------------------------------


def opening_figures(data: GroupedSurvey) -> list[Picture]:
    """Return one figure per learner, all on one scale: the median lifetime of its group, or its accuracy matrix."""
    chosen = _group_per_learner(data.groups)
    chosen = chosen if len(chosen) <= _MOST_OPENING else _extremes(chosen)
    if not chosen:
        return [lifetime_picture(data, life) for life in data.lifetimes[:1] if thinned_lifetime(life).blocks]
    if all(group.unit for group in chosen):
        return _shared_matrices(chosen, data)
    medians = [(group, *_median_lifetime(data, group)) for group in chosen]
    lives = [(group, life, note) for group, life, note in medians if life is not None and thinned_lifetime(life).blocks]
    # Measured and scaled values are never side by side: one lifetime that must be scaled scales all.
    scaled = any(uses_scaled(thinned_lifetime(life), FigureView()) for _, life, _ in lives)
    view = FigureView(values="scaled" if scaled else "auto")
    curves = [lifetime_curves(life, view) for _, life, _ in lives]
    limits, looks = _shared_limits(curves), task_looks(data)
    return [
        Picture(
            draw_lifetime(curve, looks, _canvas_with_limits(limits.get(curve.y))).inline(),
            f"{_group_title(group)}: {life.id}{note}.",
        )
        for (group, life, note), curve in zip(lives, curves, strict=True)
    ]


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


def _shared_matrices(groups: Sequence[Group], data: GroupedSurvey) -> list[Picture]:
    """Return accuracy matrices on one scale of colours."""
    matrices = []
    for group in groups:
        try:
            matrices.append(mean_matrix(data, FigureView(group=group.group)))
        except NothingToDrawError:
            continue
    if not matrices:
        return []
    canvas = _canvas_with_limits(
        (min(matrix.limits[0] for matrix in matrices), max(matrix.limits[1] for matrix in matrices))
    )
    pictures = [Picture(draw_accuracy(matrix, canvas).inline(), f"{matrix.caption}.") for matrix in matrices]
    lead = f"How well each task is done after each task was learned: {matrices[0].y}; "
    return [Picture(pictures[0].svg, lead + pictures[0].caption), *pictures[1:]]


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
    return Picture(draw_lifetime(curves, looks, _canvas_with_limits(limits.get(curves.y))).inline())


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
}


def sections(data: GroupedSurvey) -> dict[str, list[tuple[str, list[Picture]]]]:
    """Return section → headings with their figures, without empty sections."""
    groups = [group for group in data.groups if data.of_group(group)][:_MOST_GROUPS]
    views = [(_group_title(group) if len(groups) > 1 else "", FigureView(group=group.group)) for group in groups]
    views = views or [("", FigureView())]
    by_section: dict[str, list[tuple[str, list[Picture]]]] = {}

    def add(section: str, name: str, pictures: Iterable[Picture]) -> None:
        listed = list(pictures)
        if listed:
            by_section.setdefault(section, []).append((name, listed))

    for name, view in views:
        add("matrices", name, _matrices(data, view))
    recovery = tuple(name for name in recovery_metrics() if name in data.survey.metrics)
    for section, kind, metrics in (("recovery", "over-time", recovery), ("experts", "experts", ())):
        section_pictures = [
            _picture(data, kind, msgspec.structs.replace(view, metrics=metrics), name) for name, view in views
        ]
        add(section, "", (picture for pictures in section_pictures for picture in pictures))
    add("experts", "", _pictures(data, "efficiency-maintenance", "performance-cost"))
    add("scenario", "", _scenarios(data))
    if len(data.lifetimes) > 1:
        add("overall", "", _pictures(data, "metrics"))
        add("overall", "", _pictures(data, "stability-plasticity", "profiles"))
    add("overall", "", _pictures(data, "capabilities"))
    return by_section


def _pictures(data: GroupedSurvey, *kinds: str) -> Iterator[Picture]:
    for kind in kinds:
        yield from _picture(data, kind)


def _picture(data: GroupedSurvey, kind: str, view: FigureView | None = None, name: str = "") -> Iterator[Picture]:
    """Yield one figure with its caption; nothing if there is nothing to draw."""
    # Groups, unlike tasks, are named only in the figure.
    canvas = msgspec.structs.replace(_CANVAS, legend=kind not in ("over-time", "experts"))
    figure = _figure(data, kind, view, canvas)
    if figure:
        caption = _CAPTIONS[kind]
        yield Picture(figure.inline(), f"{name}: {caption[0].lower()}{caption[1:]}" if name else caption)


def _figure(data: GroupedSurvey, kind: str, view: FigureView | None = None, canvas: Canvas = _CANVAS) -> Figure | None:
    try:
        return FIGURES[kind].draw(data, view, canvas)
    except NothingToDrawError:
        return None


def _matrices(data: GroupedSurvey, view: FigureView) -> Iterator[Picture]:
    """Yield forgetting, the accuracy matrix, and each kind of transfer."""
    for kind, caption in (
        ("forgetting", "Loss of each task: just learned minus the end"),
        ("accuracy", "How well each task is done after each task was learned"),
    ):
        figure = _figure(data, kind, view)
        if figure:
            yield Picture(figure.inline(), f"{caption}; {figure.data['caption']}{_flags(figure.data['flags'])}.")
    try:
        matrices = transfer_matrices(data, view)
    except NothingToDrawError:
        return
    _, name = averaged_lives(data, view)
    for matrix in matrices:
        how = "how learning a task (row) changes another (column)"
        if data.survey.metrics[matrix.metric].expert:
            how = "how well a task (column) is done after another (row) was learned"
        title = matrix.metric.replace("_", " ").capitalize()
        yield Picture(
            draw_transfer([matrix], name, _CANVAS).inline(),
            f"{title}: {how}; above {matrix.threshold:g}: helps{_flags(matrix.flags)}.",
        )


def _flags(flags: Sequence[Flagged]) -> str:
    return f". Flags: {flags_text(flags)}" if flags else ""


def _scenarios(data: GroupedSurvey) -> Iterator[Picture]:
    """Yield each different order of blocks once."""
    orders: dict[tuple[Any, ...], list[ScoredLifetime]] = {}
    for life in data.lifetimes:
        order = tuple(
            (block.block.mode, block.block.task, block.block.subtype) for block in thinned_lifetime(life).blocks
        )
        orders.setdefault(order, []).append(life)
    looks = task_looks(data)
    for lives in list(orders.values())[:_MOST_SCENARIOS]:
        blocks = thinned_lifetime(lives[0]).blocks
        if blocks:
            figure = draw_scenario(lives[0], looks, _CANVAS)
            others = f" and {plural(len(lives) - 1, 'lifetime')} like it" if len(lives) > 1 else ""
            experiences = sum(block.length for block in blocks)
            yield Picture(figure.inline(), f"{lives[0].id}{others}: {figure.label}, {experiences} experiences.")
    if len(orders) > _MOST_SCENARIOS:
        yield Picture("", f"{plural(len(orders) - _MOST_SCENARIOS, 'more task order')} not shown.")


def _group_title(group: Group) -> str:
    return group.group if group.group != "all" else group.learner or "all lifetimes"
