"""The lines of a data file, and what is wrong with them as such."""

from __future__ import annotations

import pytest

from perdure.log.lines import split


@pytest.mark.parametrize("length", [3, 60, 61, 5000])
def test_a_torn_line_is_told_by_its_length_and_shown_by_its_first_60_bytes(length: int) -> None:
    found = split("data-log.tsv", b"head\n1\n" + b"x" * length)
    (problem,) = found.problems
    assert problem.line == 3
    assert f"no newline after its {length} bytes" in problem.what
    assert problem.what.count("x") == min(length, 60)
