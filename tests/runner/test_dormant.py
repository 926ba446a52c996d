"""Dormant units: if a learner logs them, they are a column of the log and of every table of blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command import run_learner

import perdure
from perdure.gather.output_files import block_table
from perdure.learners.classifiers import Network, dormant_units
from perdure.reports import gather
from perdure.reports.tables import blocks
from perdure.runner.protocol import parse_protocol


def test_a_unit_is_dormant_at_a_fortieth_of_its_layers_mean_activity() -> None:
    """Sokar et al. 2023: mean activity over that of the layer's units, at most 0.025."""
    weights = np.array([[1.0, 2.0, 0.0, -3.0, 0.03]])
    network = Network(weights, np.zeros(5), np.zeros((5, 2)), np.zeros(2))
    layer = (1 + 2 + 0 + 0 + 0.03) / 5
    assert 0.03 / layer > 0.025
    assert dormant_units(network, np.ones((4, 1))) == 2 / 5


@pytest.mark.parametrize("learner", ["naive", "replay", "ewc", "joint"])
def test_a_value_that_a_learner_logs_is_a_column_of_every_table_of_blocks(tmp_path: Path, learner: str) -> None:
    document = {
        "name": "dormant",
        "lifetimes": 1,
        "experts": 0,
        "learner": {"use": learner, "params": {"count_dormant": True, "hidden": 16}},
        "scenarios": [{"layout": "single", "tasks": ["zero-one"], "learn": 6, "evaluate": 2}],
    }
    assert not run_learner(parse_protocol(document), tmp_path, workers=0).failed
    rows = perdure.read(tmp_path / "lives" / "life-000").experiences
    by_hand = [
        float(np.mean(part["dormant_units"].to_list())) for part in rows.partition_by("block_num", maintain_order=True)
    ]
    material = gather([tmp_path])
    (score,) = material.survey.scores
    assert [block.dormant_units for block in score.blocks] == pytest.approx(by_hand)
    assert block_table(material.survey)["dormant_units"].to_list() == pytest.approx(by_hand)
    assert blocks(material.lifetimes[0]).columns[-1].name == "dormant"


def test_without_such_a_column_no_table_has_one(tmp_path: Path) -> None:
    from tests.metrics.written import LIFE, written

    material = gather([written(tmp_path, "life", LIFE)])
    assert "dormant_units" not in block_table(material.survey).columns
    assert all(block.dormant_units is None for block in material.survey.scores[0].blocks)
    assert blocks(material.lifetimes[0]).columns[-1].name == "95 % interval"
