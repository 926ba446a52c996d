"""Export of a lifetime's records as one table without cells that a spreadsheet would run."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.log.write.export import export, without_formulas

HOSTILE = ["=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\r=x", "＝1", "|x", "%0A"]


@pytest.mark.parametrize("cell", HOSTILE)
def test_a_text_that_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    table = pl.DataFrame({"task": [cell, "pong"], cell: [-1.5, 2.0]})
    result = without_formulas(table)
    assert result["task"].to_list() == [f"'{cell}", "pong"]
    assert result.columns == ["task", f"'{cell}"]
    assert result.to_series(1).to_list() == [-1.5, 2.0]


@given(st.lists(st.text(max_size=8) | st.none(), max_size=6))
def test_other_cells_are_unchanged_and_the_apostrophe_can_be_removed(cells: list[str | None]) -> None:
    result = without_formulas(pl.DataFrame({"text": cells}, schema={"text": pl.String}))["text"].to_list()
    assert [
        item if item is None else item.removeprefix("'") if item != was else item
        for item, was in zip(result, cells, strict=True)
    ] == cells
    assert not any(item and item[0] in "=+-@\t\r\n|%" for item in result)


def test_records_are_written_unchanged_by_default(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", measures=["reward"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="=evil()", reward=-1.0)
    lifetime = perdure.read(tmp_path / "life")
    export(lifetime, tmp_path / "as-is.csv")
    export(lifetime, tmp_path / "sheet.csv", for_spreadsheets=True)
    assert pl.read_csv(tmp_path / "as-is.csv")["task_name"].to_list() == ["=evil()"]
    assert pl.read_csv(tmp_path / "sheet.csv")["task_name"].to_list() == ["'=evil()"]
    assert pl.read_csv(tmp_path / "sheet.csv")["reward"].to_list() == [-1.0]
