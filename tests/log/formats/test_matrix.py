"""Accuracy matrices from files: what is read, and what is refused with which words."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from perdure.errors import LogError, NotALog, PerdureError, UnknownName
from perdure.log.accuracy_matrix import with_baselines
from perdure.log.check import check_log
from perdure.log.contract import check_reader
from perdure.log.formats.matrix import (
    MATRIX,
    looks_like_matrix,
    matrix_lifetime,
    matrix_lifetimes,
    read_baseline,
    read_matrix,
    ways_round,
)
from perdure.log.formats.matrix_settled import accuracy_matrix
from perdure.log.model import STANDARD_COLUMNS
from perdure.log.read import Options, ReaderOfMany, lifetimes, parts, read

EXAMPLE = Path(__file__).parents[3] / "examples" / "matrix" / "s002.csv"

# The five tasks of the accuracy-matrix page (S002), percent.
S002 = np.array(
    [
        [98.5, 62.3, 55.1, 51.8, 49.2],
        [np.nan, 97.8, 58.6, 52.4, 50.1],
        [np.nan, np.nan, 98.2, 61.3, 53.7],
        [np.nan, np.nan, np.nan, 97.5, 58.9],
        [np.nan, np.nan, np.nan, np.nan, 98.1],
    ]
)
FULL = np.array([[0.9, 0.6, 0.5], [0.2, 0.8, 0.7], [0.1, 0.3, 0.9]])


def written(folder: Path, text: str | bytes, name: str = "matrix.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def as_text(cells: np.ndarray[Any, Any], delimiter: str = ",") -> str:
    rows = (delimiter.join("" if np.isnan(cell) else repr(float(cell)) for cell in row) for row in cells)
    return "\n".join(rows) + "\n"


def as_lists(cells: np.ndarray[Any, Any]) -> list[list[float | None]]:
    return [[None if np.isnan(cell) else float(cell) for cell in row] for row in cells]


def as_file(folder: Path, cells: np.ndarray[Any, Any], suffix: str) -> Path:
    path = folder / f"matrix.{suffix}"
    if suffix == "json":
        path.write_text(json.dumps(as_lists(cells)))
    elif suffix == "npz":
        np.savez(path, cells)
    elif suffix == "npy":
        np.save(path, cells)
    else:
        path.write_text(as_text(cells, "\t" if suffix == "tsv" else ","))
    return path


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
@settings(max_examples=30, deadline=None)
def test_a_matrix_survives_the_round_trip_through_text(tmp_path_factory: Any, cells: np.ndarray[Any, Any]) -> None:
    path = written(tmp_path_factory.mktemp("round"), as_text(cells))
    np.testing.assert_array_equal(read_matrix(path).values, cells)


def test_a_column_before_any_learning_is_kept_apart(tmp_path: Path) -> None:
    matrix = read_matrix(written(tmp_path, "0.1,0.9,0.5\n0.1,0.2,0.8\n"))
    np.testing.assert_array_equal(matrix.values, [[0.1, 0.9, 0.5], [0.1, 0.2, 0.8]])
    np.testing.assert_array_equal(matrix.after, [[0.9, 0.5], [0.2, 0.8]])
    assert matrix.unit == "fraction"


def test_windows_line_ends_a_byte_order_mark_and_trailing_blank_lines_change_nothing(tmp_path: Path) -> None:
    plain = read_matrix(written(tmp_path, "90,50\n,80\n", "plain.csv"))
    other = read_matrix(written(tmp_path, b"\xef\xbb\xbf90, 50\r\n, 80\r\n\r\n", "other.csv"))
    np.testing.assert_array_equal(plain.values, other.values)


def test_json_carries_names_unit_and_baselines(tmp_path: Path) -> None:
    facts = {
        "matrix": [[2, 1], [None, 3]],
        "tasks": ["Pong", "Chess"],
        "unit": "raw",
        "random_init": 1,
        "joint": [4, 5],
    }
    matrix = read_matrix(written(tmp_path, json.dumps(facts), "m.json"))
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


ZEROS = np.nan_to_num(S002)
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
    path = written(tmp_path, text)
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
    path = written(tmp_path, text, "m.json")
    with pytest.raises(LogError, match=words) as problem:
        read_matrix(path)
    assert str(path) in str(problem.value)


def test_an_unknown_key_in_json_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'random_init'"):
        read_matrix(written(tmp_path, '{"matrix": [[1]], "random_inits": 1}', "m.json"))


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
    bare = written(tmp_path, pickle.dumps(Harm(trace)), "bare.npz")
    with pytest.raises(LogError, match="pickled objects are never read"):
        read_matrix(bare)
    assert not trace.exists()


def test_several_unnamed_arrays_ask_which_one(tmp_path: Path) -> None:
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
def test_an_array_that_is_no_matrix_is_refused(tmp_path: Path, array: np.ndarray[Any, Any], words: str) -> None:
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


def test_what_is_no_matrix_by_name_or_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotALog, match=r"expected one of \.csv"):
        read_matrix(written(tmp_path, "1", "m.xlsx"))
    with pytest.raises(LogError, match="No such file"):
        read_matrix(tmp_path / "none.csv")


def test_what_is_said_of_the_rows_must_not_contradict_the_cells(tmp_path: Path) -> None:
    path = written(tmp_path, as_text(S002))
    with pytest.raises(
        LogError, match=r"every cell below the diagonal is empty.*say --rows evaluated, or leave it out"
    ):
        read_matrix(path, rows="learned")
    with pytest.raises(UnknownName, match="did you mean 'learned'"):
        read_matrix(path, rows="learnt")  # type: ignore[arg-type]


@pytest.mark.parametrize("cells", [ZEROS, ZEROS.T])
def test_zeros_before_learning_are_not_evaluated_unless_said_to_be_measured(cells: np.ndarray[Any, Any]) -> None:
    read_as_missing, as_measured = accuracy_matrix(cells), accuracy_matrix(cells, as_given=True)
    np.testing.assert_array_equal(read_as_missing.after, S002)
    np.testing.assert_array_equal(as_measured.after, ZEROS)
    assert "say --as-given if they were measured" in read_as_missing.notes[1]
    assert "count as measured" in as_measured.notes[1]


def test_zeros_before_learning_count_as_missing_however_the_orientation_was_found() -> None:
    forgetful = np.array([[0.9, 0.0, 0.5], [0.0, 0.8, 0.7], [0.0, 0.0, 0.9]])
    with_start = np.hstack([np.full((3, 1), 0.1), forgetful])
    for matrix in (accuracy_matrix(forgetful, rows="evaluated"), accuracy_matrix(with_start)):
        np.testing.assert_array_equal(matrix.after, [[0.9, 0.0, 0.5], [np.nan, 0.8, 0.7], [np.nan, np.nan, 0.9]])
    two = accuracy_matrix([[0.9, 0.5], [0.0, 0.8]], rows="evaluated")
    assert two.after[1, 0] == 0.0  # of two tasks it is one cell, and may have been measured


@pytest.mark.parametrize("count", [2, 4])
def test_a_diagonal_among_zeros_is_total_forgetting(count: int) -> None:
    matrix = accuracy_matrix(np.eye(count) * 0.9)
    after = matrix.after
    assert (after[np.triu_indices(count, k=1)] == 0.0).all()
    assert np.isnan(after[np.tril_indices(count, k=-1)]).all()
    assert "the same either way round" in matrix.notes[0]
    assert "those after it as measured" in matrix.notes[1]


def test_a_full_matrix_that_reads_better_the_other_way_round_is_noted() -> None:
    assert len(accuracy_matrix(FULL, rows="evaluated").notes) == 1
    assert "say --rows learned" in accuracy_matrix(FULL.T, rows="evaluated").notes[-1]
    assert "say --rows evaluated" in accuracy_matrix(FULL, rows="learned").notes[-1]


@pytest.mark.parametrize(
    ("cells", "rows", "words"),
    [
        (S002, None, "in percent: 5 tasks, rows are the evaluated tasks (every cell below the diagonal is empty)"),
        (S002.T, None, "5 tasks, rows are the tasks learned so far (every cell above the diagonal is empty)"),
        (FULL, "learned", "in fraction: 3 tasks, rows are the tasks learned so far (as told)"),
        (np.array([[90.0]]), None, "in percent: 1 task"),
    ],
)
def test_how_a_matrix_was_read_is_said(cells: np.ndarray[Any, Any], rows: Any, words: str) -> None:
    assert accuracy_matrix(cells, rows=rows).notes[0].endswith(words)


def test_one_task_makes_a_matrix(tmp_path: Path) -> None:
    assert read_matrix(written(tmp_path, "97.5\n")).after.shape == (1, 1)


@pytest.mark.parametrize(
    ("cells", "said", "unit"),
    [
        ([[0.5, 1.0], [np.nan, 0.0]], None, "fraction"),
        ([[0.5, 1.0], [np.nan, 0.0]], "percent", "percent"),
        ([[0.5, 62.0], [np.nan, 0.4]], None, "percent"),
        ([[0.5, 1.2], [np.nan, 0.4]], None, "percent"),
        ([[-200.0, 1200.0], [np.nan, 3.0]], "raw", "raw"),
    ],
)
def test_the_unit_is_seen_or_said(cells: list[list[float]], said: Any, unit: str) -> None:
    assert accuracy_matrix(cells, unit=said).unit == unit


def test_a_unit_that_the_values_break_is_refused() -> None:
    with pytest.raises(LogError, match=r"A\[1, 1\] is 98.5, outside 0..1 \(fraction\)"):
        accuracy_matrix(S002, unit="fraction")
    with pytest.raises(UnknownName, match="did you mean 'percent'"):
        accuracy_matrix(S002, unit="percents")  # type: ignore[arg-type]


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
def test_a_baseline_that_cannot_belong_is_refused(baseline: Any, words: str) -> None:
    matrix = accuracy_matrix([[90.0, 50.0], [np.nan, 80.0]], ["a", "b"])
    with pytest.raises(LogError, match=words):
        with_baselines(matrix, random_init=baseline)


def test_a_small_baseline_is_taken_where_the_unit_was_said() -> None:
    matrix = accuracy_matrix([[90.0, 50.0], [np.nan, 80.0]], unit="percent")
    assert with_baselines(matrix, random_init=0.1, unit="percent").random_init == (0.1, 0.1)


def test_tables_with_names_and_foreign_json_do_not_look_like_matrices(tmp_path: Path) -> None:
    assert not looks_like_matrix(written(tmp_path, "task,reward\na,1\n", "long.csv"))
    assert not looks_like_matrix(written(tmp_path, '{"syllabus": 1}', "s.json"))
    assert not looks_like_matrix(written(tmp_path, "", "empty.csv"))
    assert not looks_like_matrix(tmp_path / "none.csv")
    assert not looks_like_matrix(tmp_path)
    assert looks_like_matrix(written(tmp_path, ",0.5\n", "m.csv"))


@given(st.binary(max_size=60), st.sampled_from(["csv", "json", "npz", "npy"]))
@settings(max_examples=80, deadline=None)
def test_any_bytes_give_a_matrix_or_one_of_our_errors(tmp_path_factory: Any, content: bytes, suffix: str) -> None:
    path = written(tmp_path_factory.mktemp("bytes"), content, f"m.{suffix}")
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
    assert read_baseline(str(written(tmp_path, content, name))) == expected


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
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, name: str, content: str, words: str) -> None:
    with pytest.raises(LogError, match=words):
        read_baseline(str(written(tmp_path, content, name)))


@pytest.mark.parametrize("text", ["ten", "", "10,", "nan", "none.csv"])
def test_a_text_that_is_no_baseline_is_refused(text: str) -> None:
    with pytest.raises(LogError, match=r"--joint: .* is neither a number, nor numbers with commas between, nor a file"):
        read_baseline(text, "--joint")


def test_the_reader_gives_a_lifetime_whose_scenario_is_the_matrix() -> None:
    assert isinstance(MATRIX, ReaderOfMany)
    life = read(EXAMPLE)
    assert life.id == "s002"
    assert [task.label for task in life.scenario.tasks] == ["task1", "task2", "task3", "task4", "task5"]
    assert len(life.scenario.where("learn")) == 5
    assert len(life.scenario.where("evaluate")) == 15 == life.experiences.height
    assert life.experiences.columns == [*STANDARD_COLUMNS, "accuracy"]
    np.testing.assert_array_equal(life.passage().values, life.experiences["accuracy"].to_numpy())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "npz", "npy"])
def test_the_reader_keeps_the_contract_of_readers(tmp_path: Path, suffix: str) -> None:
    check_reader(MATRIX, as_file(tmp_path, S002, suffix))


def test_a_matrix_has_one_measure_and_no_variants_to_drop(tmp_path: Path) -> None:
    life = MATRIX.read(written(tmp_path, as_text(S002.T)), Options())
    np.testing.assert_array_equal(life.matrix.after, S002)
    with pytest.raises(UnknownName, match="accuracy"):
        life.passage("reward")
    with pytest.raises(LogError, match="one row per task"):
        life.passage(variants="agnostic")


@pytest.mark.parametrize("transposed", [False, True])
def test_names_about_a_matrix_are_those_of_its_tasks(tmp_path: Path, transposed: bool) -> None:
    cells = as_text(FULL.T if transposed else FULL).splitlines()
    names = ("Pong", "Chess", "Go")
    index = "\n".join(f"{name},{row}" for name, row in zip(names, cells, strict=True))
    for text in (f"{','.join(names)}\n" + "\n".join(cells), index, f"task,{','.join(names)}\n{index}"):
        matrix = read_matrix(written(tmp_path, text), rows="learned" if transposed else "evaluated")
        assert matrix.tasks == ("pong", "chess", "go")
        np.testing.assert_array_equal(matrix.after, FULL)


def test_the_evaluated_tasks_give_the_names_where_rows_and_columns_differ(tmp_path: Path) -> None:
    text = ",before,after a,after b\na,10,90,50\nb,10,20,80\n"
    assert read_matrix(written(tmp_path, text)).tasks == ("a", "b")
    assert read_matrix(written(tmp_path, "before,a,b\n10,90,50\n10,20,80\n")).tasks == ("a", "b")


# --- several -------------------------------------------------------------------------------------

STACK = np.stack([FULL, S002[:3, :3] / 100, FULL / 2])


def stacked(folder: Path, kind: str) -> Path:
    path = folder / f"stack.{kind.partition(' ')[0]}"
    listed = [as_lists(one) for one in STACK]
    if kind == "npy":
        np.save(path, STACK)
    elif kind == "npz":
        np.savez(path, matrix=STACK, tasks=np.array(["a", "b", "c"]), seeds=np.array([7, 8, 9]))
    elif kind == "json list":
        path.write_text(json.dumps(listed))
    else:
        facts = {"matrices": listed, "tasks": ["a", "b", "c"], "seeds": [7, 8, 9], "learner": "ewc"}
        path.write_text(json.dumps(facts))
    return path


@pytest.mark.parametrize("kind", ["npy", "npz", "json list", "json object"])
def test_a_stack_is_several_lifetimes_all_one_way_round(tmp_path: Path, kind: str) -> None:
    path = stacked(tmp_path, kind)
    found = [one for part in parts(path, Options()) for one in lifetimes(path, Options(), part)]
    assert [one.inside for one in found] == ["0", "1", "2"]
    assert [one.id for one in found] == ["stack#0", "stack#1", "stack#2"]
    stated = kind in ("npz", "json object")
    assert [one.seed for one in found] == ([7, 8, 9] if stated else [None] * 3)
    assert {one.learner for one in found} == ({"ewc"} if kind == "json object" else {None})
    assert [task.label for task in found[0].scenario.tasks] == (
        ["a", "b", "c"] if stated else ["task1", "task2", "task3"]
    )
    for life, cells in zip(found, STACK, strict=True):
        np.testing.assert_array_equal(life.matrix.after, cells)  # type: ignore[attr-defined]
    assert "as in" in found[0].notes[0]
    assert "stack" in found[0].notes[0]
    with pytest.raises(LogError, match="3 matrices, one lifetime each"):
        read(path)


def test_matrices_by_name_are_called_so(tmp_path: Path) -> None:
    path = written(tmp_path, '{"matrices": {"ewc": [[1, 0.5], [null, 1]], "der": [[1, 0.5], [0.2, 1]]}}', "m.json")
    assert [one.inside for one in lifetimes(path, Options())] == ["ewc", "der"]


def test_a_stack_has_one_unit() -> None:
    small, large = np.triu(np.full((3, 3), 0.9)), np.triu(np.full((3, 3), 90.0))
    assert {one.matrix.unit for one in matrix_lifetimes(np.stack([small, large]))} == {"percent"}


def test_lists_and_arrays_in_memory_are_lifetimes_too() -> None:
    nested: list[list[float | None]] = [[0.9, 0.5], [None, 0.8]]
    life = matrix_lifetime(nested, ["a", "b"], name="mine")
    assert (life.id, life.matrix.tasks) == ("mine", ("a", "b"))
    np.testing.assert_array_equal(life.matrix.after, np.array(nested, dtype=float))
    assert [one.inside for one in matrix_lifetimes([nested, nested])] == ["0", "1"]
    assert len(matrix_lifetimes(nested)) == 1
    assert len(matrix_lifetimes([S002, FULL], options=Options(unit="percent"))) == 2
    turned = matrix_lifetime(FULL, options=Options(rows="learned", unit="percent", as_given=True))
    np.testing.assert_array_equal(turned.matrix.after, FULL.T)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([[0.9, 0.5], [0.8]], "mine.*not a table of numbers"),
        ([["a", "b"], ["c", "d"]], "mine.*not numbers"),
        ([[0.9, "x"], [None, 0.8]], "mine.*not a table of numbers"),
        (0.5, "0 dimensions"),
        ([], "1 dimensions"),
    ],
)
def test_what_is_no_matrix_in_memory_is_refused(cells: Any, words: str) -> None:
    with pytest.raises(LogError, match=words):
        matrix_lifetime(cells, name="mine")
    with pytest.raises(LogError):
        matrix_lifetimes(cells, name="mine")


def test_files_of_a_folder_follow_those_that_decide(tmp_path: Path) -> None:
    full, telling = written(tmp_path, as_text(FULL), "a.csv"), written(tmp_path, as_text(S002.T), "b.csv")
    found = ways_round([full, telling])
    assert {path.name: way.rows for path, way in found.items()} == {"a.csv": "learned", "b.csv": "learned"}
    assert "b.csv" in found[full].because
    with pytest.raises(LogError, match=r"c\.csv.*b\.csv.*read them apart"):
        ways_round([full, telling, written(tmp_path, as_text(S002), "c.csv")])


# --- checked -------------------------------------------------------------------------------------


def test_check_says_what_a_matrix_is(tmp_path: Path) -> None:
    found = check_log(EXAMPLE)
    assert found.ok
    assert found.problems == ()
    assert found.what == "an accuracy matrix of 5 tasks, 15 cells with a value"
    assert any("rows are the evaluated tasks" in note for note in found.notes)
    assert check_log(stacked(tmp_path, "npy")).what.startswith("3 accuracy matrices of 3 tasks")


def test_check_names_the_cell_that_is_wrong(tmp_path: Path) -> None:
    (word,) = check_log(written(tmp_path, "90,50,40\n,80,x\n,,70\n")).problems
    assert (word.line, word.what.split(" is")[0]) == (2, "cell 3: 'x'")
    (large,) = check_log(written(tmp_path, "90,50\n,101\n")).problems
    assert large.what.startswith("A[2, 2] is 101")
    path = written(tmp_path, as_text(FULL))
    (undecided,) = check_log(path).problems
    assert undecided.fix.startswith("say --rows evaluated")
    assert check_log(path, rows="learned").ok


def test_a_matrix_is_read_as_papers_print_it(tmp_path: Path) -> None:
    shown = [["–" if np.isnan(cell) else f"{cell}%" for cell in row] for row in S002]
    names = [f"T{task}" for task in range(5)]
    lines = [",".join(["", *names]), *(",".join([name, *row]) for name, row in zip(names, shown, strict=True))]
    (tmp_path / "printed.csv").write_text("\n".join(lines).replace("–", "-", 3) + "\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "printed.csv").after, S002)
    (tmp_path / "small.csv").write_text("0.9%,0.5%\n-,0.8%\n")
    assert read_matrix(tmp_path / "small.csv").unit == "percent"


def test_what_learning_took_is_read_where_a_file_states_it(tmp_path: Path) -> None:
    place = tmp_path / "matrix.json"
    place.write_text(json.dumps({"matrix": [[90, 60], [None, 80]], "seconds": [1.5], "memory_mb": [10, 20]}))
    found = read_matrix(place)
    assert (found.seconds, found.memory_mb) == ((1.5,), (10.0, 20.0))
    place.write_text(json.dumps({"matrix": [[90, 60], [None, 80]], "seconds": [1.5, 2, 3]}))
    with pytest.raises(LogError, match=r"seconds holds .* for each of 2 tasks"):
        read_matrix(place)


def test_a_file_may_say_that_its_zeros_were_measured(tmp_path: Path) -> None:
    place = tmp_path / "matrix.json"
    said = {"matrix": [[90, 60, 50], [0, 80, 70], [0, 0, 90]]}
    for as_given, there in ((False, False), (True, True)):
        place.write_text(json.dumps({**said, "as_given": as_given}))
        assert bool((read_matrix(place).after == 0).any()) is there
