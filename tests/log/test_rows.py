"""Delimited text: one module reads it, by rules that hold for any text."""

from __future__ import annotations

import ast
import csv
import io
import zlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError
from perdure.log import rows
from perdure.log.places import Source
from perdure.log.rows import (
    Checksums,
    UnparsedError,
    cells,
    examine,
    header_names,
    parse,
    pieces,
    records,
    records_in,
    rows_of,
    separator_of,
    table_in,
    tables,
)

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=6)
SEPARATOR = st.sampled_from(",\t")


def to_text(cells: list[list[str]], separator: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(cells)
    return text.getvalue()


def make_source(file: Path, content: bytes) -> Source:
    file.write_bytes(content)
    return Source(str(file), file.name, len(content))


@given(ROWS, SEPARATOR)
def test_parsing_returns_the_written_records_with_their_lines(given: list[list[str]], separator: str) -> None:
    text = to_text(given, separator)
    stored_records = records(text, separator)
    assert [fields for _, fields in stored_records] == given
    assert rows_of(text, separator) == [[cell.strip() for cell in row] for row in given]
    assert cells(text, separator) == [cell.strip() for cell in given[0]]
    assert [line for line, _ in stored_records] == [
        1 + len(io.StringIO(to_text(given[:index], separator), newline="").readlines()) for index in range(len(given))
    ]


@given(ROWS, SEPARATOR)
def test_parsing_examining_and_counting_agree_on_the_records(given: list[list[str]], separator: str) -> None:
    content = b"a%cb\n" % ord(separator) + to_text(given, separator).encode()
    table = table_in(content, Path("table.csv"), separator, [])
    examined = examine("table.csv", content, separator)
    assert table is not None
    assert [list(row) for row in table.rows.iter_rows()] == given
    assert examined.problems == ()
    assert examined.table is not None
    assert examined.table.drop("line").equals(table.rows)
    assert records_in(content) == len(given)
    refused = [table.refusal(row, "", "").line for row in range(len(given))]
    assert examined.table["line"].to_list() == refused


@pytest.mark.parametrize("size", [8, 16, 40, 1 << 20])
def test_the_size_of_a_chunk_does_not_change_the_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    body = b'a\tb\n1\t"x\ny"\n2\tz\n3\t"t\tt"\n' + b"4\tw\n" * 9
    result = make_source(tmp_path / "data.tsv", body + b"torn")
    whole = tables([result], "\t", [])[0]
    monkeypatch.setattr(rows, "_PIECE_BYTES", size)
    notes: list[str] = []
    (table,) = tables([result], "\t", notes)
    assert table.rows.equals(whole.rows)
    assert [table.refusal(row, "", "").line for row in range(12)] == [2, 4, 5, *range(6, 15)]
    assert "data.tsv:15: the last line is torn (4 bytes" in notes[0]
    checksums = Checksums({"data.tsv": 20})
    list(pieces([result], [], checksums))
    assert checksums.found == {"data.tsv": zlib.crc32(body[:20])}


def test_small_files_with_the_same_header_share_a_chunk(tmp_path: Path) -> None:
    result = [make_source(tmp_path / f"{number}.tsv", b"a\tb\n%d\tx\n" % number) for number in range(3)]
    result.append(make_source(tmp_path / "other.tsv", b"c\n9\n"))
    (first, second) = pieces(result, [])
    frame, counts = parse(first, {"a": pl.Int64(), "b": pl.String()})
    assert frame["a"].to_list() == [0, 1, 2]
    assert counts == [(1, None)] * 3
    assert second.header == ("c",)


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        (b"1\tx\n2\n", 3, "1 fields where the header has 2"),
        (b"1\tx\n2\ty\tz\n", 3, "3 fields where the header has 2"),
        (b'1\t"x\ny"\n2\n', 4, "1 fields where the header has 2"),
        (b'1\tx\n2\t"y\n3\tz\n', 3, "a quote in the record that begins here is never closed"),
        (b"1\tx\n2\t\x00\n", 3, "a NUL byte"),
        (b"1\tx\n2\t\xff\n", 3, "not UTF-8 text (byte 0xff"),
        (b'1\t"x\tx"\n2\n', 3, "1 fields where the header has 2"),
        (b"1\tx\n2\ty\n\n3\tz\n", 4, "1 fields where the header has 2"),
    ],
)
def test_every_way_of_reading_names_the_wrong_line(tmp_path: Path, body: bytes, line: int, problem: str) -> None:
    rows = make_source(tmp_path / "data.tsv", b"a\tb\n" + body)
    with pytest.raises(LogError) as refused:
        tables([rows], "\t", [])
    assert (refused.value.file, refused.value.line) == (rows.name, line)
    assert problem in refused.value.detail
    assert [(item.line, problem in item.what) for item in examine("data.tsv", b"a\tb\n" + body).problems] == [
        (line, True)
    ]
    with pytest.raises(UnparsedError):
        [parse(piece, dict.fromkeys(piece.header, pl.String())) for piece in pieces([rows], [])]


def test_examining_returns_the_valid_records_with_their_lines() -> None:
    report = examine("data.tsv", b'a\tb\n1\tx\n2\n3\t"y\ny"\n4\tz\tz\n5\tw\n')
    assert report.table is not None
    assert report.table.rows() == [(2, "1", "x"), (4, "3", "y\ny"), (7, "5", "w")]
    assert [problem.line for problem in report.problems] == [3, 6]


@pytest.mark.parametrize("length", [3, 60, 61, 5000])
def test_a_torn_line_is_reported_with_its_length_and_its_first_60_bytes(length: int) -> None:
    (_, torn) = examine("data-log.tsv", b"head\n" + b"x" * length).problems[::-1]
    assert torn.line == 2
    assert f"({length} bytes without a newline)" in torn.what
    assert torn.what.count("x") == min(length, 60)


def test_blank_lines_at_the_end_are_not_records(tmp_path: Path) -> None:
    rows = make_source(tmp_path / "data.tsv", b"a\tb\r\n1\tx\r\n\r\n\n")
    (table,) = tables([rows], "\t", [])
    assert table.rows.rows() == [("1", "x")]
    assert not examine("data.tsv", rows.path.read_bytes()).problems


def test_a_cell_may_be_longer_than_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_PIECE_BYTES", 1 << 10)
    result = make_source(tmp_path / "data.tsv", b'a\tb\n1\t"' + b"\n" * 5000 + b'"\n2\tx\n')
    (table,) = tables([result], "\t", [])
    assert table.rows["b"].str.len_bytes().to_list() == [5000, 1]


def test_a_cell_may_be_longer_than_the_standard_library_allows() -> None:
    before = csv.field_size_limit()
    assert cells(f"a,{'9' * 200_000}", ",") == ["a", "9" * 200_000]
    assert csv.field_size_limit() == before


def test_a_header_is_read_past_its_byte_order_mark_quotes_and_carriage_return() -> None:
    assert header_names(b'\xef\xbb\xbf"block_num"\treward\r') == ("block_num", "reward")
    assert (separator_of("\n\na\tb,c\n"), separator_of("a b,c\n")) == ("\t", ",")


def test_no_other_module_reads_delimited_text() -> None:
    make_source = Path(perdure.__file__).parent
    may = {
        "log/rows.py": {"csv", "read_csv"},
        "tables.py": {"csv"},  # which writes
    }
    for file in make_source.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        used = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
        used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        here = file.relative_to(make_source).as_posix()
        assert used & {"csv", "read_csv", "scan_csv"} <= may.get(here, set()), here
