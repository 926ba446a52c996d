"""Task weights: every mean over tasks uses them, unweighted stays as it is, and outputs state them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import run_command

import perdure
from perdure.errors import PerdureError, UnknownNameError
from perdure.metrics.arithmetic import Aggregate, Average, flat, over_tasks
from perdure.stats.groups import groups
from perdure.stats.one_lifetime import within_life

TASKS = ("pong_wide", "breakout", "battle")
EQUAL = dict.fromkeys(TASKS, 3.0)
WEIGHTS = {"pong_wide": 2.0, "breakout": 1.0, "battle": 0.5}


def write_lifetime(folder: Path, name: str, seed: int, tasks: tuple[str, ...] = TASKS, accuracy: bool = False) -> None:
    """Write a noisy lifetime in which every task is evaluated after each learning block."""
    rng, known, number = np.random.default_rng(seed), dict.fromkeys(tasks, 0.1), 0
    measure = "accuracy" if accuracy else "reward"
    parts = [("test", task, 12) for task in tasks]
    for learned in tasks:
        parts += [("train", learned, 20), *(("test", task, 12) for task in tasks)]
    with perdure.Journal(folder, name, measures=[measure, "units"], learner=folder.name, seed=seed) as journal:
        for block, (mode, task, length) in enumerate(parts):
            for _ in range(length):
                known = {other: min(0.9, level + 0.03 * (mode == "train") * (other == task) - 0.001 * (other != task))
                         for other, level in known.items()}  # fmt: skip
                value = float(np.clip(known[task] + rng.normal(0, 0.05), 0.01, 1))
                values: dict[str, Any] = {measure: value, "units": 10 * value**2 + rng.normal(0, 0.1)}
                journal.log(block_num=block, exp_num=number, block_type=mode, task_name=task, task_params={}, **values)
                number += 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two learners with four lifetimes each, one of which logs accuracies, and four experts per task."""
    folder = tmp_path_factory.mktemp("weights")
    for seed in range(4):
        write_lifetime(folder / "mine", f"life-{seed}", seed)
        write_lifetime(folder / "theirs", f"life-{seed}", 50 + seed)
        write_lifetime(folder / "accurate", f"life-{seed}", 50 + seed, accuracy=True)
        for task in TASKS:
            write_lifetime(folder / "experts", f"{task}-{seed}", 100 + seed + len(task), (task,))
    return folder


@pytest.mark.parametrize("place", ["mine", "accurate"])
@pytest.mark.parametrize("aggregate", ["mean", "median"])
def test_equal_weights_change_nothing(runs: Path, place: str, aggregate: Aggregate) -> None:
    plain, weighted = (
        perdure.survey(runs / place, runs / "experts", aggregate=aggregate, weights=weights) for weights in ({}, EQUAL)
    )
    for one, other in zip(plain.scores, weighted.scores, strict=True):
        assert one.why == other.why
        for name, value in one.values.items():
            assert value is None or value == pytest.approx(other[name], rel=1e-12, abs=1e-12), name
    for group, same in zip(groups(plain), groups(weighted), strict=True):
        for name, estimate in group.estimates.items():
            twin = same.estimates[name]
            for field in ("mean", "low", "high", "sd", "p", "df", "margin"):
                value, other_value = getattr(estimate, field), getattr(twin, field)
                assert value == other_value or value == pytest.approx(other_value, rel=1e-9, abs=1e-12), name


numbers = st.lists(st.tuples(st.floats(-50, 50), st.integers(1, 5)), min_size=1, max_size=6)


@given(numbers, st.sampled_from(["mean", "median"]))
def test_a_weight_of_k_counts_a_task_k_times(values: list[tuple[float, int]], kind: Aggregate) -> None:
    weighted = Average(kind, tuple(float(times) for _, times in values))
    each = [[value, value + 1] for value, _ in values]
    repeated = [pair for pair, (_, times) in zip(each, values, strict=True) for _ in range(times)]
    for combine in (over_tasks, flat):
        assert combine(each, weighted) == pytest.approx(combine(repeated, Average(kind)), abs=1e-9)


