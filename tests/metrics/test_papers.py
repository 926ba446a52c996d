"""Each paper's preset against the paper recomputed by hand, from its text alone.

New et al. 2022: Appendix A (preparation), 3.4.1–3.4.5, B.2. Baker et al. 2023: C.1, Algorithms 1–5, Appendix G.
What the papers leave open, the edges of the smoothing window, is taken from the definitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.errors import MetricError
from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.metrics.contract import lifetime_of
from perdure.metrics.declare import Metric
from perdure.metrics.measure import measure
from perdure.metrics.papers import baker_2023, new_2022
from perdure.metrics.score import Score
from perdure.scenario.model import Block
from perdure.settings import Settings

TASKS = ("a", "b", "c")
LEARNED = ("a", "b", "a", "c", "b", "c", "a")  # every evaluation block tests every task
Values = list[float]


def smooth(values: Values) -> Values:
    """A flat window of a fifth of the values, at most 100, as long as before; an even one is centred by halves."""
    width = min(len(values) // 5, 100)
    if width < 3:
        return values
    padded = np.pad(values, width // 2, mode="reflect")
    weights = np.ones(width) if width % 2 else np.array([0.5, *np.ones(width - 1), 0.5])
    return [float(padded[at : at + len(weights)] @ weights / width) for at in range(len(values))]


@dataclass
class Paper:
    """A lifetime as Appendix A prepares it: per learning block, per task, then one range per task."""

    learning: list[tuple[str, Values]]
    evaluation: list[dict[str, float]]
    """After each learning block, the first before any: the mean of each task's values."""
    experts: dict[str, list[Values]]

    @classmethod
    def of(cls, lived: list[tuple[str, str, Values]], experts: list[tuple[str, Values]]) -> Paper:
        ready = [(mode, task, smooth(values) if mode == "learn" else values) for mode, task, values in lived]
        beside = [(task, smooth(values)) for task, values in experts]
        limits = {}
        for task in TASKS:
            everything = [one for _, at, values in ready if at == task for one in values]
            everything += [one for at, values in beside if at == task for one in values]
            limits[task] = np.percentile(everything, (10, 90))

        def scaled(task: str, values: Values) -> Values:
            low, high = limits[task]
            return [float(1 + 100 * (min(max(one, low), high) - low) / (high - low)) for one in values]

        evaluation: list[dict[str, float]] = [{}]
        learning = []
        for mode, task, values in ready:
            if mode == "learn":
                learning.append((task, scaled(task, values)))
                evaluation.append({})
            else:
                evaluation[-1][task] = fmean(scaled(task, values))
        return cls(
            learning,
            evaluation,
            {task: [scaled(task, values) for at, values in beside if at == task] for task in TASKS},
        )

    def maintenance(self) -> dict[str, Values]:
        """The change since the evaluation after a task's most recent learning block, but in that evaluation itself."""
        found: dict[str, Values] = {}
        recent: dict[str, int] = {}
        for number, (learned, _) in enumerate(self.learning, 1):
            recent[learned] = number
            for task, since in recent.items():
                if task != learned:
                    found.setdefault(task, []).append(self.evaluation[number][task] - self.evaluation[since][task])
        return found

    def transfers(self, *, backward: bool) -> list[tuple[float, float]]:
        """Each ordered pair's first: the evaluation after the block, and the one before it."""
        found: dict[tuple[str, str], tuple[float, float]] = {}
        known: set[str] = set()
        for number, (learned, _) in enumerate(self.learning, 1):
            for task in TASKS:
                if task != learned and (task in known) == backward:
                    after, before = self.evaluation[number][task], self.evaluation[number - 1][task]
                    found.setdefault((learned, task), (after, before))
            known.add(learned)
        return list(found.values())

    def joined(self, task: str) -> Values:
        return [one for learned, values in self.learning if learned == task for one in values]

    def relative_performance(self) -> float:
        """The ratio of sums over the minimal number of experiences; experts averaged at the end (A.4)."""
        per_task = []
        for task in TASKS:
            own = self.joined(task)
            ratios = [sum(own[: len(one)]) / sum(one[: len(own)]) for one in self.experts[task]]
            per_task.append(fmean(ratios))
        return fmean(per_task)

    def sample_efficiency(self, *, again: bool) -> float:
        """The ratio of maxima times the ratio of experiences it takes to get there, of whole curves."""

        def saturation(curve: Values) -> tuple[float, int]:
            return max(curve), next(at for at, one in enumerate(curve, 1) if one >= max(curve) - 1e-9)

        per_task = []
        for task in TASKS:
            own, *beside = (smooth(one) if again else one for one in (self.joined(task), *self.experts[task]))
            height, soon = saturation(own)
            # "Only tasks which demonstrate a steady-state/saturated performance are eligible"
            if soon == 1 or np.polyfit(range(len(own)), own, 1)[0] < 0:
                continue
            ratios = [height / best * (at / soon) for best, at in map(saturation, beside) if at > 1]
            per_task += [fmean(ratios)] if ratios else []
        return fmean(per_task)


def contrast(after: float, before: float) -> float:
    return (after - before) / (after + before)


def drawn(seed: int) -> tuple[Score, Score, Paper]:
    """One life with two experts of each task, of unlike lengths, scored by both presets and by hand.

    Bounds are recorded, and must not matter.
    """
    rng = np.random.default_rng(seed)

    def rising(count: int) -> Values:
        values = rng.uniform(0, 3) + np.linspace(0, rng.uniform(5, 9), count) + rng.normal(0, 0.5, count)
        return [float(one) for one in values]

    def tested() -> list[tuple[str, str, Values]]:
        return [("evaluate", task, [float(one) for one in rng.uniform(0, 10, 8)]) for task in TASKS]

    lived = tested()
    for task in LEARNED:
        lived += [("learn", task, rising(int(rng.choice([15, 25, 35])))), *tested()]
    experts = [(task, rising(int(rng.choice([45, 75])))) for task in TASKS for _ in range(2)]
    return scored(lived, experts), scored(lived, experts, "baker-2023"), Paper.of(lived, experts)


