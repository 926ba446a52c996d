"""One metric at all its sites: roles, reasons, flags, and formulas that misbehave."""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from perdure.curves.experts import average_expert
from perdure.curves.model import Curve, Curves, Expert, ExpertComparison, Preparation
from perdure.curves.prepare import curves
from perdure.errors import MetricError
from perdure.metrics import METRICS
from perdure.metrics.arithmetic import NoValue, Value
from perdure.metrics.contract import expert_of, lifetime_of, random_blocks
from perdure.metrics.declare import Metric, metric
from perdure.metrics.measure import Context, SiteCache, experts_at, measure
from perdure.metrics.presets import PRESETS
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario
from perdure.scenario.sites import Site

LIFE = curves(
    lifetime_of([Block("learn", "a", 4), Block("learn", "b", 4), Block("learn", "a", 4)]),
    Preparation(scale="none", window="none"),
)


def declared(
    formula: Callable[..., float | Value], where: Callable[..., Iterator[Site]] = sites.each_learning_block
) -> Metric:
    formula.__doc__ = formula.__doc__ or "A number."
    return metric(where, register=False)(formula)


def test_a_curve_role_is_stitched_and_a_tuple_role_is_one_per_block() -> None:
    def lengths(learned: Curve) -> float:
        return len(learned)

    def counts(learned: tuple[Curve, ...]) -> float:
        return len(learned)

    assert measure(declared(lengths, sites.each_task_learned), LIFE).by == {"a": (8.0,), "b": (4.0,)}
    assert measure(declared(counts, sites.each_task_learned), LIFE).by == {"a": (2.0,), "b": (1.0,)}


def test_a_formula_may_ask_for_the_whole_life_and_the_site() -> None:
    def place(life: Curves, at: Site) -> float:
        return len(life.values) + at.blocks["learned"][0]

    assert measure(declared(place), LIFE).by == {"a": (12.0, 14.0), "b": (13.0,)}


def test_flags_say_how_many_values_carry_them() -> None:
    def flagged(at: Site) -> Value:
        return Value(1.0, ("late",) if at.blocks["learned"][0] else ())

    assert measure(declared(flagged), LIFE).flags == ("late (2 of 3 values)",)


def test_a_site_without_a_value_is_skipped_and_counted() -> None:
    def sometimes(at: Site) -> float:
        if at.key == "b":
            raise NoValue("b is odd")
        return 2.0

    found = measure(declared(sometimes), LIFE)
    assert (found.value, found.by) == (2.0, {"a": (2.0, 2.0), "b": ()})
    assert found.flags == ("1 of 3 left out: b: b is odd",)


def test_no_site_says_what_the_scenario_needs() -> None:
    assert measure(METRICS.get("forward_transfer"), LIFE).why == f"needs {METRICS.get('forward_transfer').needs}"


def divides(learned: Curve) -> float:
    """A number."""
    return 1 / (len(learned) - 4)


def not_a_number(learned: Curve) -> float:
    """A number."""
    return float("nan") * len(learned)


def infinite(learned: Curve) -> float:
    """A number."""
    return float(np.float64(len(learned)) / np.float64(0))


def words(learned: Curve) -> float:
    """A number."""
    return f"{learned}"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (divides, "divides raised ZeroDivisionError: division by zero (at a)"),
        (not_a_number, "not_a_number returned nan (at a)"),
        (infinite, "infinite returned inf (at a)"),
        (words, "words returned a str; expected a number"),
    ],
)
def test_a_formula_that_misbehaves_is_named_and_gives_nothing(formula: Callable[..., float], said: str) -> None:
    found = measure(declared(formula), LIFE)
    assert found.value is None
    assert said in str(found.why)
    assert found.by == {"a": (), "b": ()}


def test_sites_that_raise_are_named() -> None:
    def broken(scenario: Scenario) -> Iterator[Site]:
        """something"""
        if scenario.blocks:
            raise RuntimeError(scenario.name)
        yield Site("a", {})

    assert "the sites of divides raised RuntimeError: life" in str(measure(declared(divides, broken), LIFE).why)


