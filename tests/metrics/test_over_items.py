"""The uncertainty of a matrix's metrics from the items of its evaluations, against its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from msgspec.structs import replace

import perdure
from perdure.log.accuracy_matrix import (
    Array,
    ItemErrors,
    MatrixLifetime,
    binomial_error,
    errors_of_items,
    errors_of_means,
)
from perdure.log.formats.matrix import lifetime_of, matrix_of_cells
from perdure.metrics.measure import OverItems

TASKS = ("a", "b", "c")
Scores = Mapping[str, Array]
"""Task → the scores of items by column."""


def items(seed: int = 0, count: int = 50) -> Scores:
    rng = np.random.default_rng(seed)
    return {task: (rng.random((len(TASKS) + 1, count)) < rng.random(count)).astype(float) for task in (*TASKS, "g")}


def lifetime(scores: Scores, errors: Mapping[str, ItemErrors]) -> MatrixLifetime:
    values = np.array([scores[task].mean(axis=1) for task in TASKS])
    matrix = matrix_of_cells(values, TASKS, "fraction", others={"g": scores["g"].mean(axis=1)})
    return lifetime_of(replace(matrix, errors=errors), "one")


def paired(scores: Scores) -> Mapping[str, ItemErrors]:
    return {task: errors_of_items([dict(enumerate(column)) for column in columns]) for task, columns in scores.items()}


def unpaired(scores: Scores) -> Mapping[str, ItemErrors]:
    counts = np.full(len(TASKS) + 1, 50.0)
    return {task: errors_of_means(np.sqrt(one.var(axis=1, ddof=1) / 50), counts) for task, one in scores.items()}


def spread(scores: Scores, errors: Mapping[str, ItemErrors], metric: str) -> OverItems:
    found = perdure.score(lifetime(scores, errors)).metrics[metric].over_items
    assert found is not None
    return found


def error_of(differences: Sequence[Array]) -> float:
    """Return the standard error of a mean over tasks, each a mean of items' differences."""
    return float(np.sqrt(sum(one.var(ddof=1) / len(one) for one in differences)) / len(differences))


def test_changes_are_compared_item_by_item() -> None:
    scores = items()
    each = {
        "bwt": [scores["a"][3] - scores["a"][1], scores["b"][3] - scores["b"][2]],
        "fwt": [scores["b"][1] - scores["b"][0], scores["c"][2] - scores["c"][0]],
        "average_accuracy": [scores[task][3] for task in TASKS],
        "learning_accuracy": [scores[task][column] for column, task in enumerate(TASKS, start=1)],
        "general_ability_change": [scores["g"][3] - scores["g"][0]],
    }
    for metric, differences in each.items():
        found = spread(scores, paired(scores), metric)
        assert found.error == pytest.approx(error_of(differences)), metric
        assert found.items == 50
        assert found.paired


def test_without_items_the_variances_of_both_evaluations_add_up() -> None:
    scores = items()
    found = spread(scores, unpaired(scores), "bwt")
    each = [scores["a"][3], scores["a"][1], scores["b"][3], scores["b"][2]]
    assert found.error == pytest.approx(error_of(each) * 2)
    assert not found.paired


def test_forgetting_has_the_error_of_the_best_and_the_last_evaluation() -> None:
    scores = items()
    scores["a"][1], scores["a"][2] = 1.0, scores["a"][0]  # the best by far, which does not vary
    scores["b"][2], scores["b"][3] = np.roll(scores["b"][1], 1), 0.0
    found = spread(scores, unpaired(scores), "forgetting")
    assert found.error == pytest.approx(error_of([scores["a"][3], scores["b"][2]]))


def test_an_evaluation_without_a_standard_error_leaves_none() -> None:
    scores = items()
    errors = dict(paired(scores))
    del errors["a"]
    metrics = perdure.score(lifetime(scores, errors)).metrics
    assert metrics["bwt"].over_items is None
    assert metrics["fwt"].over_items is not None  # reads the others alone


def test_items_that_only_some_evaluations_have_are_paired_where_they_meet() -> None:
    first = {number: float(number % 2) for number in range(40)}
    second = {number: float(number % 3 == 0) for number in range(20, 60)}
    covariance = errors_of_items([first, second]).covariance
    assert abs(covariance[0, 1]) < np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert not errors_of_items([first, second]).paired
    assert errors_of_items([first, {}]).covariance[0, 1] == 0
    assert np.isnan(errors_of_items([first, {}]).covariance[1, 1])


def test_no_scores_between_0_and_1_vary_more_than_right_and_wrong() -> None:
    rng = np.random.default_rng(3)
    for shape in (0.1, 1.0, 5.0):
        scores = rng.beta(shape, shape, size=200)
        binary = binomial_error(np.array(scores.mean()), np.array(200.0), 1.0)
        assert scores.std(ddof=1) / np.sqrt(200) <= binary
