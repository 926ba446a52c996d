"""The spread between lifetimes: its parts, the share of the order of tasks, and what narrows an interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from tests.stats.lives import altered, beside_experts, life, lives, normal, pool

from perdure import Block, Scenario, Settings, survey
from perdure.metrics.declare import METRICS, Threshold
from perdure.metrics.score import Score
from perdure.simulate import IdealLearner, lifetimes
from perdure.stats.groups import groups
from perdure.stats.interval import group_interval_of, interval_of
from perdure.stats.model import SpreadParts
from perdure.stats.pilot import pilot_metrics
from perdure.stats.power import Design, ExpertSample, Question, narrowed
from perdure.stats.spread import evaluation_noise, spreads_by_order

PM, FT, RP = "performance_maintenance", "forward_transfer", "relative_performance"
BARS = {name: METRICS.get(name).criterion for name in (PM, FT, "backward_transfer")}
KEEPS = {PM: BARS[PM]}
ORDERS = (("a", "b", "c"), ("b", "c", "a"), ("c", "a", "b"))
BOUNDS = dict.fromkeys("ab", (0.0, 1.0))


def in_orders(values: Sequence[Sequence[float]], orders: Sequence[tuple[str, ...]] = ORDERS) -> tuple[Score, ...]:
    """Lifetimes of one learner: those of each order."""
    return tuple(
        life(f"life-{number}-{at}", values={PM: value}, order=order, learner="ppo")
        for number, (order, own) in enumerate(zip(orders, values, strict=False))
        for at, value in enumerate(own)
    )


def parts(given: Sequence[Score]) -> SpreadParts:
    found = spreads_by_order(given, KEEPS)
    assert found is not None
    return found[PM]


def simulated(learner: IdealLearner, count: int, evaluations: int = 20) -> tuple[Score, ...]:
    evaluation = [Block("evaluate", task, evaluations) for task in "ab"]
    learning = [Block("learn", task, 60) for task in "ab"]
    scenario = Scenario.of("ab", [*evaluation, learning[0], *evaluation, learning[1], *evaluation])
    return survey(
        lifetimes(learner, scenario, count), settings=Settings(bounds=BOUNDS, metrics=tuple(BARS)), jobs=1
    ).scores


def test_the_parts_add_up_to_the_total() -> None:
    noisy = simulated(IdealLearner(noise=0.2, spread=0.3, forgetting=0.3, forward=0.05, backward=0.05), 12)
    turned = [altered(one, order=ORDERS[at % 3]) for at, one in enumerate(noisy)]
    for spread in (spreads_by_order(turned, BARS) or {}).values():
        known = [spread.order, spread.evaluations, spread.experts, spread.seed]
        assert sum(part or 0.0 for part in known) == pytest.approx(spread.total)
        assert min(part for part in known if part is not None) >= 0
        assert spread.share == pytest.approx((spread.order or 0.0) / spread.total)
        assert (spread.low or 0.0) <= (spread.share or 0.0) <= (spread.high or 0.0) <= 1


def test_names_of_orders_and_units_change_nothing() -> None:
    values = [normal(mean, 1, n, n) for mean, n in ((0, 2), (2, 3), (5, 5))]
    one = parts(in_orders(values))
    other = parts(tuple(reversed(in_orders(values, (("z",), ("y",), ("x",))))))
    scaled = parts(in_orders([[10 * value - 7 for value in own] for own in values]))
    assert one.lifetimes == other.lifetimes == (5, 3, 2)
    for name in ("total", "order", "seed", "share", "low", "high"):
        assert getattr(other, name) == pytest.approx(getattr(one, name)), name
    for name in ("share", "low", "high"):
        assert getattr(scaled, name) == pytest.approx(getattr(one, name)), name
    assert scaled.total == pytest.approx(100 * one.total)


def test_equal_numbers_give_the_anova_estimate_and_its_exact_f_interval() -> None:
    from scipy import stats  # type: ignore[import-untyped]

    values = np.array([normal(mean, 1, 4, at) for at, mean in enumerate((0, 1, 3))])
    between, within = 4 * values.mean(axis=1).var(ddof=1), values.var(axis=1, ddof=1).mean()
    spread = parts(in_orders(values.tolist()))
    assert spread.order == pytest.approx((between - within) / 4)
    assert spread.seed == pytest.approx(within)
    for end, quantile in ((spread.low, 0.975), (spread.high, 0.025)):
        ratio = max(0.0, (between / within / stats.f.ppf(quantile, 2, 9) - 1) / 4)
        assert end == pytest.approx(ratio / (1 + ratio))


@pytest.mark.parametrize("sizes", [(4, 3, 2), (9, 2)])
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_interval_contains_the_true_share_in_about_95_percent(sizes: tuple[int, ...], share: float) -> None:
    rng = np.random.default_rng(0)
    held = above = 0
    for _ in range(300):
        spread = parts(
            in_orders(
                [rng.normal(0, share**0.5) + rng.normal(0, (1 - share) ** 0.5, size) for size in sizes],
                [(str(at),) for at in range(len(sizes))],
            )
        )
        assert spread.low is not None
        assert spread.high is not None
        held += spread.low <= share <= spread.high
        above += spread.low > 0
    # Four standard errors of 300 groups. A share of 0 can only be missed on one side.
    assert held / 300 == pytest.approx(0.95 if share else 0.975, abs=0.05 if share else 0.036)
    assert (above / 300 < 0.06) if share == 0 else (above / 300 > 0.1)


def test_shuffled_orders_explain_nothing() -> None:
    given = in_orders([normal(mean, 1, 6, at) for at, mean in enumerate((0, 4, 8))])
    assert (parts(given).low or 0) > 0.5
    rng = np.random.default_rng(0)
    shuffled = [
        parts([altered(one, order=given[at].order) for one, at in zip(given, rng.permutation(18), strict=True)])
        for _ in range(100)
    ]
    assert np.mean([(spread.low or 0) > 0 for spread in shuffled]) < 0.09
    assert np.median([spread.share or 0 for spread in shuffled]) < 0.05


def test_without_repeated_orders_the_share_is_not_known_and_the_reason_is_given() -> None:
    assert spreads_by_order(lives(normal(0, 1, 5)), KEEPS) is None
    single = parts(in_orders([[1.0], [2.0], [4.0, 3.0]]))
    assert (single.share, single.order) == (None, None)
    assert single.why == "needs at least two orders of tasks with two lifetimes each"
    assert single.seed == pytest.approx(single.total)
    some = [altered(one, order=()) if at == 0 else one for at, one in enumerate(in_orders([[1.0, 2.0], [4.0, 3.0]]))]
    assert "not known for all lifetimes" in (parts(some).why or "")
    assert parts(in_orders([[1.0, 1.0], [1.0, 1.0]])).why == "all values are the same"
    collapsed = in_orders([[1.0, 2.0], [1.5, 2.5], [-50.0]])
    assert parts(collapsed).share == parts(collapsed[:-1]).share == 0
    apart = parts(in_orders([[1.0, 1.0], [2.0, 2.0]]))
    assert (apart.share, apart.low, apart.high, apart.seed) == (1, 1, 1, 0)


def test_lifetimes_that_differ_by_their_evaluations_only_have_no_other_spread() -> None:
    learner = IdealLearner(noise=0.1, forgetting=0.2, forward=0.2, start=0.3, backward=0.2)
    given = simulated(learner, 200, evaluations=10)
    for metric, bar in BARS.items():
        values = np.array([one.value(metric) for one in given], dtype=np.float64)
        for scale, seen in (
            (("log", np.log(values)), ("linear", values)) if bar.scale == "log" else (("linear", values),)
        ):
            noise = evaluation_noise(given, metric, scale)  # type: ignore[arg-type]
            # Four standard errors of the variance of 200 values.
            assert noise == pytest.approx(seen.var(ddof=1), rel=0.4), (metric, scale)


def test_noise_counts_the_likeness_of_evaluations_in_a_row() -> None:
    given = simulated(IdealLearner(noise=0.2, forgetting=0.2), 30)
    alike = tuple(
        replace(one, blocks=tuple(replace(b, lagged=0.5 * b.squares if b.squares else b.lagged) for b in one.blocks))
        for one in given
    )
    plain, grown = (evaluation_noise(some, PM, "linear") or 0 for some in (given, alike))
    likeness = (0.5 + 1 / 20) / (1 - 3 / 20)
    assert grown / plain == pytest.approx((1 + likeness) / (1 - likeness), rel=0.15)
    assert evaluation_noise(tuple(replace(one, blocks=()) for one in given), PM, "linear") is None


def test_own_experts_are_a_part_and_shared_ones_are_not() -> None:
    rng = np.random.default_rng(0)
    bars = {RP: Threshold(1.0, headline="log", scale="log", expert=True)}
    own, common = rng.normal(0, 0.2, (200, 1)), rng.normal(0, 0.4, (1, 5))
    for shared in (True, False):
        tables = {task: own + (common if shared else rng.normal(0, 0.4, (200, 5))) for task in "ab"}
        given = beside_experts(
            tables, experts=lambda at, task, s=shared: [f"{task}{'' if s else at}-{n}" for n in "abcde"]
        )
        turned = [altered(one, metrics=one.metrics, order=ORDERS[at % 3]) for at, one in enumerate(given)]
        spread = (spreads_by_order(turned, bars) or {})[RP]
        assert spread.evaluations == 0
        if shared:
            assert spread.experts is None
            assert spread.shared_experts == pytest.approx(2 * common.var(ddof=1) / 5 / 4)
        else:
            assert spread.shared_experts is None
            assert spread.experts == pytest.approx(0.4**2 / 5 / 2, rel=0.1)
        assert spread.seed == pytest.approx(0.2**2, rel=0.35)


def test_a_group_carries_the_parts_of_its_headline_metrics_only() -> None:
    (group,) = groups(pool(*in_orders([normal(0, 1, 3), normal(3, 1, 3)])))
    assert group.spread is not None
    assert list(group.spread) == [PM]
    (same,) = groups(pool(*lives(normal(0, 1, 5), learner="ppo")))
    assert same.spread is None


# --- what narrows an interval ---------------------------------------------------------------------


def test_an_interval_narrows_as_one_from_twice_the_number_does() -> None:
    design = Design(experts=ExpertSample(5, 2, 1.0))
    gain = narrowed(11, design, evaluations=0.5, cost=0.25)

    def half(lives: float, each: int, share: float = 1.0) -> float:
        return interval_of(0, [(share / lives, lives - 1.0), *[(1 / each / 4, each - 1.0)] * 2]).half

    assert 1 - gain.lifetimes == pytest.approx(half(22, 5) / half(11, 5))
    assert 1 - (gain.evaluations or 0) == pytest.approx(half(11, 5, 0.75) / half(11, 5))
    assert 1 - (gain.same_cost or 0) == pytest.approx(half(13.75, 5) / half(11, 5))
    assert 1 - (gain.experts or 0) == pytest.approx(half(11, 10) / half(11, 5))
    assert narrowed(11, Design()).experts is None
    # With 3 or 4 lifetimes the quantile of the verdict counts.
    few, many = (group_interval_of(0, [(1 / lives, lives - 1.0), *[(1 / 5 / 4, 4.0)] * 2]).half for lives in (4, 8))
    assert 1 - narrowed(4, design).lifetimes == pytest.approx(many / few)


def test_a_pilot_foretells_how_much_twice_the_evaluations_narrow_the_interval() -> None:
    learner = IdealLearner(noise=0.3, forgetting=0.2, spread=0.15)
    few, many = (simulated(learner, 200, evaluations) for evaluations in (20, 40))
    gain = pilot_metrics(few, KEEPS, 11)[PM].narrower
    assert gain is not None
    assert gain.evaluations is not None
    few_sd, many_sd = (np.std([one.value(PM) or np.nan for one in some], ddof=1) for some in (few, many))
    assert gain.evaluations == pytest.approx(1 - many_sd / few_sd, abs=0.1)
    assert 0.1 < gain.evaluations < gain.lifetimes
    assert (gain.same_cost or 0) < gain.lifetimes


@pytest.mark.parametrize("question", ["paired", "unpaired"])
def test_a_difference_of_two_learners_has_the_noise_of_both(question: Question) -> None:
    first = simulated(IdealLearner(noise=0.3, forgetting=0.2), 80)
    ours, theirs = first[:40], [altered(one, seed=pair.seed) for one, pair in zip(first[40:], first, strict=False)]
    gain = pilot_metrics(ours, KEEPS, 11, Design(question=question), other=theirs)[PM].narrower
    # All spread is noise, so twice the evaluations narrow an interval as twice the lifetimes do, but for the quantile.
    assert gain is not None
    assert gain.evaluations == pytest.approx(1 - 0.5**0.5, abs=0.1)
