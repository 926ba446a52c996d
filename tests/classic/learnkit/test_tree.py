"""Names as folders of a learnkit tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.classic.learnkit import LearnkitPhase
from perdure.files import folder_name


@pytest.mark.parametrize("name", ["../../x", "/", "", ".", "..", "a/b", "a\\b", "é" * 300, "%", "con:x", "~"])
def test_no_name_leads_out_of_its_folder(name: str, tmp_path: Path) -> None:
    folder = folder_name(name)
    assert (tmp_path / folder).resolve().parent == tmp_path.resolve()
    assert len(folder.encode()) < 255


@given(st.lists(st.text(max_size=200), min_size=2, unique=True))
def test_different_names_have_different_folders(names: list[str]) -> None:
    usable = [name for name in names if not any("\ud800" <= letter <= "\udfff" for letter in name)]
    assert len({folder_name(name) for name in usable}) == len(usable)


@pytest.mark.parametrize("text", ["train", "1.sleep", "1.train.2", "-1.train", "1-train", "", "1.5.train", "٣.train"])
def test_a_folder_that_is_not_a_phase_is_not_read_as_one(text: str) -> None:
    assert LearnkitPhase.parse(text) is None
