"""Declaring metrics, choosing them, and loading a user's own."""

# ruff: noqa: D403 - the docstrings of sites complete "the scenario needs …"

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from perdure.curves.model import Curve
from perdure.errors import MetricError, PerdureError, UnknownNameError
from perdure.metrics import METRICS
from perdure.metrics.contract import check_metric
from perdure.metrics.declare import Metric, declaring, metric, metrics_in_file
from perdure.metrics.presets import PRESETS, chosen_metrics, headline
from perdure.scenario import sites
from perdure.scenario.model import Block, Scenario, Task

DEFINITIONS = tuple(
    """performance_maintenance performance_maintenance_terminal forward_transfer forward_transfer_contrast
    backward_transfer backward_transfer_contrast relative_performance sample_efficiency plasticity twin_gain twin_cost
    performance_recovery recovery_time droop recovery_rate cumulative_gain learn_burn mean_learning_performance
    mean_evaluation_performance terminal_performance saturation experiences_to_saturation normalized_integral
    cost_overhead relative_reward_final relative_reward_seen relative_reward_unseen average_accuracy
    learning_accuracy bwt fwt above_chance forgetting forgetting_strict intransigence memory_stability
    average_incremental_accuracy omega_base omega_new omega_all dr_accuracy dr_bwt dr_remembering dr_fwt
    min_accuracy worst_case_accuracy cora_forgetting cora_zero_shot_transfer libero_nbt libero_auc
    cw_forward_transfer""".split()  # noqa: SIM905
)
OF_2019 = tuple(
    """time_to_saturation maintenance_on_test maintenance_on_test_time maintenance_on_test_mean ste_relative global_perf
    ste_forward_transfer ste_reverse_transfer time_to_learn_gain transfer_of_recovery transfer_of_maintenance
    transfer_of_continual_learning""".split()  # noqa: SIM905
)

MINE = '''
from perdure.curves.model import Curve
from perdure.metrics import metric
from perdure.scenario import sites


@metric(sites.each_learning_block, unit="points", threshold=3, better="lower")
def spread(learned: Curve) -> float:
    """How far the values of a learning block lie apart."""
    return float(learned.values.max() - learned.values.min())
'''


def level(learned: Curve) -> float:
    """The level of a block."""
    return learned.mean


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "my_metrics.py"
    path.write_text(MINE)
    return path


def test_every_metric_of_the_definitions_is_registered() -> None:
    assert {*DEFINITIONS, *OF_2019} <= set(METRICS.names())


def test_the_standard_preset_holds_the_definitions_and_nothing_of_2019() -> None:
    assert set(DEFINITIONS) <= PRESETS.get("standard").metrics.keys()
    assert PRESETS.get("standard").metrics.keys().isdisjoint(OF_2019)


def test_a_declaration_knows_its_name_its_sentence_and_what_it_needs() -> None:
    one = metric(sites.each_learning_block, register=False)(level)
    assert (one.name, one.summary, one.needs) == ("level", "The level of a block.", "a learning block")
    assert not one.expert


def test_a_formula_without_a_sentence_is_refused() -> None:
    with pytest.raises(MetricError, match="metric '<lambda>' has no docstring"):
        metric(sites.each_learning_block, register=False)(lambda learned: learned)


def test_a_name_is_taken_once() -> None:
    with pytest.raises(PerdureError, match="'saturation' is registered twice"):
        metric(sites.each_learning_block, name="saturation")(level)


def test_what_is_declared_in_a_scope_stays_there() -> None:
    with declaring() as found:
        metric(sites.each_learning_block)(level)
        with pytest.raises(MetricError, match="'level' is declared twice"):
            metric(sites.each_learning_block)(level)
    assert list(found) == ["level"]
    assert "level" not in METRICS.names()


def test_thresholds_and_conditions_are_those_of_the_definitions() -> None:
    assert {name: METRICS.get(name).threshold for name in DEFINITIONS[:8]} == dict(
        zip(DEFINITIONS[:8], [0, 0, 1, 0, 1, 0, 1, 1], strict=True)
    )
    assert METRICS.get("performance_maintenance").condition == "Continuous Learning"
    assert METRICS.get("forward_transfer").condition == "Transfer and Adaptation"
    assert METRICS.get("relative_performance").condition == "Scalability"
    assert PRESETS.get("new-2022").metrics["relative_performance"].condition == "Transfer and Adaptation"
    assert METRICS.get("learn_burn").threshold is None
    assert METRICS.get("recovery_time").better == "lower"


