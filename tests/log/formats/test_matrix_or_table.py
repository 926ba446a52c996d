"""Text files: recognising a table or a matrix from the first lines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.log import READERS
from perdure.log.formats.column_names import table_shape
from perdure.log.formats.packed import first_line
from perdure.log.read import Options

SHAPES = {
    "long": ("task_name,block_type,reward\na,train,1\n", "long"),
    "long, square": ("task_name,block_type,reward\na,train,1\nb,test,2\n", "long"),
    "triplets": ("eval_exp,training_exp,value\n0,0,0.9\n1,0,0.1\n", "triplets"),
    "wide": ("active_task,a,b\na,0.9,0.1\nb,0.5,0.8\n", "wide"),
    "matrix": ("0.9,0.5\n,0.8\n", "matrix"),
    "matrix, first cell empty": (",0.5\n", "matrix"),
    "matrix, header": ("pong,chess\n0.9,0.5\n,0.8\n", "matrix"),
    "matrix, index": ("pong,0.9,0.5\nchess,,0.8\n", "matrix"),
    "matrix, both": (",pong,chess\npong,0.9,0.5\nchess,,0.8\n", "matrix"),
    "matrix, counted": (",0,1\n0,0.9,0.5\n1,,0.8\n", "matrix"),
    "matrix, one task": ("97.5\n", "matrix"),
    "matrix, a column more": ("before,a,b\n0.1,0.9,0.5\n0.1,0.2,0.8\n", "matrix"),
    "numbers of no shape": ("1,2,3,4\n5,6,7,8\n", "matrix"),
    "names over many rows": ("a,b\n1,2\n3,4\n5,6\n7,8\n", None),
    "custom names": ("env,phase,reward\na,train,1\n", None),
    "one column of numbers": ("90\n80\n70\n", None),
    "nothing": ("", None),
    "blank lines": ("\n\n", None),
    "a cell without end": ('"' + "x" * 200_000, None),
}


def write_file(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("case", SHAPES)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_a_table_is_recognised_by_its_header_and_a_matrix_by_its_cells(tmp_path: Path, case: str, suffix: str) -> None:
    text, shape = SHAPES[case]
    text = text.replace(",", "\t") if suffix == "tsv" else text
    path = write_file(tmp_path, text, f"t.{suffix}")
    assert READERS.get("matrix").recognises(path) == (shape == "matrix")
    assert not (shape == "matrix" and READERS.get("table").recognises(path))
    if shape != "matrix":
        assert table_shape(first_line(path) or [], Options()) == shape


def test_a_mapped_column_makes_a_table_long_and_the_shape_option_decides_the_rest() -> None:
    header = ["env", "phase", "reward"]
    assert table_shape(header, Options(columns={"task_name": "env"})) == "long"
    assert table_shape(header, Options(columns={"active_task": "env"})) == "wide"
    assert table_shape(header, Options(shape="wide")) == "wide"


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, tmp_path / "none.csv", write_file(tmp_path, "1,2", "t.txt")):
        assert not READERS.get("matrix").recognises(path)


@given(st.binary(max_size=80))
def test_any_bytes_are_recognised_or_not(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes") / "t.csv"
    path.write_bytes(content)
    assert READERS.get("matrix").recognises(path) in (True, False)
    assert READERS.get("table").recognises(path) in (True, False)
