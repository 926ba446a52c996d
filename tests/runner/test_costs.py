"""What a lifetime costs: seconds of learner and environment, memory, and what a learner reports of itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import run_command

import perdure
from perdure.learners.find import make_learner
from perdure.reports import gather
from perdure.reports.tables import costs
from perdure.runner.lifetime import lead, run_lifetime

SYLLABUS = perdure.compose("condensed", ["gaussians"], learn=6, evaluate=3)
ACT_S, LEARN_S = 0.004, 0.012


class Slow:
    """A classifier that takes known times."""

    def act(self, inputs: Any) -> Any:
        time.sleep(ACT_S)
        return np.zeros(len(inputs), dtype=np.int64)

    def learn(self, answer: Any) -> None:
        time.sleep(LEARN_S)


class SlowSelfLed(Slow):
    """The same with a loop of its own."""

    def live(self, life: Any) -> None:
        for block, dataset in zip(life.scenario.blocks, life.datasets(), strict=True):
            dataset.reset()
            done = False
            while not done:
                batch, done, _ = dataset.next_batch()
                dataset.get_labels(batch["id"], self.act(batch["inputs"]))
                if block.mode == "learn":
                    self.learn(None)


def seconds(lifetime: Path) -> list[float]:
    """Return the learner's, the evaluations' and the environment's seconds per experience."""
    made = perdure.score(lifetime)
    return [made[name] or 0.0 for name in ("learner_seconds", "evaluation_seconds", "environment_seconds")]


@pytest.mark.parametrize("learner", [Slow(), SlowSelfLed()])
def test_the_time_to_act_and_learn_is_apart_from_environment_and_evaluations(learner: Any, tmp_path: Path) -> None:
    lead(run_lifetime(SYLLABUS, tmp_path, "slow", learner=learner), learner)
    learning, evaluation, environment = seconds(tmp_path / "slow")
    assert learning >= ACT_S + LEARN_S
    assert learning > evaluation >= ACT_S
    assert learning > environment > 0


def test_the_environments_time_is_apart_from_the_learners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from perdure.tasks.streams import Gaussians

    def drawn_slowly(*given: Any) -> Any:
        time.sleep(LEARN_S)
        return draw(*given)

    draw = Gaussians.examples
    monkeypatch.setattr(Gaussians, "examples", drawn_slowly)
    learner = make_learner("naive", 1, {})
    lead(run_lifetime(SYLLABUS, tmp_path, "life", learner=learner), learner)
    learning, evaluation, environment = seconds(tmp_path / "life")
    assert environment >= LEARN_S > max(learning, evaluation) > 0


def test_metrics_of_cost_are_those_of_the_columns_of_any_log(tmp_path: Path) -> None:
    def log(name: str, act_seconds: float, role: Any) -> Path:
        with perdure.Journal(tmp_path, name, role=role) as journal:
            for number, mode in enumerate(["test", "train", "train", "test"]):
                spent = {"act_seconds": act_seconds, "learn_seconds": 4.0 * (number > 1), "env_seconds": 5.0}
                sizes = {"memory_mb": 70 - number, "parameters": number, "updates": 2 * number, "stored_bytes": 8}
                columns: dict[str, Any] = {**spent, **sizes}
                block: dict[str, Any] = {"block_num": (number + 1) // 2, "exp_num": number, "block_type": mode}
                journal.log(**block, task_name="a", reward=number, **columns)
        return tmp_path / name

    made = perdure.score(log("life", 1.0, "life"), experts=[log("expert", 0.0, "expert")])
    expected = {
        "learner_seconds": (2 * 1.0 + 2 * 4.0) / 2,  # the second experience is learned from before the last record
        "learner_overhead": 5.0 / 4.0,
        "evaluation_seconds": 1.0,
        "environment_seconds": 5.0,
        "peak_memory": 70,
        "peak_parameters": 3,
        "total_updates": 6,
        "peak_stored_bytes": 8,
    }
    assert {name: made[name] for name in expected} == pytest.approx(expected)


def test_a_log_without_these_columns_has_no_cost_and_says_which_are_missing(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number in range(3):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=number)
    why = run_command("score", tmp_path / "life", "--why").stdout
    assert "learn_seconds" in why
    assert perdure.score(tmp_path / "life")["learner_seconds"] is None


@pytest.mark.parametrize(("use", "stored"), [("naive", 0), ("replay", 100 * (16 * 8 + 8)), ("q-learning", None)])
def test_reference_learners_report_parameters_updates_and_stored_bytes(
    use: str, stored: int | None, tmp_path: Path
) -> None:
    task, params = ("pong", {}) if stored is None else ("gaussians", {"repeats": 2})
    learner = make_learner(use, 1, {**params, "capacity": 100} if stored else params)
    syllabus = perdure.compose("condensed", [task], learn=6, evaluate=3)
    lead(run_lifetime(syllabus, tmp_path, "life", learner=learner), learner)
    made = perdure.score(tmp_path / "life")
    rows = perdure.read(tmp_path / "life").experiences.filter(block_type="train")
    assert made["peak_parameters"] == (4096 * 3 if stored is None else (16 + 1) * 64 + (64 + 1) * 10)
    assert made["total_updates"] == (rows["steps"].sum() if stored is None else 2 * 6)
    assert made["peak_stored_bytes"] == stored


def test_a_run_shows_cost_and_performance_side_by_side(tmp_path: Path) -> None:
    protocol = tmp_path / "cost.toml"
    protocol.write_text(
        'name = "cost"\nseed = 1\nlifetimes = 2\nexperts = 1\n[learner]\nuse = "ewc"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["zero-one", "digits"]\nlearn = 6\nevaluate = 3\n'
    )
    assert run_command("run", protocol, "--into", tmp_path / "run", "--quiet").returncode == 0
    chosen = ["final_performance", "learner_overhead", "peak_memory"]
    found = run_command("score", tmp_path / "run", "--metrics", *chosen, "--all", "--quiet")
    assert found.returncode == 0, found.stderr
    assert all(name in found.stdout.replace("final performance", "final_performance") for name in chosen)
    table = costs(gather([tmp_path / "run"]))
    assert [column.name for column in table.columns] == ["group", "task", "seconds", "final", "memory (MB)"]
    assert len(table.rows) == 2
