"""The decision: held to an oracle written from the definitions, and to what it must say."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats  # type: ignore[import-untyped]
from tests.metrics import new_definitions as oracle
from tests.stats.lives import altered, beside_experts, lives, normal

from perdure.metrics.declare import Threshold, VerdictWords
from perdure.metrics.score import Score
from perdure.stats.decide import EQUAL, decide, estimates
from perdure.stats.model import Decision
from perdure.stats.power import lifetimes_exact

PM = Threshold(0.0, 5.0, headline="log")
RATIO = Threshold(1.0, headline="log", scale="log")
RP = replace(RATIO, expert=True)


def kept(values: list[float], bar: Threshold = PM, level: float = 0.95, **facts: Any) -> Decision:
    return decide(lives(values, **facts), "performance_maintenance", bar, level)


# --- against the oracle ---------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.floats(-9, 3), st.floats(0.1, 8), st.integers(3, 20))
@settings(max_examples=120, deadline=None)
def test_maintenance_is_decided_as_defined(seed: int, mean: float, sd: float, n: int) -> None:
    values = np.array(normal(mean, sd, n, seed))
    found, expected = kept(list(values)), oracle.of_lives(values)
    assert (found.low, found.high) == pytest.approx((float(expected.low), float(expected.high)), rel=1e-9)
    assert found.word == str(oracle.word_of_maintenance(expected))
    code = {"met": 1, "not met": -1, "undecided": 0}
    assert code[str(found.verdict)] == int(oracle.verdict(expected, margin=5.0, rounding=1e-7))
    assert found.against == (0.0 if found.word in ("gains", "loses") else -5.0)
    assert found.p == pytest.approx(float(expected.p(found.against or 0.0)), rel=1e-9)
    assert found.p == pytest.approx(stats.ttest_1samp(values, found.against).pvalue, rel=1e-9)


@given(st.integers(0, 10_000), st.floats(-0.3, 0.3), st.integers(3, 20))
@settings(max_examples=60, deadline=None)
def test_ratios_are_decided_on_logarithms_and_shown_as_ratios(seed: int, mean: float, n: int) -> None:
    logs = np.array(normal(mean, 0.2, n, seed))
    given_lives = lives([float(one) for one in np.exp(logs)], "forward_transfer")
    found, expected = decide(given_lives, "forward_transfer", RATIO), oracle.of_lives(logs)
    assert found.mean == pytest.approx(math.exp(expected.mean))
    assert (found.low, found.high) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert found.p == pytest.approx(float(expected.p()), rel=1e-6)
    assert found.word == {1: "helps", -1: "harms", 0: "undecided"}[int(oracle.verdict(expected))]
    upside_down = decide(lives([float(one) for one in np.exp(-logs)], "forward_transfer"), "forward_transfer", RATIO)
    assert upside_down.p == pytest.approx(found.p)  # 2 and 1/2 weigh the same


@given(st.integers(0, 10_000), st.integers(3, 12), st.integers(3, 7), st.integers(3, 7), st.floats(-0.3, 0.3))
@settings(max_examples=60, deadline=None)
def test_experts_are_a_sample_as_defined(seed: int, n: int, k: int, other_k: int, mean: float) -> None:
    rng = np.random.default_rng(seed)
    tables = {
        task: mean + rng.normal(0, 0.1, (n, 1)) + rng.normal(0, 0.1, (1, count)) + rng.normal(0, 0.02, (n, count))
        for task, count in (("a", k), ("b", other_k))
    }
    found = decide(beside_experts(tables), "relative_performance", RP)
    expected = oracle.against_experts(list(tables.values()))
    assert (found.low, found.high) == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert found.df == (None if n < 5 else pytest.approx(float(expected.freedom)))
    assert found.p == pytest.approx(float(expected.p()), rel=1e-6)
    assert found.word == {1: "more", -1: "less", 0: "undecided"}[int(oracle.verdict(expected))]
    assert ("few experts" in found.remarks) == (min(k, other_k) < 5)


# --- experts --------------------------------------------------------------------------------------


def drawn(n: int, k: int, mean: float = 0.5, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {task: mean + rng.normal(0, 0.01, (n, k)) for task in "ab"}


@pytest.mark.parametrize("k", [1, 2])
def test_one_or_two_shared_experts_give_a_value_and_no_verdict(k: int) -> None:
    found = decide(beside_experts(drawn(11, k)), "relative_performance", RP)
    assert found.mean == pytest.approx(math.exp(0.5), rel=0.05)
    assert (found.verdict, found.word, found.p) == ("undecided", "undecided", None)
    assert "undecided: too few experts" in found.notes


def test_lives_with_experts_of_their_own_are_a_plain_sample_whatever_their_number() -> None:
    tables = drawn(6, 1)
    found = decide(beside_experts(tables, experts=lambda at, _: (f"e{at}",)), "relative_performance", RP)
    values = np.mean([table[:, 0] for table in tables.values()], axis=0)
    assert found.p == pytest.approx(stats.ttest_1samp(values, 0).pvalue, rel=1e-6)
    assert found.word == "more"


def test_experts_that_some_lives_share_decide_nothing() -> None:
    made = beside_experts(drawn(6, 3), experts=lambda at, _: tuple(f"e{at // 2}-{one}" for one in range(3)))
    assert "undecided: experts partly shared" in decide(made, "relative_performance", RP).notes


def test_experts_that_some_lives_have_twice_decide_nothing() -> None:
    made = list(beside_experts(drawn(6, 3), experts=lambda *_: "pqr"))
    made[0] = beside_experts(drawn(1, 6), experts=lambda *_: "pqrpqr")[0]
    assert "undecided: experts partly shared" in decide(made, "relative_performance", RP).notes


def test_the_order_in_which_experts_are_listed_changes_nothing() -> None:
    tables = drawn(6, 4, 0.02, 3)
    named = decide(beside_experts(tables, experts=lambda *_: ("p", "q", "r", "s")), "relative_performance", RP)
    turned = {task: np.where(np.arange(6)[:, None] % 2, table, table[:, ::-1]) for task, table in tables.items()}
    names = ("p", "q", "r", "s")
    again = decide(
        beside_experts(turned, experts=lambda at, _: names if at % 2 else names[::-1]), "relative_performance", RP
    )
    assert again.p == pytest.approx(named.p)


def test_a_life_that_lacks_a_tasks_experts_is_left_out_and_counted() -> None:
    made = list(beside_experts(drawn(6, 3)))
    lacking = beside_experts({"a": drawn(1, 3)["a"]})[0]
    made[2] = altered(lacking, id="lacking")
    found = decide(made, "relative_performance", RP)
    assert "1 left out: no experts of every task" in found.notes
    assert found.df is not None


def test_tables_hold_no_experts_and_other_averages_are_no_sample() -> None:
    plain = lives([1.2, 1.3, 1.4, 1.25], "relative_performance")
    assert "undecided: experts not in the table" in decide(plain, "relative_performance", RP).notes
    for how, said in (({"expert_average": "time"}, "experts averaged first"), ({"aggregate": "median"}, "medians")):
        made = decide(beside_experts(drawn(6, 5), how=json.dumps(how)), "relative_performance", RP)
        assert said in made.notes[0]
        assert (made.verdict, made.p) == ("undecided", None)
        assert made.low is not None


def test_what_looks_at_lives_alone_is_not_given_where_the_choice_of_experts_moves_them_all() -> None:
    """A null learner beside weak experts: every life lies above 1, and says nothing that the others do not."""
    rng = np.random.default_rng(1)
    tables = {"a": rng.normal(0, 0.05, (12, 1)) + np.array([0.5, 0.3, 0.0, -0.1]) + rng.normal(0, 0.01, (12, 4))}
    found = estimates(beside_experts(tables), {"relative_performance": RP})["relative_performance"]
    assert (found.verdict, found.above_count) == ("undecided", 12)
    assert (found.sign_p, found.rank_p) == (None, None)
    assert not any("weigh" in note for note in found.notes)
    assert found.iqm is not None
    assert (found.iqm.low, found.iqm.high) == (None, None)
    own = beside_experts(tables, experts=lambda at, _: [f"e{at}-{one}" for one in range(4)])
    plain = estimates(own, {"relative_performance": RP})["relative_performance"]
    assert plain.sign_p == pytest.approx(2 * 0.5**12)
    assert plain.iqm is not None
    assert plain.iqm.low is not None


def test_an_interval_that_takes_experts_as_given_says_so() -> None:
    made = lives([1.2, 1.3, 1.1], "relative_reward_final")
    about = "the interval does not include variation between experts"
    assert about in decide(lives([1.2, 1.3, 1.4], "relative_performance"), "relative_performance", RP).notes
    assert about in decide(made, "relative_reward_final", Threshold(expert=True)).notes
    assert about not in decide(made, "relative_reward_final", Threshold()).notes


def test_a_verdict_that_rests_on_experts_being_alike_says_so() -> None:
    rng = np.random.default_rng(1)
    tables = {"a": 0.10 + rng.normal(0, 0.12, (12, 1)) + rng.normal(0, 1e-4, (12, 3))}
    found = decide(beside_experts(tables), "relative_performance", RP)
    assert found.word == "more"
    assert "this verdict relies on the experts varying less than the lifetimes; run more experts" in found.notes


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "word", "verdict"),
    [(4, "gains", "met"), (0, "keeps", "met"), (-3, "keeps", "met"), (-9, "forgets", "not met")],
)
def test_maintenance_has_words_of_its_own(mean: float, word: str, verdict: str) -> None:
    found = kept([mean + one for one in (-0.5, -0.2, 0.0, 0.2, 0.5)])
    assert (found.word, found.verdict) == (word, verdict)
    if mean == 0:
        assert str(found.says).endswith("a loss of 5 points or more is ruled out")
        assert found.p is not None
        assert (found.against, found.p < 0.001) == (-5.0, True)
    assert ("loses a little, less than 5 points" in str(found.says)) == (mean == -3)


def test_a_group_that_keeps_although_some_collapsed_says_how_many_and_not_that_none_did() -> None:
    found = kept([0.0, 0.5, -0.5] * 13 + [-60.0])
    assert found.word == "keeps"
    assert "1 of 40 lifetimes lost as much" in str(found.says)
    assert "collapse" not in str(found.says)


def test_what_loses_across_the_margin_is_undecided_and_says_what_would_decide() -> None:
    found = kept([-3.0, -8.0, -2.0, -7.0, -4.5])
    assert (found.word, found.verdict, found.against) == ("loses", "undecided", 0.0)
    assert "whether it is 5 or more is undecided" in str(found.says)
    wide = kept([-9.0, 8.0, 3.0, -7.0, 2.5])
    assert (wide.word, wide.against) == ("undecided", -5.0)
    count = wide.lifetimes_for_90_percent
    assert count is not None
    assert f"a new group of {count} lifetimes would decide it with a 90 % chance" in str(wide.says)


@given(st.integers(0, 500), st.floats(-4.5, 0), st.floats(2, 40))
@settings(max_examples=30, deadline=None)
def test_the_new_group_is_the_one_that_plan_names_for_the_estimated_effect(seed: int, mean: float, sd: float) -> None:
    found = kept(normal(mean, sd, 6, seed))
    if found.verdict != "undecided":
        return
    assert found.mean is not None
    assert found.sd is not None
    planned = lifetimes_exact(abs(found.mean + 5) / found.sd)
    assert found.lifetimes_for_90_percent == (planned if planned is not None and planned <= 1000 else None)
    assert ("not within reach" in str(found.says)) == (found.lifetimes_for_90_percent is None)


@pytest.mark.parametrize("each", [3, 8])
def test_new_groups_of_that_number_with_new_experts_decide_nine_times_in_ten(each: int) -> None:
    rng, mean, sd, spread = np.random.default_rng(each), 0.2, 0.3, 0.05
    own, experts = (np.linspace(-1, 1, count) for count in (8, each))
    own, experts = sd * own / own.std(ddof=1), spread * experts / experts.std(ddof=1)
    found = decide(beside_experts(dict.fromkeys("ab", mean + own[:, None] + experts)), "relative_performance", RP)
    assert found.verdict == "undecided"
    count = found.lifetimes_for_90_percent
    assert count is not None

    def again() -> tuple[Score, ...]:
        lifetimes = rng.normal(0, sd, (count, 1))
        return beside_experts({task: mean + lifetimes + rng.normal(0, spread, (1, each)) for task in "ab"})

    groups = 300
    decided = sum(decide(again(), "relative_performance", RP).verdict != "undecided" for _ in range(groups))
    assert 0.84 < decided / groups < 0.96


@pytest.mark.parametrize(("n", "first"), [(5, True), (10, True), (11, False), (30, False)])
@pytest.mark.parametrize(
    ("metric", "bar", "value", "word"),
    [
        ("performance_maintenance", PM, 0.0, "keeps"),
        ("performance_maintenance", PM, 9.0, "gains"),
        ("forward_transfer", RATIO, 1.5, "helps"),
        ("relative_performance", RATIO, 1.5, "more"),
        ("sample_efficiency", RATIO, 1.5, "faster"),
    ],
)
def test_favourable_words_name_the_share_that_may_collapse_first_if_lifetimes_are_few(
    n: int, first: bool, metric: str, bar: Threshold, value: float, word: str
) -> None:
    found = decide(lives([value + 0.05 * (-1) ** at for at in range(n)], metric), metric, bar)
    share = f"{n} lifetimes cannot rule out that up to {round(100 * (1 - 0.05 ** (1 / n)))} % collapse"
    assert found.word == word
    assert share in str(found.says)
    assert str(found.says).startswith(share) == first
    unfavourable = decide(lives([1 / (value + 9) - 9 * (bar is PM)] * n, metric), metric, bar)
    assert "collapse" not in str(unfavourable.says)


def test_a_margin_of_0_asks_the_papers_question() -> None:
    values = [-1.0, -1.2, -0.9, -1.1]
    assert kept(values).word == "keeps"
    assert kept(values, Threshold(0.0, 0.0, headline="log", margin_given=True)).word == "forgets"


def test_the_margin_follows_the_scale() -> None:
    values = [-0.01, -0.02, 0.0, -0.015]
    bwt = Threshold(0.0, 5.0, headline="matrix")
    for unit, factor in (("fraction", 1), ("percent", 100)):
        made = decide(lives([factor * one for one in values], "bwt", unit=unit), "bwt", bwt)
        assert (made.word, made.margin) == ("keeps", 0.05 * factor)
    raw = decide(lives(values, "bwt", unit="raw"), "bwt", bwt)
    assert raw.margin == 0
    assert any("no scale of 100" in note for note in raw.notes)
    none = json.dumps({"scale": "none"})
    assert kept(values, how=none).margin == 0
    bounds = {"a": (0.0, 10.0), "b": (0.0, 30.0)}
    assert kept(values, how=none, tasks=("a", "b"), bounds=bounds).margin == pytest.approx(1.0)  # 5 % of 20
    half = kept(values, how=none, tasks=("a", "b"), bounds={"a": (0.0, 10.0)})
    assert half.margin == 0
    assert any("bounds are not known" in note for note in half.notes)


def test_a_log_is_not_decided_by_a_matrixs_headline_nor_by_what_is_none() -> None:
    assert decide(lives([1.0, 2.0, 3.0], "bwt"), "bwt", Threshold(0.0, 5.0, headline="matrix")).verdict is None
    plain = decide(lives([1.0, 2.0, 3.0]), "performance_maintenance", Threshold(0.0))
    assert (plain.verdict, plain.word, plain.p) == (None, None, None)
    assert plain.low is not None


# --- few, equal, rounded --------------------------------------------------------------------------


def test_two_lifetimes_are_values_only() -> None:
    found = kept([1.0, 2.0])
    assert (found.mean, found.low, found.p, found.word, found.verdict) == (1.5, None, None, None, "undecided")


@pytest.mark.parametrize(("value", "word"), [(0.5, "gains"), (0.0, "keeps"), (-3.0, "keeps"), (-7.0, "forgets")])
def test_where_all_agree_the_constant_decides_untested(value: float, word: str) -> None:
    found = kept([value] * 4)
    assert (found.word, found.p, found.t) == (word, None, None)
    assert EQUAL in found.remarks


@pytest.mark.parametrize("margin", [0.0, 0.1, 5.0])
def test_a_constant_loss_of_the_margin_itself_is_neither_kept_nor_forgotten(margin: float) -> None:
    bar = replace(PM, margin=margin, margin_given=True)
    on = kept([-margin] * 4, bar)
    assert (on.sd, on.verdict, on.word) == (0.0, "undecided", "loses" if margin else "undecided")
    assert kept([-margin + 1e-6] * 4, bar).verdict == "met"
    assert kept([-margin - 1e-6] * 4, bar).verdict == "not met"


def test_a_lifetime_at_the_threshold_lies_beyond_it_only_where_that_is_inclusive() -> None:
    values, bar = [0.0, 0.0, 1.0, -1.0], replace(PM, margin=0.0)
    assert [kept(values, replace(bar, inclusive=one)).above_count for one in (True, False)] == [3, 1]


def test_differences_at_rounding_level_are_none() -> None:
    still = kept([7e-15] * 3 + [0.0] * 3)
    assert (still.word, still.sd, still.p) == ("keeps", 0.0, None)  # and not: gains
    assert EQUAL in still.remarks
    ratios = decide(lives([1 + 1e-13, 1 + 2e-13, 1.0, 1.0], "forward_transfer"), "forward_transfer", RATIO)
    assert ratios.word == "undecided"
    assert decide(lives([1.0] * 4, "forward_transfer"), "forward_transfer", RATIO).verdict == "undecided"


def test_a_few_lifetimes_that_weigh_much_are_remarked_on() -> None:
    found = decide(lives([1.3] * 9 + [0.001], "forward_transfer"), "forward_transfer", RATIO)
    assert found.verdict == "undecided"
    assert any("say otherwise" in note or "says otherwise" in note for note in found.notes)


@given(st.lists(st.floats(-40, 40), min_size=3, max_size=20), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
@settings(max_examples=100, deadline=None)
def test_verdict_interval_and_p_never_disagree(values: list[float], level: float) -> None:
    found = kept(values, level=level)
    if found.p is None:
        return
    assert found.low is not None
    assert found.high is not None
    assert found.against is not None
    outside = not found.low <= found.against <= found.high
    if min(abs(found.low - found.against), abs(found.high - found.against)) > 1e-6:
        assert outside == (found.p < 1 - level)
    assert (found.verdict == "met") == (found.low > -5 + 1e-7)


# --- as papers do ---------------------------------------------------------------------------------


@given(st.integers(0, 1000), st.floats(0.8, 1.3))
@settings(max_examples=40, deadline=None)
def test_other_presets_decide_by_a_one_tailed_t_and_the_interval_that_agrees(seed: int, mean: float) -> None:
    values = normal(mean, 0.3, 8, seed)
    found = decide(lives(values, "forward_transfer", preset="baker-2023"), "forward_transfer", RATIO)
    theirs = stats.ttest_1samp(values, 1.0, alternative="greater")
    assert (found.mean, found.p, found.tails) == pytest.approx((np.mean(values), theirs.pvalue, "one"))
    interval = stats.ttest_1samp(values, 1.0).confidence_interval(0.90)
    assert (found.low, found.high, found.level) == pytest.approx((interval.low, interval.high, 0.90))
    assert (found.verdict == "met") == (theirs.pvalue < 0.05)
    assert any("baker-2023" in flag for flag in found.remarks)


def test_other_presets_know_no_margin_unless_it_is_set_and_experts_are_constants() -> None:
    values = [-1.0, -1.2, -0.9, -1.1]
    assert kept(values, preset="new-2022").word == "forgets"
    assert kept(values, Threshold(0.0, 5.0, headline="log", margin_given=True), preset="new-2022").word == "keeps"
    one_expert = beside_experts(drawn(6, 1), preset="l2metrics-3.1")
    assert decide(one_expert, "relative_performance", RP).verdict == "met"


@pytest.mark.parametrize(("sign", "word"), [(1, "bolder"), (-1, "shyer")])
def test_a_metric_of_ones_own_is_judged_in_the_words_of_its_declaration(sign: int, word: str) -> None:
    bar = Threshold(0.0, headline="log", words=VerdictWords("bolder", "shyer", "it", "gets {}", "than it was"))
    made = decide(lives([sign * one for one in (3.0, 4.0, 5.0, 4.0)], "daring"), "daring", bar, 0.95)
    assert (made.word, made.says) == (word, f"it gets {word} than it was")


@pytest.mark.parametrize(
    ("bar", "value", "beyond"),
    [
        (Threshold(1.0, headline="log"), 1.0, 0),
        (Threshold(1.0, inclusive=True, headline="log"), 1.0, 2),
        (Threshold(1.0, 0.1, headline="log"), 0.95, 2),
        (Threshold(1.0, headline="log"), 1.1, 2),
        (Threshold(1.0, better="lower", headline="log"), 1.1, 0),
        (Threshold(1.0, better="lower", headline="log"), 0.9, 2),
        (Threshold(1.0, 0.1, better="lower", headline="log"), 1.05, 2),
    ],
)
def test_a_lifetime_counts_where_it_lies_beyond_the_threshold_less_its_margin(
    bar: Threshold, value: float, beyond: int
) -> None:
    assert kept([value, value], bar).above_count == beyond
