"""Evaluations inside learning blocks: they change no other metric, and show the worst case and the stability gap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command import run_command

import perdure
from perdure.metrics.contract import lifetime_of
from perdure.runner.lifetime import Stateless, lead
from perdure.scenario.model import Block, Scenario
from perdure.scenario.syllabus import parse_syllabus, syllabus_text

TASKS = ("pong", "breakout")
OWN = {"worst_case_performance", "minimum_performance", "stability_gap"}


def probed(**changes: Any) -> perdure.Syllabus:
    lengths = {"learn": 50, "evaluate": 3, "evaluate_every": 20}
    return perdure.compose("condensed", TASKS, **(lengths | changes))


def test_without_its_probes_a_syllabus_is_the_plain_one() -> None:
    plain = perdure.compose("condensed", TASKS, learn=50, evaluate=3).scenario.blocks
    scored = [block for block in probed().scenario.joined().blocks if block.mode != "probe"]
    assert [(block.mode, block.task, block.length) for block in scored] == [
        (block.mode, block.task, block.length) for block in plain
    ]


def test_a_block_is_cut_every_k_experiences_and_each_cut_evaluates_all_tasks() -> None:
    blocks = probed().scenario.blocks
    assert [block.length for block in blocks if block.mode == "learn"] == [20, 20, 10, 20, 20, 10]
    assert sorted(block.task for block in blocks if block.mode == "probe") == sorted(TASKS * 4)


def test_its_text_gives_it_again() -> None:
    syllabus = probed()
    assert parse_syllabus(syllabus_text(syllabus)) == (syllabus, ())


def test_the_command_line_composes_and_lints_it(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    order = ["condensed", "--task", *TASKS, "--learn", "50", "--evaluate", "3", "--evaluate-every", "20"]
    assert run_command("compose", *order, "--json", str(file)).returncode == 0
    report = json.loads(run_command("lint", str(file), "--json", "-").stdout)
    assert report["ok"]
    assert report["metrics"]["stability_gap"]["sites"] == 1
    assert report["metrics"]["performance_maintenance"]["sites"] == 1


@pytest.mark.parametrize(
    ("phases", "words"),
    [
        (("0.probe",), "there is no phase 0.probe"),
        (("1.train", "1.test", "2.probe"), "2.probe outside 2.train"),
        (("1.train", "1.test", "1.probe"), "phase 1.probe after 1.test"),
    ],
)
def test_a_probe_outside_learning_is_refused(phases: tuple[str, ...], words: str) -> None:
    instructions = [part for phase in phases for part in ({"$phase": phase}, {"$episode": "Pong"})]
    _, problems = parse_syllabus(json.dumps({"instructions": instructions}))
    assert any(words in problem.what for problem in problems)


def test_evaluate_every_needs_evaluations() -> None:
    with pytest.raises(perdure.PerdureError, match="set evaluate to 1 or more"):
        probed(evaluate=0)


def plain_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a log's rows without probes, with one number for the pieces of a learning block."""
    before = pl.col("block_type").shift()
    begins = (pl.col("block_num") != pl.col("block_num").shift()).fill_null(True) & (pl.col("block_type") != "probe")
    goes_on = (before == "probe").fill_null(False)
    number = (begins & ~goes_on).cum_sum().cast(pl.Int64)
    return rows.with_columns(number.alias("block_num")).filter(pl.col("block_type") != "probe")


@pytest.mark.parametrize("settings", [{}, {"clamp": True}, {"preset": "l2metrics-3.1"}, {"preset": "new-2022"}])
def test_probes_change_no_other_metric(settings: dict[str, Any]) -> None:
    scenario = perdure.compose("dispersed", TASKS, learn=90, evaluate=5, evaluate_every=10).scenario
    log = lifetime_of(scenario.blocks, np.random.default_rng(5))
    plain = log.replace(experiences=plain_rows(log.experiences))
    assert plain.height < log.height
    with_probes, without = perdure.score(log, **settings), perdure.score(plain, **settings)
    assert {name: with_probes[name] for name in with_probes if name not in OWN} == {
        name: without[name] for name in without if name not in OWN
    }


def table(path: Path, rows: list[tuple[str, str, float]]) -> Path:
    path.write_text("block_type,task_name,accuracy\n" + "".join(f"{','.join(map(str, row))}\n" for row in rows))
    return path


def test_a_table_with_probes_gives_the_worst_case_and_the_gap(tmp_path: Path) -> None:
    file = table(
        tmp_path / "life.csv",
        [
            *(("train", "a", value) for value in (0.0, 0.5)),
            ("probe", "a", 0.1),  # inside its own learning
            ("train", "a", 1.0),
            ("test", "a", 0.9),
            ("train", "b", 0.0),
            ("probe", "a", 0.3),
            ("train", "b", 0.5),
            ("probe", "a", 0.2),
            ("train", "b", 1.0),
            ("test", "a", 0.8),
            ("test", "b", 1.0),
        ],
    )
    score = perdure.score(file)
    assert score["stability_gap"] == pytest.approx(60)
    assert score["minimum_performance"] == pytest.approx(21)
    assert score["worst_case_performance"] == pytest.approx((21 + 101) / 2)
    assert score["performance_maintenance"] == pytest.approx(-10)
    assert len(perdure.read(file).scenario.where("learn")) == 2


class Counting:
    """A learner that counts its instances."""

    made = 0

    def __init__(self) -> None:
        Counting.made += 1

    def act(self, observation: object) -> int:
        return 0


def test_the_stateless_twin_starts_again_in_whole_blocks_only(tmp_path: Path) -> None:
    Counting.made = 0
    life = perdure.run_lifetime(probed(learn=3, evaluate=1, evaluate_every=1), tmp_path, "twin", learner="stateless")
    lead(life, Stateless(Counting))
    assert Counting.made == 8  # two tasks evaluated three times, two learned
    log = perdure.read(tmp_path / "twin")
    assert [block.length for block in log.scenario.blocks if block.mode == "learn"] == [3, 3]
    assert {block.inside for block in log.scenario.blocks if block.mode == "probe"} == {1, 2}
    assert not perdure.check(tmp_path / "twin").problems


def test_a_scenario_with_probes_can_be_run_without_a_syllabus(tmp_path: Path) -> None:
    blocks = [Block("learn", "pong", 1), Block("probe", "pong", 1), Block("learn", "pong", 1)]
    life = perdure.run_lifetime(Scenario.of("probed", blocks), tmp_path, "life", learner="random")
    lead(life, Counting())
    assert [block.mode for block in perdure.read(tmp_path / "life").scenario.blocks] == ["learn", "probe"]
