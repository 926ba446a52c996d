"""Where cells end is guessed by the lines before; a wrong guess is found out, whatever stands there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.log import plain
from perdure.log.plain import BEYOND, NeedsRows, Records, records

_HEADER = ("block_num", "exp_num", "worker_id", "block_type", "task_name", "task_params", "exp_status", "timestamp")
_WORDS = {
    "worker_id": ["w", "w", "w", "w1"],
    "block_type": ["train"],
    "task_name": ["a", "a", "a", "bb", "a_2"],
    "task_params": ["{}", "{}", "{}", ""],
    "exp_status": ["complete", "complete", "complete", "incomplete"],
    "timestamp": ["", "1", "1", "1.5"],
}
_VALUES = ["1", "0.5", "-2", "1e3", "0.25"]
_ODD = ["w\ttrain", "{\t}", "1\t", "x", ""]


@st.composite
def texts(draw: st.DrawFn) -> tuple[tuple[str, ...], str]:
    """Lines of which some have cells with a tab, and some lack the last one: as many tabs in all, often."""
    header = [*_HEADER]
    for name in ("reward", "loss"):
        header.insert(draw(st.integers(0, len(header))), name)
    odd = draw(st.sampled_from([0.0, 0.0, 0.02]))
    steps = draw(st.sampled_from([[1], [1, 9, 90, 900]]))
    number, lines = draw(st.sampled_from([0, 90, 99990])), list[str]()
    for block in sorted(draw(st.lists(st.sampled_from([1, 1, 2, 10]), min_size=1, max_size=12))):
        number = draw(st.sampled_from([0, number])) if lines and not lines[-1].startswith(f"{block}\t") else number
        number += draw(st.sampled_from(steps))
        said = {name: draw(st.sampled_from(_WORDS.get(name, _VALUES))) for name in header}
        said |= {"block_num": str(block), "exp_num": str(number)}
        said |= {name: draw(st.sampled_from(_ODD)) for name in header if draw(st.floats(0, 1)) < odd}
        line = "\t".join(said[name] for name in header)
        lines.append(line.rpartition("\t")[0] if odd and draw(st.integers(0, 5)) == 5 else line)
    return tuple(header), "".join(f"{line}\n" for line in lines)


def _read(header: tuple[str, ...], text: str) -> Records | None:
    try:
        return records(memoryview(text.encode() + bytes(BEYOND)), header, ["reward"])
    except NeedsRows:
        return None


@settings(max_examples=300)
@given(texts())
def test_cells_that_are_guessed_are_those_that_a_search_finds(drawn: tuple[tuple[str, ...], str]) -> None:
    guessed = _read(*drawn)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plain, "_GUESSES", 0)
        searched = _read(*drawn)
    if guessed is None or searched is None:
        assert guessed is searched
        return
    assert guessed.runs == searched.runs
    assert (guessed.columns, guessed.height, guessed.first, guessed.last) == (
        (searched.columns, searched.height, searched.first, searched.last)
    )
    assert np.array_equal(guessed.values["reward"], searched.values["reward"])


def test_a_log_as_it_is_written_needs_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    header = (*_HEADER, "reward")
    cells = (
        ["3", str(at), "w", "train", f"task{at // 40}", "{}", "complete", f"{at}.25", f"{at / 7:.6f}"]
        for at in range(1200)
    )
    text = "".join("\t".join(line) + "\n" for line in cells)
    monkeypatch.delattr(plain._Lines, "searched")
    found = _read(header, text)
    assert found is not None
    assert len(found.runs) == 30
    assert found.values["reward"].tolist() == [float(f"{at / 7:.6f}") for at in range(1200)]
