"""Orientation of a matrix: the evidence that decides it, in order, without guessing."""

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
    """Draw square matrices and those with one more row or column; some cells, or a half, are empty or zero."""
    shapes = st.integers(2, 4).flatmap(
        lambda count: st.sampled_from([(count, count), (count, count + 1), (count + 1, count)])
    )
    cells = st.sampled_from([NAN, 0.0, 0.25, 0.5, 1.0])
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=cells))


@given(tables())
def test_a_transposed_table_has_the_other_orientation(cells: Cells) -> None:
    try:
        straight = orientation(cells)
    except LogError:
        with pytest.raises(LogError):
            orientation(cells.T)
        return
    transposed = orientation(cells.T)
    assert transposed.either == straight.either
    assert transposed.rows == (OTHER[straight.rows] if straight.rows else None)


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
    angle = orientation(cells)
    assert angle.rows == rows
    assert because in angle.because


@pytest.mark.parametrize(
    "cells",
    [
        FULL,
        [[0.9, 0.5], [0.0, 0.8]],  # two tasks: one zero is not a half
        [[0.9, 0.0, 0.5], [0.0, 0.8, 0.7], [0.0, 0.0, 0.9]],  # the other half has a zero too
        [[0.9, 0.6, 0.5], [0.0, 0.8, NAN], [0.0, 0.0, 0.9]],  # a cell is missing
        [[NAN, 0.6, 0.5], [0.0, 0.8, 0.5], [0.0, 0.0, 0.9]],  # even on the diagonal
        [[0.9, 0.6, NAN], [NAN, 0.8, 0.7], [0.3, 0.2, 0.9]],  # gaps in both halves
    ],
)
def test_an_undecided_orientation_is_left_to_the_user(cells: Any) -> None:
    cells = np.array(cells)
    assert orientation(cells).rows is None
    assert not orientation(cells).either
    for message in ("evaluated", "learned"):
        assert orientation(cells, message).rows == message


@pytest.mark.parametrize("cells", [[[0.9]], np.eye(2), np.eye(4) * 0.7, [[0.9, NAN], [NAN, 0.8]]])
def test_a_diagonal_reads_the_same_either_way(cells: Any) -> None:
    assert orientation(np.array(cells)).either


@pytest.mark.parametrize("shape", [(0, 0), (1, 2), (2, 1), (1, 5), (5, 1), (2, 4), (5, 3)])
def test_an_impossible_shape_is_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(LogError, match=f"m.csv: {shape[0]} rows × {shape[1]} columns is not an accuracy matrix"):
        orientation(np.full(shape, 0.5), source="m.csv")


def test_a_shape_that_contradicts_an_empty_half_is_refused() -> None:
    lower = np.hstack([FULL[:, :1], TRIANGLE.T])
    for cells in (lower, lower.T):
        with pytest.raises(LogError, match=r"one more than a square, so rows are .* but every cell"):
            orientation(cells)


@given(tables(), st.sampled_from(["evaluated", "learned"]))
def test_a_given_orientation_is_followed_or_refused_and_never_ignored(cells: Cells, row_meaning: Any) -> None:
    try:
        rows = orientation(cells).rows
    except LogError:
        rows = None
    if rows == OTHER[row_meaning] and "is 0" not in orientation(cells).because:
        with pytest.raises(LogError, match=f"say --rows {rows}, or leave it out"):
            orientation(cells, row_meaning)
    elif rows:
        assert orientation(cells, row_meaning).rows == row_meaning


def test_a_given_orientation_overrides_zeros() -> None:
    assert orientation(ZEROS, "learned").rows == "learned"


def test_undecided_matrices_take_the_orientation_of_decided_ones() -> None:
    result = orientations([("a", FULL), ("b", TRIANGLE.T), ("c", np.eye(3)), ("d", FULL)])
    assert [item.rows for item in result] == ["learned"] * 4
    assert result[0].because == "as in b"
    assert [angle.rows for angle in orientations([("a", FULL), ("c", np.eye(3))])] == [None, None]


def test_decided_matrices_must_agree() -> None:
    with pytest.raises(LogError, match="in a rows are the evaluated tasks, in b rows are the tasks learned so far"):
        orientations([("a", TRIANGLE), ("c", FULL), ("b", TRIANGLE.T)])