def scored(lived: list[tuple[str, str, Values]], experts: list[tuple[str, Values]], preset: str = "new-2022") -> Score:
    blocks = [Block(mode, task, len(values), group=at) for at, (mode, task, values) in enumerate(lived)]  # type: ignore[arg-type]
    life = lifetime_of(blocks, values=[values for *_, values in lived])
    recorded = {"tasks": [{"label": task, "bounds": [-50.0, 50.0]} for task in TASKS]}
    beside: list[Lifetime] = [
        lifetime_of([Block("learn", task, len(values))], values=[values], name=f"{task}-{number}")
        for number, (task, values) in enumerate(experts)
    ]
    return score(replace(life, manifest={"scenario": recorded}), beside, Settings(preset=preset))


@pytest.mark.parametrize("seed", range(10))
def test_new_2022_is_the_paper_by_hand(seed: int) -> None:
    found, _, paper = drawn(seed)
    lost = [one for values in paper.maintenance().values() for one in values]
    expected = {
        "performance_maintenance": fmean(lost),  # "mean Maintenance Value across the lifetime"
        "forward_transfer": fmean(contrast(*pair) for pair in paper.transfers(backward=False)),
        "backward_transfer": fmean(contrast(*pair) for pair in paper.transfers(backward=True)),
        "relative_performance": paper.relative_performance(),
        "sample_efficiency": paper.sample_efficiency(again=False),
        # "If trendline has positive slope, gain = 1"
        "cumulative_gain": fmean(np.sign(np.polyfit(range(len(v)), v, 1)[0]) for _, v in paper.learning),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name


@pytest.mark.parametrize("seed", range(10))
def test_baker_2023_is_the_paper_by_hand(seed: int) -> None:
    _, found, paper = drawn(seed)
    experiences = [len(values) for _, values in paper.learning]
    elapsed = sum(experiences) + 8 * len(TASKS) * len(paper.evaluation) - 1  # one second from each to the next
    lengths = [len(one) for each in paper.experts.values() for one in each]
    alone = sum(length - 1 for length in lengths) / sum(lengths)
    expected = {
        "performance_maintenance": fmean(fmean(values) for values in paper.maintenance().values()),
        "forward_transfer": fmean(after / before for after, before in paper.transfers(backward=False)),
        "backward_transfer": fmean(after / before for after, before in paper.transfers(backward=True)),
        "relative_performance": paper.relative_performance(),
        "sample_efficiency": paper.sample_efficiency(again=True),
        "cost_overhead": elapsed / sum(experiences) / alone,
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
    disagree = (expected["forward_transfer"] > 1) != (
        fmean(contrast(*pair) for pair in paper.transfers(backward=False)) > 0
    )
    for name in ("forward_transfer", "forward_transfer_contrast"):
        assert any("says the opposite" in flag for flag in found.metrics[name].flags) == disagree


def test_baker_2023_says_where_learner_and_expert_are_not_equally_long() -> None:
    curve = [float(at) for at in range(10)]
    lived = [("learn", "a", curve), ("learn", "b", curve), ("learn", "c", curve)]
    equal = scored(lived, [(task, curve) for task in TASKS], "baker-2023")
    assert equal.metrics["relative_performance"].flags == ()
    longer = scored(lived, [(task, [*curve, 9.0]) for task in TASKS], "baker-2023")
    assert "equally long" in longer.metrics["relative_performance"].flags[0]


@pytest.mark.parametrize("preset", ["new-2022", "baker-2023"])
def test_the_papers_leave_out_who_falls_or_fails_and_say_how_many(preset: str) -> None:
    curve = [float(at) for at in range(10)]
    lived = [("learn", "a", curve[::-1]), ("learn", "b", curve), ("learn", "c", curve)]
    found = scored(lived, [(task, curve) for task in TASKS], preset)
    assert found["sample_efficiency"] == pytest.approx(1.0)
    assert "1 of 3 left out: a: the learning curve falls" in found.metrics["sample_efficiency"].flags[0]


@pytest.mark.parametrize("declared", [new_2022, baker_2023])
@pytest.mark.parametrize(("height", "learned"), [(0.21, True), (0.19, False)])
def test_who_stays_below_a_fifth_of_the_experts_best_did_not_learn(
    declared: Callable[[], dict[str, Metric]], height: float, learned: bool
) -> None:
    rising = np.arange(1.0, 5.0)
    lived, alone = (lifetime_of([Block("learn", "a", 4)], values=[one]) for one in (height * rising, rising))
    made = curves(lived, Preparation(scale="none", window="none"), [replace(alone, id="expert")])
    found = measure(declared()["sample_efficiency"], made)
    assert found.value == (pytest.approx(height) if learned else None)
    assert learned or "below a fifth" in str(found.why)


@pytest.mark.parametrize("preset", ["new-2022", "baker-2023"])
@pytest.mark.parametrize("option", [{"scale": "none"}, {"aggregate": "median"}, {"expert_average": "time"}])
def test_the_papers_take_no_other_preparation_or_average(preset: str, option: dict[str, Any]) -> None:
    with pytest.raises(MetricError, match="does not take it"):
        score(lifetime_of([Block("learn", "a", 5)]), settings=Settings(preset=preset, **option))
