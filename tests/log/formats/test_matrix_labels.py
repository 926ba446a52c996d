"""Labels of matrices: names and counts around the numbers are separated from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from perdure.errors import LogError
from perdure.log.formats.matrix_files import RawMatrix, fits, is_matrix, parse_text

CELLS = [["98.5", "62.3", "55.1"], ["", "97.8", "58.6"], ["", "", "98.2"]]
NAMES = ["pong", "chess", "go"]
ZERO, ONE = ["0", "1", "2"], ["1", "2", "3"]


def add_labels(header: list[str] | None, index: list[str] | None, corner: str = "") -> list[list[str]]:
    """Return the cells with labels around them."""
    rows = [[name, *row] for name, row in zip(index, CELLS, strict=True)] if index else CELLS
    above = [[corner, *header] if index else header] if header else []
    return [*above, *rows]


@pytest.mark.parametrize("corner", ["", "task"])
@pytest.mark.parametrize("index", [None, NAMES, ZERO, ONE])
@pytest.mark.parametrize("header", [None, NAMES, ZERO, ONE])
def test_labels_of_any_kind_leave_the_same_numbers(header: Any, index: Any, corner: str) -> None:
    syllabus = parse_text(add_labels(header, index, corner), "m.csv")
    np.testing.assert_array_equal(syllabus.cells, [[98.5, 62.3, 55.1], [np.nan, 97.8, 58.6], [np.nan, np.nan, 98.2]])
    assert syllabus.column_names == (tuple(NAMES) if header is NAMES else None)
    assert syllabus.row_names == (tuple(NAMES) if index is NAMES else None)
    counting = [labels for labels in (header, index) if labels in (ZERO, ONE)]
    assert len(syllabus.notes) == len(counting)
    assert all("was read as labels" in note for note in syllabus.notes)


def test_a_word_before_counting_numbers_names_the_state_before_learning() -> None:
    lines = [["init", "1", "2"], ["10", "90", "50"], ["10", "20", "80"]]
    np.testing.assert_array_equal(parse_text(lines, "m.csv").cells, [[10, 90, 50], [10, 20, 80]])


@given(hnp.arrays(np.float64, st.integers(2, 5).map(lambda count: (count, count)), elements=st.floats(3, 100)))
def test_numbers_that_do_not_count_are_values(cells: np.ndarray[Any, Any]) -> None:
    result = RawMatrix.of(cells, "m")
    np.testing.assert_array_equal(result.cells, cells)
    assert result.notes == ()


@given(hnp.arrays(np.float64, st.integers(2, 5).map(lambda count: (count, count)), elements=st.floats(3, 100)))
def test_counting_labels_are_recognised_in_arrays_too(cells: np.ndarray[Any, Any]) -> None:
    count = len(cells)
    framed = np.full((count + 1, count + 1), np.nan)
    framed[1:, 1:] = cells
    for first in (0, 1):
        framed[0, 1:] = framed[1:, 0] = np.arange(first, first + count)
        np.testing.assert_array_equal(RawMatrix.of(framed, "m").cells, cells)


@pytest.mark.parametrize("cells", [[[1.0]], [[0.0]], [[1.0, 2.0, 3.0]], np.zeros((0, 0)), [[0.0, 1.0], [0.5, 0.7]]])
def test_labels_are_removed_only_if_a_matrix_remains(cells: Any) -> None:
    np.testing.assert_array_equal(RawMatrix.of(np.array(cells), "m").cells, cells)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([["90", "fifty"], ["", "80"]], "m.csv:1: cell 2: 'fifty' is not a finite number"),
        ([["a", "b"], ["90", "x"], ["", "80"]], "m.csv:2: cell 2: 'x' is not a finite number"),
        ([["a", "7", "b"], ["9", "8", "7"], ["9", "8", "7"]], "m.csv:1: cell 1: 'a'"),
        ([["90", "50"], ["80"]], "m.csv:2: 1 cells where line 1 has 2; keep the delimiters"),
        ([["word"]], "m.csv:1: cell 1: 'word'"),
    ],
)
def test_a_word_out_of_place_is_named_with_line_and_cell(lines: Any, words: str) -> None:
    with pytest.raises(LogError, match=words):
        parse_text(lines, "m.csv")
    assert not is_matrix(lines)


@given(
    st.lists(st.lists(st.sampled_from(["", "0", "1", "2", "0.5", "a", "b", "nan"]), min_size=1, max_size=4), max_size=4)
)
def test_a_table_that_is_a_matrix_can_be_parsed(lines: list[list[str]]) -> None:
    if is_matrix(lines):
        assert fits(*parse_text(lines, "m.csv").cells.shape)
