"""Heat maps of very many tasks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from perdure.reports.figures.heatmap import fold_maxima, fold_means, fold_names, heatmap
from perdure.reports.svg import Canvas


@pytest.mark.parametrize(("tasks", "rows"), [(5, 5), (60, 60), (61, 31), (2000, 59)])
def test_neighbours_share_a_row_if_there_are_more_than_sixty_tasks(tasks: int, rows: int) -> None:
    cells = np.random.default_rng(0).normal(size=(tasks, tasks))
    counts = np.ones((tasks, tasks), dtype=np.int64)
    names = [f"t{index}" for index in range(tasks)]
    body, _ = heatmap(names, names, cells, counts, Canvas(), 0, ("row", "column"), lambda _: "#ffffff", str)
    assert body.count("<rect") == rows**2
    assert ("neighbouring tasks share a row" in body) is (rows < tasks)


def test_a_folded_cell_is_the_mean_of_what_is_known() -> None:
    cells = np.array([[1.0, 3.0, np.nan], [np.nan, 5.0, np.nan], [7.0, np.nan, 9.0]])
    np.testing.assert_array_equal(fold_means(cells, (2, 2)), [[3.0, np.nan], [7.0, 9.0]])
    np.testing.assert_array_equal(fold_means(cells, (1, 1)), cells)
    np.testing.assert_array_equal(fold_means(cells, (3, 1)), [[4.0, 4.0, 9.0]])
    np.testing.assert_array_equal(fold_maxima(np.array([[1, 2, 0], [0, 4, 0], [1, 0, 3]]), (2, 2)), [[4, 0], [1, 3]])
    assert fold_names(["a", "b", "c"], 2) == ("a … b", "c")


def test_numbers_are_white_on_dark_cells_and_dark_on_pale_ones() -> None:
    colours = {0.0: "#f1f5f9", 1.0: "#0a4f86"}
    cells, counts = np.array([[0.0, 1.0]]), np.ones((1, 2), dtype=np.int64)
    body, _ = heatmap(["a"], ["x", "y"], cells, counts, Canvas(), 0, ("row", "column"), colours.__getitem__, str)
    assert re.findall(r'(dark|light)">([\d.]+)<', body) == [("dark", "0.0"), ("light", "1.0")]


def test_cells_are_as_wide_as_the_canvas() -> None:
    cells, counts = np.zeros((2, 3)), np.ones((2, 3), dtype=np.int64)
    body, _ = heatmap(
        ["a", "b"], ["x", "y", "z"], cells, counts, Canvas(), 0, ("row", "column"), lambda _: "#ffffff", str
    )
    ends = [float(x) + float(width) for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', body)]
    assert len(ends) == 6
    assert max(ends) == pytest.approx(Canvas().width, abs=2)
