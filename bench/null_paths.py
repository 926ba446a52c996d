"""Decide on lifetimes with Perdure's public functions, or with the reference model of its definitions."""

from __future__ import annotations

import dataclasses
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
from perdure.curves.prepare import merge_ranges
from perdure.log.model import Identity, Lifetime
from perdure.metrics.declare import METRICS
from perdure.metrics.measure import Measured
from perdure.metrics.presets import PRESETS, headline
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings
from perdure.settings.presets import STANDARD
from perdure.simulate.lifetimes import as_lifetimes, expert_scenario
from perdure.stats.compare import Difference, compare_lives
from perdure.stats.decide import estimates
from perdure.stats.model import Estimate
from perdure.stats.pairing import Want
from perdure.stats.systems import compare_with_baseline

__all__ = ["COMPARED", "HEADLINE", "MARGINS", "PATHS", "Outcome", "joined", "read_as_defined", "verdicts_on_values"]

Array = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
HEADLINE = headline()
MAINTENANCE, BESIDE_EXPERTS = HEADLINE[0], HEADLINE[3:]
LEVEL_REACHED = "final_performance"
COMPARED = (LEVEL_REACHED, *HEADLINE[:3], "learning_performance", "learning_speed")
"""The metrics that are tested together when lifetimes are compared."""


class Outcome(Struct, frozen=True):
    """Results of the groups by metric, without metrics that the layout cannot answer."""

    values: Mapping[str, Array]
    """The mean of each group, as it is shown."""
    verdicts: Mapping[str, npt.NDArray[np.int64]]
    """1 met (PM: gains, where words exist), −1 not met (PM: forgets), 0 undecided."""
    covered: Mapping[str, Array]
    """1 if the interval contains the truth, else 0; NaN without an interval."""
    differs: Mapping[str, Bools] = {}
    """Whether the learner differs from itself, by metric and (`any`) by any of the six after Holm."""
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
    pairs = [
        [([slot[index] for slot in lives], [slot[index] for slot in experts]) for index in indices]
        for indices in pairs_of(drawn.groups)
    ]
    return _judged([_scored(settings, pair) for pair in pairs], settings, compared)


def lived_as_scored(groups: Sequence[LivedGroup], preset: str, compared: int | None) -> Outcome:
    """Decide on real groups with the public functions and the bounds that their logs record."""
    settings = _settings(preset, None)
    pairs = [[(groups[index].lives, groups[index].experts) for index in pair] for pair in pairs_of(len(groups))]
    return _judged([_scored(settings, pair) for pair in pairs], settings, compared)


def pairs_of(groups: int) -> list[range]:
    """Return the indices of the groups that are compared with each other; a last odd group has no partner."""
    return [range(first, min(first + 2, groups)) for first in range(0, groups, 2)]


def _settings(preset: str, prep: Any) -> Settings:
    known = PRESETS.get(preset).metrics
    return Settings(preset, prep=prep, metrics=tuple(name for name in (*HEADLINE, LEVEL_REACHED) if name in known))


def _scored(settings: Settings, pair: Sequence[tuple[Sequence[Lifetime], Sequence[Lifetime]]]) -> list[list[Score]]:
    """Score two groups with one range per task, as `survey` does for two run folders, each with its own experts."""
    experts = [Experts(tuple(own)) for _, own in pair]
    common = None
    if settings.preset == STANDARD and Scorer(settings).prep.bounds is None:
        ranges = [
            Scorer(settings, own).data_ranges(life) or {}
            for (lives, _), own in zip(pair, experts, strict=True)
            for life in lives
        ]
        common = merge_ranges(ranges)
    scored: list[list[Score]] = []
    for (lives, _), own in zip(pair, experts, strict=True):
        scorer = Scorer(settings, own, common=common, learning=True)
        scores = [scorer.score(life) for life in lives]
        # Numbered, so that two groups can be paired life by life.
        scored.append(
            [replace(score, identity=replace(score.identity, seed=index)) for index, score in enumerate(scores)]
        )
    return scored


def _judged(pairs: Sequence[Sequence[Sequence[Score]]], settings: Settings, compared: int | None) -> Outcome:
    """Return the verdict on each group, and whether the groups of each pair differ."""
    bars = {name: metric.criterion for name, metric in Scorer(settings).metrics.items() if name in HEADLINE}
    summaries = [estimates(lives, bars, resamples=1) for pair in pairs for lives in pair]  # without bootstrap
    names = [name for name in bars if any(summary[name].mean is not None for summary in summaries)]
    both = [pair for pair in pairs if len(pair) > 1][:compared]
    comparisons = [compare_with_baseline({"A": ours, "B": theirs}, "B", bars)[0][0].tested for ours, theirs in both]
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
        _differing(comparisons),
        {name: sum(summary[name].missing for summary in summaries) for name in names},
    )


