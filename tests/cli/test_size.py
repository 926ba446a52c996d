"""Large inputs cost work in proportion to their size: columns, tasks, names, and packed files. Nothing is timed."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
from tests.cli.verbs import outcome

import perdure

AT_MOST = 2.5
"""Factor by which work or memory may grow if the input doubles: linear growth gives 2, quadratic growth 4."""


def work_of(read: Callable[[Path], object], log: Path) -> int:
    """Count calls, the items of lists that are searched, and the columns of tables that are queried."""
    count = 0

    def counted(_frame: FrameType, event: str, what: Any) -> None:
        nonlocal count
        if event == "call":
            count += 1
        elif event == "c_call":
            owner: Any = getattr(what, "__self__", None)
            if isinstance(owner, list | tuple) and what.__name__ in ("count", "index", "insert", "remove"):
                count += len(owner)
            elif type(owner).__name__ == "PyDataFrame" and what.__name__ == "lazy":  # with which each query begins
                count += owner.width()

    sys.setprofile(counted)
    try:
        read(log)
    finally:
        sys.setprofile(None)
    return count


def memory_of(read: Callable[[Path], object], log: Path) -> int:
    """Return the peak of the memory that is allocated, in bytes."""
    tracemalloc.start()
    try:
        read(log)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# --- columns -------------------------------------------------------------------------------------


def table_of_columns(folder: Path, count: int) -> Path:
    names = [f"m{number}" for number in range(count)]
    lines = (",".join(["task_name", "block_type", *names]), "a,train" + ",1" * count, "a,test" + ",2" * count)
    file = folder / f"{count}.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


def log_of_columns(folder: Path, count: int, measures: int = 1) -> Path:
    names = [f"m{number}" for number in range(count)]
    with perdure.Journal(folder, f"{count}", names[:measures]) as journal:
        for block, mode in enumerate(("train", "test")):
            values: dict[str, Any] = dict.fromkeys(names, 1.0)
            journal.log(block_num=block, exp_num=block, block_type=mode, task_name="a", **values)
    return folder / f"{count}"


def log_of_measures(folder: Path, count: int) -> Path:
    return log_of_columns(folder, count, count)


@pytest.mark.parametrize("read", [perdure.check, perdure.survey])
@pytest.mark.parametrize("write", [table_of_columns, log_of_columns, log_of_measures])
def test_work_grows_in_proportion_to_the_number_of_columns(
    tmp_path: Path, write: Callable[[Path, int], Path], read: Callable[[Path], object]
) -> None:
    read(write(tmp_path, 10))  # imports, which are not counted
    some, twice = (work_of(read, write(tmp_path, count)) for count in (200, 400))
    assert twice < AT_MOST * some


# --- tasks ---------------------------------------------------------------------------------------


def table_of_tasks(folder: Path, count: int) -> Path:
    file = folder / f"{count}.csv"
    rows = (f"t{task},{mode},{task * 7 % 13}\n" for task in range(count) for mode in ("train", "test"))
    file.write_text("task_name,block_type,reward\n" + "".join(rows))
    return file


@pytest.mark.parametrize("read", [perdure.check, perdure.survey])
def test_memory_grows_in_proportion_to_the_number_of_tasks(tmp_path: Path, read: Callable[[Path], object]) -> None:
    read(table_of_tasks(tmp_path, 10))
    some, twice = (memory_of(read, table_of_tasks(tmp_path, count)) for count in (600, 1200))
    assert twice < AT_MOST * some


@pytest.mark.parametrize("words", [("check",), ("score", "--why")], ids=["check", "score"])
def test_a_task_with_a_long_name_does_not_fill_the_screen(tmp_path: Path, words: tuple[str, ...]) -> None:
    name = "x" * 200_000
    file = tmp_path / "runs.csv"
    file.write_text("task_name,block_type,reward\n" + "".join(f"{name},{mode},1\n" for mode in ("train", "test")))
    done = outcome(words[0], file, *words[1:])
    assert done.status in (0, 1, 2)
    assert len(done.said) < 10_000


@pytest.mark.parametrize("words", [("check",), ("score", "--why")], ids=["check", "score"])
def test_a_long_task_name_in_an_l2logger_folder_is_refused_with_its_line(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    with perdure.Journal(tmp_path, "log", ["reward"]) as journal:
        for number, mode in enumerate(("train", "test")):
            journal.log(block_num=number, exp_num=number, block_type=mode, task_name="a", reward=1.0)
    (tmp_path / "log" / "blocks.jsonl").unlink()
    (tmp_path / "log" / "manifest.json").unlink(missing_ok=True)
    (data,) = tmp_path.glob("log/*/0-train/data-log.tsv")
    data.write_text(data.read_text().replace("\ta\t", "\t" + "x" * 200_000 + "\t"))
    done = outcome(words[0], tmp_path / "log", *words[1:])
    assert done.status == (1 if words == ("check",) else 2)
    assert "0-train/data-log.tsv:2" in done.said
    assert "of at most 1000 characters" in done.said
    assert len(done.said) < 10_000


@pytest.mark.parametrize("verb", ["check", "score"])
def test_a_long_task_name_in_a_matrix_is_refused(tmp_path: Path, verb: str) -> None:
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps({"matrix": [[0.9, 0.5], [None, 0.7]], "tasks": ["a", "x" * 200_000]}))
    done = outcome(verb, file)
    assert done.status == (1 if verb == "check" else 2)
    assert "task 2 has a name of 200000 characters" in done.said
    assert len(done.said) < 10_000


@pytest.mark.parametrize("verb", ["check", "score"])
def test_a_message_names_some_of_many_columns(tmp_path: Path, verb: str) -> None:
    file = tmp_path / "runs.csv"
    names = ["task_name", *(f"m{number}" for number in range(20_000))]
    file.write_text(",".join(names) + "\na" + ",1" * 20_000 + "\n")
    done = outcome(verb, file)
    assert "no column 'block_type' (found: task_name, m0, " in done.said
    assert "(20001 in all)" in done.said
    assert len(done.said) < 10_000


# --- packed files --------------------------------------------------------------------------------


def packed_table(folder: Path, suffix: str) -> Path:
    """Write a table of 2.4 MB in a packed file of some kilobytes."""
    text = "task_name,block_type,reward\n" + "a,train,0\na,test,1\n" * 120_000
    file = folder / f"runs{suffix}"
    if suffix == ".zip":
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("runs.csv", text)
    else:
        file.write_bytes(gzip.compress(text.encode()))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "score"])
@pytest.mark.parametrize("suffix", [".csv.gz", ".zip"])
def test_a_packed_file_unpacks_to_no_more_than_is_allowed(tmp_path: Path, verb: str, suffix: str) -> None:
    file = packed_table(tmp_path, suffix)
    refused = outcome(verb, file, "--max-unpacked", "1")  # in MiB
    assert refused.status == (1 if verb == "check" else 2)
    assert f"{file}" in refused.said
    assert "unpacks to more than 1 MiB" in refused.said
    assert "--max-unpacked" in refused.said
    assert outcome(verb, file, "--max-unpacked", "3").status == 0


@pytest.mark.parametrize("verb", ["check", "score"])
def test_a_packed_file_that_is_too_large_is_refused_before_its_rows_are_parsed(tmp_path: Path, verb: str) -> None:
    file = tmp_path / "runs.csv.gz"
    rows = "a,train\n" + "a,train,0\na,test,1\n" * 1_000_000  # the first row has too few cells
    file.write_bytes(gzip.compress(f"task_name,block_type,reward\n{rows}".encode(), 1))
    assert "unpacks to more than 17 MiB" in outcome(verb, file, "--max-unpacked", "17").said
    assert "2 fields where the header has 3" in outcome(verb, file, "--max-unpacked", "20").said


@pytest.mark.parametrize("verb", ["check", "score"])
def test_packed_arrays_unpack_to_no_more_than_is_allowed(tmp_path: Path, verb: str) -> None:
    file = tmp_path / "matrix.npz"
    np.savez_compressed(file, matrix=np.triu(np.full((500, 500), 0.5)))  # 1.9 MiB
    refused = outcome(verb, file, "--max-unpacked", "1")
    assert refused.status == (1 if verb == "check" else 2)
    assert f"{file}" in refused.said
    assert "unpacks to more than 1 MiB" in refused.said
    assert "unpacks to" not in outcome("check", file, "--max-unpacked", "2").said


def test_a_file_beside_the_data_cannot_allow_more(tmp_path: Path) -> None:
    file = packed_table(tmp_path, ".csv.gz")
    (tmp_path / "perdure.toml").write_text("max_unpacked = 100000\n")
    refused = outcome("score", file)
    assert refused.status == 2
    assert "'max_unpacked' can only be set on the command line" in refused.said
