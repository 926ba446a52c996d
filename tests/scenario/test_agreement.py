"""Syllabus and log: a lifetime has the blocks and sites of its syllabus."""

from __future__ import annotations

import itertools
import json
from typing import Any, get_args

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS
from perdure.metrics.declare import METRICS
from perdure.scenario.lint import lint
from perdure.scenario.model import Scenario, VariantMode
from perdure.scenario.parameters import episodes
from perdure.scenario.syllabus import parse_syllabus

MODES = {"learn": "train", "evaluate": "test"}


def log_run(scenario: Scenario, seed: int) -> Lifetime:
    """Return the log of a run through `scenario`: one row per episode, with drawn parameters."""
    numbers = itertools.count()
    rows = [
        {
            "block_num": block.group,
            "exp_num": next(numbers),
            "worker_id": "worker-default",
            "block_type": MODES[block.mode],
            "block_subtype": block.subtype,
            "task_name": block.task,
            "task_params": json.dumps(params),
            "exp_status": "complete",
            "timestamp": "20260101T000000.000000",
            "reward": float(index % 7),
        }
        for position, block in enumerate(scenario.blocks)
        for index, params in enumerate(episodes(block, position, seed))
    ]
    frame = pl.DataFrame(rows, schema={**STANDARD_COLUMNS, "reward": pl.Float64()})
    return Lifetime("life", frame, {"reward": "higher"})


@st.composite
def syllabi(draw: st.DrawFn) -> str:
    instructions: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 5)) + 1):
        for side in ("train", "test"):
            if (number, side) == (0, "train") or ((number, side) != (1, "train") and draw(st.integers(0, 3)) == 0):
                continue
            instructions.append(
                {"$phase": f"{number}.{side}", "subtype": draw(st.sampled_from(["wake", "wake", "sleep"]))}
            )
            for _ in range(draw(st.integers(1, 3))):
                episode: dict[str, Any] = {"$episode": draw(st.sampled_from(["a", "b", "C"]))}
                episode |= draw(st.sampled_from([{}, {}, {"w": 1}, {"w": {"$uniform": [0, 1]}}]))
                instructions.append({"$repeat": episode, "count": draw(st.integers(1, 4))})
    return json.dumps({"instructions": instructions})


@given(syllabi(), st.integers(0, 100))
def test_a_log_has_the_sites_that_lint_lists_for_its_syllabus(text: str, seed: int) -> None:
    metrics = list(METRICS)
    report = lint(text, metrics=metrics)
    lifetime = log_run(report.syllabus.scenario, seed)
    scenario = lifetime.scenario
    assert [(block.mode, block.task, block.length, block.subtype) for block in scenario.blocks] == [
        (block.mode, block.task, block.length, block.subtype) for block in report.syllabus.scenario.blocks
    ]
    # These compare logged parameters, which a distribution makes differ from row to row.
    by_parameters = {"learn_burn", "time_to_learn_gain", "transfer_of_maintenance", "transfer_of_continual_learning"}
    by_parameters |= {f"maintenance_on_test{what}" for what in ("", "_time", "_mean")}
    for variants in get_args(VariantMode):
        if variants == "params" and "$uniform" in text:
            continue  # drawn once for a block of one experience, it is an ordinary parameter
        report = lint(text, metrics=metrics, variants=variants)
        scenario = lifetime.passage(None, variants).scenario
        offered = {
            metric.name: sum(1 for _ in metric.sites(scenario))
            for metric in metrics
            if metric.name not in by_parameters
        }
        assert {name: report.metrics[name].sites for name in offered} == offered
        assert report.as_json()["tasks"] == [task.label for task in scenario.tasks]


def test_distributions_are_logged_as_drawn() -> None:
    repeat = {"$repeat": {"$episode": "a", "w": {"$uniform": [0, 1]}}, "count": 30}
    scenario = parse_syllabus(json.dumps({"instructions": [{"$phase": "1.train"}, repeat]}))[0].scenario
    logged = [json.loads(cell)["w"] for cell in log_run(scenario, 5).experiences["task_params"]]
    assert len(set(logged)) == 30
    assert logged == [json.loads(cell)["w"] for cell in log_run(scenario, 5).experiences["task_params"]]
    assert logged != [json.loads(cell)["w"] for cell in log_run(scenario, 6).experiences["task_params"]]
    assert all(0 <= width < 1 for width in logged)