def test_a_role_that_the_sites_lack_is_named() -> None:
    def lost(before: Curve) -> float:
        return before.mean

    assert "its sites have no role 'before' (they have: learned)" in str(measure(declared(lost), LIFE).why)


def test_sites_that_name_no_block_are_named_and_nothing_else_fails() -> None:
    def beyond(scenario: Scenario) -> Iterator[Site]:
        """a block that is not there"""
        yield Site("a", {"learned": (len(scenario.blocks) + 5,)})

    assert "divides failed: IndexError" in str(measure(declared(divides, beyond), LIFE).why)


def test_a_combination_that_fails_is_named() -> None:
    def level(learned: Curve) -> float:
        """A number."""
        return learned.mean

    one = metric(sites.each_learning_block, combine=lambda values, aggregate: 1 / 0, register=False)(level)
    assert measure(one, LIFE).why == "level failed: ZeroDivisionError: division by zero"


def test_a_role_of_an_unknown_type_is_named() -> None:
    def odd(learned: int) -> float:
        return learned

    assert "the role 'learned' is annotated <class 'int'>" in str(measure(declared(odd), LIFE).why)


def test_annotations_that_cannot_be_resolved_are_an_error_of_the_metric() -> None:
    def lost(learned: Nowhere) -> float:  # type: ignore[name-defined]  # noqa: F821
        return float(learned)

    with pytest.raises(MetricError, match="annotations of its formula cannot be resolved"):
        _ = declared(lost).roles
    assert "annotations of its formula cannot be resolved" in str(measure(declared(lost), LIFE).why)


def test_experts_come_one_by_one_or_all_at_once() -> None:
    experts = [expert_of("a", np.random.default_rng(seed)) for seed in range(3)]
    made = curves(lifetime_of([Block("learn", "a", 4)]), Preparation(scale="none"), experts)

    def each(learned: Curve, expert: Curve) -> float:
        return len(learned) * len(expert)

    def together(learned: Curve, experts: tuple[Expert, ...]) -> float:
        return len(learned) * len(experts)

    assert len(measure(declared(each, sites.each_task_learned), made).by["a"]) == 3
    assert measure(declared(together, sites.each_task_learned), made).by == {"a": (12.0,)}


def test_experts_averaged_over_time_are_one_cut_to_the_shortest() -> None:
    experts = [
        lifetime_of([Block("learn", "a", len(values))], values=[values], name="e")
        for values in ([1.0, 3.0], [3.0, 5.0, 9.0])
    ]
    made = curves(lifetime_of([Block("learn", "a", 2)]), Preparation(scale="none"), experts)
    assert average_expert(made.experts["a"]).curve.values.tolist() == [2.0, 4.0]
    [site] = sites.each_task_learned(made.scenario)
    assert len(experts_at(made, site, Context(expert_average="time"))) == 1
    assert len(experts_at(made, site, Context())) == 2


def test_the_raw_values_of_experts_averaged_over_time_are_not_smoothed() -> None:
    lived = [np.random.default_rng(seed).normal(5, 1, 40) for seed in range(2)]
    experts = [lifetime_of([Block("learn", "a", 40)], values=[one], name="e") for one in lived]
    made = curves(lifetime_of([Block("learn", "a", 40)]), Preparation(scale="none"), experts)
    together = average_expert(made.experts["a"]).curve
    np.testing.assert_allclose(together.raw, np.mean(lived, axis=0))
    assert np.std(together.values) < np.std(together.raw) / 2


def test_metrics_that_share_sites_walk_the_scenario_once() -> None:
    walks = []

    def counted(scenario: Scenario) -> Iterator[Site]:
        """a learning block"""
        walks.append(scenario)
        yield from sites.each_learning_block(scenario)

    shared = SiteCache(LIFE.scenario)

    def size(learned: Curve) -> float:
        return len(learned)

    def level(learned: Curve) -> float:
        return learned.mean

    measure(declared(size, counted), LIFE, sites=shared)
    measure(declared(level, counted), LIFE, sites=shared)
    assert len(walks) == 1


