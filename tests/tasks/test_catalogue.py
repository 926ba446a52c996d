"""The embedded tasks: which exist, and the cost of listing them."""

from __future__ import annotations

import subprocess
import sys

from perdure.tasks.catalogue import kind_named
from perdure.tasks.digits import PAIRS
from perdure.tasks.interface import TASKS, BatchTask, EpisodeTask


def test_games_and_rooms_run_in_episodes_and_digits_in_batches() -> None:
    for name in ("pong", "breakout", "freeway", "minigrid5x5"):
        assert isinstance(TASKS.get(name), EpisodeTask)
    for name in ("digits", "sklearn-digits", *PAIRS):
        assert isinstance(TASKS.get(name), BatchTask)


def test_a_task_of_the_split_is_digits_with_two_classes() -> None:
    for place, pair in enumerate(PAIRS):
        for name in (pair, f"Task-{place + 1}-{pair}"):
            defaults = {item.name: item.default for item in kind_named(name).parameters or ()}
            assert defaults["classes"] == (2 * place, 2 * place + 1)


def test_listing_the_tasks_imports_no_environment() -> None:
    code = "import perdure.tasks.catalogue, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"gymnasium", "minigrid", "sklearn", "polars", "scipy"}
