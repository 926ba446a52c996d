"""Notebooks of the documentation: they run, and their outputs equal the stored ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripts.notebooks import NOTEBOOKS, executed, page

EVERY = sorted(NOTEBOOKS.glob("*.ipynb"))
NUMBER = re.compile(r"[−-]?\d[\d.e]*")


def output_words(notebook: dict[str, Any]) -> list[list[str]]:
    """Return the outputs of each cell, numbers blanked: another machine may round the last digit differently."""
    return [
        [NUMBER.sub("#", "".join(text)) for item in cell.get("outputs", ()) for text in _texts(item)]
        for cell in notebook["cells"]
    ]


def _texts(output: dict[str, Any]) -> list[list[str]]:
    return [output["text"]] if "text" in output else list(output["data"].values())


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_notebook_reproduces_its_stored_outputs(path: Path, tmp_path: Path) -> None:
    document = json.loads(path.read_text())
    notebook = executed(document, tmp_path)
    assert output_words(notebook) == output_words(document), "run python scripts/notebooks.py, and look at what changed"
    assert [cell["source"] for cell in notebook["cells"]] == [cell["source"] for cell in document["cells"]]


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_the_page_of_a_notebook_has_its_text_code_and_outputs(path: Path) -> None:
    document = json.loads(path.read_text())
    text = page(document, path.stem)
    assert text.startswith("# ")
    assert f"({path.stem}.ipynb)" in text
    assert all("".join(cell["source"]) in text for cell in document["cells"])
    outputs = [item for cell in document["cells"] for item in cell.get("outputs", ())]
    shown = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    assert shown
    assert all("".join(item) in text for item in shown)


def test_the_two_notebooks_exist() -> None:
    assert [path.stem for path in EVERY] == ["from-a-learner-to-a-paper-table", "from-logs-to-a-verdict"]


def test_a_cell_that_fails_fails_the_notebook(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        executed({"cells": [{"cell_type": "code", "source": ["1 / 0"]}]}, tmp_path)
