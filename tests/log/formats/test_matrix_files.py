"""Accuracy matrices from files: which files are read, and which are refused with which message."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.log.formats.matrices import EXAMPLE, FULL, S002, accuracy_matrix, as_file, as_text, write_file

from perdure.errors import LogError, NotALogError, PerdureError, UnknownNameError
from perdure.log.formats.matrix import read_matrix
from perdure.log.formats.matrix_files import looks_like_matrix, read_baseline


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "npz", "npy"])
@pytest.mark.parametrize("transposed", [False, True])
def test_every_format_gives_the_same_matrix(tmp_path: Path, suffix: str, transposed: bool) -> None:
    path = as_file(tmp_path, S002.T if transposed else S002, suffix)
    assert looks_like_matrix(path)
    matrix = read_matrix(path)
    np.testing.assert_array_equal(matrix.after, S002)
    assert np.isnan(matrix.values[:, 0]).all()
    assert matrix.unit == "percent"
    assert matrix.tasks == ("task1", "task2", "task3", "task4", "task5")


def test_the_example_holds_the_numbers_of_s002() -> None:
    np.testing.assert_array_equal(read_matrix(EXAMPLE).after, S002)


@given(hnp.arrays(np.float64, st.integers(2, 6).map(lambda count: (count, count + 1)), elements=st.floats(3.0, 100.0)))
def test_a_matrix_survives_the_round_trip_through_text(tmp_path_factory: Any, cells: np.ndarray[Any, Any]) -> None:
    path = write_file(tmp_path_factory.mktemp("round"), as_text(cells))
    np.testing.assert_array_equal(read_matrix(path).values, cells)


def test_a_column_before_any_learning_is_stored_separately(tmp_path: Path) -> None:
    matrix = read_matrix(write_file(tmp_path, "0.1,0.9,0.5\n0.1,0.2,0.8\n"))
    np.testing.assert_array_equal(matrix.values, [[0.1, 0.9, 0.5], [0.1, 0.2, 0.8]])
    np.testing.assert_array_equal(matrix.after, [[0.9, 0.5], [0.2, 0.8]])
    assert matrix.unit == "fraction"


def test_windows_line_ends_a_byte_order_mark_and_trailing_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain = read_matrix(write_file(tmp_path, "90,50\n,80\n", "plain.csv"))
    other = read_matrix(write_file(tmp_path, b"\xef\xbb\xbf90, 50\r\n, 80\r\n\r\n", "other.csv"))
    np.testing.assert_array_equal(plain.values, other.values)


def test_json_carries_names_unit_and_baselines(tmp_path: Path) -> None:
    facts = {
        "matrix": [[2, 1], [None, 3]],
        "tasks": ["Pong", "Chess"],
        "unit": "raw",
        "random_init": 1,
        "joint": [4, 5],
    }
    matrix = read_matrix(write_file(tmp_path, json.dumps(facts), "m.json"))
    assert matrix.tasks == ("pong", "chess")
    assert (matrix.unit, matrix.random_init, matrix.joint) == ("raw", (1.0, 1.0), (4.0, 5.0))


def test_npz_takes_the_array_named_matrix_among_several(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, matrix=FULL, loss=FULL * 2, tasks=np.array(["a", "b", "c"]))
    assert read_matrix(path, rows="evaluated").tasks == ("a", "b", "c")


def test_lowest_counts_from_learning_on_and_highest_counts_all() -> None:
    matrix = accuracy_matrix([[0.0, 0.9, 0.5, 0.7], [0.99, 0.0, 0.8, 0.7], [0.1, 0.2, 0.3, 0.4]])
    assert matrix.lowest == (0.5, 0.7, 0.4)
    assert matrix.highest == (0.9, 0.99, 0.4)


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "full": (as_text(FULL), "3 × 3 and every cell is filled.*say --rows evaluated if.*or --rows learned if"),
    "gaps in both halves": ("90,,50\n20,80,60\n,30,70\n", "3 × 3 and gaps in both halves.*say --rows evaluated"),
    "not square": ("90,50,40,30\n,80,70,60\n", "2 rows × 4 columns is not an accuracy matrix"),
    "one column": ("90\n80\n70\n", "3 rows × 1 columns is not an accuracy matrix"),
    "one row": ("90,80\n", "1 rows × 2 columns is not an accuracy matrix"),
    "ragged": ("90,50\n80\n", ":2: 1 cells where line 1 has 2; keep the delimiters"),
    "blank line between": ("90,50\n\n,80\n", ":2: 0 cells"),
    "above 100": ("90,50\n,101\n", r"A\[2, 2\] is 101, outside 0..100 \(percent\)"),
    "below 0": ("90,-50\n,80\n", r"A\[1, 2\] is -50, outside 0..100"),
    "a word": ("90,fifty\n,80\n", ":1: cell 2: 'fifty' is not a finite number"),
    "two dashes": ("90,50\n--,80\n", ":2: cell 1: '--' is not a finite number.*leave a cell empty"),
    "some percent signs": ("90%,50%\n,0.8\n", "'90%' has a percent sign, '0.8' has none"),
    "inf": ("90,inf\n,80\n", ":1: cell 2: 'inf' is not a finite number"),
    "two orders of names": (",a,b\nb,90,50\na,,80\n", "rows name the tasks as b, a, columns as a, b"),
    "a name twice": ("a,A\n90,50\n,80\n", "task 'a' is named twice"),
    "a name missing": (",b\n90,50\n,80\n", "task 1 has no name"),
    "empty file": ("", "the file is empty"),
    "only blanks": ("\n \n", "the file is empty"),
    "only delimiters": (",\n,\n", "no cell holds a value"),
    "not text": (b"\xff\xfe9\x000\x00", "byte 0 is not UTF-8"),
    "a cell without end": ('"' + "9" * 200_000, "cell 1: '9{59} is not a finite number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_text_file_is_refused_with_the_reason(tmp_path: Path, case: str) -> None:
    text, words = REFUSED[case]
    path = write_file(tmp_path, text)
    with pytest.raises(LogError, match=words) as problem:
        read_matrix(path)
    assert str(path) in str(problem.value)


REFUSED_JSON = {
    "not JSON": ("[[1, 2", "not JSON"),
    "NaN": ("[[0.5, NaN], [null, 0.5]]", "not JSON.*undefined cells are null"),
    "infinite": ("[[0.5, 1e999], [null, 0.5]]", "not JSON|is infinite"),
    "nested without end": ("[" * 100_000, "not JSON"),
    "text cell": ('[[0.5, "x"], [null, 0.5]]', "row 1, cell 2: 'x' is no number"),
    "truth value": ("[[0.5, 0.5], [true, 0.5]]", "row 2, cell 1: True is no number"),
    "ragged": ("[[0.5, 0.5], [0.5]]", "row 2 has 1 cells, row 1 has 2"),
    "empty list": ("[]", "list of rows"),
    "flat list": ("[0.5, 0.5]", "list of rows, each a list.*found list"),
    "no matrix": ('{"tasks": ["a"]}', 'neither of the keys .*found: tasks.*give "matrix"'),
    "matrix and matrices": (
        '{"matrix": [[1]], "matrices": [[[1]]]}',
        'both of the keys .*give "matrix".*or "matrices"',
    ),
    "no matrices": ('{"matrices": []}', "matrices are a list of matrices, or an object of them by name"),
    "seeds": ('{"matrices": [[[1]], [[1]]], "seeds": [3]}', "1 seeds for 2 matrices"),
    "two ways round": ("[[[1, 1], [null, 1]], [[1, null], [1, 1]]]", "matrices that are read together"),
    "number": ("3", "list of rows.*found int 3"),
    "tasks not text": ('{"matrix": [[0.5]], "tasks": [1]}', '"tasks": Expected `str`'),
    "too few tasks": ('{"matrix": [[0.5, 0.5], [null, 0.5]], "tasks": ["a"]}', "1 task names for 2 tasks"),
    "one name twice": ('{"matrix": [[0.5, 0.5], [null, 0.5]], "tasks": ["a", "A"]}', "task 'a' is named twice"),
    "unit": ('{"matrix": [[0.5]], "unit": "promille"}', '"unit": Invalid enum value'),
    "baseline": ('{"matrix": [[0.5]], "joint": [0.5, 0.5]}', "joint has 2 values for 1 tasks"),
    "huge": ("[[" + "9" * 400 + "]]", "not JSON|is infinite|too large"),
}


@pytest.mark.parametrize("case", REFUSED_JSON)
def test_bad_json_is_refused_with_the_reason(tmp_path: Path, case: str) -> None:
    text, words = REFUSED_JSON[case]
    path = write_file(tmp_path, text, "m.json")
    with pytest.raises(LogError, match=words) as problem:
        read_matrix(path)
    assert str(path) in str(problem.value)


def test_an_unknown_key_in_json_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'random_init'"):
        read_matrix(write_file(tmp_path, '{"matrix": [[1]], "random_inits": 1}', "m.json"))


class Harm:
    """An object whose unpickling would leave a trace."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Path.touch, (self.trace,)


