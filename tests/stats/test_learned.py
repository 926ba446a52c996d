"""Tasks that were not learned: an independent model of the rule, and its consequences for verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats  # type: ignore[import-untyped]
from tests.stats.lives import beside_experts, life, pool

from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Measured
from perdure.metrics.score import LearningGain, Score
from perdure.stats.answer import answer, asked
from perdure.stats.decide import decide
from perdure.stats.groups import groups
from perdure.stats.learned import learned_tasks
from perdure.stats.model import Group, Withheld

PM = Threshold(0.0, 5.0, headline="log")
RP = Threshold(1.0, headline="log", scale="log", expert=True)


def gained(gains: Sequence[tuple[float, float | None]]) -> list[Score]:
    return [life(f"life-{at}", learning_gains={"a": LearningGain(*gain)}) for at, gain in enumerate(gains)]


def expected_state(gains: np.ndarray, margin: float) -> str:
    def ends(values: np.ndarray, level: float) -> tuple[float, float]:
        half = stats.t.ppf(0.5 + level / 2, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
        return values.mean() - half, values.mean() + half

    if max(ends(column, 0.975)[0] for column in gains.T) > 0:
        return "learned"
    return "not learned" if max(ends(column, 0.95)[1] for column in gains.T) < margin else "unclear"


@given(st.integers(0, 10_000), st.floats(-3, 8), st.floats(0.1, 6), st.integers(3, 12), st.sampled_from([2.0, 5.0]))
@settings(max_examples=80, deadline=None)
def test_the_state_of_a_task_is_that_of_both_gains_intervals(
    seed: int, mean: float, sd: float, n: int, margin: float
) -> None:
    gains = np.random.default_rng(seed).normal(mean, sd, (n, 2))
    found = learned_tasks(gained([(float(first), float(second)) for first, second in gains]), margin)
    assert found == {"a": expected_state(gains, margin)}


def test_without_an_evaluation_before_learning_a_flat_curve_is_not_called_not_learned() -> None:
    flat = [(0.1, -0.2), (-0.3, 0.1), (0.2, 0.0), (0.0, 0.1)]
    assert learned_tasks(gained(flat)) == {"a": "not learned"}
    one_lacks = [(0.1, None), *flat[1:]]
    assert learned_tasks(gained(one_lacks)) == {"a": "no gain seen after the first tenth"}
    assert learned_tasks(gained([(30.0, None), (31.0, None), (33.0, None)])) == {"a": "learned"}


def test_a_gain_within_the_first_tenth_is_seen_from_the_evaluation_before() -> None:
    assert learned_tasks(gained([(0.0, 40.0), (0.5, 42.0), (-0.5, 41.0)])) == {"a": "learned"}


def test_fewer_than_three_lifetimes_or_unknown_gains_decide_nothing() -> None:
    flat = gained([(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)])
    assert learned_tasks(flat[:2]) == {}
    assert learned_tasks([*flat, life("from a table")]) == {}


# --- maintenance over learned tasks ---------------------------------------------------------------


def group_of(*, learned: bool, n: int = 4, state: str = "flat") -> Group:
    """A learner that loses 15 points on cartpole and that cannot lose acrobot, which it never learned."""
    rng = np.random.default_rng(3)
    made = []
    for at in range(n):
        lost, chance = -15 + rng.normal(0, 1), 60 * (at == 2) + rng.normal(0, 1)
        risen = LearningGain(30 + rng.normal(), 30 + rng.normal())
        flat = LearningGain(rng.normal(), rng.normal())
        unclear = LearningGain(10 * (-1) ** at, 12 * (-1) ** at)
        other = risen if learned else {"flat": flat, "unclear": unclear}[state]
        metrics = {
            "performance_maintenance": Measured((lost + chance) / 2, {"cartpole": (lost,), "acrobot": (chance,)})
        }
        gains = {"cartpole": risen, "acrobot": other}
        made.append(
            replace(
                life(f"life-{at}", learner="dqn", tasks=("cartpole", "acrobot"), learning_gains=gains), metrics=metrics
            )
        )
    (group,) = groups(pool(*made, bars={"performance_maintenance": PM}))
    return group


def test_a_task_that_was_not_learned_is_named_and_left_out_beside_the_verdict() -> None:
    group = group_of(learned=False)
    over = group.maintenance_over_learned_tasks
    assert group.learned == {"cartpole": "learned", "acrobot": "not learned"}
    assert over is not None
    assert over.mean == pytest.approx(-15, abs=2)
    assert over.high is not None
    assert over.high < 0
    assert (over.verdict, over.word) == (None, None)
    assert group.estimates["performance_maintenance"].word == "undecided"
    assert "acrobot was not learned; without that task it lost 14.8 of 100 points" in answer(group)
    assert group.as_json()["learned"]["acrobot"] == "not learned"


def test_what_is_learned_or_unclear_stays_in() -> None:
    assert group_of(learned=True).maintenance_over_learned_tasks is None
    assert "learned;" not in answer(group_of(learned=True))
    unclear = group_of(learned=False, state="unclear")
    assert unclear.learned["acrobot"] == "unclear"
    assert unclear.maintenance_over_learned_tasks is None
    assert "whether acrobot was learned is unclear" in answer(unclear)


def test_without_a_learned_task_there_is_no_maintenance_of_learned_tasks() -> None:
    made = [
        replace(score, metrics={"performance_maintenance": Measured(float(at), {"a": (float(at),)})})
        for at, score in enumerate(gained([(0.0, 0.0), (0.1, 0.1), (0.0, 0.1)]))
    ]
    (group,) = groups(pool(*made, bars={"performance_maintenance": PM}))
    assert group.maintenance_over_learned_tasks is not None
    assert (group.maintenance_over_learned_tasks.n, group.maintenance_over_learned_tasks.mean) == (0, None)
    assert group.maintenance_over_learned_tasks.absent == "no task is left"
    assert group.maintenance_over_learned_tasks not in asked(group)["Does it keep what it learns?"]
    assert "a was not learned" in answer(group)


# --- experts that fail ----------------------------------------------------------------------------


def against(gains: Sequence[float], own: tuple[float, float] = (40.0, 40.0), each: int = 3) -> tuple[Score, ...]:
    rng = np.random.default_rng(0)
    tables = {"a": 0.5 + rng.normal(0, 0.01, (6, each))}
    return tuple(
        replace(
            score,
            learning_gains={"a": LearningGain(own[0] + rng.normal(), own[1] + rng.normal())},
            expert_gains={"a": tuple(gains)} if each < 5 else {},
        )
        for score in beside_experts(tables)
    )


def test_few_experts_of_a_task_that_may_not_be_learned_decide_nothing() -> None:
    learning, one_fails = (40.0, 41.0, 39.0), (40.0, 0.0, 41.0)
    assert decide(against(learning), "relative_performance", RP).verdict == "met"
    failing = decide(against(one_fails), "relative_performance", RP)
    assert (failing.verdict, failing.withheld, failing.p) == ("undecided", Withheld.FAILING, None)
    assert failing.low is not None
    flat_lives = decide(against(learning, own=(0.0, 0.0)), "relative_performance", RP)
    assert flat_lives.withheld is Withheld.FAILING
    assert decide(against((), own=(0.0, 0.0), each=5), "relative_performance", RP).verdict == "met"
