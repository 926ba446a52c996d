"""Figure of transfer between tasks: how learning one task changes another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.curves.arrays import Array
from perdure.gather.model import ScoredLifetime
from perdure.metrics import METRICS
from perdure.reports.axes import compose, lay_out_columns
from perdure.reports.figures.declare import FigureView, NothingToDrawError, averaged_lives, count_text, figure, flags_of
from perdure.reports.figures.heatmap import counts_differ, heatmap
from perdure.reports.palette import GOOD, POOR, mix
from perdure.reports.svg import Canvas, Figure, text, wrap_text
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged


class TransferMatrix(msgspec.Struct, frozen=True, eq=False):
    """One kind of transfer: a row is learned, a column evaluated just before and after."""

    metric: str
    meaning: str
    """Description of the pairs of tasks."""
    tasks: tuple[str, ...]
    cells: Array
    """Means over lifetimes; NaN if none has a value."""
    counts: npt.NDArray[np.int64]
    """Lifetimes with a value."""
    threshold: float
    ahead: Array
    """Distance of each cell from the threshold, on the scale of the colours."""
    ticks: tuple[tuple[float, str], ...]
    """Places on that scale, and the values there."""
    flags: tuple[Flagged, ...]
    caption: str


@figure
def transfer(data: GroupedSurvey, view: FigureView, canvas: Canvas) -> Figure:
    """Plot the effect of learning a task (row) on another (column): not learned yet (forward) or before (backward)."""
    lives, name = averaged_lives(data, view)
    matrices = transfer_matrices(data, view)
    numbers = {"name": name, "lifetimes": len(lives), "matrices": matrices}
    return draw_transfer(matrices, name, canvas, numbers)


def transfer_matrices(data: GroupedSurvey, view: FigureView) -> list[TransferMatrix]:
    """Return the mean over lifetimes of each ordered pair's first value, one matrix per kind of transfer."""
    lives, _ = averaged_lives(data, view)
    meanings = {metric.name: metric.words.pairs for metric in METRICS if metric.words and metric.words.pairs}
    values = {name: _first_values(data, lives, name) for name in meanings if name in data.survey.metrics}
    values = {name: pairs for name, pairs in values.items() if pairs}
    if not values:
        raise NothingToDrawError("no task is evaluated just before and just after another is learned")
    declared = {name: data.survey.metrics[name].threshold for name in values}
    thresholds = {name: 1.0 if threshold is None else threshold for name, threshold in declared.items()}
    # Kinds with the same threshold share a scale, so that a colour has one meaning.
    known: dict[float, list[float]] = {}
    for name, pairs in values.items():
        known.setdefault(thresholds[name], []).extend(float(np.mean(effects)) for effects in pairs.values())
    matrices = []
    for name, pairs in values.items():
        involved = {task for pair in pairs for task in pair}
        tasks = tuple(dict.fromkeys((*(task for task in data.tasks if task in involved), *sorted(involved))))
        place = {task: index for index, task in enumerate(tasks)}
        cells, counts = np.full((len(tasks), len(tasks)), np.nan), np.zeros((len(tasks), len(tasks)), dtype=np.int64)
        for (learned, evaluated), effects in pairs.items():
            cells[place[learned], place[evaluated]] = np.mean(effects)
            counts[place[learned], place[evaluated]] = len(effects)
        threshold = thresholds[name]
        reach = max(0.05, float(np.abs(departures(np.array(known[threshold]), threshold)).max()))
        ticks = [float(tick) for tick in np.linspace(-reach, reach, 5)]
        matrices.append(
            TransferMatrix(
                metric=name,
                meaning=meanings[name],
                tasks=tasks,
                cells=cells,
                counts=counts,
                threshold=threshold,
                ahead=departures(cells, threshold),
                ticks=tuple((tick, f"{2**tick if threshold == 1 else tick + threshold:.2g}") for tick in ticks),
                flags=flags_of(lives, name),
                caption=count_text(lives, counts.ravel()),
            )
        )
    return matrices