def test_pickled_arrays_are_refused_and_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    for name in ("m.npz", "m.npy"):
        path = tmp_path / name
        array = np.array([[Harm(trace)]], dtype=object)
        np.savez(path, array) if name.endswith("z") else np.save(path, array)
        with pytest.raises(LogError, match="pickled objects are never read"):
            read_matrix(path)
    bare = write_file(tmp_path, pickle.dumps(Harm(trace)), "bare.npz")
    with pytest.raises(LogError, match="pickled objects are never read"):
        read_matrix(bare)
    assert not trace.exists()


def test_several_unnamed_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, train=FULL, test=FULL)
    with pytest.raises(LogError, match=r"no array is called matrix .found: train, test"):
        read_matrix(path)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.stack([[FULL], [FULL]]), "4 dimensions; a matrix has 2"),
        (FULL[0], "1 dimensions"),
        (np.zeros((0, 2, 2)), "no matrix in it"),
        (np.array([["a"]]), "holds <U1, not numbers"),
        (FULL > 0.5, "holds bool, not numbers"),
        (FULL + 1j, "holds complex128, not numbers"),
        (np.array([[0.5, np.inf], [np.nan, 0.5]]), r"A\[1, 2\] is infinite"),
        (np.zeros((0, 0)), "0 rows × 0 columns"),
    ],
)
def test_an_array_that_is_not_a_matrix_is_refused(tmp_path: Path, array: np.ndarray[Any, Any], words: str) -> None:
    path = tmp_path / "m.npz"
    np.savez(path, array)
    with pytest.raises(LogError, match=words):
        read_matrix(path)


