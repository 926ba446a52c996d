"""Matrices of very many tasks."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.reports.draw.data.folded import Fold


@pytest.mark.parametrize(("tasks", "most", "rows"), [(5, None, 5), (200, 200, 200), (201, 200, 101), (2000, 200, 200)])
def test_no_more_rows_are_left_than_asked_for(tasks: int, most: int | None, rows: int) -> None:
    fold = Fold.of(tasks, most)
    names = [f"t{at}" for at in range(tasks)]
    cells = np.random.default_rng(0).normal(size=(tasks, tasks))
    assert fold.means(cells).shape == (rows, rows)
    assert fold.most(cells).shape == (rows, rows)
    assert len(fold.tasks(names)) == rows
    assert bool(fold.note) is (rows < tasks)


def test_a_folded_cell_is_the_mean_of_what_is_known() -> None:
    cells = np.array([[1.0, 3.0, np.nan], [np.nan, 5.0, np.nan], [7.0, np.nan, 9.0]])
    fold = Fold(2)
    np.testing.assert_array_equal(fold.means(cells), [[3.0, np.nan], [7.0, 9.0]])
    np.testing.assert_array_equal(fold.most(np.array([[1, 2, 0], [0, 4, 0], [1, 0, 3]])), [[4, 0], [1, 3]])
    assert fold.tasks(["a", "b", "c"]) == ("a … b", "c")
