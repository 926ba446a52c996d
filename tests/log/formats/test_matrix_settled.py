"""Settling the open questions of a matrix: its rows, zeros, unit and baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.log.formats.matrices import FULL, S002, accuracy_matrix, as_text, write_file

from perdure.errors import LogError, UnknownNameError
from perdure.log.accuracy_matrix import with_baselines
from perdure.log.formats.matrix import (
    read_matrix,
)

ZEROS = np.nan_to_num(S002)


def test_the_given_meaning_of_rows_must_not_contradict_the_cells(tmp_path: Path) -> None:
    path = write_file(tmp_path, as_text(S002))
    with pytest.raises(
        LogError, match=r"every cell below the diagonal is empty.*say --rows evaluated, or leave it out"
    ):
        read_matrix(path, rows="learned")
    with pytest.raises(UnknownNameError, match="did you mean 'learned'"):
        read_matrix(path, rows="learnt")  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", [ZEROS, ZEROS.T])
def test_zeros_before_learning_are_missing_unless_declared_measured(cells: np.ndarray[Any, Any]) -> None:
    read_as_missing, as_measured = accuracy_matrix(cells), accuracy_matrix(cells, as_given=True)
    np.testing.assert_array_equal(read_as_missing.after, S002)
    np.testing.assert_array_equal(as_measured.after, ZEROS)
    assert "say --as-given if they were measured" in read_as_missing.notes[1]
    assert "count as measured" in as_measured.notes[1]


def test_zeros_before_learning_count_as_missing_for_any_source_of_the_orientation() -> None:
    forgetful = np.array([[0.9, 0.0, 0.5], [0.0, 0.8, 0.7], [0.0, 0.0, 0.9]])
    with_start = np.hstack([np.full((3, 1), 0.1), forgetful])
    for matrix in (accuracy_matrix(forgetful, rows="evaluated"), accuracy_matrix(with_start)):
        np.testing.assert_array_equal(matrix.after, [[0.9, 0.0, 0.5], [np.nan, 0.8, 0.7], [np.nan, np.nan, 0.9]])
    two = accuracy_matrix([[0.9, 0.5], [0.0, 0.8]], rows="evaluated")
    assert two.after[1, 0] == 0.0  # with two tasks it is one cell, and may have been measured


@pytest.mark.parametrize("count", [2, 4])
def test_a_diagonal_among_zeros_is_total_forgetting(count: int) -> None:
    matrix = accuracy_matrix(np.eye(count) * 0.9)
    after = matrix.after
    assert (after[np.triu_indices(count, k=1)] == 0.0).all()
    assert np.isnan(after[np.tril_indices(count, k=-1)]).all()
    assert "the same either way round" in matrix.notes[0]
    assert "those after it as measured" in matrix.notes[1]


def test_a_full_matrix_that_fits_the_other_orientation_better_is_noted() -> None:
    assert len(accuracy_matrix(FULL, rows="evaluated").notes) == 1
    assert "say --rows learned" in accuracy_matrix(FULL.T, rows="evaluated").notes[-1]
    assert "say --rows evaluated" in accuracy_matrix(FULL, rows="learned").notes[-1]


@pytest.mark.parametrize(
    ("cells", "rows", "words"),
    [
        (S002, None, "in percent: 5 tasks, rows are the evaluated tasks (every cell below the diagonal is empty)"),
        (S002.T, None, "5 tasks, rows are the tasks learned so far (every cell above the diagonal is empty)"),
        (FULL, "learned", "in fractions: 3 tasks, rows are the tasks learned so far (as told)"),
        (np.array([[90.0]]), None, "in percent: 1 task"),
    ],
)
def test_the_orientation_used_is_reported(cells: np.ndarray[Any, Any], rows: Any, words: str) -> None:
    assert accuracy_matrix(cells, rows=rows).notes[0].endswith(words)


def test_one_task_makes_a_matrix(tmp_path: Path) -> None:
    assert read_matrix(write_file(tmp_path, "97.5\n")).after.shape == (1, 1)


@pytest.mark.parametrize(
    ("cells", "given", "unit"),
    [
        ([[0.5, 1.0], [np.nan, 0.0]], None, "fraction"),
        ([[0.5, 1.0], [np.nan, 0.0]], "percent", "percent"),
        ([[0.5, 62.0], [np.nan, 0.4]], None, "percent"),
        ([[0.5, 1.2], [np.nan, 0.4]], None, "percent"),
        ([[-200.0, 1200.0], [np.nan, 3.0]], "raw", "raw"),
    ],
)
def test_the_unit_is_inferred_or_given(cells: list[list[float]], given: Any, unit: str) -> None:
    assert accuracy_matrix(cells, unit=given).unit == unit


def test_a_unit_that_the_values_break_is_refused() -> None:
    with pytest.raises(LogError, match=r"A\[1, 1\] is 98.5, outside 0..1 \(fraction\)"):
        accuracy_matrix(S002, unit="fraction")
    with pytest.raises(UnknownNameError, match="did you mean 'percent'"):
        accuracy_matrix(S002, unit="percents")


def test_a_baseline_is_one_number_a_list_or_a_mapping() -> None:
    matrix = accuracy_matrix([[90.0, 50.0], [np.nan, 80.0]], ["A", "B"])
    assert with_baselines(matrix, random_init=10).random_init == (10.0, 10.0)
    assert with_baselines(matrix, joint=[95, 85]).joint == (95.0, 85.0)
    assert with_baselines(matrix, joint={"b": 85, "A": 95, "c": 1}).joint == (95.0, 85.0)


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        ([10.0], "random_init has 1 values for 2 tasks"),
        ({"a": 10.0}, "random_init has no value for task 'b'; it names a"),
        (101, "holds 101, outside 0..100"),
        (-1, "holds -1, outside"),
        (float("nan"), "holds nan"),
        (0.1, "at most 0.1 while the matrix is in percent"),
    ],
)
def test_a_baseline_of_another_shape_or_unit_is_refused(baseline: Any, words: str) -> None:
    matrix = accuracy_matrix([[90.0, 50.0], [np.nan, 80.0]], ["a", "b"])
    with pytest.raises(LogError, match=words):
        with_baselines(matrix, random_init=baseline)


def test_a_small_baseline_is_accepted_if_the_unit_is_given() -> None:
    matrix = accuracy_matrix([[90.0, 50.0], [np.nan, 80.0]], unit="percent")
    assert with_baselines(matrix, random_init=0.1, unit="percent").random_init == (0.1, 0.1)
