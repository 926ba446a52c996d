"""What figures show of where and when metrics are read: values over a lifetime, and the evaluations they compare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from perdure.frozen import frozen
from perdure.gather.model import Life
from perdure.metrics import METRICS
from perdure.metrics.engine.presets import headline
from perdure.reports.draw.data.lives import LifetimeData, drawn, ends, lifetime_of, x_words
from perdure.reports.draw.data.view import Nothing, View, whose
from perdure.reports.material import Material
from perdure.reports.stretches import Stretch
from perdure.scenario.sites import LIFETIME, between_learning_blocks

__all__ = [
    "AnnotatedData",
    "Mark",
    "Moment",
    "OverTimeData",
    "OverTimeLine",
    "OverTimePanel",
    "annotated",
    "of_recovery",
    "over_time",
    "shown_over_time",
]

_PAIR = 2


@frozen
class Moment:
    """One value of a metric, the blocks that it is read from, and when the last of them ends."""

    blocks: tuple[int, ...]
    x: float
    value: float


@frozen
class OverTimeLine:
    """A task's, or a pair's, values in order."""

    key: str
    task: str
    """The task whose colour it has: of a pair, the one that is measured."""
    moments: tuple[Moment, ...]


@frozen
class OverTimePanel:
    """One metric over a lifetime."""

    metric: str
    unit: str
    threshold: float | None
    lines: tuple[OverTimeLine, ...]


@frozen
class OverTimeData:
    """The values behind metrics, over one lifetime."""

    id: str
    x: str
    tasks: tuple[str, ...]
    panels: tuple[OverTimePanel, ...]


@frozen
class Mark:
    """Two evaluations of a task that a metric compares, and what it makes of them."""

    metric: str
    key: str
    task: str
    blocks: tuple[int, int]
    before: tuple[float, float]
    """Where the earlier one is drawn."""
    after: tuple[float, float]
    value: float


@frozen(eq=False)
class AnnotatedData:
    """One lifetime, and the places where metrics are read."""

    life: LifetimeData
    marks: tuple[Mark, ...]


def over_time(material: Material, view: View | None = None) -> OverTimeData | Nothing:
    """A panel per metric: those asked for, or those of maintenance, transfer and recovery that have values."""
    view = view or View()
    life = _life(material, view)
    if life is None:
        return Nothing("no lifetime whose blocks are known")
    declared = material.survey.metrics
    places = {one.index: one for one in life.sketch.stretches}
    panels: list[OverTimePanel] = []
    for name in view.metrics or shown_over_time():
        lines = tuple(_lines(life, name, places, view))
        if lines:
            panels.append(OverTimePanel(name, declared[name].unit, declared[name].threshold, lines))
    if not panels:
        asked = ", ".join(view.metrics) or "maintenance, transfer and recovery"
        return Nothing(f"no value of {asked} that belongs to some blocks rather than to the whole lifetime")
    shown = {line.task for panel in panels for line in panel.lines}
    tasks = tuple(task for task in life.sketch.tasks if task in shown)
    return OverTimeData(life.id, x_words(life.sketch, view), tasks, tuple(panels))


def shown_over_time() -> tuple[str, ...]:
    """What is shown over time unless other metrics are asked for."""
    return (*_by_evaluations(), *of_recovery())


def of_recovery() -> tuple[str, ...]:
    """The metrics of how a task is learned again: those that are read between two of its learning blocks."""
    return tuple(one.name for one in METRICS if one.sites is between_learning_blocks)


def annotated(material: Material, view: View | None = None) -> AnnotatedData | Nothing:
    """The lifetime asked for, with every pair of evaluations that maintenance and transfer compare.

    Of a transfer from one task to another the first counts, and only it is marked.
    """
    view = view or View()
    life = _life(material, view)
    if life is None:
        return Nothing("no lifetime whose blocks are known")
    picture = lifetime_of(life.sketch, view)
    if isinstance(picture, Nothing):
        return picture
    marks = tuple(one for name in view.metrics or _by_evaluations() for one in _marks(life, name, view))
    if not marks:
        return Nothing("this lifetime has no two evaluations that maintenance or transfer compares")
    return AnnotatedData(picture, marks)


# --- parts ---------------------------------------------------------------------------------------


def _by_evaluations() -> tuple[str, ...]:
    """The headline metrics that compare two evaluations of a task."""
    return tuple(name for name in headline() if METRICS.get(name).compares)


def _life(material: Material, view: View) -> Life | None:
    lives = whose(material, view).lives
    return lives[0] if lives and lives[0].sketch.stretches else None


def _lines(life: Life, name: str, places: dict[int, Stretch], view: View) -> Iterator[OverTimeLine]:
    found = life.score.metrics.get(name)
    for key, blocks in found.at.items() if found else ():
        if key == LIFETIME:
            continue
        assert found is not None
        moments = tuple(
            Moment(read, ends(places[read[-1]], view)[1], value)
            for read, value in zip(blocks, found.by[key], strict=True)
            if read[-1] in places
        )
        if moments:
            yield OverTimeLine(key, key.rpartition("→")[2], moments)


def _marks(life: Life, name: str, view: View) -> Iterator[Mark]:
    found = life.score.metrics.get(name)
    evaluations = {one.index: one for one in life.sketch.stretches if one.block.mode == "evaluate"}
    for key, blocks in found.at.items() if found else ():
        assert found is not None
        kept = 1 if "→" in key else len(blocks)
        for read, value in zip(blocks[:kept], found.by[key], strict=False):
            if len(read) != _PAIR or not evaluations.keys() >= set(read):
                continue
            before, after = (_dot(life, evaluations[index], view) for index in read)
            yield Mark(name, key, key.rpartition("→")[2], (read[0], read[1]), before, after, value)


def _dot(life: Life, one: Stretch, view: View) -> tuple[float, float]:
    """Where an evaluation's mean is drawn."""
    mean = drawn(life.sketch, view, one.block.task, np.array([one.mean]))[0]
    return sum(ends(one, view)) / 2, float(mean)
