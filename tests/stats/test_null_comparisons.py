"""Comparisons of a learner with itself and with a worse one, by learners that are not those of `perdure.simulate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace
from tests.metrics.written import table

from perdure.curves.arrays import Array
from perdure.gather.survey import survey
from perdure.log.model import Lifetime
from perdure.log.write.bulk import write_lifetimes
from perdure.metrics.declare import METRICS
from perdure.metrics.score import Score
from perdure.settings import Settings
from perdure.stats.compare import Comparison
from perdure.stats.systems import compare_systems, compare_with_baseline, systems_of

TASKS = ("a", "b", "c")
BOUNDS = dict.fromkeys(TASKS, (0.0, 100.0))
SIX = (
    "final_performance",
    "performance_maintenance",
    "forward_transfer",
    "backward_transfer",
    "learning_performance",
    "learning_speed",
)
BARS = {name: METRICS.get(name).criterion for name in SIX}


class Learner(Struct, frozen=True):
    """A learner whose curves rise exponentially; it forgets by shares, and whole lifetimes may collapse."""

    height: float = 75.0
    rate: float = 0.12
    forgetting: float = 0.3
    collapsing: float = 0.0
    rewards: str = "skewed"

    def blocks(self, rng: np.random.Generator, evaluate: int = 10) -> list[tuple[str, str, list[float]]]:
        """Return one lifetime: evaluations of all tasks before and after each block of learning.

        The draws do not depend on the traits, so that equal generators give common random numbers.
        """
        heights = np.clip(self.height + rng.normal(0, 6, len(TASKS)), 20, 95)
        rates = self.rate * np.exp(rng.normal(0, 0.3, len(TASKS)))
        lengths = rng.integers(36, 48, len(TASKS))
        collapses = rng.random() < self.collapsing
        levels = dict.fromkeys(TASKS, 15.0)
        blocks = [("test", task, self.logged(rng, np.full(evaluate, 15.0))) for task in TASKS]
        for number, task in enumerate(TASKS):
            rise = 1 - np.exp(-rates[number] * np.arange(1, lengths[number] + 1))
            curve = levels[task] + (heights[number] - levels[task]) * rise
            blocks.append(("train", task, self.logged(rng, curve)))
            levels = {other: level - self.forgetting * (level - 15) for other, level in levels.items()}
            levels[task] = float(curve[-1])
            if collapses and number == 1:
                levels = dict.fromkeys(TASKS, 15.0)
            blocks += [("test", other, self.logged(rng, np.full(evaluate, levels[other]))) for other in TASKS]
        return blocks

    def logged(self, rng: np.random.Generator, levels: Array) -> list[float]:
        uniform = rng.random(len(levels))
        if self.rewards == "binary":
            return [float(100 * (draw < level / 100)) for draw, level in zip(uniform, levels, strict=True)]
        return [float(value) for value in levels - 8 * (np.log(uniform) + 1)]

    def lifetimes(self, name: str, count: int, seed: int, first: int = 0) -> list[Lifetime]:
        return [
            table(
                f"{name}-{number}",
                self.blocks(np.random.default_rng([seed, number])),
                seed=first + number,
                learner=name,
            )
            for number in range(count)
        ]

    def expert(self, task: str, seed: int) -> Lifetime:
        rng = np.random.default_rng([seed, TASKS.index(task)])
        curve = 15 + (self.height - 15) * (1 - np.exp(-self.rate * np.arange(1, 37)))
        return replace(table(f"{task}-{seed}", [("train", task, self.logged(rng, curve))]), role="expert")

    def experts(self, count: int = 3) -> list[Lifetime]:
        return [self.expert(task, seed) for task in TASKS for seed in range(count)]


def compared(lifetimes: Sequence[Lifetime | str], bounds: Any = BOUNDS, experts: Sequence[Lifetime] = ()) -> Comparison:
    found = survey(lifetimes, experts, Settings(bounds=bounds), learning=True, jobs=1)
    (comparison,) = compare_systems(systems_of(found), "B").comparisons
    return comparison


def pairs(learner: Learner, count: int, n: int, m: int, *, paired: bool) -> Iterator[list[Lifetime]]:
    """Yield lifetimes of the learner under two names; seeds match if `paired`."""
    for number in range(count):
        yield [
            *learner.lifetimes("A", n, 2 * number),
            *learner.lifetimes("B", m, 2 * number + 1, first=0 if paired else n),
        ]


@pytest.mark.slow
def test_a_learner_seldom_differs_from_itself_in_any_of_six_metrics() -> None:
    differs: list[bool] = []
    for learner, n, m, paired, bounds in (
        (Learner(), 3, 3, True, BOUNDS),
        (Learner(rewards="binary"), 5, 5, True, None),
        (Learner(collapsing=0.2), 5, 5, False, BOUNDS),
        (Learner(), 3, 8, False, None),
    ):
        for lifetimes in pairs(learner, 40, n, m, paired=paired):
            comparison = compared(lifetimes, bounds)
            assert comparison.pairing.paired is paired
            assert set(comparison.family) == set(SIX)
            differs.append(any(found.verdict in ("better", "worse") for found in comparison.tested.values()))
    assert np.mean(differs) <= 0.07


def test_files_of_the_bulk_writer_give_the_comparison_of_lifetimes_in_memory(tmp_path: Path) -> None:
    lifetimes = [*Learner().lifetimes("A", 3, 1), *Learner(height=60).lifetimes("B", 3, 2)]
    in_memory = compared(lifetimes, None)
    files = [
        str(write_lifetimes(tmp_path / f"{name}.parquet", [life for life in lifetimes if life.learner == name]))
        for name in "AB"
    ]
    from_files = compared(files, None)
    assert from_files.tested == in_memory.tested
    assert from_files.answer == in_memory.answer


# --- monotone answers -----------------------------------------------------------------------------


def scores(learner: Learner, experts: Sequence[Lifetime], seed: int = 3, n: int = 4) -> tuple[Score, ...]:
    return survey(learner.lifetimes("x", n, seed), experts, Settings(bounds=BOUNDS), learning=True, jobs=1).scores


@pytest.mark.parametrize(
    ("trait", "steps", "metrics"),
    [
        ("height", (75.0, 60.0, 45.0), ("final_performance", "learning_performance")),
        ("rate", (0.12, 0.08, 0.05), ("learning_performance", "learning_speed")),
        ("forgetting", (0.0, 0.4, 0.9), ("final_performance", "performance_maintenance")),
    ],
)
def test_a_learner_made_worse_step_by_step_is_further_behind(
    trait: str, steps: Sequence[float], metrics: Sequence[str]
) -> None:
    """The lifetimes share their random numbers, so the other learner differs by the trait alone."""
    experts = Learner().experts()
    better = scores(Learner(), experts, seed=4)
    leads = {metric: [] for metric in metrics}  # type: dict[str, list[float]]
    for step in steps:
        worse = scores(replace(Learner(), **{trait: step}), experts)
        comparison = compare_with_baseline({"A": better, "B": worse}, "B", BARS)[0][0]
        for metric in metrics:
            leads[metric].append(comparison.tested[metric].ahead)
    for metric, by_step in leads.items():
        assert all(later >= earlier for earlier, later in pairwise(by_step)), metric


def test_it_does_not_matter_whose_experts_are_worse() -> None:
    """All comparisons use common references, so no learner gains by poor experts of its own."""
    good, poor = Learner().experts(), Learner(height=40, rate=0.05).experts()
    sides = [scores(Learner(), good, seed=seed) for seed in (3, 4)]
    sides_with_poor = [scores(Learner(), poor, seed=seed) for seed in (3, 4)]
    first, second, none = (
        compare_with_baseline({"A": ours, "B": theirs}, "B", BARS)[0][0]
        for ours, theirs in ((sides_with_poor[0], sides[1]), (sides[0], sides_with_poor[1]), (sides[0], sides[1]))
    )
    assert first.tested == second.tested
    for metric in SIX[:5]:
        assert first.tested[metric] == none.tested[metric]
