"""Heat maps of very many tasks."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.reports.figures.heatmap import fold_maxima, fold_means, fold_names, heatmap
from perdure.reports.svg import Canvas


@pytest.mark.parametrize(("tasks", "rows"), [(5, 5), (60, 60), (61, 31), (2000, 59)])
def test_neighbours_share_a_row_if_there_are_more_than_sixty_tasks(tasks: int, rows: int) -> None:
    cells = np.random.default_rng(0).normal(size=(tasks, tasks))
    counts = np.ones((tasks, tasks), dtype=np.int64)
    names = [f"t{index}" for index in range(tasks)]
    body, _ = heatmap(names, cells, counts, Canvas(), 0, ("row", "column"), lambda _: ("#ffffff", 0.0))
    assert body.count("<rect") == rows**2
    assert ("neighbouring tasks share a row" in body) is (rows < tasks)


def test_a_folded_cell_is_the_mean_of_what_is_known() -> None:
    cells = np.array([[1.0, 3.0, np.nan], [np.nan, 5.0, np.nan], [7.0, np.nan, 9.0]])
    np.testing.assert_array_equal(fold_means(cells, 2), [[3.0, np.nan], [7.0, 9.0]])
    np.testing.assert_array_equal(fold_means(cells, 1), cells)
    np.testing.assert_array_equal(fold_maxima(np.array([[1, 2, 0], [0, 4, 0], [1, 0, 3]]), 2), [[4, 0], [1, 3]])
    assert fold_names(["a", "b", "c"], 2) == ("a … b", "c")
