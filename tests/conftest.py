"""Fixtures that many tests share: a small lifetime on disk, the shared data, the command line, a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import perdure

# Among tied values of a smoothed curve, rounding decides which one l2metrics calls the first maximum. OpenBLAS rounds
# differently on each kind of processor, and the expected values were computed with AVX-512. NumPy reads this on import.
AVX512 = Path("/proc/cpuinfo").exists() and " avx512f " in Path("/proc/cpuinfo").read_text()
if AVX512:
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SHARED = Path(__file__).parents[1].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of shared documents and data next to the project; skip the test if it is missing."""
    if not (SHARED / "data").is_dir():
        pytest.skip("the shared data folder is not next to this checkout")
    return SHARED


@pytest.fixture
def life(tmp_path: Path) -> Path:
    """Write a lifetime of five blocks: two tasks evaluated, learned in turn, and evaluated again."""
    with perdure.Journal(tmp_path / "logs", "small", measures=["reward"], learner="toy", seed=3) as journal:
        number = 0
        for block, (mode, task, length) in enumerate(
            [("test", "a_1", 2), ("train", "a_1", 4), ("test", "a_1", 2), ("train", "b_1", 4), ("test", "a_1", 2)]
        ):
            for _ in range(length):
                journal.log(
                    block_num=block,
                    exp_num=number,
                    block_type=mode,
                    task_name=task,
                    task_params={"width": 0.15},
                    reward=number / 2,
                )
                number += 1
    return tmp_path / "logs" / "small"


@pytest.fixture
def run_cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that runs `perdure …` in a new process, as a user would."""

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "perdure", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start a real browser; skip the test if none is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()
