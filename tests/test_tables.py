"""Tables have the same cells in every format."""

from __future__ import annotations

import csv
import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from perdure.tables import Cell, Column, Strong, Table

CELLS = st.none() | st.integers(-999, 999) | st.text(st.characters(categories=("L", "N", "P")), max_size=8)


@pytest.fixture
def table() -> Table:
    columns = (Column("metric", "id"), Column("mean", "number"), Column("empty"), Column("best"))
    rows = (("a_b", 1.5, "", Strong("1.5 *")), ("=c", None, None, "x | y"))
    return Table("A caption", columns, rows, "A note.")


def test_every_format_has_the_caption_the_cells_and_the_note(table: Table) -> None:
    console = Console(width=100, no_color=True)
    with console.capture() as shown:
        console.print(table.to_terminal())
    assert "A caption" in shown.get()
    assert [line.split() for line in shown.get().splitlines()[2:]] == [
        ["a_b", "1.5", "1.5", "*"],
        ["=c", "–", "–", "x", "|", "y"],
    ]
    markdown = table.to_markdown()
    assert markdown.startswith("**A caption**\n\n| metric | mean | empty | best |\n|---|--:|---|---|\n")
    assert r"| a\_b | 1.5 |  | **1.5 \*** |" in markdown
    assert r"| x \| y |" in markdown
    assert markdown.endswith("\n\nA note.")
    latex = table.to_latex("one")
    assert r"\caption{A caption.}" in latex
    assert "\n    A note.\n" in latex
    assert r"    a\_b & 1.5 &  & 1.5 {*} \\" in latex
    assert r"\begin{tabular}{lrll}" in latex


def test_a_frame_keeps_numbers_and_has_null_for_missing_ones(table: Table) -> None:
    frame = table.to_frame()
    assert frame["mean"].to_list() == [1.5, None]
    assert frame["best"].to_list() == ["1.5 *", "x | y"]


def test_csv_is_escaped_for_spreadsheets_on_demand(table: Table) -> None:
    plain, safe = (list(csv.reader(table.to_csv(for_spreadsheets=safe).splitlines())) for safe in (False, True))
    assert plain[2] == ["=c", "", "", "x | y"]
    assert safe[2] == ["'=c", "", "", "x | y"]


def test_columns_are_left_out_by_name_or_if_empty(table: Table) -> None:
    assert [column.name for column in table.drop_empty_columns().columns] == ["metric", "mean", "best"]
    assert [column.name for column in table.drop("mean").columns] == ["metric", "empty", "best"]
    assert table.drop("mean").rows[0] == ("a_b", "", "1.5 *")


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_html_has_each_cell_as_text(rows: list[tuple[Cell, Cell]]) -> None:
    table = Table.of(["one", "two"], rows)
    cells = re.findall(r"<td>(.*?)</td>", table.to_html(), re.DOTALL)
    assert [unescape(cell) for cell in cells] == [text for row in table.texts for text in row]
    assert table.to_html().count("<tr>") == 1 + len(rows)
