"""Fixtures that many tests share: a small lifetime on disk, the shared data, the command line, a browser."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests.command import run_command

import perdure

# Among tied values of a smoothed curve, rounding decides which one l2metrics calls the first maximum. OpenBLAS rounds
# differently on each kind of processor, and the expected values were computed with AVX-512. NumPy reads this on import.
AVX512 = Path("/proc/cpuinfo").exists() and " avx512f " in Path("/proc/cpuinfo").read_text()
if AVX512:
    os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"

# Built on Hypothesis' own profile, which repeats the same examples if CI is set.
settings.register_profile("few", max_examples=40, deadline=None)
settings.register_profile("many", max_examples=1000, deadline=None)  # `make test-many`
settings.load_profile("few")

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


@pytest.fixture(scope="session", autouse=True)
def one_core() -> Iterator[None]:
    """Let a survey or a run start several processes only if a test asks for them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
        yield


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
    """Return a function that runs `perdure …` in this process, in a folder of its own."""
    return lambda *arguments: run_command(*arguments, folder=tmp_path)


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