def test_a_file_of_metrics_can_be_loaded_again_and_again(mine: Path) -> None:
    assert list(metrics_in_file(mine)) == ["spread"]
    assert list(metrics_in_file(mine)) == ["spread"]
    assert "spread" not in METRICS.names()
    check_metric(metrics_in_file(mine)["spread"])


def test_a_file_adds_to_the_preset_and_ids_restrict_it(mine: Path) -> None:
    standard = PRESETS.get("standard")
    assert list(chosen_metrics(standard, [str(mine)])) == [*standard.metrics, "spread"]
    assert list(chosen_metrics(standard, ["saturation", str(mine)])) == ["saturation", "spread"]


def test_an_id_is_taken_from_the_preset_before_the_registry() -> None:
    theirs = PRESETS.get("l2metrics-3.1")
    found = chosen_metrics(theirs, ["forward_transfer"])["forward_transfer"]
    assert found.formula is theirs.metrics["forward_transfer"].formula
    assert chosen_metrics(theirs, ["bwt"])["bwt"].formula is METRICS.get("bwt").formula


def test_an_unknown_metric_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'forward_transfer'"):
        chosen_metrics(PRESETS.get("standard"), ["forward_transfr"])
    with pytest.raises(UnknownNameError, match="did you mean 'saturation'"):
        chosen_metrics(PRESETS.get("standard"), margins={"saturatoin": 1.0})


def test_an_unknown_preset_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'standard'"):
        PRESETS.get("standrad")


def test_a_margin_belongs_to_one_metric_of_one_scoring() -> None:
    assert chosen_metrics(PRESETS.get("standard"), margins={"forward_transfer": 0.5})["forward_transfer"].margin == 0.5
    assert METRICS.get("forward_transfer").margin == 0
    assert chosen_metrics(PRESETS.get("standard"), margins={"bwt": 0.5})["bwt"].margin_given
    assert chosen_metrics(PRESETS.get("standard"), margins={"fwt": 0.5})["fwt"].margin_given  # for comparisons
    with pytest.raises(MetricError, match="saturation has no threshold"):
        chosen_metrics(PRESETS.get("standard"), margins={"saturation": 0.5})


def test_only_the_headline_leads_and_only_standard_averages_ratios_on_logarithms() -> None:
    for name in PRESETS.names():
        found = chosen_metrics(PRESETS.get(name))
        leading = {one for one in found if found[one].headline == "log"}
        assert leading == (set() if name == "framework-2019" else set(headline()))
        if name == "standard":
            assert {one for one in found if found[one].scale == "log"} >= set(headline()[1:])
        assert name == "standard" or not any(one.margin for one in found.values())
    assert chosen_metrics(PRESETS.get("standard"))["performance_maintenance"].margin == 5


def test_the_headline_metrics_are_the_five_of_the_papers_in_their_order() -> None:
    assert [METRICS.get(name).aliases[0] for name in headline()] == ["PM", "FT", "BT", "RP", "SE"]


def test_a_variant_asks_the_same_as_its_original_and_never_leads() -> None:
    variants = [one for name in PRESETS.names() for one in PRESETS.get(name).metrics.values() if one.variant_of]
    assert {one.name for one in variants} >= {"forward_transfer_contrast", "performance_maintenance_terminal"}
    for one in variants:
        original = METRICS.get(one.variant_of)
        assert not one.headline
        assert one.preset != original.preset or (one.condition, one.capability, one.of_matrix) == (
            original.condition,
            original.capability,
            original.of_matrix,
        )


