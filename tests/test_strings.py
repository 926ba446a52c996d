"""Strings for users: tests/strings.txt lists exactly the strings in the code."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.strings import LIST, text


def test_the_list_has_exactly_the_strings_of_the_code() -> None:
    before, now = (set(item.splitlines()) for item in (LIST.read_text(encoding="utf-8"), text()))
    assert before == now, (
        "read the new strings, then run python scripts/strings.py\n"
        f"new: {sorted(now - before)}\ngone: {sorted(before - now)}"
    )