def test_a_name_without_variant_weighs_every_variant_and_a_pair_counts_as_the_task_it_shows() -> None:
    average = Average.over(
        ["pong_wide", "pong_narrow", "breakout→pong_wide", "pong_wide→breakout"], "mean", {"pong": 3}
    )
    assert average.weights == (3, 3, 3, 1)


def test_metrics_are_weighted_means_of_their_values_by_task(runs: Path) -> None:
    score = perdure.score(runs / "mine/life-0", runs / "experts", weights=WEIGHTS)
    weights = np.array([*WEIGHTS.values()])
    final = score.metrics["final_performance"].by
    assert score["final_performance"] == pytest.approx(np.average([final[task][0] for task in TASKS], weights=weights))
    relative = [np.log(score.metrics["relative_performance"].by[task]).mean() for task in TASKS]
    assert score["relative_performance"] == pytest.approx(math.exp(np.average(relative, weights=weights)))
    pairs = score.metrics["backward_transfer"].by
    of_pairs = [WEIGHTS[pair.rpartition("→")[2]] for pair in pairs]
    logs = [math.log(values[0]) for values in pairs.values()]
    assert score["backward_transfer"] == pytest.approx(math.exp(np.average(logs, weights=of_pairs)))


def test_means_over_tasks_inside_matrix_metrics_are_weighted(runs: Path) -> None:
    score = perdure.score(runs / "accurate/life-0", weights=WEIGHTS, joint=0.9)
    weights = np.array([*WEIGHTS.values()])
    raw = perdure.score(runs / "accurate/life-0", scale="none", window="none")
    means = {}
    for number, block in enumerate(raw.blocks[3:]):
        if block.block.mode == "evaluate":
            means[block.block.task, number // 4] = block.mean
    matrix = np.array([[means[task, after] for after in range(3)] for task in TASKS])
    stages = [np.average(matrix[: stage + 1, stage], weights=weights[: stage + 1]) for stage in range(3)]
    assert score["average_accuracy"] == pytest.approx(np.average(matrix[:, 2], weights=weights))
    assert score["average_incremental_accuracy"] == pytest.approx(np.mean(stages))
    assert score["omega_all"] == pytest.approx(np.mean(stages[1:]) / 0.9)
    assert score["omega_base"] == pytest.approx(np.mean(matrix[0, 1:]) / 0.9)
    bwt = np.average(matrix[:2, 2] - np.diag(matrix)[:2], weights=weights[:2])
    assert score["bwt"] == pytest.approx(bwt)


def test_experts_add_their_weighted_part_to_the_variance(runs: Path) -> None:
    [group] = groups(perdure.survey(runs / "mine", runs / "experts", weights=WEIGHTS))
    survey = perdure.survey(runs / "mine", runs / "experts", weights=WEIGHTS)
    share = np.array([*WEIGHTS.values()]) / sum(WEIGHTS.values())
    tables = [np.log([score.metrics["relative_performance"].by[task] for score in survey.scores]) for task in TASKS]
    of_lifetimes = np.array([share @ [table[row].mean() for table in tables] for row in range(4)])
    parts = [(of_lifetimes.var(ddof=1) / 4, 3.0)]
    parts += [(part**2 * table.mean(axis=0).var(ddof=1) / 4, 3.0) for part, table in zip(share, tables, strict=True)]
    estimate = group.estimates["relative_performance"]
    assert estimate.mean == pytest.approx(math.exp(of_lifetimes.mean()))
    middle, low, high = (math.log(end or 0) for end in (estimate.mean, estimate.low, estimate.high))
    assert high - middle == pytest.approx(middle - low)
    spread = math.sqrt(sum(part for part, _ in parts))
    assert 2.0 * spread < high - middle < 3.2 * spread  # t quantiles from 12 to 3 degrees of freedom


def test_one_lifetime_weighs_its_evaluations_as_its_metric_does(runs: Path) -> None:
    plain, weighted = (perdure.score(runs / "mine/life-0", weights=weights) for weights in ({}, WEIGHTS))
    assert plain["performance_maintenance"] != weighted["performance_maintenance"]
    for score in (plain, weighted):
        interval = within_life(score, "performance_maintenance")
        assert not isinstance(interval, str)
        assert interval.mean == pytest.approx(score["performance_maintenance"])


def test_comparisons_weigh_learning_and_state_the_weights(runs: Path) -> None:
    plain, weighted = (
        json.loads(run_command("compare", runs / "mine", runs / "theirs", "--json", "-", *more).stdout)
        for more in ((), ("--weight", "pong=100"))
    )
    metric = [found["comparisons"][0]["metrics"]["learning_performance"]["difference"] for found in (plain, weighted)]
    assert metric[0] != metric[1]
    assert weighted["settings"]["weights"] == {"pong": 100}
    assert any("tasks weighted (pong 100; others 1)" in note for note in weighted["notes"])
    assert not any("weighted" in note for note in plain["notes"])


def test_header_json_and_report_state_the_weights(runs: Path) -> None:
    shown = run_command("score", runs / "mine", "--weight", "pong=2,breakout=1", "--weight", "battle=4").stdout
    assert "tasks weighted (battle 4, breakout 1, pong 2; others 1)" in " ".join(shown.split())
    found = json.loads(run_command("score", runs / "mine", "--weight", "pong=2", "--json", "-").stdout)
    assert found["settings"]["weights"] == {"pong": 2}
    assert found["groups"][0]["stated"] == ["tasks weighted (pong 2; others 1)"]
    report = json.loads(run_command("report", runs / "mine", "--weight", "pong=2", "--json", "-", folder=runs).stdout)
    assert "tasks weighted (pong 2; others 1)" in report["methods"]


def test_weights_in_a_settings_file_count(runs: Path, tmp_path: Path) -> None:
    write_lifetime(tmp_path / "logs", "life-0", 0)
    (tmp_path / "logs/perdure.toml").write_text("[weights]\nPong = 2\n")
    given, from_file = (
        perdure.score(tmp_path / "logs/life-0", weights={"pong": 2}),
        run_command("score", tmp_path / "logs", "--json", "-").stdout,
    )
    assert json.loads(from_file)["lifetimes"][0]["metrics"]["final_performance"]["value"] == given["final_performance"]


def test_presets_of_papers_flag_weights(runs: Path) -> None:
    shown = run_command("score", runs / "mine", "--preset", "baker-2023", "--weight", "pong=2").stdout
    assert "weights are not part of baker-2023" in " ".join(shown.split())


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_weights_are_positive_and_finite(weight: float) -> None:
    with pytest.raises(PerdureError, match="TASK=X with a finite X above 0"):
        perdure.Settings(weights={"pong": weight})


def test_an_unknown_task_offers_the_nearest(runs: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown task in --weight 'pogn'; did you mean 'pong'"):
        perdure.survey(runs / "mine", weights={"pogn": 2})
    assert run_command("score", runs / "mine", "--weight", "pogn=2").returncode == 2


def test_a_task_that_some_lifetimes_lack_may_have_a_weight(runs: Path, tmp_path: Path) -> None:
    write_lifetime(tmp_path / "logs", "short", 0, TASKS[:2])
    write_lifetime(tmp_path / "logs", "whole", 0)
    assert len(perdure.survey(tmp_path / "logs", weights={"battle": 2})) == 2


def test_lifetimes_with_different_weights_are_never_compared(runs: Path, tmp_path: Path) -> None:
    for name, weight in (("mine", "pong=2"), ("theirs", "pong=3")):
        run_command("score", runs / name, "--weight", weight, "--json", tmp_path / f"{name}.json")
    ended = run_command("compare", tmp_path / "mine.json", tmp_path / "theirs.json")
    assert ended.returncode == 2
    assert "settings" in ended.stderr
