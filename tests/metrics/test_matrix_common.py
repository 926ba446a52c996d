"""The accuracy-matrix metrics against S002's numbers, plain loops, and their own laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.formats.matrices import accuracy_matrix
from tests.metrics.matrices import (
    BASELINES,
    EXAMPLE,
    FROM_CELLS,
    MATRIX_METRICS,
    WHOLE,
    from_matrix,
    whole_matrices,
)

import perdure
from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.log.formats.matrix import matrix_lifetime, read_matrix
from perdure.metrics.contract import check_metric
from perdure.metrics.declare import METRICS, Metric
from perdure.metrics.score import Scorer
from perdure.settings import Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("average_accuracy", 62.0),
        ("learning_accuracy", 98.02),
        ("bwt", -45.025),
        ("forgetting", 45.025),
        ("memory_stability", 363.0510076),
        ("above_chance", 87.9),
        ("intransigence", 0.1),
        ("average_incremental_accuracy", 75.3866667),
        ("dr_accuracy", 69.5666667),
        ("dr_bwt", -42.79),
        ("dr_remembering", 0.5721),
        ("min_accuracy", 52.975),
        ("worst_case_accuracy", 62.0),
    ],
)
def test_the_example_of_s002_gives_its_published_values(name: str, value: float) -> None:
    measured = from_matrix(METRICS.get(name), read_matrix(EXAMPLE), **BASELINES)
    assert measured.value == pytest.approx(value, abs=5e-8)


def test_the_example_of_s002_gives_its_forgetting_task_by_task() -> None:
    by = from_matrix(METRICS.get("forgetting"), read_matrix(EXAMPLE)).by
    assert [value for (value,) in by.values()] == pytest.approx([49.3, 47.7, 44.5, 38.6])


def test_the_zero_filled_transposed_twin_of_s002_gives_the_same_values(tmp_path: Path) -> None:
    # Read the wrong way round, zeros and all, it would give AA 19.62 and BWT −98.0.
    twin = tmp_path / "twin.csv"
    np.savetxt(twin, np.nan_to_num(read_matrix(EXAMPLE).after).T, delimiter=",", fmt="%.1f")
    here, there = (
        perdure.score(EXAMPLE, settings=Settings(random_init=10, joint=98)),
        perdure.score(twin, settings=Settings(random_init=10, joint=98)),
    )
    assert there["average_accuracy"] == pytest.approx(62.0)
    assert there["bwt"] == pytest.approx(-45.025)
    assert {name: one.value for name, one in here.metrics.items()} == {
        name: one.value for name, one in there.metrics.items()
    }
    assert any("rows are the tasks learned so far" in note for note in there.notes)
    assert any("count as not evaluated" in note and "--as-given" in note for note in there.notes)


@given(whole_matrices(3), st.sampled_from(["column 0", "missing", "zeros"]))
def test_which_way_round_a_matrix_is_written_changes_no_value(cells: np.ndarray[Any, Any], sign: str) -> None:
    if sign != "column 0":
        cells = cells[:, 1:]
        cells[np.tril_indices_from(cells, k=-1)] = np.nan if sign == "missing" else 0.0
    scorer = Scorer(Settings(random_init=0.1, joint=0.9))
    ways = [scorer.score(matrix_lifetime(one)) for one in (cells, cells.T)]
    assert ways[0].metrics == ways[1].metrics
    assert any(one.value is not None for one in ways[0].metrics.values())


def test_a_matrix_is_scored_like_any_lifetime() -> None:
    made = perdure.score(matrix_lifetime([[0.9, 0.5], [np.nan, 0.8]], ["Pong", "Chess"]))
    assert (made.id, made.measure, made.identity.unit) == ("matrix", "accuracy", "fraction")
    assert made.tasks == made.order == ("pong", "chess")
    assert made["bwt"] == pytest.approx(-0.4)
    assert set(made.metrics) == {one.name for one in FROM_CELLS} | {"general_ability_change"}
    assert any("an accuracy matrix in fraction" in note for note in made.notes)


def test_no_preparation_touches_a_matrix() -> None:
    life = matrix_lifetime(WHOLE)
    plain = curves(life)
    for prep in (
        Preparation(scale="run"),
        Preparation(clamp=True),
        Preparation(noise=3.0),
        Preparation(bounds={"task1": (0.0, 1.0)}),
    ):
        np.testing.assert_array_equal(curves(life, prep).values, plain.measured)


def test_a_matrix_of_errors_is_scored_as_its_complement_would_be() -> None:
    errors = Scorer(Settings(lower_is_better=True, random_init=0.9)).score(matrix_lifetime(1 - WHOLE))
    accuracies = Scorer(Settings(random_init=0.1)).score(matrix_lifetime(WHOLE))
    for name in ("bwt", "fwt", "above_chance", "forgetting", "libero_nbt", "dr_remembering", "memory_stability"):
        assert errors[name] == pytest.approx(accuracies[name]), name
    assert errors["average_accuracy"] == pytest.approx((accuracies["average_accuracy"] or 0) - 1)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _columns(a: Any) -> range:
    return range(1, len(a) + 1)


# Rows count from 1 by `a[i - 1][j]`, columns from 0, before any learning, to n; r and q are the baselines.
LOOPS: dict[str, Callable[[Any, int, list[float], list[float]], float]] = {
    "average_accuracy": lambda a, n, r, q: _mean([a[i - 1][n] for i in _columns(a)]),
    "learning_accuracy": lambda a, n, r, q: _mean([a[i - 1][i] for i in _columns(a)]),
    "bwt": lambda a, n, r, q: _mean([a[i - 1][n] - a[i - 1][i] for i in range(1, n)]),
    "fwt": lambda a, n, r, q: _mean([a[i - 1][i - 1] - r[i - 1] for i in range(2, n + 1)]),
    "above_chance": lambda a, n, r, q: _mean([a[i - 1][i] - r[i - 1] for i in range(2, n + 1)]),
    "forgetting": lambda a, n, r, q: _mean([max(a[i - 1][i : n + 1]) - a[i - 1][n] for i in range(1, n)]),
    "forgetting_strict": lambda a, n, r, q: _mean([max(a[i - 1][i:n]) - a[i - 1][n] for i in range(1, n)]),
    "intransigence": lambda a, n, r, q: _mean([q[i - 1] - a[i - 1][i] for i in range(2, n + 1)]),
    "memory_stability": lambda a, n, r, q: _mean(
        [_mean([(x - _mean(a[i - 1][i:])) ** 2 for x in a[i - 1][i:]]) for i in range(1, n)]
    ),
    "average_incremental_accuracy": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][j] for i in range(1, j + 1)]) for j in _columns(a)]
    ),
    "omega_base": lambda a, n, r, q: _mean([a[0][j] / q[0] for j in range(2, n + 1)]),
    "omega_new": lambda a, n, r, q: _mean([a[j - 1][j] for j in range(2, n + 1)]),
    "omega_all": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][j] for i in range(1, j + 1)]) / _mean(q[:j]) for j in range(2, n + 1)]
    ),
    "dr_accuracy": lambda a, n, r, q: _mean([a[i - 1][j] for j in _columns(a) for i in range(1, j + 1)]),
    "dr_bwt": lambda a, n, r, q: _mean([a[i - 1][j] - a[i - 1][i] for j in _columns(a) for i in range(1, j)]),
    "dr_remembering": lambda a, n, r, q: 1 - abs(min(LOOPS["dr_bwt"](a, n, r, q), 0)),
    "dr_fwt": lambda a, n, r, q: _mean([a[i - 1][j] for i in _columns(a) for j in range(1, i)]),
    "min_accuracy": lambda a, n, r, q: _mean([min(a[i - 1][i:]) for i in range(1, n)]),
    "worst_case_accuracy": lambda a, n, r, q: (
        a[n - 1][n] / n + (1 - 1 / n) * _mean([min(a[i - 1][i:]) for i in range(1, n)])
    ),
    "cora_forgetting": lambda a, n, r, q: _mean(
        [(a[i - 1][j - 1] - a[i - 1][j]) / abs(max(a[i - 1])) for j in _columns(a) for i in range(1, j)]
    ),
    "cora_zero_shot_transfer": lambda a, n, r, q: _mean(
        [(a[i - 1][j] - a[i - 1][j - 1]) / abs(max(a[i - 1])) for i in _columns(a) for j in range(1, i)]
    ),
    "libero_nbt": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][i] - a[i - 1][j] for j in range(i + 1, n + 1)]) for i in range(1, n)]
    ),
    "libero_auc": lambda a, n, r, q: _mean([_mean(a[i - 1][i:]) for i in _columns(a)]),
}


def test_every_cell_metric_has_a_loop_to_be_held_against() -> None:
    assert {one.name for one in FROM_CELLS} == set(LOOPS)
    assert {one.name for one in MATRIX_METRICS} == {*LOOPS, "cw_forward_transfer"}


@given(whole_matrices(), st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_each_metric_equals_its_definition_written_as_a_loop(cells: np.ndarray[Any, Any], random: Any) -> None:
    count = len(cells)
    untrained = [random.uniform(0.0, 0.3) for _ in range(count)]
    joint = [random.uniform(0.5, 1.0) for _ in range(count)]
    matrix = accuracy_matrix(cells)
    for metric in FROM_CELLS:
        measured = from_matrix(metric, matrix, random_init=untrained, joint=joint)
        expected = LOOPS[metric.name](cells.tolist(), count, untrained, joint)
        assert measured.value == pytest.approx(expected, rel=1e-12, abs=1e-14), metric.name


@given(whole_matrices())
@settings(max_examples=25)
def test_average_accuracy_is_learning_accuracy_plus_the_share_of_bwt(cells: np.ndarray[Any, Any]) -> None:
    count, matrix = len(cells), accuracy_matrix(cells)
    average, learning, change = (
        from_matrix(METRICS.get(name), matrix).value or 0.0 for name in ("average_accuracy", "learning_accuracy", "bwt")
    )
    assert average == pytest.approx(learning + change * (count - 1) / count, abs=1e-12)


@given(whole_matrices())
@settings(max_examples=15)
def test_percent_and_fractions_tell_the_same(cells: np.ndarray[Any, Any]) -> None:
    fractions, percents = accuracy_matrix(cells), accuracy_matrix(cells * 100, unit="percent")
    for metric in FROM_CELLS:
        small = from_matrix(metric, fractions, random_init=0.1, joint=0.9).value
        large = from_matrix(metric, percents, random_init=10, joint=90).value
        assert small is not None
        factor = 1 if metric.unit in {"ratio", "fraction"} else 1e4 if metric.name == "memory_stability" else 100
        assert large == pytest.approx(small * factor, rel=1e-9, abs=1e-11), metric.name


@pytest.mark.parametrize("metric", MATRIX_METRICS, ids=lambda one: one.name)
def test_each_metric_keeps_the_contract_of_plug_ins(metric: Metric) -> None:
    check_metric(metric)