def draw_transfer(
    matrices: Sequence[TransferMatrix], name: str, canvas: Canvas, data: Mapping[str, Any] | None = None
) -> Figure:
    """Draw matrices of transfer side by side."""
    thresholds = " and ".join(f"{threshold:g}" for threshold in sorted({matrix.threshold for matrix in matrices}))
    with_experts = all(matrix.metric.startswith("ste_") for matrix in matrices)
    meaning = "1: as good as its expert" if with_experts else f"beyond {thresholds}: it helps"
    title = " · ".join(part for part in (f"Transfer ({meaning})", name) if part)

    def draw(inner: Canvas, top: float) -> tuple[str, float]:
        em = inner.size
        columns = min(len(matrices), max(1, int(inner.width / (em * 25))))
        gap = em * 2
        wide = (inner.width - gap * (columns - 1)) / columns
        paints = [_transfer_painter(matrix, inner.with_width(wide)) for matrix in matrices]
        return lay_out_columns(paints, columns, wide + gap, em, top)

    return compose(canvas, title, title, draw, data=data)


def _transfer_painter(matrix: TransferMatrix, canvas: Canvas) -> Callable[[float], tuple[str, float]]:
    def draw(top: float) -> tuple[str, float]:
        kind = matrix.metric.removeprefix("ste_").partition("_")[0].capitalize()
        brackets = " (in brackets)" if counts_differ(matrix.counts) else ""
        caption = matrix.caption + brackets if matrix.caption else ""
        parts: list[str] = []
        heading = f"{kind}: {matrix.meaning}" if canvas.legend else ""
        for words, style in ((heading, "strong"), (caption, "soft")):
            for line in wrap_text(words, canvas.small * canvas.enlargement, canvas.width):
                top += canvas.small * 1.35 * canvas.enlargement
                parts.append(text(0, top - canvas.small * 0.3, line, canvas.small, style))
        reach = max(place for place, _ in matrix.ticks)

        def colour(value: float) -> str:
            deep = float(departures(np.array(value), matrix.threshold)) / reach
            # The ends of the scale are left out, because a number must be readable on every colour.
            return mix("#f4f5f6", GOOD if deep > 0 else POOR, min(1.0, abs(deep)) * 0.9)

        def number(value: float) -> str:
            return (f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}").replace("-", "−")

        tasks, names = matrix.tasks, ("learned", "evaluated")
        body, bottom = heatmap(tasks, tasks, matrix.cells, matrix.counts, canvas, top, names, colour, number)
        return "".join(parts) + body, bottom

    return draw


def departures(cells: Array, threshold: float) -> Array:
    """Return the distance of each cell from the threshold: logarithmic about 1, so that 2 and ½ are equally far."""
    return np.log2(np.maximum(cells, 1e-3)) if threshold == 1 else cells - threshold


def _first_values(
    data: GroupedSurvey, lives: Sequence[ScoredLifetime], name: str
) -> dict[tuple[str, str], list[float]]:
    """Return ordered pair of tasks → the first value of each lifetime that has one."""
    tasks = frozenset(data.tasks)
    values: dict[tuple[str, str], list[float]] = {}
    for life in lives:
        measured = life.score.metrics.get(name)
        for key, effects in measured.by.items() if measured else ():
            pair = _pair(key, tasks)
            if effects and pair:
                values.setdefault(pair, []).append(effects[0])
    return values


def _pair(key: str, tasks: frozenset[str]) -> tuple[str, str] | None:
    """Return the pair that is written `a→b`; at least the second must be one of the tasks."""
    parts = key.split("→")
    ways = [("→".join(parts[:split]), "→".join(parts[split:])) for split in range(1, len(parts))]
    known = [pair for pair in ways if tasks.issuperset(pair)]
    # The first may be a task in all its variants, which is not one of the tasks that were scored.
    return next(iter(known or [pair for pair in ways[:1] if pair[1] in tasks]), None)
