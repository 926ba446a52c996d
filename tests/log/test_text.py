"""Delimited text is taken apart in one place, and by rules that hold for any text."""

from __future__ import annotations

import ast
import csv
import io
from pathlib import Path

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import perdure
from perdure.log.text import cells, header_names, parsed, records, rows_of, scanned, separator_of
from perdure.log.tsv import records_in

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)
ROWS = st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=6)


def written(rows: list[list[str]], separator: str) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return text.getvalue()


@settings(deadline=None)
@given(ROWS, st.sampled_from(",\t"))
def test_records_are_what_was_written_and_know_their_lines(rows: list[list[str]], separator: str) -> None:
    text = written(rows, separator)
    found = records(text, separator)
    assert [fields for _, fields in found] == rows
    assert rows_of(text, separator) == [[cell.strip() for cell in row] for row in rows]
    assert cells(text, separator) == [cell.strip() for cell in rows[0]]
    assert [line for line, _ in found] == [
        1 + len(io.StringIO(written(rows[:at], separator), newline="").readlines()) for at in range(len(rows))
    ]


@settings(deadline=None)
@given(ROWS, st.sampled_from(",\t"))
def test_scanning_parsing_and_reading_agree_on_the_records(rows: list[list[str]], separator: str) -> None:
    body = written(rows, separator).encode()
    ends = sum(int(ending.sum()) for _, ending, _ in scanned(body, ord(separator)))
    cuts = sum(int(cutting.sum()) for _, _, cutting in scanned(body, ord(separator)))
    table = parsed(body, {"one": pl.String(), "two": pl.String()}, separator)
    assert (ends, cuts, records_in(body)) == (len(rows), len(rows), len(rows) - 1)
    assert [list(row) for row in table.iter_rows()] == rows


def test_a_cell_may_be_longer_than_the_standard_library_allows() -> None:
    before = csv.field_size_limit()
    assert cells(f"a,{'9' * 200_000}", ",") == ["a", "9" * 200_000]
    assert csv.field_size_limit() == before


def test_a_header_is_read_past_its_byte_order_mark_quotes_and_carriage_return() -> None:
    assert header_names(b'\xef\xbb\xbf"block_num"\treward\r') == ("block_num", "reward")
    assert (separator_of("\n\na\tb,c\n"), separator_of("a b,c\n")) == ("\t", ",")


def test_no_other_module_takes_delimited_text_apart() -> None:
    source = Path(perdure.__file__).parent
    may = {
        "log/text.py": {"csv", "read_csv"},
        "watch/tail.py": {"read_csv"},
        "report/formats/paper.py": {"csv"},
    }  # which writes
    for file in source.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(file.read_text())))
        used = {one.name for node in nodes if isinstance(node, ast.Import) for one in node.names}
        used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        here = file.relative_to(source).as_posix()
        assert used & {"csv", "read_csv", "scan_csv"} <= may.get(here, set()), here
