"""Decide on lifetimes with Perdure's public functions, or with the reference model of its definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from bench.null_cells import Drawn
from bench.null_real import LivedGroup
from msgspec import Struct
from msgspec.structs import replace
from tests.metrics import new_definitions as definitions

from perdure.curves.experts import Experts
from perdure.log.model import Lifetime
from perdure.metrics.declare import Threshold
from perdure.metrics.presets import PRESETS, headline
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings
from perdure.simulate.lifetimes import as_lifetimes, expert_scenario
from perdure.stats.compare import compare_lives
from perdure.stats.decide import estimates
from perdure.stats.model import Estimate

__all__ = ["HEADLINE", "PATHS", "Outcome", "joined"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
HEADLINE = headline()
MAINTENANCE, BESIDE_EXPERTS = HEADLINE[0], HEADLINE[3:]


class Outcome(Struct, frozen=True):
    """Results of the groups by metric, without metrics that the layout cannot answer."""

    values: Mapping[str, Array]
    """The mean of each group, as it is shown."""
    verdicts: Mapping[str, npt.NDArray[np.int64]]
    """1 met (PM: gains, where words exist), −1 not met (PM: forgets), 0 undecided."""
    covered: Mapping[str, Array]
    """1 if the interval contains the truth, else 0; NaN without an interval."""
    differs: Mapping[str, Bools] = {}
    """Whether the learner differs from itself, by metric and (`any`) by any of the family after Holm."""
    absent: Mapping[str, int] = {}
    """Lives without a value."""


def joined(parts: Sequence[Outcome]) -> Outcome:
    """Join the parts of a cell."""

    def together(pick: str) -> dict[str, Any]:
        tables = [getattr(part, pick) for part in parts]
        names = dict.fromkeys(chain.from_iterable(tables))
        return {name: np.concatenate([table[name] for table in tables if name in table]) for name in names}

    return Outcome(
        together("values"),
        together("verdicts"),
        together("covered"),
        together("differs"),
        {name: sum(part.absent.get(name, 0) for part in parts) for name in parts[0].values},
    )


# --- the public functions -------------------------------------------------------------------------


def drawn_as_scored(drawn: Drawn, preset: str, compared: int | None) -> Outcome:
    """Decide on simulated groups with the public functions: curves, score, estimates, compare."""
    cell = drawn.cell
    way = PRESETS.get(preset)
    # The papers always scale by the data.
    bounds = dict.fromkeys(cell.tasks, cell.bounds) if cell.bounds and "bounds" not in way.fixes else None
    settings = _settings(preset, replace(way.prep, bounds=bounds))
    lives = [
        as_lifetimes(cell.learner, scenario, rows) for scenario, rows in zip(cell.scenarios, drawn.lives, strict=True)
    ]
    experts = [
        as_lifetimes(cell.learner, expert_scenario(task, rows.shape[1]), rows, role="expert")
        for task, each in drawn.experts.items()
        for rows in each
    ]
    groups = [
        _scored(settings, [slot[index] for slot in lives], [slot[index] for slot in experts])
        for index in range(drawn.groups)
    ]
    return _judged(groups, _bars(settings), compared)


def lived_as_scored(groups: Sequence[LivedGroup], preset: str, compared: int | None) -> Outcome:
    """Decide on real groups with the public functions and the bounds that their logs record."""
    settings = _settings(preset, None)
    return _judged([_scored(settings, group.lives, group.experts) for group in groups], _bars(settings), compared)


def _settings(preset: str, prep: Any) -> Settings:
    metrics = tuple(name for name in HEADLINE if name in PRESETS.get(preset).metrics)
    return Settings(preset, prep=prep, metrics=metrics)


def _bars(settings: Settings) -> dict[str, Threshold]:
    return {name: metric.criterion for name, metric in Scorer(settings).metrics.items()}


def _scored(settings: Settings, lives: Sequence[Lifetime], experts: Sequence[Lifetime]) -> list[Score]:
    scorer = Scorer(settings, Experts(tuple(experts)))
    scores = [scorer.score(life) for life in lives]
    # Numbered, so that two groups can be paired life by life.
    return [replace(score, identity=replace(score.identity, seed=index)) for index, score in enumerate(scores)]


def _judged(groups: Sequence[Sequence[Score]], bars: Mapping[str, Threshold], compared: int | None) -> Outcome:
    """Return the verdict on each group, and whether it differs from the next group."""
    summaries = [estimates(lives, bars, resamples=1) for lives in groups]  # the interquartile mean is not used
    names = [name for name in bars if any(summary[name].mean is not None for summary in summaries)]
    pairs = list(zip(groups[::2], groups[1::2], strict=False))[:compared]
    comparisons = [compare_lives(group, other, bars).differences for group, other in pairs]
    code = {"met": 1, "not met": -1, "gains": 1, "forgets": -1}

    def holds(name: str, low: float | None, high: float | None) -> float:
        truth = bars[name].threshold
        return np.nan if low is None or high is None or truth is None else float(low <= truth <= high)

    return Outcome(
        {
            name: np.array([np.nan if summary[name].mean is None else summary[name].mean for summary in summaries])
            for name in names
        },
        {name: np.array([code.get(_said(summary[name]), 0) for summary in summaries]) for name in names},
        {
            name: np.array([holds(name, summary[name].low, summary[name].high) for summary in summaries])
            for name in names
        },
        {
            **{
                name: np.array([(comparison[name].p or 1.0) < 0.05 for comparison in comparisons if name in comparison])
                for name in names
            },
            "any": np.array(
                [any((each.p_holm or 1.0) < 0.05 for each in comparison.values()) for comparison in comparisons]
            ),
        },
        {name: sum(summary[name].missing for summary in summaries) for name in names},
    )


def _said(estimate: Estimate) -> str:
    """Return the verdict; for maintenance its word, because a null learner correctly keeps."""
    return str(estimate.word if estimate.word in ("gains", "keeps", "loses", "forgets") else estimate.verdict)


# --- the reference model --------------------------------------------------------------------------


class Read(Struct, frozen=True):
    """Values of some groups: groups × lifetimes; with experts, by task, groups × lifetimes × experts."""

    plain: Mapping[str, Array]
    crossed: Mapping[str, Sequence[Array]]
    failing: Array
    """Whether few experts leave a group undecided, because its tasks may not be learned."""


def drawn_as_defined(drawn: Drawn, preset: str, compared: int | None) -> Outcome:  # noqa: ARG001
    """Decide on simulated groups with the reference model and its decision rule, all groups at once."""
    cell = drawn.cell
    bounds = cell.bounds and dict.fromkeys(cell.tasks, cell.bounds)
    experts = {
        task: [[definitions.Part("learn", task, values)] for values in each] for task, each in drawn.experts.items()
    }
    lives: list[definitions.Life] = []
    for scenario, rows in zip(cell.scenarios, drawn.lives, strict=True):
        edges = np.cumsum([0, *(block.length or 0 for block in scenario.blocks)])
        parts = [
            definitions.Part(block.mode, block.task, rows[:, edges[index] : edges[index + 1]], block.subtype)
            for index, block in enumerate(scenario.blocks)
        ]
        lives.append(definitions.Life(parts, experts, bounds or {}))
    return _decided(_read(lives), compared)


def lived_as_defined(groups: Sequence[LivedGroup], preset: str, compared: int | None) -> Outcome:  # noqa: ARG001
    """Decide on real groups with the reference model and the bounds that their logs record."""
    readings = [_read([_life(life, group.experts) for life in group.lives]) for group in groups]
    plain = {name: np.stack([reading.plain[name] for reading in readings]) for name in readings[0].plain}
    crossed = {
        name: [np.stack(each) for each in zip(*(reading.crossed[name] for reading in readings), strict=True)]
        for name in readings[0].crossed
    }
    failing = np.concatenate([np.atleast_1d(reading.failing) for reading in readings])
    return _decided(Read(plain, crossed, failing), compared)


def _life(life: Lifetime, experts: Sequence[Lifetime]) -> definitions.Life:
    by_task: dict[str, list[list[definitions.Part]]] = {}
    for curve in experts:
        parts = [part for part in _parts(curve) if part.mode == "learn"]
        by_task.setdefault(parts[0].task, []).append(parts)
    described = life.manifest["scenario"]["tasks"]
    bounds = {str(task["label"]).lower(): tuple(task["bounds"]) for task in described if task.get("bounds")}
    return definitions.Life(_parts(life), by_task, bounds)


def _parts(life: Lifetime) -> list[definitions.Part]:
    passage = life.passage()
    return [
        definitions.Part(
            block.mode, block.task, passage.values[passage.starts[index] : passage.starts[index + 1]], block.subtype
        )
        for index, block in enumerate(passage.scenario.blocks)
    ]


def _read(lives: Sequence[definitions.Life]) -> Read:
    """Return the values; lifetimes are the second axis if each has many groups, else the first."""
    plain: dict[str, list[Array]] = {name: [] for name in HEADLINE[:3]}
    crossed: dict[str, dict[str, list[Array]]] = {name: {} for name in BESIDE_EXPERTS}
    for life in lives:
        values = (life.maintenance(), life.transfer(backward=False), life.transfer(backward=True))
        for name, value in zip(plain, values, strict=True):
            if value is not None:
                plain[name].append(value)
        for name, by_task in zip(BESIDE_EXPERTS, life.beside_experts(), strict=True):
            for task in sorted(by_task):
                crossed[name].setdefault(task, []).append(by_task[task])
    return Read(
        {name: np.stack(values, axis=-1) for name, values in plain.items() if len(values) > 1},
        {name: [np.stack(values, axis=-2) for values in by_task.values()] for name, by_task in crossed.items()},
        definitions.experts_fail(lives),
    )


def _decided(read: Read, compared: int | None) -> Outcome:
    fewest = min((values.shape[-1] for by_task in read.crossed.values() for values in by_task), default=3)
    few, lone = fewest < 3, fewest < 2
    values: dict[str, Sequence[Array]] = {**{name: [table] for name, table in read.plain.items()}, **read.crossed}
    intervals = {
        name: definitions.of_lives(value[0]) if name in read.plain else definitions.against_experts(value)
        for name, value in values.items()
    }
    pairs = len(next(iter(values.values()))[0]) // 2
    p_values = {
        name: definitions.of_difference(
            [part[0 : 2 * pairs : 2][:compared] for part in value],
            [part[1 : 2 * pairs : 2][:compared] for part in value],
            paired=True,
            experts=name in read.crossed,
        ).p()
        for name, value in values.items()
        if not (few and name in read.crossed)
    }
    family = definitions.holm(np.stack(list(p_values.values()), axis=-1))
    return Outcome(
        {name: bounds.mean if name == MAINTENANCE else np.exp(bounds.mean) for name, bounds in intervals.items()},
        {
            name: _verdict(name, bounds, told=~np.logical_or(few, read.failing) if name in read.crossed else np.True_)
            for name, bounds in intervals.items()
        },
        {name: _holds_none(bounds, known=not (lone and name in read.crossed)) for name, bounds in intervals.items()},
        {**{name: p < 0.05 for name, p in p_values.items()}, "any": np.asarray((family < 0.05).any(axis=-1))},
    )


def _holds_none(bounds: definitions.Interval, *, known: bool) -> Array:
    """Return whether the interval contains 0, or NaN for a single expert, which has no variance."""
    return np.where(known, ((bounds.low <= 0) & (bounds.high >= 0)).astype(np.float64), np.nan)


def _verdict(
    name: str, bounds: definitions.Interval, *, told: npt.NDArray[np.bool_] | np.bool_
) -> npt.NDArray[np.int64]:
    if name == MAINTENANCE:
        words = definitions.word_of_maintenance(bounds)
        return np.asarray((words == "gains").astype(np.int64) - (words == "forgets").astype(np.int64))
    return definitions.verdict(bounds) * told


PATHS: Mapping[str, tuple[Callable[..., Outcome], Callable[..., Outcome]]] = {
    "now": (drawn_as_scored, lived_as_scored),
    "new": (drawn_as_defined, lived_as_defined),
}
"""How simulated and how real groups are read."""