EVERY = {(preset.name, name): one for preset in PRESETS for name, one in preset.metrics.items()}


@pytest.mark.parametrize("seed", range(200))
def test_a_metric_gives_a_result_exactly_where_its_sites_and_experts_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    life = lifetime_of(random_blocks(rng), rng)
    experts = [expert_of(task.label, rng) for task in life.scenario.tasks if rng.random() < 0.6]
    made = {preset.name: curves(life, preset.prep, experts) for preset in PRESETS}
    walked = {name: SiteCache(one.scenario) for name, one in made.items()}
    for (preset, name), one in EVERY.items():
        there = [
            site for site in one.sites(life.scenario) if not one.expert or experts_at(made[preset], site, Context())
        ]
        found = measure(one, made[preset], sites=walked[preset])
        assert set(found.by) == {sites.key_text(site.key) for site in there}, (preset, name)
        assert (found.value is None) == (found.why is not None)
        assert not re.search(" raised | returned | failed: ", str(found.why)), (preset, name, found.why)


def _lives_with_experts() -> Curves:
    blocks = [Block("learn", "a", 20), Block("learn", "b", 10)]
    rng = np.random.default_rng(3)
    experts = [lifetime_of([Block("learn", task, 15)], rng, name=f"{task} {at}") for task in "ab" for at in range(2)]
    return curves(lifetime_of(blocks, rng), None, experts)


def test_on_a_log_scale_logarithms_are_averaged_and_transformed_back() -> None:
    def level(expert: ExpertComparison) -> float:
        """A number."""
        return expert.mean

    one = metric(sites.each_task_learned, scale="log", register=False)(level)
    found = measure(one, _lives_with_experts())
    logs = [np.mean(np.log(values)) for values in found.by.values()]
    assert found.value == pytest.approx(float(np.exp(np.mean(logs))))


@pytest.mark.parametrize("number", [0.0, -1.0])
def test_what_has_no_logarithm_is_named(number: float) -> None:
    def odd(expert: ExpertComparison) -> float:
        """A number."""
        return number * expert.length

    one = metric(sites.each_task_learned, scale="log", register=False)(odd)
    assert "has no logarithm" in str(measure(one, _lives_with_experts()).why)


def test_values_beside_experts_say_which_and_others_nothing() -> None:
    def shorter(expert: ExpertComparison) -> float:
        """A number."""
        if expert.expert.startswith("a 0"):
            raise NoValue("not this one")
        return expert.length

    one = metric(sites.each_task_learned, register=False)(shorter)
    found = measure(one, _lives_with_experts())
    assert {task: [mark.partition("@")[0] for mark in marks] for task, marks in found.experts.items()} == {
        "a": ["a 1"],
        "b": ["b 0", "b 1"],
    }
    assert found.by == {"a": (15.0,), "b": (10.0, 10.0)}
    assert measure(METRICS.get("mean_learning_performance"), _lives_with_experts()).experts == {}


def test_joined_curves_are_of_a_task() -> None:
    def whole(expert: ExpertComparison) -> float:
        """A number."""
        return expert.mean

    one = metric(sites.timed_learning, register=False)(whole)
    assert "one joined curve per task" in str(measure(one, _lives_with_experts()).why)


def test_a_combination_may_say_something_of_the_value() -> None:
    def level(learned: Curve) -> float:
        """A number."""
        return learned.mean

    def remarked(values: Sequence[Sequence[float]], _aggregate: object) -> Value:
        return Value(float(len(values)), ("counted, not averaged",))

    one = metric(sites.each_task_learned, combine=remarked, register=False)(level)
    found = measure(one, _lives_with_experts())
    assert (found.value, found.flags) == (2.0, ("counted, not averaged",))
