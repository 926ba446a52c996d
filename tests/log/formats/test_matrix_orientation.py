"""Which way round a matrix is: what decides, in which order, and what is never guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from perdure.errors import LogError
from perdure.log.formats.matrix import orientation, orientations

Cells = np.ndarray[Any, Any]
NAN = np.nan

TRIANGLE = np.array([[0.9, 0.6, 0.5], [NAN, 0.8, 0.7], [NAN, NAN, 0.9]])
FULL = np.array([[0.9, 0.6, 0.5], [0.2, 0.8, 0.7], [0.1, 0.3, 0.9]])
ZEROS = np.nan_to_num(TRIANGLE)
OTHER = {"evaluated": "learned", "learned": "evaluated"}


def tables() -> Any:
    """Square matrices and those with one more row or column, some of their cells empty, zero, or a half of either."""
    shapes = st.integers(2, 4).flatmap(
        lambda count: st.sampled_from([(count, count), (count, count + 1), (count + 1, count)])
    )
    cells = st.sampled_from([NAN, 0.0, 0.25, 0.5, 1.0])
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=cells))


@given(tables())
def test_a_transposed_table_is_the_other_way_round(cells: Cells) -> None:
    try:
        here = orientation(cells)
    except LogError:
        with pytest.raises(LogError):
            orientation(cells.T)
        return
    there = orientation(cells.T)
    assert there.either == here.either
    assert there.rows == (OTHER[here.rows] if here.rows else None)


@pytest.mark.parametrize(
    ("cells", "rows", "because"),
    [
        (np.hstack([FULL[:, :1], FULL]), "evaluated", "a column from before any learning"),
        (np.vstack([FULL[:1], FULL]), "learned", "a row from before any learning"),
        (TRIANGLE, "evaluated", "every cell below the diagonal is empty"),
        (TRIANGLE[:2, :2], "evaluated", "every cell below the diagonal is empty"),
        (ZEROS, "evaluated", "every cell below the diagonal is 0"),
        (ZEROS.T, "learned", "every cell above the diagonal is 0"),
    ],
)
def test_shape_then_empty_cells_then_zeros_decide(cells: Cells, rows: str, because: str) -> None:
    found = orientation(cells)
    assert found.rows == rows
    assert because in found.because


@pytest.mark.parametrize(
    "cells",
    [
        FULL,
        [[0.9, 0.5], [0.0, 0.8]],  # two tasks: one zero is no half
        [[0.9, 0.0, 0.5], [0.0, 0.8, 0.7], [0.0, 0.0, 0.9]],  # the other half holds a zero too
        [[0.9, 0.6, 0.5], [0.0, 0.8, NAN], [0.0, 0.0, 0.9]],  # something is missing
        [[NAN, 0.6, 0.5], [0.0, 0.8, 0.5], [0.0, 0.0, 0.9]],  # even on the diagonal
        [[0.9, 0.6, NAN], [NAN, 0.8, 0.7], [0.3, 0.2, 0.9]],  # gaps in both halves
    ],
)
def test_what_does_not_decide_is_left_to_the_user(cells: Any) -> None:
    cells = np.array(cells)
    assert orientation(cells).rows is None
    assert not orientation(cells).either
    for said in ("evaluated", "learned"):
        assert orientation(cells, said).rows == said


@pytest.mark.parametrize("cells", [[[0.9]], np.eye(2), np.eye(4) * 0.7, [[0.9, NAN], [NAN, 0.8]]])
def test_a_diagonal_reads_the_same_either_way(cells: Any) -> None:
    assert orientation(np.array(cells)).either


@pytest.mark.parametrize("shape", [(0, 0), (1, 2), (2, 1), (1, 5), (5, 1), (2, 4), (5, 3)])
def test_a_shape_that_no_matrix_has_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(LogError, match=f"m.csv: {shape[0]} rows × {shape[1]} columns is not an accuracy matrix"):
        orientation(np.full(shape, 0.5), source="m.csv")


def test_a_shape_that_contradicts_an_empty_half_is_refused() -> None:
    lower = np.hstack([FULL[:, :1], TRIANGLE.T])
    for cells in (lower, lower.T):
        with pytest.raises(LogError, match=r"one more than a square, so rows are .* but every cell"):
            orientation(cells)


@given(tables(), st.sampled_from(["evaluated", "learned"]))
def test_what_is_said_is_followed_or_refused_and_never_ignored(cells: Cells, said: Any) -> None:
    try:
        found = orientation(cells).rows
    except LogError:
        found = None
    if found == OTHER[said] and "is 0" not in orientation(cells).because:
        with pytest.raises(LogError, match=f"say --rows {found}, or leave it out"):
            orientation(cells, said)
    elif found:
        assert orientation(cells, said).rows == said


def test_what_is_said_goes_before_zeros() -> None:
    assert orientation(ZEROS, "learned").rows == "learned"


def test_undecided_matrices_follow_those_that_decide() -> None:
    found = orientations([("a", FULL), ("b", TRIANGLE.T), ("c", np.eye(3)), ("d", FULL)])
    assert [one.rows for one in found] == ["learned"] * 4
    assert found[0].because == "as in b"
    assert [one.rows for one in orientations([("a", FULL), ("c", np.eye(3))])] == [None, None]


def test_matrices_that_decide_must_agree() -> None:
    with pytest.raises(LogError, match="in a rows are the evaluated tasks, in b rows are the tasks learned so far"):
        orientations([("a", TRIANGLE), ("c", FULL), ("b", TRIANGLE.T)])