def test_what_a_value_is_held_against_is_said_in_one_way() -> None:
    higher, inclusive = METRICS.get("forward_transfer"), METRICS.get("cumulative_gain")
    lower = replace(higher, better="lower", threshold=5.0)
    assert [one.bar for one in (higher, inclusive, lower, METRICS.get("fwt"))] == ["> 1", "≥ 0", "< 5", ""]
    assert (replace(higher, margin=0.5).bar, replace(lower, margin=1.0).bar) == ("> 1 − 0.5", "< 5 + 1")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "declares no metric"),
        ("from l2metrics.core import Metric", "import Metric and declared from perdure.classic.l2metrics"),
        ("import nowhere_at_all", "ModuleNotFoundError"),
        ("def broken(:", "SyntaxError"),
        (MINE.replace("spread", "saturation"), "there is a metric 'saturation' already"),
    ],
)
def test_a_file_that_cannot_serve_says_why(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(MetricError, match=said):
        chosen_metrics(PRESETS.get("standard"), [str(path)])


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(MetricError, match="no such file of metrics"):
        metrics_in_file(tmp_path / "absent.py")


@pytest.mark.parametrize(
    ("named", "one"),
    [(f"{each.name} {name}", one) for each in PRESETS for name, one in each.metrics.items()],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_metric_keeps_the_contract(named: str, one: object) -> None:
    check_metric(one, lifetimes=25)  # type: ignore[arg-type]


def misses_its_sentence(learned: Curve) -> float:
    """No sentence"""
    return learned.mean


def raises(learned: Curve) -> float:
    """A metric that raises."""
    return learned.mean / 0


def writes(learned: Curve) -> float:
    """A metric that changes what it is given."""
    learned.values[0] = 3
    return 1.0


def untyped(learned) -> float:  # type: ignore[no-untyped-def]
    """A metric without annotations."""
    return float(learned.mean)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (misses_its_sentence, "must be a sentence"),
        (raises, "raises raised ZeroDivisionError"),
        (writes, "writes raised ValueError: assignment destination is read-only"),
        (untyped, "the roles learned are not annotated"),
    ],
)
def test_the_contract_catches(formula: Callable[..., float], said: str) -> None:
    with pytest.raises(AssertionError, match=said):
        check_metric(metric(sites.each_learning_block, register=False)(formula))


def test_the_contract_wants_sites_that_can_be_found() -> None:
    def nowhere(scenario: object) -> object:
        """a unicorn"""
        return iter(())

    with pytest.raises(AssertionError, match="none of 5 random lifetimes has a site"):
        check_metric(metric(nowhere, register=False)(level), lifetimes=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("one", [one for one in METRICS if one.compares], ids=lambda one: one.name)
def test_what_a_metric_compares_are_two_evaluations_the_later_one_first(one: Metric) -> None:
    evaluated = (Block("evaluate", "a", 1), Block("evaluate", "b", 1))
    blocks = (*evaluated, *(one for task in "abab" for one in (Block("learn", task, 1), *evaluated)))
    assert one.compares is not None
    assert {*one.compares} == {*one.roles}
    found = list(one.sites(Scenario("", (Task("a"), Task("b")), blocks)))
    assert found
    for site in found:
        later, earlier = (site.blocks[role] for role in one.compares)
        assert max(earlier) < min(later)
        assert {blocks[at].mode for at in (*earlier, *later)} == {"evaluate"}


def test_every_headline_metric_of_a_matrix_has_initials() -> None:
    assert {one.initials for one in METRICS if one.headline == "matrix"} == {"AA", "LA", "BWT", "FWT", "FM", "GAC"}


def test_initials_stand_in_brackets_at_the_end_of_the_summary_and_nowhere_else() -> None:
    declared = metric(sites.each_learning_block, register=False)

    def plain(learned: Curve) -> float:
        """How (XY) well it does (XYZ)."""
        return learned.mean

    def other(learned: Curve) -> float:
        """How (XY) well it does (x)."""
        return learned.mean

    assert (declared(plain).initials, declared(other).initials) == ("XYZ", "")


def test_a_name_is_spelled_out_as_declared_or_as_it_is() -> None:
    assert METRICS.get("bwt").spelled == "backward transfer, as a difference"
    assert METRICS.get("forward_transfer").spelled == "forward transfer"


def test_a_metric_is_one_line_that_says_what_it_asks() -> None:
    assert repr(METRICS.get("forward_transfer")).startswith(
        "Metric('forward_transfer', higher is better, threshold 1: Measure how"
    )
    for one in METRICS:
        assert len(repr(one)) < 180
        assert "\n" not in repr(one)