def test_a_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = as_file(tmp_path, FULL, "npz")
    whole = path.read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:length])
        with pytest.raises(LogError, match=str(path)):
            read_matrix(path)


def test_a_missing_file_and_a_file_that_is_not_a_matrix_are_reported(tmp_path: Path) -> None:
    with pytest.raises(NotALogError, match=r"expected one of \.csv"):
        read_matrix(write_file(tmp_path, "1", "m.xlsx"))
    with pytest.raises(LogError, match="No such file"):
        read_matrix(tmp_path / "none.csv")


def test_tables_with_names_and_foreign_json_are_not_recognised(tmp_path: Path) -> None:
    assert not looks_like_matrix(write_file(tmp_path, "task,reward\na,1\n", "long.csv"))
    assert not looks_like_matrix(write_file(tmp_path, '{"syllabus": 1}', "s.json"))
    assert not looks_like_matrix(write_file(tmp_path, "", "empty.csv"))
    assert not looks_like_matrix(tmp_path / "none.csv")
    assert not looks_like_matrix(tmp_path)
    assert looks_like_matrix(write_file(tmp_path, ",0.5\n", "m.csv"))


@given(st.binary(max_size=60), st.sampled_from(["csv", "json", "npz", "npy"]))
def test_any_bytes_give_a_matrix_or_one_of_our_errors(tmp_path_factory: Any, content: bytes, suffix: str) -> None:
    path = write_file(tmp_path_factory.mktemp("bytes"), content, f"m.{suffix}")
    looks_like_matrix(path)
    try:
        matrix = read_matrix(path)
    except PerdureError as problem:
        matrix, words = None, str(problem)
    if matrix is None:
        assert str(path) in words
    else:
        assert matrix.values.shape == (len(matrix.tasks), len(matrix.tasks) + 1)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("b.json", "[10, 12]", (10.0, 12.0)),
        ("b.json", '{"a": 10, "b": 12}', {"a": 10.0, "b": 12.0}),
        ("b.json", "10", 10.0),
        ("b.csv", "10,12\n", (10.0, 12.0)),
        ("b.tsv", "10\n12\n", (10.0, 12.0)),
    ],
)
def test_a_baseline_is_read_from_a_file(tmp_path: Path, name: str, content: str, expected: Any) -> None:
    assert read_baseline(str(write_file(tmp_path, content, name))) == expected


def test_a_baseline_is_read_from_its_own_text() -> None:
    assert read_baseline("10") == 10.0
    assert read_baseline("10, 12.5") == (10.0, 12.5)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("b.json", '["x"]', "b.json: no baseline: .*expected a number, a list, or task names"),
        ("b.csv", "1,2\n3,4\n", "one number per task"),
        ("b.csv", "1,,3\n", "without gaps"),
        ("b.md", "1", "no baseline by its name"),
    ],
)
def test_a_file_that_is_not_a_baseline_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(LogError, match=words):
        read_baseline(str(write_file(tmp_path, content, name)))


@pytest.mark.parametrize("text", ["ten", "", "10,", "nan", "none.csv"])
def test_a_text_that_is_not_a_baseline_is_refused(text: str) -> None:
    with pytest.raises(LogError, match=r"--joint: .* is neither a number, nor numbers with commas between, nor a file"):
        read_baseline(text, "--joint")
