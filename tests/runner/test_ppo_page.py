"""The page on PPO: its sample workflow runs as printed if its extras are installed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "minigrid-ppo.md"


@pytest.mark.parametrize("package", ["stable_baselines3", "torch", "minigrid"])
def test_the_page_names_the_extra_to_install(package: str) -> None:
    extra = {"stable_baselines3": "sb3", "torch": "sb3", "minigrid": "minigrid"}[package]
    assert extra in PAGE.read_text().split("pip install '.[")[1].split("]")[0].split(",")


def test_ppo_on_minigrid_is_trained_and_scored(tmp_path: Path) -> None:
    for package in ("stable_baselines3", "torch", "minigrid"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location("docs_runner", ROOT / "tests" / "test_docs.py")
    assert spec is not None
    assert spec.loader is not None
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "L2DATA": str(tmp_path / "l2data"),
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", runner.script_of(PAGE)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "l2data" / "logs").iterdir())) == 1


def test_the_syllabus_of_the_page_ends_with_a_recovery_time_for_any_learner(tmp_path: Path) -> None:
    """Answer the page's last question with a learner that needs neither torch nor Stable-Baselines3."""
    pytest.importorskip("minigrid")
    import json
    import re

    import perdure
    from perdure.learners.q_learning import QLearningPerTask
    from perdure.runner.lifetime import lead

    match = re.search(r'write_text\("""(.*?)"""\)', PAGE.read_text(), re.DOTALL)
    assert match is not None
    (tmp_path / "syllabus.json").write_text(json.dumps(json.loads(match[1])))
    learner = QLearningPerTask(seed=1)
    lifetime = perdure.run_lifetime(tmp_path / "syllabus.json", tmp_path, "life", seed=1, learner=learner)
    lead(lifetime, learner)
    score = perdure.score(
        tmp_path / "life", settings=perdure.Settings(variants="agnostic", metrics=("droop", "recovery_time"))
    )
    assert len(score.metrics["recovery_time"].by["minigrid5x5"]) == 1
    assert score.metrics["recovery_time"].at == score.metrics["droop"].at
    assert "--variants agnostic" in perdure.score(tmp_path / "life").why["recovery_time"]