def _differing(comparisons: Sequence[Mapping[str, Difference]]) -> dict[str, Bools]:
    """Return whether systems differ, by metric and by any metric after Holm."""
    names = dict.fromkeys(chain.from_iterable(comparisons))

    def below(p: float | None) -> bool:
        return p is not None and p < 0.05

    return {
        **{
            name: np.array([name in found and below(found[name].p) for found in comparisons], dtype=bool)
            for name in names
        },
        "any": np.array([any(below(each.p_holm) for each in found.values()) for found in comparisons], dtype=bool),
    }


def _said(estimate: Estimate) -> str:
    """Return the verdict; for maintenance its word, because a null learner correctly keeps."""
    return str(estimate.word if estimate.word in ("gains", "keeps", "loses", "forgets") else estimate.verdict)


# --- verdicts on values ---------------------------------------------------------------------------

MARGINS: Mapping[str, float] = {
    **dict.fromkeys(COMPARED[:2], 5.0),
    **dict.fromkeys(COMPARED[2:5], float(np.log(1.1))),
    COMPARED[5]: float(np.log(1.25)),
}
"""Differences that do not matter, in points or logarithms."""


def verdicts_on_values(values: Mapping[str, Array], paired: Want, lead: Mapping[str, float]) -> list[dict[str, str]]:
    """Return the verdicts of `compare_lives` by pair and metric; the first system is better by `lead`."""
    bars = {name: METRICS.get(name).criterion for name in values}

    def side(pair: int, at: int) -> list[Score]:
        lives = range(next(iter(values.values())).shape[-1])
        return [
            Score(Identity(str(number), seed=number), {name: measured(name, pair, at, number) for name in values})
            for number in lives
            if np.isfinite(values[COMPARED[0]][pair, at, number])
        ]

    def measured(name: str, pair: int, at: int, number: int) -> Measured:
        value = float(values[name][pair, at, number]) + (lead.get(name, 0.0) if at == 0 else 0.0)
        known = value if name in COMPARED[:2] else np.exp(value)
        return Measured(None if np.isnan(value) else float(known))

    pairs = len(next(iter(values.values())))
    tested = (compare_lives(side(pair, 0), side(pair, 1), bars, paired=paired).tested for pair in range(pairs))
    return [{name: str(each.verdict) for name, each in found.items()} for found in tested]


# --- the reference model --------------------------------------------------------------------------


class Read(Struct, frozen=True):
    """Values of some groups: groups × lifetimes; with experts, by task, groups × lifetimes × experts."""

    plain: Mapping[str, Array]
    crossed: Mapping[str, Sequence[Array]]
    failing: Array
    """Whether few experts leave a group undecided, because its tasks may not be learned."""
    compared: Mapping[str, Array]
    """Values by metric of comparisons: pairs × 2 × lifetimes; ratios as logarithms."""


def drawn_as_defined(drawn: Drawn, preset: str, compared: int | None) -> Outcome:  # noqa: ARG001
    """Decide on simulated groups with the reference model and its decision rule, all groups at once."""
    return _decided(read_as_defined(drawn), compared)


def read_as_defined(drawn: Drawn) -> Read:
    """Return the values of simulated groups by the reference model."""
    cell = drawn.cell
    experts = {
        task: [[definitions.Part("learn", task, values)] for values in each] for task, each in drawn.experts.items()
    }
    bounds: Any = dict.fromkeys(cell.tasks, cell.bounds) if cell.bounds else {}
    lives: list[definitions.Life] = []
    for scenario, rows in zip(cell.scenarios, drawn.lives, strict=True):
        edges = np.cumsum([0, *(block.length or 0 for block in scenario.blocks)])
        parts = [
            definitions.Part(block.mode, block.task, rows[:, edges[index] : edges[index + 1]], block.subtype)
            for index, block in enumerate(scenario.blocks)
        ]
        lives.append(definitions.Life(parts, experts, bounds))
    if not cell.bounds:
        bounds = _pooled(lives)
        lives = [dataclasses.replace(life, bounds=bounds) for life in lives]
    return _read(lives)


