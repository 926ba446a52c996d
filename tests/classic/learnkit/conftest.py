"""Logs that the tests of several files read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.classic.learnkit.trees import line, put


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Write two phases, with an episode of two sub-episodes in the first."""
    root = tmp_path / "syllabus_CL-1575473425723"
    put(root, "0/1.train/grid", [line(task=0), line(task=0, sub_task=2, reward=0.5), line(task=1)])
    put(root, "0/1.test/grid", [line(phase="1.test", block=1, task=2)])
    return root
