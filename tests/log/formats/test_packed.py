"""Packed tables: they equal the tables inside; damaged or oversized archives are refused with a message."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest

from perdure.errors import LogError, NotALogError
from perdure.log.formats.matrix import MATRIX
from perdure.log.formats.table import TABLE
from perdure.log.read import Options, find, recognise
from perdure.testing import check_reader

TEXT = "task_name,block_type,reward\na,train,1\na,test,2\n"


def write_zip(file: Path, **members: str) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return file


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    file = tmp_path / "runs.csv"
    file.write_text(TEXT)
    return file


def test_a_gzipped_table_equals_the_table(plain: Path, tmp_path: Path) -> None:
    for suffix, text in {".csv": TEXT, ".tsv": TEXT.replace(",", "\t")}.items():
        file = tmp_path / f"runs{suffix}.gz"
        file.write_bytes(gzip.compress(text.encode()))
        lifetime = TABLE.read(file, Options())
        assert lifetime.id == "runs"
        assert lifetime.experiences.equals(TABLE.read(plain, Options()).experiences)
        check_reader(TABLE, file)


def test_a_zip_of_one_table_equals_the_table(plain: Path, tmp_path: Path) -> None:
    file = write_zip(tmp_path / "all.zip", **{"folder__x.CSV": TEXT, "__MACOSX/._x.csv": "", "readme.md": "hello"})
    assert TABLE.read(file, Options()).experiences.equals(TABLE.read(plain, Options()).experiences)
    check_reader(TABLE, file)


@pytest.mark.parametrize(("members", "what"), [({}, "no table"), ({"a.csv": TEXT, "b.tsv": TEXT}, "2 tables")])
def test_a_zip_of_none_or_several_is_refused(members: dict[str, str], what: str, tmp_path: Path) -> None:
    file = write_zip(tmp_path / "all.zip", **members)
    assert not TABLE.recognises(file)
    with pytest.raises(LogError, match=rf"all\.zip: {what} in it \(found: .*\); a zip holds one CSV or TSV"):
        TABLE.read(file, Options())


def test_a_zip_without_a_table_names_up_to_six_files_and_mentions_the_rest(tmp_path: Path) -> None:
    for count, end in ((6, "f5.md"), (7, "f5.md, …")):
        file = write_zip(tmp_path / f"{count}.zip", **{f"f{index}.md": "" for index in range(count)})
        with pytest.raises(LogError) as caught:
            TABLE.read(file, Options())
        assert f"(found: f0.md, f1.md, f2.md, f3.md, f4.md, {end})" in str(caught.value)


def test_an_error_in_a_packed_table_names_its_line(tmp_path: Path) -> None:
    file = tmp_path / "runs.csv.gz"
    file.write_bytes(gzip.compress(TEXT.replace("2", "two").encode()))
    with pytest.raises(LogError, match=r"runs\.csv\.gz:3: reward is 'two'"):
        TABLE.read(file, Options())


def outcome(file: Path) -> int | str:
    """Return the number of rows in a file, or the file that its refusal names."""
    try:
        return TABLE.read(file, Options()).experiences.height
    except LogError as problem:
        return str(problem).partition(":")[0]


def test_a_packed_file_cut_or_changed_anywhere_is_refused_or_gives_the_table(tmp_path: Path) -> None:
    whole = {
        "runs.csv.gz": gzip.compress(TEXT.encode(), mtime=0),
        "runs.zip": write_zip(tmp_path / "runs.zip", **{"x.csv": TEXT}).read_bytes(),
    }
    for name, content in whole.items():
        file = tmp_path / name
        for size in range(len(content)):
            for damaged in (content[:size], content[:size] + bytes([content[size] ^ 0x40]) + content[size + 1 :]):
                file.write_bytes(damaged)
                TABLE.recognises(file)
                assert outcome(file) in (2, str(file))


def test_packed_tables_are_found_in_folders(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    write_zip(tmp_path / "b.zip", **{"x.csv": TEXT})
    write_zip(tmp_path / "checkpoint.zip", **{"weights.bin": "123"})
    assert [path.name for path in find(tmp_path)] == ["a.csv.gz", "b.zip"]


def test_a_packed_matrix_equals_the_matrix(tmp_path: Path) -> None:
    text = "90,,\n80,88,\n70,80,85\n"
    (tmp_path / "plain.csv").write_text(text)
    (tmp_path / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    write_zip(tmp_path / "packed.zip", **{"inside.csv": text})
    plain, *others = (
        MATRIX.read(tmp_path / name, Options()).matrix for name in ("plain.csv", "packed.csv.gz", "packed.zip")
    )
    for other in others:
        np.testing.assert_array_equal(plain.values, other.values)


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("a.csv.gz", b"\x1f\x8b\x08garbage", "does not unpack"),
        ("a.zip", b"no archive", "does not unpack"),
        ("a.csv", b"task_name;reward\na;1,5\n", "divided by semicolons"),
        ("a.csv", b"", "an empty file"),
        ("a.csv", b"\nx\n", "its first line is blank"),
    ],
)
def test_a_file_without_a_table_is_refused_with_the_cause(
    name: str, content: bytes, cause: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NotALogError, match=cause) as caught:
        recognise(tmp_path / name)
    assert "it reads" not in str(caught.value)  # the list of all formats would hide the cause
