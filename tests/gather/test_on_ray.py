"""Scored on a cluster, lifetimes have the scores that they have here."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import run_learner
from tests.faults.nodes import Nodes, cluster

import perdure
from perdure.errors import PerdureError
from perdure.metrics import declare
from perdure.settings import Settings

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray's own

PROTOCOL = """
name = "small"
lifetimes = 12
experts = 2
[learner]
use = "q-learning-per-task"
[[scenarios]]
layout = "condensed"
tasks = ["pong:wide", "pong:narrow"]
learn = 4
evaluate = 2
[tasks.pong]
params = { points = 1, steps = 20 }
variants = { wide = { "bot/paddle/width" = 0.4 }, narrow = { "bot/paddle/width" = 0.2 } }
"""

METRIC = '''
from perdure import Curve, metric
from perdure.scenario import sites


@metric(sites.each_learning_block, unit="points")
def of_this_test(learned: Curve) -> float:
    """How many experiences a learning block has."""
    return float(len(learned))
'''


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with cluster(tmp_path_factory.mktemp("home"), 2) as made:
        yield made


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "protocol.toml").write_text(PROTOCOL)
    run_learner(folder / "protocol.toml", folder / "run", workers=0)
    damaged = next((folder / "run/lives/life-003").glob("*/*/data-log.tsv"))
    damaged.write_bytes(damaged.read_bytes()[:-20])
    return folder / "run"


def test_a_run_is_scored_on_ray_as_it_is_here(run: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.gather.on_ray._MAX_LIFETIMES", 3)
    told: list[tuple[int, int]] = []
    here = perdure.survey(run)
    there = perdure.survey(run, engine="ray", address=nodes.address, progress=lambda *how: told.append(how))
    assert there.to_json() == here.to_json()
    assert [name for name, _ in there.left_out] == [str(run / "lives" / "life-003")]
    assert told[-1] == (12, 12)
    assert len(there.lifetimes) == 11


def test_lifetimes_in_memory_and_in_one_file_are_scored_on_ray_too(run: Path, nodes: Nodes, tmp_path: Path) -> None:
    lives = [perdure.read(run / "lives" / f"life-00{number}") for number in (0, 1, 2)]
    here = perdure.survey(lives)
    assert perdure.survey(lives, engine="ray", address=nodes.address).to_json() == here.to_json()


def test_what_a_machine_does_not_know_is_said(run: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.gather.on_ray.registered_names", lambda: frozenset({("metric", "of-a-script")}))
    with pytest.raises(PerdureError, match="not known on this machine: of-a-script"):
        perdure.survey(run, settings=Settings(), engine="ray", address=nodes.address)


def test_a_metric_in_a_file_of_ones_own_travels(run: Path, nodes: Nodes, tmp_path: Path) -> None:
    file = tmp_path / "of_this_test.py"
    file.write_text(METRIC)
    settings = Settings(metrics=(str(file),))
    with declare.declaring():
        there = perdure.survey(run, settings=settings, engine="ray", address=nodes.address)
    assert {life.score.metrics["of_this_test"].value for life in there.lifetimes} == {4.0}


def test_machines_that_are_lost_while_they_score_cost_nothing(
    run: Path, nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.gather.on_ray._MAX_LIFETIMES", 1)
    killed: list[int] = []

    def progress(done: int, _: int) -> None:
        if not killed:
            killed.append(done)
            nodes.kill(random.Random(1))

    there = perdure.survey(run, engine="ray", address=nodes.address, progress=progress)
    assert killed
    assert there.to_json() == perdure.survey(run).to_json()
