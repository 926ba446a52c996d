"""The preset `l2metrics-3.1`, compared with l2metrics 3.1.0: shared cases, its own example, 48 lifetimes.

The expected values were computed by l2metrics, not by this project; see the README next to the cases.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from tests.conftest import AVX512

import perdure
from perdure.classic.l2metrics31 import PREP, by_experience, saturation_of
from perdure.curves.arrays import smooth
from perdure.curves.experts import Experts
from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.metrics.contract import lifetime_of
from perdure.metrics.score import Score, Scorer
from perdure.scenario.model import Block
from perdure.settings import Settings

SHARED = Path(__file__).parents[2].parent / "shared"
CASES = SHARED / "data" / "cases"
EXAMPLE = SHARED / "data" / "l2metrics-examples"
needs_shared = pytest.mark.skipif(not CASES.is_dir(), reason="the shared data folder is not next to this checkout")
same_rounding = pytest.mark.skipif(not AVX512, reason="tied values are rounded differently without AVX-512")

IDS = {
    "perf_recovery": "performance_recovery",
    "avg_train_perf": "mean_learning_performance",
    "avg_eval_perf": "mean_evaluation_performance",
    "perf_maintenance_mrlep": "performance_maintenance",
    "perf_maintenance_mrtlp": "performance_maintenance_terminal",
    "forward_transfer_ratio": "forward_transfer",
    "backward_transfer_ratio": "backward_transfer",
    "forward_transfer_contrast": "forward_transfer_contrast",
    "backward_transfer_contrast": "backward_transfer_contrast",
    "ste_rel_perf": "relative_performance",
    "sample_efficiency": "sample_efficiency",
}
LISTS = {
    "recovery_times": "recovery_time",
    "avg_train_perf_vals": "mean_learning_performance",
    "avg_eval_perf_vals": "mean_evaluation_performance",
    "maintenance_val_mrlep": "performance_maintenance",
    "maintenance_val_mrtlp": "performance_maintenance_terminal",
    "ste_rel_perf_vals": "relative_performance",
    "sample_efficiency_vals": "sample_efficiency",
}
FAST = ("default_both", "mix1", "clamp", "agnostic", "data_range_run", "time_avg", "hanning", "flat_w10_evalsmooth")

Named = tuple[str, object, object]


def differs(expected: object, found: object) -> bool:
    """Return whether two values differ by more than 1e-9; an infinite expected value matches a missing one."""
    if expected is None or isinstance(expected, str) or found is None:
        return not (found is None and (expected is None or isinstance(expected, str)))
    assert isinstance(expected, int | float)
    assert isinstance(found, int | float)
    return not math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-12)


def compare_case(result: Mapping[str, Any], made: Score) -> Iterator[Named]:
    """Yield the name and both values of everything that both tools compute."""
    for theirs, ours in IDS.items():
        if theirs in result["lifetime"]:
            yield theirs, result["lifetime"][theirs], made.metrics[ours].value
    for task, values in result["tasks"].items():
        yield from _compare_task(task, values, made)
    for row, block in zip(result["regimes"], made.blocks, strict=True):
        where = f"block {row['regime_num']}"
        yield f"{where} saturation", row["saturation"], block.saturation
        yield f"{where} exp_to_sat", row["exp_to_sat"], block.experiences_to_saturation
        yield f"{where} term_perf", row["term_perf"], block.terminal
        yield f"{where} avg_perf", row["avg_perf"], block.mean


def _compare_task(task: str, values: Mapping[str, Any], made: Score) -> Iterator[Named]:
    for theirs, ours in IDS.items():
        if "transfer" in theirs:
            sources = {key: own for key, own in made.metrics[ours].by.items() if key.startswith(f"{task}→") and own}
            expected = {f"{task}→{target}": item for target, item in values.get(theirs, {}).items()}
            if theirs in values:
                yield f"{task} {theirs} pairs", 0, 0 if sources.keys() == expected.keys() else 1
                for key in expected.keys() & sources.keys():
                    yield from _compare_lists(f"{key} {theirs}", expected[key], sources[key])
        elif theirs in values:
            own = made.metrics[ours].by.get(task, ())
            yield f"{task} {theirs}", values[theirs], float(np.mean(own)) if own else None
    for theirs, ours in LISTS.items():
        if theirs in values:
            flat = [x for group in values[theirs] for x in (group if isinstance(group, list) else [group])]
            mine = sorted(made.metrics[ours].by.get(task, ()))
            yield from _compare_lists(f"{task} {theirs}", sorted(x for x in flat if x is not None), mine)


def _compare_lists(what: str, expected: Sequence[object], found: Sequence[object]) -> Iterator[Named]:
    yield f"{what} count", len(expected), len(found)
    yield from ((what, item, own) for item, own in zip(expected, found, strict=False))


@cache
def case(name: str) -> tuple[Mapping[str, Any], Lifetime, Experts, Mapping[str, Any]]:
    folder = CASES / name
    facts = json.loads((folder / "case.json").read_text())
    stored: dict[str, list[Lifetime]] = {}
    for entry in facts["ste_store_order"]:
        run = perdure.read(folder / entry["dir"])
        stored[entry["task"]] = [run] if entry["mode"] == "w" else [run, *stored.get(entry["task"], [])]
    experts = Experts(tuple(run for runs in stored.values() for run in runs))
    expected = json.loads(gzip.decompress((folder / "expected.json.gz").read_bytes()))
    return facts, perdure.read(folder / facts["ll_dir"]), experts, expected


def mismatches(name: str, combos: Sequence[str] | None = None) -> tuple[int, list[Named]]:
    facts, lifetime, experts, expected = case(name)
    bounds = {task: (item["min"], item["max"]) for task, item in (facts.get("data_range") or {}).items()}
    total, wrong = 0, []
    for run in expected["runs"]:
        if "lifetime" not in (run.get("result") or {}) or (combos and run["combo"] not in combos):
            continue
        options = run["options"]
        prep = replace(
            PREP,
            window=options["smoothing_method"],
            width=options["window_length"],
            smooth_evaluation=options["do_smooth_eval_data"],
            clamp=options["clamp_outliers"],
            scale=options["normalization_method"],
            variants=options["variant_mode"],
            bounds=bounds if options["use_data_range"] else None,
        )
        settings = Settings(
            "l2metrics-3.1",
            facts["perf_measure"],
            prep=prep,
            aggregate=options["aggregation_method"],
            expert_average=options["ste_averaging_method"],
        )
        scores = Scorer(settings, experts).score(lifetime)
        for what, theirs, ours in compare_case(run["result"], scores):
            total += 1
            if differs(theirs, ours):
                wrong.append((f"{run['combo']} {what}", theirs, ours))
    return total, wrong


NAMES = sorted(folder.name for folder in CASES.iterdir() if folder.is_dir()) if CASES.is_dir() else []


@same_rounding
@needs_shared
@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_a_case_equals_that_of_l2metrics(name: str) -> None:
    _, wrong = mismatches(name, FAST)
    assert not wrong, wrong[:5]


@same_rounding
@needs_shared
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_a_case_equals_that_of_l2metrics_under_all_options(name: str) -> None:
    _, wrong = mismatches(name)
    assert not wrong, wrong[:5]


@needs_shared
def test_the_cases_compare_many_values() -> None:
    total, _ = mismatches("c01_condensed_3t", FAST)
    assert total > 8 * 100


@needs_shared
@pytest.mark.parametrize("name", ["c17_workers_unique", "c18_workers_dupexp"])
def test_the_order_of_files_does_not_change_a_value(name: str) -> None:
    _, lifetime, experts, _ = case(name)
    backwards = replace(lifetime, experiences=lifetime.experiences.reverse().sort("block_num", "exp_num", "worker_id"))
    for preset in ("standard", "l2metrics-3.1"):
        scorer = Scorer(Settings(preset), experts)
        assert scorer.score(lifetime).as_json() == scorer.score(backwards).as_json()


@needs_shared
def test_the_published_example_is_reproduced_to_the_last_digit() -> None:
    published = json.loads((EXAMPLE / "published" / "multi_task_metrics.json").read_text())
    scores = score(
        EXAMPLE / "ll_logs" / "multi_task",
        [EXAMPLE / "ste_logs"],
        Settings(preset="l2metrics-3.1", measure="performance"),
    )
    for theirs, ours in IDS.items():
        if isinstance(published.get(theirs), int | float):
            assert scores[ours] == pytest.approx(published[theirs], rel=1e-9), theirs
    assert (scores.learning_experiences, scores.evaluation_experiences) == (1200, 720)
    assert scores.metrics["recovery_time"].by == {"task1_1": (0, 18, 12), "task2_1": (0, 0, 0), "task3_1": (0, 0, 0)}
    expected = {
        "performance_recovery": -2.0,
        "mean_learning_performance": 83.8150652485,
        "mean_evaluation_performance": 78.5198169099,
        "performance_maintenance": 3.8626981189,
        "performance_maintenance_terminal": 4.6819751038,
        "forward_transfer": 12.6298550026,
        "forward_transfer_contrast": 0.7679543728,
        "backward_transfer": 1.08214831,
        "backward_transfer_contrast": 0.0377386871,
        "relative_performance": 1.1050569622,
        "sample_efficiency": 0.9132609794,
    }
    for name, value in expected.items():
        assert scores[name] == pytest.approx(value, abs=1e-9), name


@needs_shared
def test_the_published_blocks_are_reproduced() -> None:
    published = pl.read_csv(EXAMPLE / "published" / "multi_task_regime.tsv", separator="\t")
    scores = score(
        EXAMPLE / "ll_logs" / "multi_task",
        [EXAMPLE / "ste_logs"],
        Settings(preset="l2metrics-3.1", measure="performance"),
    )
    for row, block in zip(published.iter_rows(named=True), scores.blocks, strict=True):
        assert (block.block.group, block.block.task) == (row["block_num"], row["task_name"])
        assert block.terminal == pytest.approx(row["term_perf"], rel=1e-9)
        assert block.saturation == pytest.approx(row["saturation"], rel=1e-9)
        assert block.experiences_to_saturation == row["exp_to_sat"]


@needs_shared
def test_48_published_lifetimes_are_reproduced_from_their_block_table() -> None:
    blocks = pl.read_csv(EXAMPLE / "evaluation" / "ll_metrics_regime.tsv", separator="\t")
    published = pl.read_csv(EXAMPLE / "evaluation" / "ll_metrics.tsv", separator="\t")
    scorer = Scorer(Settings("l2metrics-3.1", prep=replace(PREP, scale="none", window="none")))
    assert published.height == 48
    for row in published.iter_rows(named=True):
        own = blocks.filter(pl.col("run_id") == row["run_id"]).sort("regime_num")
        lifetime = lifetime_of(
            [
                Block("learn" if item["block_type"] == "train" else "evaluate", item["task_name"], 1, group=number)
                for number, item in enumerate(own.iter_rows(named=True))
            ],
            values=[[value] for value in own["term_perf"]],
        )
        scores = scorer.score(lifetime)
        for theirs in ("perf_maintenance_mrlep", "forward_transfer_ratio", "backward_transfer_ratio"):
            assert scores[IDS[theirs]] == pytest.approx(row[theirs], rel=1e-13), (row["run_id"], theirs)


# --- deliberate differences of `standard` -----------------------------------------------------------


def both(
    blocks: Sequence[Block], values: Sequence[Sequence[float]], experts: Sequence[Lifetime] = ()
) -> tuple[Score, Score]:
    lifetime = lifetime_of(blocks, values=values)
    return score(lifetime, experts), score(lifetime, experts, Settings(preset="l2metrics-3.1"))


def learn(task: str, group: int, subtype: Any = "wake") -> Block:
    return Block("learn", task, None, subtype=subtype, group=group)


def evaluate(task: str, group: int) -> Block:
    return Block("evaluate", task, None, group=group)


def test_a_window_lags_in_l2metrics_and_is_centred_in_standard() -> None:
    ramp = [float(value) for value in range(50)]
    ours, theirs = both([learn("a", 0)], [ramp])
    assert ours["mean_learning_performance"] == pytest.approx(51.0)
    assert theirs["mean_learning_performance"] != pytest.approx(51.0, abs=0.1)


def test_l2metrics_attributes_to_the_last_of_several_learned_tasks() -> None:
    blocks = [evaluate("c", 0), learn("a", 1), learn("b", 2), evaluate("c", 3)]
    ours, theirs = both(blocks, [[1.0], [1.0, 2.0], [1.0, 2.0], [3.0]])
    assert ours["forward_transfer"] is None
    assert list(theirs.metrics["forward_transfer"].by) == ["b→c"]


def test_a_sleep_learning_block_hides_evaluations_only_in_l2metrics() -> None:
    blocks = [learn("a", 0), evaluate("a", 1), learn("b", 2, "sleep"), evaluate("a", 3)]
    ours, theirs = both(blocks, [[0.0, 1.0], [1.0], [0.0, 1.0], [0.5]])
    assert ours["performance_maintenance"] == pytest.approx(-50.0)
    assert theirs["performance_maintenance"] is None


def test_a_failed_learner_is_0_in_l2metrics_and_a_low_number_in_standard() -> None:
    expert = lifetime_of([learn("a", 0)], values=[[1.0, 2.0, 3.0]], name="e")
    ours, theirs = both([learn("a", 0)], [[1.0, 1.1, 0.0, 0.0, 0.0, 0.0]], [expert])
    assert ours["sample_efficiency"] == pytest.approx(0.0, abs=0.1)
    assert ours["sample_efficiency"] != 0.0
    assert theirs["sample_efficiency"] == 0.0


def test_a_constant_task_counts_in_l2metrics_only() -> None:
    blocks = [learn("a", 0), evaluate("a", 1), evaluate("a", 2), learn("b", 3), evaluate("b", 4), evaluate("b", 5)]
    ours, theirs = both(blocks, [[0.0, 1.0], [1.0], [0.0], [2.0, 2.0], [2.0], [2.0]])
    assert ours["performance_maintenance"] == pytest.approx(-100.0)
    assert theirs["performance_maintenance"] == pytest.approx(-50.0)


def test_rows_of_one_experience_are_averaged_after_smoothing_only_in_l2metrics() -> None:
    item = lifetime_of([learn("a", 0)], values=[np.random.default_rng(0).normal(size=60).tolist()])
    shared = replace(item, experiences=item.experiences.with_columns(pl.col("exp_num") // 2))
    ours, theirs = score(shared), score(shared, settings=Settings(preset="l2metrics-3.1"))
    assert ours.blocks[0].block.length == 30
    assert ours["mean_learning_performance"] != pytest.approx(theirs["mean_learning_performance"], rel=1e-6)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([0, 1, 2, 3], [1.0, 2.0, 4.0, 8.0]),
        ([0, 1, 1, 2], [1.0, 3.0, 8.0]),
        ([0, 0, 0, 0], [3.75]),
        ([3, 2, 1, 0], [1.0, 2.0, 4.0, 8.0]),
        ([1, 0, 1, 0], [5.0, 2.5]),
    ],
    ids=["as counted", "one twice", "all one", "out of order", "out of order and twice"],
)
def test_an_experience_has_one_value_and_unrepeated_rows_are_unchanged(
    numbers: list[int], expected: list[float]
) -> None:
    rows = by_experience(np.array([1.0, 2.0, 4.0, 8.0]), np.array(numbers))
    assert rows.tolist() == expected


def test_a_series_saturates_at_the_first_maximum_of_its_smoothed_values() -> None:
    series = np.random.default_rng(0).normal(size=60).cumsum()
    peak, at = saturation_of(series)
    again = smooth(series, np.array([0, 60]), (0,), alignment="lagging")
    assert (peak, at) == (again.max(), int(np.flatnonzero(again == again.max())[0]))
    assert peak != series.max()


def test_only_the_blocks_that_l2metrics_ignores_have_no_mean() -> None:
    asleep = Block("evaluate", "a", None, subtype="sleep", group=3)
    _, awake = both([learn("a", 0), evaluate("a", 1), evaluate("a", 2)], [[0.0, 1.0], [1.0], [0.5]])
    assert [block.mean is None for block in awake.blocks] == [False, False, False]
    _, theirs = both([learn("a", 0), evaluate("a", 1), evaluate("a", 2), asleep], [[0.0, 1.0], [1.0], [0.5], [0.2]])
    assert [block.mean is None for block in theirs.blocks] == [False, True, True, False]