def _pooled(lives: Sequence[definitions.Life]) -> dict[str, tuple[Array, Array]]:
    """Return one range per task and pair of groups, over the lifetimes and experts of both."""
    pooled: dict[str, tuple[Array, Array]] = {}
    for task in lives[0].tasks:
        low = np.min([life.ranges[task][0] for life in lives], axis=0)
        high = np.max([life.ranges[task][1] for life in lives], axis=0)
        partner = np.minimum(np.arange(len(low)) ^ 1, len(low) - 1)
        pooled[task] = np.minimum(low, low[partner]), np.maximum(high, high[partner])
    return pooled


def lived_as_defined(groups: Sequence[LivedGroup], preset: str, compared: int | None) -> Outcome:  # noqa: ARG001
    """Decide on real groups with the reference model and the bounds that their logs record."""
    pairs = [
        [[_life(life, groups[index].experts) for life in groups[index].lives] for index in pair]
        for pair in pairs_of(len(groups))
    ]
    readings = [_read(lives) for pair in pairs for lives in pair]
    plain = {name: np.stack([reading.plain[name] for reading in readings]) for name in readings[0].plain}
    crossed = {
        name: [np.stack(each) for each in zip(*(reading.crossed[name] for reading in readings), strict=True)]
        for name in readings[0].crossed
    }
    failing = np.concatenate([np.atleast_1d(reading.failing) for reading in readings])
    both = [_compared(*pair) for pair in pairs if len(pair) > 1]
    values = {name: np.stack([found[name] for found in both]) for name in COMPARED}
    return _decided(Read(plain, crossed, failing, values), compared)


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
    groups = len(lives[0].parts[0].values) if lives[0].parts[0].values.ndim > 1 else 0
    sides = [_of_groups(lives, slice(side, groups // 2 * 2, 2)) for side in (0, 1)] if groups > 1 else []
    return Read(
        {name: np.stack(values, axis=-1) for name, values in plain.items() if len(values) > 1},
        {name: [np.stack(values, axis=-2) for values in by_task.values()] for name, by_task in crossed.items()},
        definitions.experts_fail(lives),
        _compared(*sides) if sides else {},
    )


def _of_groups(lives: Sequence[definitions.Life], groups: slice) -> list[definitions.Life]:
    """Return the lifetimes of some of the groups, which share experts and bounds."""

    def of(part: definitions.Part) -> definitions.Part:
        return dataclasses.replace(part, values=part.values[groups])

    first = lives[0]
    experts = {task: [[of(part) for part in one] for one in each] for task, each in first.experts.items()}
    pooled: Mapping[str, tuple[Any, Any]] = first.bounds
    bounds = {
        task: (low[groups], high[groups]) if np.ndim(low) else (low, high) for task, (low, high) in pooled.items()
    }
    return [definitions.Life([of(part) for part in life.parts], experts, bounds) for life in lives]


def _compared(ours: Sequence[definitions.Life], theirs: Sequence[definitions.Life]) -> dict[str, Array]:
    """Return the values of both sides by metric of comparisons: … × 2 × lifetimes."""
    values: dict[str, list[list[Array | None]]] = {
        LEVEL_REACHED: [[life.final_performance() for life in lives] for lives in (ours, theirs)],
        HEADLINE[0]: [[life.maintenance() for life in lives] for lives in (ours, theirs)],
        HEADLINE[1]: [[life.transfer(backward=False) for life in lives] for lives in (ours, theirs)],
        HEADLINE[2]: [[life.transfer(backward=True) for life in lives] for lives in (ours, theirs)],
    }
    learning: Any = definitions.learning_of_systems((ours, theirs))
    values |= dict(zip(COMPARED[4:], learning, strict=True))
    known = {name: [[one for one in side if one is not None] for side in sides] for name, sides in values.items()}
    return {
        name: np.stack([np.stack(side, axis=-1) for side in sides], axis=-2)
        for name, sides in known.items()
        if all(len(side) > 1 for side in sides)
    }


def _decided(read: Read, compared: int | None) -> Outcome:
    fewest = min((values.shape[-1] for by_task in read.crossed.values() for values in by_task), default=3)
    few, lone = fewest < 3, fewest < 2
    intervals = {name: definitions.of_lives(values) for name, values in read.plain.items()}
    intervals |= {name: definitions.against_experts(values) for name, values in read.crossed.items()}
    p_values = {
        name: definitions.of_difference(values[:compared, 0], values[:compared, 1], paired=True).p()
        for name, values in read.compared.items()
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
