"""Every string that a user can see was read: the list beside this file is that of the code."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from scripts.strings import LIST, text


def test_the_list_of_strings_is_that_of_the_code() -> None:
    before, now = (set(item.splitlines()) for item in (LIST.read_text(encoding="utf-8"), text()))
    assert before == now, (
        "read the new strings, then run python scripts/strings.py\n"
        f"new: {sorted(now - before)}\ngone: {sorted(before - now)}"
    )
