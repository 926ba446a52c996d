"""The reader of accuracy matrices: lifetimes, several in a file or in memory, and the report of `check`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.log.formats.matrices import EXAMPLE, FULL, S002, as_file, as_lists, as_text, write_file

from perdure.errors import LogError, UnknownNameError
from perdure.log.check import check_log
from perdure.log.contract import check_reader
from perdure.log.formats.matrix import (
    MATRIX,
    matrix_lifetime,
    matrix_lifetimes,
    read_matrix,
    ways_round,
)
from perdure.log.read import Options, ReaderOfMany, lifetimes, parts, read
from perdure.log.rules import STANDARD_COLUMNS


def test_the_reader_gives_a_lifetime_whose_scenario_is_the_matrix() -> None:
    assert isinstance(MATRIX, ReaderOfMany)
    lifetime = read(EXAMPLE)
    assert lifetime.id == "s002"
    assert [task.label for task in lifetime.scenario.tasks] == ["task1", "task2", "task3", "task4", "task5"]
    assert len(lifetime.scenario.where("learn")) == 5
    assert len(lifetime.scenario.where("evaluate")) == 15 == lifetime.experiences.height
    assert lifetime.experiences.columns == [*STANDARD_COLUMNS, "accuracy"]
    np.testing.assert_array_equal(lifetime.passage().values, lifetime.experiences["accuracy"].to_numpy())


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "npz", "npy"])
def test_the_reader_keeps_its_contract(tmp_path: Path, suffix: str) -> None:
    check_reader(MATRIX, as_file(tmp_path, S002, suffix))


def test_a_matrix_has_one_measure_and_no_variants_to_drop(tmp_path: Path) -> None:
    lifetime = MATRIX.read(write_file(tmp_path, as_text(S002.T)), Options())
    np.testing.assert_array_equal(lifetime.matrix.after, S002)
    with pytest.raises(UnknownNameError, match="accuracy"):
        lifetime.passage("reward")
    with pytest.raises(LogError, match="one row per task"):
        lifetime.passage(variants="agnostic")


@pytest.mark.parametrize("transposed", [False, True])
def test_the_labels_of_a_matrix_name_its_tasks(tmp_path: Path, transposed: bool) -> None:
    cells = as_text(FULL.T if transposed else FULL).splitlines()
    names = ("Pong", "Chess", "Go")
    index = "\n".join(f"{name},{row}" for name, row in zip(names, cells, strict=True))
    for text in (f"{','.join(names)}\n" + "\n".join(cells), index, f"task,{','.join(names)}\n{index}"):
        matrix = read_matrix(write_file(tmp_path, text), rows="learned" if transposed else "evaluated")
        assert matrix.tasks == ("pong", "chess", "go")
        np.testing.assert_array_equal(matrix.after, FULL)


def test_the_evaluated_tasks_give_the_names_if_rows_and_columns_differ(tmp_path: Path) -> None:
    text = ",before,after a,after b\na,10,90,50\nb,10,20,80\n"
    assert read_matrix(write_file(tmp_path, text)).tasks == ("a", "b")
    assert read_matrix(write_file(tmp_path, "before,a,b\n10,90,50\n10,20,80\n")).tasks == ("a", "b")


STACK = np.stack([FULL, S002[:3, :3] / 100, FULL / 2])


def write_stack(folder: Path, kind: str) -> Path:
    path = folder / f"stack.{kind.partition(' ')[0]}"
    listed = [as_lists(item) for item in STACK]
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
def test_a_stack_is_several_lifetimes_of_one_orientation(tmp_path: Path, kind: str) -> None:
    path = write_stack(tmp_path, kind)
    result = [lifetime for part in parts(path, Options()) for lifetime in lifetimes(path, Options(), part)]
    assert [item.inside for item in result] == ["0", "1", "2"]
    assert [item.id for item in result] == ["stack#0", "stack#1", "stack#2"]
    stated = kind in ("npz", "json object")
    assert [item.seed for item in result] == ([7, 8, 9] if stated else [None] * 3)
    assert {item.learner for item in result} == ({"ewc"} if kind == "json object" else {None})
    assert [task.label for task in result[0].scenario.tasks] == (
        ["a", "b", "c"] if stated else ["task1", "task2", "task3"]
    )
    for lifetime, cells in zip(result, STACK, strict=True):
        np.testing.assert_array_equal(lifetime.matrix.after, cells)  # type: ignore[attr-defined]
    assert "as in" in result[0].notes[0]
    assert "stack" in result[0].notes[0]
    with pytest.raises(LogError, match=r"3 lifetimes in it \(0, 1, 2\), where one was asked for"):
        read(path)


def test_named_matrices_keep_their_names(tmp_path: Path) -> None:
    path = write_file(tmp_path, '{"matrices": {"ewc": [[1, 0.5], [null, 1]], "der": [[1, 0.5], [0.2, 1]]}}', "m.json")
    assert [lifetime.inside for lifetime in lifetimes(path, Options())] == ["ewc", "der"]


def test_a_stack_has_one_unit() -> None:
    small, large = np.triu(np.full((3, 3), 0.9)), np.triu(np.full((3, 3), 90.0))
    assert {lifetime.matrix.unit for lifetime in matrix_lifetimes(np.stack([small, large]))} == {"percent"}


def test_lists_and_arrays_in_memory_are_lifetimes_too() -> None:
    nested: list[list[float | None]] = [[0.9, 0.5], [None, 0.8]]
    lifetime = matrix_lifetime(nested, ["a", "b"], name="mine")
    assert (lifetime.id, lifetime.matrix.tasks) == ("mine", ("a", "b"))
    np.testing.assert_array_equal(lifetime.matrix.after, np.array(nested, dtype=float))
    assert [lifetime.inside for lifetime in matrix_lifetimes([nested, nested])] == ["0", "1"]
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
def test_an_object_that_is_not_a_matrix_is_refused(cells: Any, words: str) -> None:
    with pytest.raises(LogError, match=words):
        matrix_lifetime(cells, name="mine")
    with pytest.raises(LogError):
        matrix_lifetimes(cells, name="mine")


def test_undecided_files_of_a_folder_take_the_orientation_of_decided_ones(tmp_path: Path) -> None:
    full, telling = write_file(tmp_path, as_text(FULL), "a.csv"), write_file(tmp_path, as_text(S002.T), "b.csv")
    result = ways_round([full, telling])
    assert {path.name: way.rows for path, way in result.items()} == {"a.csv": "learned", "b.csv": "learned"}
    assert "b.csv" in result[full].because
    with pytest.raises(LogError, match=r"c\.csv.*b\.csv.*read them apart"):
        ways_round([full, telling, write_file(tmp_path, as_text(S002), "c.csv")])


def test_check_describes_a_matrix(tmp_path: Path) -> None:
    report = check_log(EXAMPLE)
    assert report.ok
    assert report.problems == ()
    assert report.what == "an accuracy matrix of 5 tasks, 15 cells with a value"
    assert any("rows are the evaluated tasks" in note for note in report.notes)
    assert check_log(write_stack(tmp_path, "npy")).what.startswith("3 accuracy matrices of 3 tasks")


def test_check_names_the_wrong_cell(tmp_path: Path) -> None:
    (word,) = check_log(write_file(tmp_path, "90,50,40\n,80,x\n,,70\n")).problems
    assert (word.line, word.what.split(" is")[0]) == (2, "cell 3: 'x'")
    (large,) = check_log(write_file(tmp_path, "90,50\n,101\n")).problems
    assert large.what.startswith("A[2, 2] is 101")
    path = write_file(tmp_path, as_text(FULL))
    (undecided,) = check_log(path).problems
    assert undecided.fix.startswith("say --rows evaluated")
    assert check_log(path, Options(rows="learned")).ok


def test_a_matrix_is_read_as_papers_print_it(tmp_path: Path) -> None:
    shown = [["–" if np.isnan(cell) else f"{cell}%" for cell in row] for row in S002]
    names = [f"T{task}" for task in range(5)]
    lines = [",".join(["", *names]), *(",".join([name, *row]) for name, row in zip(names, shown, strict=True))]
    (tmp_path / "printed.csv").write_text("\n".join(lines).replace("–", "-", 3) + "\n")
    np.testing.assert_array_equal(read_matrix(tmp_path / "printed.csv").after, S002)
    (tmp_path / "small.csv").write_text("0.9%,0.5%\n-,0.8%\n")
    assert read_matrix(tmp_path / "small.csv").unit == "percent"


def test_training_times_are_read_if_a_file_states_them(tmp_path: Path) -> None:
    place = tmp_path / "matrix.json"
    place.write_text(json.dumps({"matrix": [[90, 60], [None, 80]], "seconds": [1.5], "memory_mb": [10, 20]}))
    matrix = read_matrix(place)
    assert (matrix.seconds, matrix.memory_mb) == ((1.5,), (10.0, 20.0))
    place.write_text(json.dumps({"matrix": [[90, 60], [None, 80]], "seconds": [1.5, 2, 3]}))
    with pytest.raises(LogError, match=r"seconds holds .* for each of 2 tasks"):
        read_matrix(place)


def test_a_file_may_state_that_its_zeros_were_measured(tmp_path: Path) -> None:
    place = tmp_path / "matrix.json"
    message = {"matrix": [[90, 60, 50], [0, 80, 70], [0, 0, 90]]}
    for as_given, has_zeros in ((False, False), (True, True)):
        place.write_text(json.dumps({**message, "as_given": as_given}))
        assert bool((read_matrix(place).after == 0).any()) is has_zeros
