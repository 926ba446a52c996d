"""Result files of continual-learning libraries, in their documented formats."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.log.accuracy_matrix import MatrixLifetime
from perdure.log.formats.results import RESULTS
from perdure.log.read import Options, find, lifetimes, recognise
from perdure.testing import check_reader

RUN = {"model": "der", "seed": 1, "accuracy_1_task1": 90.0, "accuracy_1_task2": 60.0, "accuracy_2_task2": 80.0}
PYCIL = (
    "2024-01-01 [trainer.py] => CNN: {'total': 88.0, '00-09': 88.0, 'old': 0, 'new': 88.0}\n"
    "2024-01-01 [trainer.py] => Learning on 10-20\n"
    "2024-01-01 [trainer.py] => CNN: {'total': 70.0, '00-09': np.float64(60.0), '10-19': 80.0, 'old': 60.0}\n"
)


def write_file(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def accuracies_after(lifetime: object) -> list[list[float | None]]:
    assert isinstance(lifetime, MatrixLifetime)
    return [[None if np.isnan(cell) else float(cell) for cell in row] for row in lifetime.matrix.after]


def test_a_line_of_mammoths_log_is_a_run_with_its_model_and_seed(tmp_path: Path) -> None:
    other = {**RUN, "seed": 2, "accuracy_1_task2": 30.0}
    file = write_file(tmp_path / "logs.pyd", f"{RUN}\n{other}\n")
    result = list(lifetimes(file, Options()))
    assert [(lifetime.learner, lifetime.seed, lifetime.inside) for lifetime in result] == [
        ("der", 1, "0"),
        ("der", 2, "1"),
    ]
    assert [accuracies_after(lifetime) for lifetime in result] == [[[90, 60], [None, 80]], [[90, 30], [None, 80]]]
    assert list(find(tmp_path)) == [file]
    check_reader(RESULTS, write_file(tmp_path / "logs.pyd", f"{RUN}\n"))


def test_a_value_that_is_not_a_literal_is_skipped_and_never_run(tmp_path: Path) -> None:
    result = tmp_path / "made"
    line = str(RUN)[:-1] + f", 'device': device(type='cuda'), 'x': open({str(result)!r}, 'w'), 'n': np.float64(3.0)}}\n"
    assert accuracies_after(RESULTS.read(write_file(tmp_path / "logs.pyd", line), Options())) == [[90, 60], [None, 80]]
    assert not result.exists()


def test_means_over_tasks_are_refused_with_the_required_values(tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"logs\.pyd:1: 2 means over tasks and no accuracy of a single task"):
        RESULTS.read(write_file(tmp_path / "logs.pyd", "{'accmean_task1': 90.0, 'accmean_task2': 70.0}\n"), Options())


def test_the_rounds_in_pycils_log_are_a_matrix(tmp_path: Path) -> None:
    file = write_file(tmp_path / "0_10_1993_resnet32.log", PYCIL)
    check_reader(RESULTS, file)
    assert accuracies_after(RESULTS.read(file, Options())) == [[88, 60], [None, 80]]
    assert not RESULTS.recognises(write_file(tmp_path / "debug.log", "nothing of the kind\n"))


def test_facils_table_has_learned_tasks_as_rows_and_counts_once_in_a_folder(tmp_path: Path) -> None:
    cells = np.array([[0.9, 0.0, 0.0], [0.6, 0.8, 0.0], [0.5, 0.7, 0.9]])
    for name in ("acc_tag", "acc_taw", "forg_tag"):
        np.savetxt(tmp_path / f"{name}-2024-01-01-10-00.txt", cells, "%.6f", delimiter="\t")
    file = tmp_path / "acc_tag-2024-01-01-10-00.txt"
    check_reader(RESULTS, file)
    assert accuracies_after(RESULTS.read(file, Options())) == [[0.9, 0.6, 0.5], [None, 0.8, 0.7], [None, None, 0.9]]
    assert list(find(tmp_path)) == [file]


def test_liberos_pickle_is_refused_with_the_command_that_extracts_the_matrix(tmp_path: Path) -> None:
    file = write_file(tmp_path / "result.pt", "anything")
    assert recognise(file) is RESULTS
    with pytest.raises(LogError, match="S_conf_mat"):
        RESULTS.read(file, Options())


@given(st.binary(max_size=120))
def test_any_bytes_give_a_log_error_and_nothing_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, written in (
            ("logs.pyd", content),
            ("logs.pyd", b"{'accuracy_1_task1': " + content + b"}\n"),
            ("x.log", b"CNN: {'00-09': " + content + b"}\n"),
            ("acc_tag-1.txt", content),
        ):
            file = Path(folder, name)
            file.write_bytes(written)
            with contextlib.suppress(LogError):
                list(RESULTS.lifetimes(file, Options()))


def test_scores_in_the_form_of_rliable_are_refused_with_the_values_to_save(tmp_path: Path) -> None:
    np.savez(tmp_path / "scores.npz", dqn=np.ones((5, 3)), ppo=np.ones((4, 3)))
    with pytest.raises(LogError, match=r"as rliable takes them.*forgetting cannot be measured"):
        list(lifetimes(tmp_path / "scores.npz"))
