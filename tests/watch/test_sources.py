"""Sources that do not grow record by record: they are watched, and scored as by `perdure score`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.reports.conftest import write_life
from tests.watch.conftest import Clock

import perdure
from perdure.classic.l2data import write_trees
from perdure.gather.survey import survey
from perdure.scenario.model import Block, Scenario
from perdure.watch.monitor import Monitor
from perdure.watch.page import Page


def table(root: Path) -> Path:
    """Two methods by two seeds in one file."""
    rows = ["method,seed,task_name,block_type,step,reward"]
    for method, gain in {"ewc": 2.0, "der": 3.0}.items():
        for seed in (0, 1):
            for task, mode in [("pong", "train"), ("pong", "eval"), ("freeway", "train"), ("pong", "eval")]:
                rows += [f"{method},{seed},{task},{mode},{step},{gain * step + seed}" for step in range(5)]
    (root / "study.csv").write_text("\n".join(rows) + "\n")
    return root / "study.csv"


def matrices(root: Path) -> Path:
    for seed in range(2):
        cells = np.tril(np.full((3, 3), 0.8 - 0.1 * seed)) + 0.05 * np.eye(3)
        np.savetxt(root / f"seed{seed}.csv", cells, delimiter=",", fmt="%.3f")
    return root


def bulk(root: Path) -> Path:
    blocks = [Block("evaluate", "a", 5), Block("learn", "a", 20), Block("evaluate", "a", 5), Block("learn", "b", 20)]
    blocks.append(Block("evaluate", "a", 5))
    rewards = np.random.default_rng(0).normal(size=(4, 55))
    scenario = Scenario.of("two", blocks)
    return perdure.write_lifetimes(root / "many.parquet", values=rewards, scenario=scenario, learner="toy")


def trees(root: Path) -> Path:
    """Write the folders of the 2019 tools."""
    write_life(root / "logs", "life-0", ["a", "b"])
    write_trees(root / "logs", root / "data")
    return root / "data"


def monitors(root: Path) -> Path:
    """Write the files of Stable-Baselines3."""
    rows = "".join(f"{index % 7},10,{index}\n" for index in range(1, 40))
    (root / "run").mkdir()
    (root / "run" / "0.monitor.csv").write_text(f'#{{"t_start": 1.0, "env_id": "Pong-v1"}}\nr,l,t\n{rows}')
    return root / "run"


def scores(root: Path) -> Path:
    write_life(root / "logs", "life-0", ["a", "b"])
    surveyed = survey([root / "logs"])
    (root / "scores.json").write_text(json.dumps(surveyed.as_json()))
    return root / "scores.json"


@pytest.mark.parametrize("source", [table, matrices, bulk, trees, monitors, scores])
def test_what_is_watched_is_scored_as_the_survey_scores_it(source: Callable[[Path], Path], tmp_path: Path) -> None:
    place = source(tmp_path)
    monitor = Monitor([place])
    monitor.settle()
    material = monitor.data()
    assert material is not None
    assert monitor.left_out() == ()
    expected = {item.id: item.score.values for item in survey([place]).lifetimes}
    assert {item.id: item.score.values for item in material.lifetimes} == expected
    assert [item.state for item in monitor.progress()] == ["done"] * len(expected)
    state_facts = Page(monitor).state()
    assert state_facts["headline"] == f"{len(expected)} of {len(expected)} lifetime{'s' * (len(expected) > 1)} done"
    assert bool(state_facts["figure"]) is (source is not scores)  # a file of scores has nothing to draw


def test_a_file_that_grows_is_told_anew_and_runs_until_it_rests(tmp_path: Path) -> None:
    file = monitors(tmp_path) / "0.monitor.csv"
    clock = Clock()
    monitor = Monitor([tmp_path / "run"], clock=clock)
    monitor.settle()
    (before,) = monitor.progress()
    with file.open("a") as more:
        more.write("".join(f"9,10,{index}\n" for index in range(40, 60)))
    clock.now += 100
    monitor.settle()
    (grown,) = monitor.progress()
    assert (before.state, grown.state) == ("done", "running")
    assert grown.done == before.done + 20
    clock.now += 100
    monitor.settle()
    assert monitor.progress()[0].state == "done"


def test_a_file_that_cannot_be_read_is_warned_of_and_hides_no_other(tmp_path: Path) -> None:
    good = table(tmp_path)
    bad = tmp_path / "bad.csv"
    bad.write_text("nothing,here\n1\n")
    monitor = Monitor([good, bad])
    monitor.settle()
    assert len(monitor.progress()) == 4
    assert any("bad.csv" in item for item in monitor.warnings())


def test_a_folder_with_nothing_in_it_yet_is_waited_for(tmp_path: Path) -> None:
    clock = Clock()
    monitor = Monitor([tmp_path], clock=clock)
    monitor.settle()
    assert monitor.progress() == ()
    assert monitor.warnings() == ()
    with perdure.Journal(tmp_path, "life", ["reward"]) as journal:
        journal.log_many(block_num=0, exp_num=np.arange(3), block_type="train", task_name="a", reward=np.arange(3.0))
        clock.now += 10
        monitor.poll()
        assert [item.state for item in monitor.progress()] == ["running"]
