"""tella's own agent, curricula and tests, run from its source distribution, and compared with tella itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.classic.sources import OLD, fetch_source, needs_old_tools

import perdure

HERE = str(Path(perdure.__file__).parents[1])
TESTS = ("curriculum", "curriculum_validation", "m21_curriculum", "registry", "rl_task_variants")
"""Those of its tests that the distribution holds whole."""
NOT = {
    "test_error_on_diff_task_labels": "it compares the words of a message, and these are others",
    "test_error_on_multiple_spaces": "as before",
    "test_invalid_task_params": "it says that CartPole takes no parameter at all, and Gymnasium's takes two",
    "test_find_example_configs": "it counts files of the repository that the distribution does not hold",
}
FALLING = """
import tella


class Follows(tella.ContinualRLAgent):
    def choose_actions(self, observations):
        return [None if seen is None else int(seen[2] > 0) for seen in observations]

    def receive_transitions(self, transitions):
        pass


if __name__ == "__main__":
    tella.rl_cli(Follows)
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch_source("tella", "2.1.0", tmp_path_factory.mktemp("tella"))


def run_here(folder: Path, source: Path, *call: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, str(source), str(folder)])}
    command = [sys.executable, *call]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("curriculum", ["SimpleCartPole", "SimpleMiniGrid", "MiniGridDoorKeyS5"])
def test_the_agent_of_its_readme_runs_its_curricula(tmp_path: Path, source: Path, curriculum: str) -> None:
    if curriculum != "SimpleCartPole":
        pytest.importorskip("minigrid", reason="an extra")
    match = re.search(r"```python\n(.*?)```", (source / "README.md").read_text(), re.DOTALL)
    assert match
    (tmp_path / "agent.py").write_text(match[1])
    (tmp_path / "few.yml").write_text("learn:\n  default length: 2\nnum learn blocks: 1\n")
    options = ["--curriculum-config", "few.yml"] if "DoorKey" in curriculum else []
    run_here(tmp_path, source, "-m", "perdure.classic.tella", "agent.py", "--curriculum", curriculum, *options)
    (log,) = (tmp_path / "logs").iterdir()
    assert perdure.read(log).complete
    assert perdure.read(log).learner == "MinimalRandomAgent"


def test_tellas_own_tests_pass(tmp_path: Path, source: Path) -> None:
    (tmp_path / "standing.py").write_text("from perdure.classic.tella import stand_in\n\nstand_in()\n")
    files = [str(source / "tests" / f"test_{name}.py") for name in TESTS]
    chosen = " and ".join(f"not {name}" for name in NOT)
    options = ["-q", "-p", "standing", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-k", chosen]
    done = run_here(tmp_path, source, "-m", "pytest", *options, *files)
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) > 100


@needs_old_tools
@pytest.mark.parametrize("parallel", [1, 3])
def test_every_episode_has_the_reward_that_it_has_in_tella(tmp_path: Path, source: Path, parallel: int) -> None:
    (tmp_path / "agent.py").write_text(FALLING)
    options = ["--curriculum", "SimpleCartPole", "--agent-seed", "1", "--curriculum-seed", "2", "--num-lifetimes", "2"]
    options += ["--num-parallel-envs", str(parallel), "--log-dir"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    tella_command = [str(OLD), "agent.py", *options, "theirs"]
    done = subprocess.run(tella_command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run_here(tmp_path, source, "-m", "perdure.classic.tella", "agent.py", *options, "ours")

    def episodes(folder: str) -> list[pl.DataFrame]:
        columns = ["block_num", "block_type", "task_name", "exp_num", "reward", "episode_step_count"]
        return [perdure.read(path).experiences.select(columns) for path in sorted((tmp_path / folder).iterdir())]

    for ours, theirs in zip(episodes("ours"), episodes("theirs"), strict=True):
        assert len(ours) == 6
        assert ours.to_dicts() == theirs.to_dicts()
