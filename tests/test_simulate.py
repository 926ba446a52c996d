"""Idealised learners: each metric moves by its own cause, by the amount computed by hand, and by no other cause."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import perdure
from perdure.curves.model import Preparation
from perdure.errors import PerdureError, ScenarioError
from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.metrics.score import Score
from perdure.scenario.compose import compose
from perdure.scenario.model import Block, Scenario
from perdure.settings import Settings
from perdure.simulate import (
    NOTIONAL,
    NULL,
    IdealLearner,
    as_lifetimes,
    expert,
    experts,
    lifetime,
    lifetimes,
    metric_values,
    performance,
    truth,
    write_log,
)

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


def scored(learner: IdealLearner, expert_learner: IdealLearner = LEARNER, tasks: str = "ab") -> Score:
    """Score with given bounds and without smoothing, so that the numbers can be computed by hand."""
    small_scenario = scenario(tasks)
    prep = Preparation(window="none", bounds=dict.fromkeys(tasks, (0.0, 1.0)))
    return score(lifetime(learner, small_scenario), experts(expert_learner, small_scenario), Settings(prep=prep))


def values(learner: IdealLearner) -> dict[str, float]:
    result = {name: scored(learner)[name] for name in METRICS}
    return {name: value for name, value in result.items() if value is not None}


def points(performance: float) -> float:
    return 1 + 100 * performance


def curve(start: float, pace: float, saturation: float = SATURATION) -> list[float]:
    """Return the values of a learning block that begins at `start`."""
    step = (saturation - START) / pace
    return [points(min(start + index * step, saturation)) for index in range(1, LEARN + 1)]


def total(start: float, pace: float) -> float:
    """Return the sum of a learning block that begins at `start`."""
    return sum(curve(start, pace))


def first_at_ninety_percent(own: list[float], other: list[float]) -> int:
    """Return when `own` reaches nine tenths of the way between start and end; after its end if never."""
    tenth = LEARN // 10
    base = (sum(own[:tenth]) + sum(other[:tenth])) / (2 * tenth)
    end = (sum(own[-tenth:]) + sum(other[-tenth:])) / (2 * tenth)
    target = base + 0.9 * (end - base)
    return next((index for index, value in enumerate(own, 1) if value >= target - 1e-6), LEARN + 1)


NEUTRAL = {
    "performance_maintenance": 0.0,
    "forward_transfer": 1.0,
    "backward_transfer": 1.0,
    "relative_performance": 1.0,
    "sample_efficiency": 1.0,
}


def test_a_learner_without_traits_has_the_neutral_value_of_every_metric() -> None:
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
    second, expert = curve(lifted, PACE), curve(START, PACE)
    assert values(LEARNER.but(forward=0.3)) == pytest.approx(
        NEUTRAL
        | {
            "forward_transfer": points(lifted) / points(START),
            "relative_performance": math.sqrt(head_start),
            "sample_efficiency": math.sqrt(
                first_at_ninety_percent(expert, second) / first_at_ninety_percent(second, expert)
            ),
        }
    )


def test_pace_moves_sample_efficiency_and_relative_performance_and_nothing_else() -> None:
    measured = values(LEARNER.but(pace=25))
    assert measured == pytest.approx(
        NEUTRAL | {"sample_efficiency": 2.0, "relative_performance": total(START, 25) / total(START, 50)}
    )


def test_saturation_moves_sample_efficiency_by_its_height_and_by_the_unreached_level() -> None:
    measured = values(LEARNER.but(saturation=0.6))
    expert, low = curve(START, PACE), curve(START, PACE, 0.6)
    assert first_at_ninety_percent(low, expert) == LEARN + 1
    assert measured["sample_efficiency"] == pytest.approx(
        points(0.6) / points(0.8) * first_at_ninety_percent(expert, low) / (LEARN + 1)
    )
    assert measured["relative_performance"] < 1
    assert (measured["performance_maintenance"], measured["forward_transfer"]) == pytest.approx((0.0, 1.0))


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
    small_scenario = scenario("abc")
    rng = np.random.default_rng(1)
    learners = [LEARNER.but(**{trait: amount, "noise": 0.02}) for amount in amounts]
    means = [
        {name: values.mean() for name, values in metric_values(each, small_scenario, 200, rng, LEARNER).items()}
        for each in learners
    ]
    for name in METRICS:
        steps = np.diff([mean[name] for mean in means])
        if name in moved:
            assert (np.sign(steps) == moved[name]).all(), name
        elif trait != "forward" or name not in ("relative_performance", "sample_efficiency"):  # the head start
            scale = 100.0 if name == "performance_maintenance" else 1.0
            assert np.abs(steps).max() < 0.02 * scale, name


def test_relearning_a_forgotten_task_counts_as_recovery() -> None:
    small_scenario = scenario("ab", superblocks=4)
    prep = Preparation(window="none", bounds={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    scores = score(lifetime(LEARNER.but(forgetting=0.5, pace=20), small_scenario), settings=Settings(prep=prep))
    assert scores["recovery_time"] == pytest.approx(9)  # half of 20 experiences' worth is lost; counted from 0
    assert scores["droop"] is not None
    assert scores["droop"] > 0


def test_the_same_seed_is_the_same_lifetime_and_another_is_not() -> None:
    learner = LEARNER.but(noise=0.1, spread=0.3)
    one, again, other = (lifetime(learner, scenario(), seed) for seed in (5, 5, 6))
    assert one.experiences.equals(again.experiences)
    assert not one.experiences.equals(other.experiences)
    assert [life.seed for life in lifetimes(learner, scenario(), 3, seed=5)] == [5, 6, 7]


def test_lifetimes_differ_only_if_the_learner_has_a_spread() -> None:
    rng = np.random.default_rng(0)
    curve_of_learner = performance(LEARNER.but(forgetting=0.3), scenario(), 4, rng)
    assert (curve_of_learner == curve_of_learner[0]).all()
    differing = performance(LEARNER.but(forgetting=0.3, spread=0.5), scenario(), 4, rng)
    assert not (differing[:, -1] == differing[0, -1]).all()


def test_vectorised_metrics_equal_the_scores_of_single_lifetimes(monkeypatch: pytest.MonkeyPatch) -> None:
    small_scenario = scenario("abc", superblocks=2)
    learner = IdealLearner(forgetting=0.2, forward=0.1, backward=0.05, noise=0.05, spread=0.3)
    expert_learner = IdealLearner(pace=30)
    prep = Preparation(bounds=dict.fromkeys("abc", (0.0, 1.0)))
    one_by_one = [
        score(lifetime, experts(expert_learner, small_scenario), Settings(prep=prep))
        for lifetime in lifetimes(learner, small_scenario, 4)
    ]
    rows = [performance(learner, small_scenario, 1, np.random.default_rng([seed, 1])) for seed in range(4)]
    monkeypatch.setattr("perdure.simulate.values.performance", lambda *_: np.concatenate(rows))
    together = metric_values(learner, small_scenario, 4, np.random.default_rng(0), expert_learner)
    for name in METRICS:
        assert list(together[name]) == pytest.approx([score[name] for score in one_by_one], rel=1e-9), name


def test_a_simulated_log_survives_the_round_trip(tmp_path: Path) -> None:
    original = lifetime(LEARNER.but(noise=0.05), scenario(), seed=7, id="seven")
    path = write_log(original, tmp_path / "logs", protocol="small")
    result = perdure.read(path)
    assert (result.id, result.learner, result.seed, result.complete) == ("seven", "ideal", 7, True)
    assert result.scenario.blocks == original.scenario.blocks
    assert np.array_equal(result.passage().values, original.passage().values)
    assert result.manifest["protocol"] == "small"
    assert perdure.check(path).ok


LAYOUTS = ("condensed", "dispersed", "alternating", "permuted", "ant-a", "ant-b", "continual", "ant-c")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_without_forgetting_and_transfer_every_layout_is_a_null(layout: str) -> None:
    tasks = {"continual": ("a:x", "a:y"), "ant-c": ("a:x", "a:y", "b:x", "b:y")}.get(layout, ("a", "b", "c"))
    small_scenario = compose(layout, tasks, learn=90, evaluate=5, seed=3).scenario
    labels = [task.label for task in small_scenario.tasks]
    # An expert runs each task's learning blocks joined, whatever their number.
    curve_of_learner = lifetime(LEARNER, small_scenario).passage()
    for task in labels:
        joined = np.concatenate(
            [
                curve_of_learner.values[curve_of_learner.starts[index] : curve_of_learner.starts[index + 1]]
                for index in small_scenario.where("learn", task)
            ]
        )
        assert joined == pytest.approx(expert(LEARNER, task, len(joined)).passage().values)
    prep = Preparation(window="none", bounds=dict.fromkeys(labels, (0.0, 1.0)))
    scores = score(lifetime(LEARNER, small_scenario), experts(LEARNER, small_scenario), Settings(prep=prep))
    for name, neutral in NEUTRAL.items():
        assert scores[name] is None or scores[name] == pytest.approx(neutral), name
    answered = {name for name in METRICS if scores[name] is not None}
    assert {"relative_performance", "sample_efficiency"} <= answered


@pytest.mark.parametrize(
    ("cause", "values"),
    [
        ({"forgetting": 0.25}, {"performance_maintenance": -100 * 0.25 * (SATURATION - START)}),
        ({"backward": 0.5}, {"performance_maintenance": 100 * 0.5 * (1 - SATURATION)}),
        ({"forward": 0.3}, {"forward_transfer": points(START + 0.3 * (1 - START)) / points(START)}),
        ({"noise": 0.4}, NEUTRAL),
        ({"rewards": "binary"}, NEUTRAL),
    ],
)
def test_the_true_value_depends_on_the_causes_and_not_on_the_noise(
    cause: dict[str, float], values: dict[str, float]
) -> None:
    true_values = truth(LEARNER.but(**cause), scenario())
    assert {name: true_values[name] for name in values} == pytest.approx(values)


@pytest.mark.parametrize("rewards", ["normal", "binary"])
def test_the_same_seed_is_the_same_noise_in_another_setting(rewards: str) -> None:
    learner = NULL.but(noise=0.2 if rewards == "normal" else 0.0, rewards=rewards)
    one, other = (
        performance(learner.but(forgetting=amount), scenario(), 3, np.random.default_rng(4)) for amount in (0, 0.5)
    )
    before_anything_is_forgotten = 2 * EVALUATE + LEARN + 2 * EVALUATE + LEARN
    assert (one[:, :before_anything_is_forgotten] == other[:, :before_anything_is_forgotten]).all()
    assert (one != other).any()
    assert (other <= one + 1e-12).all()


def test_binary_rewards_are_one_with_the_probability_of_the_performance() -> None:
    values = performance(LEARNER.but(rewards="binary"), scenario(), 4000, np.random.default_rng(0))
    assert set(np.unique(values)) == {0.0, 1.0}
    assert values[:, :EVALUATE].mean() == pytest.approx(START, abs=0.01)
    assert values[:, -EVALUATE:].mean() == pytest.approx(SATURATION, abs=0.01)


@pytest.mark.parametrize("by_task", [False, True])
def test_a_failed_task_stays_at_its_start(by_task: bool) -> None:
    lifetimes = performance(LEARNER.but(failing=0.2, by_task=by_task), scenario(), 4000, np.random.default_rng(0))
    ends = lifetimes[:, [-EVALUATE - 1, -1]] == START  # both tasks, in the last evaluation
    assert ends.mean() == pytest.approx(0.2, abs=0.02)
    assert (ends[:, 0] & ends[:, 1]).mean() == pytest.approx(0.04 if by_task else 0.2, abs=0.02)


def test_traits_are_drawn_for_each_task_if_each_task_has_its_own_model() -> None:
    learner = LEARNER.but(spread=0.3)
    for by_task in (False, True):
        lifetimes = performance(learner.but(by_task=by_task), scenario(), 500, np.random.default_rng(0))
        agreement = np.corrcoef(lifetimes[:, -EVALUATE - 1], lifetimes[:, -1])[0, 1]
        assert agreement < 0.2 if by_task else agreement > 0.99


def test_lifetimes_made_together_have_the_blocks_of_lifetimes_made_singly() -> None:
    small_scenario = scenario("ab", superblocks=2)
    values = performance(NULL, small_scenario, 3, np.random.default_rng(0))
    for number, simulated in enumerate(as_lifetimes(NULL, small_scenario, values, seed=7)):
        assert (simulated.seed, simulated.learner) == (7 + number, "null")
        known = simulated.passage()
        plain = Lifetime(simulated.id, simulated.experiences, simulated.measures, info=simulated.info).passage()
        assert known.scenario == plain.scenario
        assert (known.values == values[number]).all()
        assert (known.values == plain.values).all()
        assert (known.starts == plain.starts).all()
        assert known.rows.equals(plain.rows)
        other = replace(simulated, experiences=simulated.experiences.head(10)).passage()
        assert len(other.values) == 10


def test_experts_differ_and_have_the_requested_numbers_and_lengths() -> None:
    simulated = experts(NULL, scenario("ab"), seed=5, each={"a": 3, "b": 2}, lengths=(0.5, 2.0))
    assert [(expert.scenario.blocks[0].task, expert.seed, expert.experiences.height) for expert in simulated] == [
        ("a", 5, 50), ("a", 6, 200), ("a", 7, 50), ("b", 5, 50), ("b", 6, 200),
    ]  # fmt: skip
    assert len({expert.id for expert in simulated}) == 5
    first = {tuple(expert.passage().values[:50]) for expert in simulated}
    assert len(first) == 5


def test_an_expert_learns_only_its_task() -> None:
    expert_lifetimes = experts(LEARNER, scenario("abc", superblocks=2))
    assert [
        (lifetime.role, lifetime.scenario.blocks[0].task, len(lifetime.experiences)) for lifetime in expert_lifetimes
    ] == [("expert", task, LEARN) for task in "abc"]
    assert expert(LEARNER, "a", 7).experiences.height == 7


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("forgetting", 1.5, "forgetting is 1.5"),
        ("saturation", -0.1, "saturation is -0.1"),
        ("noise", -1.0, "noise is -1.0"),
        ("pace", 0.0, "pace is 0.0"),
        ("spread", float("nan"), "spread is nan"),
        ("failing", 1.2, "failing is 1.2"),
    ],
)
def test_an_impossible_learner_is_refused(trait: str, value: float, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        LEARNER.but(**{trait: value})


def test_unknown_rewards_and_noise_on_binary_rewards_are_refused() -> None:
    with pytest.raises(PerdureError, match="rewards"):
        LEARNER.but(rewards="gaussian")
    with pytest.raises(ScenarioError, match=r"noise is 0\.1"):
        LEARNER.but(rewards="binary", noise=0.1)


def test_an_unknown_trait_is_refused() -> None:
    with pytest.raises(ScenarioError, match="has no speed"):
        LEARNER.but(speed=3)


def test_a_block_counted_in_steps_cannot_be_simulated() -> None:
    with pytest.raises(ScenarioError, match="no length in experiences"):
        lifetime(LEARNER, Scenario.of("steps", [Block("learn", "a", None)]))


@pytest.mark.parametrize(("name", "side"), [("lifelong", 1), ("forgetful", -1)])
def test_the_notional_learners_have_the_metric_signs_of_the_published_figures(name: str, side: int) -> None:
    # New et al. 2022: PM, RP and SE above their thresholds in Figs. 7 and 8, below them in Figs. 9 and 10
    small_scenario = scenario("ab", superblocks=2)
    prep = Preparation(bounds={"a": (0.0, 1.0), "b": (0.0, 1.0)})
    scores = score(
        lifetime(NOTIONAL[name], small_scenario), experts(NOTIONAL["expert"], small_scenario), Settings(prep=prep)
    )
    for metric, threshold in (("performance_maintenance", 0), ("relative_performance", 1), ("sample_efficiency", 1)):
        value = scores[metric]
        assert value is not None
        assert side * (value - threshold) > 0, metric
