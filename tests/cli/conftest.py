"""What several verbs are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.scoring import BLOCKS, write


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A life, and an expert of each task, in a folder of their own."""
    write(tmp_path, "life", BLOCKS)
    write(tmp_path / "experts", "a", [("train", "a_1", [0.1 * n for n in range(10)])])
    write(tmp_path / "experts", "b", [("train", "b_1", [0.05 * n for n in range(20)])])
    return tmp_path
