"""Triplets: Avalanche's result files are accuracy matrices, for any order of their rows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.log.accuracy_matrix import MatrixLifetime
from perdure.log.formats.table import TABLE
from perdure.log.read import Options
from perdure.testing import check_reader

HEADER = "eval_exp,training_exp,eval_accuracy,eval_loss,forgetting"
ROWS = ["0,None,0.1,2,0", "0,0,0.9,1,0", "1,0,0,3,0", "0,1,0.5,1,0.4", "1,1,0.8,1,0"]


def write_file(folder: Path, rows: list[str], header: str = HEADER) -> Path:
    file = folder / "eval_results.csv"
    file.write_text("\n".join([header, *rows]) + "\n")
    return file


def read_triplets(file: Path, options: Options | None = None) -> MatrixLifetime:
    lifetime = TABLE.read(file, options or Options())
    assert isinstance(lifetime, MatrixLifetime)
    return lifetime


def test_avalanches_results_are_an_accuracy_matrix(tmp_path: Path) -> None:
    lifetime = read_triplets(write_file(tmp_path, ROWS))
    np.testing.assert_array_equal(lifetime.matrix.values, [[0.1, 0.9, 0.5], [np.nan, 0.0, 0.8]])
    assert lifetime.matrix.tasks == ("task1", "task2")
    assert lifetime.matrix.unit == "fraction"
    assert lifetime.notes == (
        "eval_results.csv: experience 0 is task1",
        "eval_results.csv: an accuracy matrix in fraction: 2 tasks",
    )
    check_reader(TABLE, tmp_path / "eval_results.csv")


def test_triplets_need_no_orientation(tmp_path: Path) -> None:
    alone = read_triplets(write_file(tmp_path, ["0,None,0.1,2,0", "0,0,0.9,1,0"]))
    np.testing.assert_array_equal(alone.matrix.values, [[0.1, 0.9]])
    unseen = read_triplets(write_file(tmp_path, ["0,0,0.9,1,0", "1,0,0.2,1,0", "1,1,0.8,1,0"]))
    np.testing.assert_array_equal(unseen.matrix.after, [[0.9, np.nan], [0.2, 0.8]])


def test_zeros_of_triplets_count_as_measured(tmp_path: Path) -> None:
    rows = [f"{row},{column},{0.9 if row <= column else 0},1,0" for row in range(3) for column in range(3)]
    assert (read_triplets(write_file(tmp_path, rows)).matrix.after[np.tril_indices(3, -1)] == 0).all()


def test_experiences_with_names_keep_them_in_the_order_of_training(tmp_path: Path) -> None:
    rows = ["Dogs,Cats,.2", "Cats,Cats,.9", "Dogs,Dogs,.8", "Cats,Dogs,.6"]
    lifetime = read_triplets(write_file(tmp_path, rows, "eval_exp,training_exp,value"), Options(unit="fraction"))
    assert lifetime.matrix.tasks == ("cats", "dogs")
    np.testing.assert_array_equal(lifetime.matrix.after, [[0.9, 0.6], [0.2, 0.8]])


def test_a_named_measure_selects_the_values(tmp_path: Path) -> None:
    lifetime = read_triplets(write_file(tmp_path, ROWS), Options(measures={"eval_loss": "lower"}))
    np.testing.assert_array_equal(lifetime.matrix.values[0], [2, 1, 1])
    assert lifetime.matrix.unit == "raw"


def test_several_possible_values_are_refused_with_a_request_to_name_one(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"any of the columns left, right may be the accuracy; say which with --measure"):
        read_triplets(write_file(tmp_path, ["0,0,1,2"], "eval_exp,training_exp,left,right"))


def test_an_untrained_task_is_separate_and_the_last_evaluation_counts(tmp_path: Path) -> None:
    lifetime = read_triplets(write_file(tmp_path, [*ROWS, "7,1,0.3,1,0", "1,1,0.85,1,0"]))
    assert lifetime.matrix.values[1, 2] == 0.85
    notes = " ".join(lifetime.notes)
    assert lifetime.matrix.others["7"][2] == 0.3
    assert "1 task never learned (7)" in notes
    assert "1 cells were evaluated again" in notes


def test_a_file_without_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="training_exp is blank in every row; nothing was learned"):
        read_triplets(write_file(tmp_path, ["0,None,0.1,2,0"]))


def test_a_blank_experience_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"eval_results\.csv:3: eval_exp is blank; expected the experience"):
        read_triplets(write_file(tmp_path, ["0,0,0.1,2,0", ",0,0.1,2,0"]))


def test_seeds_in_one_file_are_lifetimes(tmp_path: Path) -> None:
    file = write_file(tmp_path, [f"{seed},{row}" for row in ROWS for seed in (1, 2)], f"seed,{HEADER}")
    lifetimes = list(TABLE.lifetimes(file, Options()))
    assert [(lifetime.seed, lifetime.inside) for lifetime in lifetimes] == [(1, "1"), (2, "2")]
    alone = read_triplets(write_file(tmp_path, ROWS)).matrix
    for lifetime in lifetimes:
        assert isinstance(lifetime, MatrixLifetime)
        np.testing.assert_array_equal(lifetime.matrix.values, alone.values)


@given(st.integers(1, 4), st.data())
def test_the_order_of_rows_within_one_training_does_not_matter(count: int, data: st.DataObject) -> None:
    values = np.array(data.draw(st.lists(st.floats(0, 1), min_size=count * count, max_size=count * count)))
    cells = values.reshape(count, count)
    rows = []
    for column in range(count):
        order = data.draw(st.permutations(range(count)))
        rows += [f"{row},{column},{float(cells[row, column])!r},0,0" for row in order]
    with TemporaryDirectory() as folder:
        np.testing.assert_array_equal(read_triplets(write_file(Path(folder), rows)).matrix.after, cells)


def test_a_column_other_than_the_accuracy_can_be_named(tmp_path: Path) -> None:
    lifetime = read_triplets(write_file(tmp_path, ROWS), Options(measure="eval_loss"))
    np.testing.assert_array_equal(lifetime.matrix.values, [[2, 1, 1], [np.nan, 3, 1]])
    assert lifetime.passage("eval_loss").measure == "eval_loss"
    assert lifetime.matrix.unit == "raw"


STAGED = """task,stage,accuracy,stderr
gsm8k,0-base,0.2,0.011
mbpp,0-base,0.3,0.02
mmlu,0-base,0.6,0.004
gsm8k,1-gsm8k,0.7,0.012
mbpp,1-gsm8k,0.28,0.02
mmlu,1-gsm8k,0.58,
gsm8k,2-mbpp,0.55,0.013
mbpp,2-mbpp,0.8,0.018
mmlu,2-mbpp,0.55,0.004
"""


def staged(folder: Path, text: str = STAGED) -> MatrixLifetime:
    file = folder / "accuracy.csv"
    file.write_text(text)
    return read_triplets(file)


def test_tasks_by_stages_are_triplets_too(tmp_path: Path) -> None:
    matrix = staged(tmp_path).matrix
    assert matrix.tasks == ("gsm8k", "mbpp")
    np.testing.assert_array_equal(matrix.values, [[0.2, 0.7, 0.55], [0.3, 0.28, 0.8]])
    np.testing.assert_array_equal(matrix.others["mmlu"], [0.6, 0.58, 0.55])
    named = staged(tmp_path, STAGED.replace("0-", "").replace("1-", "").replace("2-", "")).matrix
    np.testing.assert_array_equal(named.values, matrix.values)


def test_a_column_of_standard_errors_is_not_a_measure_but_its_uncertainty(tmp_path: Path) -> None:
    errors = staged(tmp_path).matrix.errors
    np.testing.assert_allclose(np.sqrt(np.diag(errors["gsm8k"].covariance)), [0.011, 0.012, 0.013])
    assert np.isnan(errors["mmlu"].covariance[1, 1])
    assert np.count_nonzero(errors["gsm8k"].covariance) == 3
    named = staged(tmp_path, STAGED.replace("stderr", "accuracy_stderr")).matrix.errors
    np.testing.assert_array_equal(named["gsm8k"].covariance, errors["gsm8k"].covariance)


@pytest.mark.parametrize(("unit", "whole"), [("fraction", 1), ("percent", 100)])
def test_a_number_of_items_or_an_sd_with_it_gives_the_standard_error(tmp_path: Path, unit: str, whole: int) -> None:
    lines = [line.split(",") for line in STAGED.splitlines()[1:]]
    counted = "".join(f"{task},{stage},{whole * float(value)},400\n" for task, stage, value, _ in lines)
    matrix = staged(tmp_path, f"task,stage,accuracy,n\n{counted}").matrix
    assert matrix.unit == unit
    expected = whole * np.sqrt(matrix.values[0] / whole * (1 - matrix.values[0] / whole) / 399)
    np.testing.assert_allclose(np.sqrt(np.diag(matrix.errors["gsm8k"].covariance)), expected)
    assert matrix.errors["gsm8k"].items == 400
    spread = "".join(f"{task},{stage},{value},400,0.4\n" for task, stage, value, _ in lines)
    errors = staged(tmp_path, f"task,stage,accuracy,n,sd\n{spread}").matrix.errors
    np.testing.assert_allclose(np.sqrt(np.diag(errors["gsm8k"].covariance)), 0.4 / 20)


def test_an_sd_without_a_number_of_items_says_nothing_of_the_mean(tmp_path: Path) -> None:
    assert not staged(tmp_path, STAGED.replace("stderr", "sd")).matrix.errors
