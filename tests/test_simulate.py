"""Known-answer learners: each metric moves by its own cause, in the amount worked out by hand, and by no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import perdure
from perdure.curves.model import Prep
from perdure.errors import ScenarioError
from perdure.gather.survey import score
from perdure.metrics.score import Score
from perdure.scenario.model import Block, Scenario
from perdure.simulate import NOTIONAL, IdealLearner, expert, experts, lifetime, lifetimes, metric_values, write_log
from perdure.simulate.learner import performance

LEARN, EVALUATE = 100, 10
METRICS = (
    "performance_maintenance",
    "forward_transfer",
    "backward_transfer",
    "relative_performance",
    "sample_efficiency",
)
LEARNER = IdealLearner()
START, SATURATION, PACE = LEARNER.start, LEARNER.saturation, LEARNER.pace


def scenario(tasks: str = "ab", superblocks: int = 1) -> Scenario:
    evaluation = [Block("evaluate", task, EVALUATE) for task in tasks]
    blocks = [*evaluation]
    for task in tasks * superblocks:
        blocks += [Block("learn", task, LEARN // superblocks), *evaluation]
    return Scenario.of("test", blocks, info={"scenario_type": "condensed"})


def scored(learner: IdealLearner, beside: IdealLearner = LEARNER, tasks: str = "ab") -> Score:
    """Given bounds and no smoothing, so that the numbers can be worked out by hand."""
    lived = scenario(tasks)
    prep = Prep(window="none", bounds=dict.fromkeys(tasks, (0.0, 1.0)))
    return score(lifetime(learner, lived), experts(beside, lived), prep=prep)


def values(learner: IdealLearner) -> dict[str, float]:
    found = {name: scored(learner)[name] for name in METRICS}
    return {name: value for name, value in found.items() if value is not None}


def points(performance: float) -> float:
    return 1 + 100 * performance


def total(start: float, pace: float) -> float:
    """What a block of learning from `start` sums to, value by value."""
    return sum(points(start + (SATURATION - start) * min(at / pace, 1)) for at in range(1, LEARN + 1))


NEUTRAL = {
    "performance_maintenance": 0.0,
    "forward_transfer": 1.0,
    "backward_transfer": 1.0,
    "relative_performance": 1.0,
    "sample_efficiency": 1.0,
}


def test_a_learner_without_traits_stands_at_every_threshold() -> None:
    assert values(LEARNER) == pytest.approx(NEUTRAL)


def test_forgetting_moves_maintenance_and_backward_transfer_and_nothing_else() -> None:
    lost = 0.25 * (SATURATION - START)
    assert values(LEARNER.but(forgetting=0.25)) == pytest.approx(
        NEUTRAL
        | {
            "performance_maintenance": -100 * lost,
            "backward_transfer": points(SATURATION - lost) / points(SATURATION),
        }
    )


def test_backward_transfer_moves_maintenance_and_backward_transfer_and_nothing_else() -> None:
    gained = 0.5 * (1 - SATURATION)
    assert values(LEARNER.but(backward=0.5)) == pytest.approx(
        NEUTRAL
        | {
            "performance_maintenance": 100 * gained,
            "backward_transfer": points(SATURATION + gained) / points(SATURATION),
        }
    )


def test_forward_transfer_moves_forward_transfer_and_the_second_tasks_head_start() -> None:
    lifted = START + 0.3 * (1 - START)
    head_start = total(lifted, PACE) / total(START, PACE)
    assert values(LEARNER.but(forward=0.3)) == pytest.approx(
        NEUTRAL | {"forward_transfer": points(lifted) / points(START), "relative_performance": (1 + head_start) / 2}
    )


def test_pace_moves_sample_efficiency_and_relative_performance_and_nothing_else() -> None:
    found = values(LEARNER.but(pace=25))
    assert found == pytest.approx(
        NEUTRAL | {"sample_efficiency": 2.0, "relative_performance": total(START, 25) / total(START, 50)}
    )


def test_saturation_moves_sample_efficiency_by_its_height() -> None:
    found = values(LEARNER.but(saturation=0.6))
    assert found["sample_efficiency"] == pytest.approx(points(0.6) / points(0.8))
    assert found["relative_performance"] < 1
    assert (found["performance_maintenance"], found["forward_transfer"]) == pytest.approx((0.0, 1.0))


@pytest.mark.parametrize(
    ("trait", "amounts", "moved"),
    [
        ("forgetting", (0.1, 0.3, 0.6), {"performance_maintenance": -1, "backward_transfer": -1}),
        ("forward", (0.05, 0.1, 0.2), {"forward_transfer": 1}),
        ("backward", (0.1, 0.3, 0.6), {"performance_maintenance": 1, "backward_transfer": 1}),
        ("pace", (80, 60, 40), {"sample_efficiency": 1, "relative_performance": 1}),
    ],
)
def test_with_noise_and_smoothing_a_metric_still_follows_its_cause(
    trait: str, amounts: tuple[float, ...], moved: dict[str, int]
) -> None:
    lived = scenario("abc")
    rng = np.random.default_rng(1)
    learners = [LEARNER.but(**{trait: amount, "noise": 0.02}) for amount in amounts]
    means = [
        {name: one.mean() for name, one in metric_values(each, lived, 200, rng, LEARNER).items()} for each in learners
    ]
    for name in METRICS:
        steps = np.diff([one[name] for one in means])
        if name in moved:
            assert (np.sign(steps) == moved[name]).all(), name
        elif not (trait == "forward" and name == "relative_performance"):  # the head start, worked out above
            scale = 100.0 if name == "performance_maintenance" else 1.0
            assert np.abs(steps).max() < 0.02 * scale, name


def test_relearning_what_was_forgotten_shows_as_recovery() -> None:
    lived = scenario("ab", superblocks=4)
    prep = Prep(window="none", bounds={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    found = score(lifetime(LEARNER.but(forgetting=0.5, pace=20), lived), prep=prep)
    assert found["recovery_time"] == pytest.approx(19)  # back at its level with the 20th experience, counted from 0
    assert found["droop"] is not None
    assert found["droop"] > 0


def test_the_same_seed_is_the_same_life_and_another_is_not() -> None:
    learner = LEARNER.but(noise=0.1, spread=0.3)
    one, again, other = (lifetime(learner, scenario(), seed) for seed in (5, 5, 6))
    assert one.experiences.equals(again.experiences)
    assert not one.experiences.equals(other.experiences)
    assert [life.seed for life in lifetimes(learner, scenario(), 3, seed=5)] == [5, 6, 7]


def test_lives_differ_only_where_the_learner_has_a_spread() -> None:
    rng = np.random.default_rng(0)
    alike = performance(LEARNER.but(forgetting=0.3), scenario(), 4, rng)
    assert (alike == alike[0]).all()
    differing = performance(LEARNER.but(forgetting=0.3, spread=0.5), scenario(), 4, rng)
    assert not (differing[:, -1] == differing[0, -1]).all()


def test_thousands_at_once_are_the_numbers_that_score_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    lived = scenario("abc", superblocks=2)
    learner = IdealLearner(forgetting=0.2, forward=0.1, backward=0.05, noise=0.05, spread=0.3)
    beside = IdealLearner(pace=30)
    prep = Prep(bounds=dict.fromkeys("abc", (0.0, 1.0)))
    one_by_one = [score(life, experts(beside, lived), prep=prep) for life in lifetimes(learner, lived, 4)]
    rows = [performance(learner, lived, 1, np.random.default_rng([seed, 1])) for seed in range(4)]
    monkeypatch.setattr("perdure.simulate.many.performance", lambda *_: np.concatenate(rows))
    together = metric_values(learner, lived, 4, np.random.default_rng(0), beside)
    for name in METRICS:
        assert list(together[name]) == pytest.approx([one[name] for one in one_by_one], rel=1e-9), name


def test_a_simulated_log_is_read_back_as_it_was(tmp_path: Path) -> None:
    lived = lifetime(LEARNER.but(noise=0.05), scenario(), seed=7, id="seven")
    path = write_log(lived, tmp_path / "logs", protocol="small")
    found = perdure.read(path)
    assert (found.id, found.learner, found.seed, found.complete) == ("seven", "ideal", 7, True)
    assert found.scenario.blocks == lived.scenario.blocks
    assert np.array_equal(found.passage().values, lived.passage().values)
    assert found.manifest["protocol"] == "small"
    assert perdure.check(path).ok


def test_an_expert_learns_its_task_alone() -> None:
    found = experts(LEARNER, scenario("abc", superblocks=2))
    assert [(one.role, one.scenario.blocks[0].task, len(one.experiences)) for one in found] == [
        ("expert", task, LEARN) for task in "abc"
    ]
    assert expert(LEARNER, "a", 7).experiences.height == 7


@pytest.mark.parametrize(
    ("trait", "value", "said"),
    [
        ("forgetting", 1.5, "forgetting is 1.5"),
        ("saturation", -0.1, "saturation is -0.1"),
        ("noise", -1.0, "noise is -1.0"),
        ("pace", 0.0, "pace is 0.0"),
        ("spread", float("nan"), "spread is nan"),
    ],
)
def test_an_impossible_learner_is_refused(trait: str, value: float, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        LEARNER.but(**{trait: value})


def test_an_unknown_trait_is_refused() -> None:
    with pytest.raises(ScenarioError, match="has no speed"):
        LEARNER.but(speed=3)


def test_a_block_counted_in_steps_cannot_be_simulated() -> None:
    with pytest.raises(ScenarioError, match="no length in experiences"):
        lifetime(LEARNER, Scenario.of("steps", [Block("learn", "a", None)]))


@pytest.mark.parametrize(("name", "side"), [("lifelong", 1), ("forgetful", -1)])
def test_the_notional_learners_lie_where_the_figures_put_them(name: str, side: int) -> None:
    # New et al. 2022: PM, RP and SE above their thresholds in Figs. 7 and 8, below them in Figs. 9 and 10
    lived = scenario("ab", superblocks=2)
    prep = Prep(bounds={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    found = score(lifetime(NOTIONAL[name], lived), experts(NOTIONAL["expert"], lived), prep=prep)
    for metric, threshold in (("performance_maintenance", 0), ("relative_performance", 1), ("sample_efficiency", 1)):
        value = found[metric]
        assert value is not None
        assert side * (value - threshold) > 0, metric
