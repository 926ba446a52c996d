"""`tells` of a protocol: a learner receives only what it may know, and outputs state it."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command import run_command
from tests.runner.conftest import WriteProtocol

import perdure
from perdure.classic.tella import ContinualRLAgent
from perdure.classic.tella.curriculum import SimpleCartPoleCurriculum
from perdure.classic.tella.experiment import run as run_tella
from perdure.errors import ProtocolError, UnknownNameError
from perdure.learners.interface import LearnerError, Situation
from perdure.log.rules import COST_COLUMNS
from perdure.runner.lifetime import Stateless, lead, run_lifetime
from perdure.runner.protocol import parse_protocol
from perdure.scenario.compose import compose
from perdure.scenario.model import FACTS, Fact, Task
from perdure.scenario.syllabus import Syllabus

PONG = {"points": 1, "steps": 30}
PONGS = (Task("pong", "wide", params={**PONG, "bot/paddle/width": 0.4}), Task("pong", "narrow", params=PONG))
DIGITS = tuple(Task("sklearn-digits", name, params={"classes": classes, "setting": "task"}) for name, classes in (
    ("low", [0, 1]), ("high", [2, 3])
))  # fmt: skip
SUBSETS = [subset for size in range(4) for subset in combinations(FACTS, size)]


class Witness:
    """A learner that records all that it receives."""

    def __init__(self) -> None:
        self.started: list[Situation] = []
        self.ended: list[Situation] = []
        self.learned = self.state = 0
        self.changes = False

    def block_started(self, situation: Situation) -> None:
        self.started.append(situation)

    def block_ended(self, situation: Situation) -> None:
        self.ended.append(situation)

    def act(self, observation: Any) -> Any:
        self.state += self.changes
        return 0 if np.ndim(observation) == 1 else np.zeros(len(observation), dtype=int)

    def learn(self, experience: Any) -> None:
        self.learned += 1

    def fingerprint(self) -> str:
        return str(self.state)


def syllabus(kind: str) -> Syllabus:
    return compose("condensed", PONGS if kind == "episodes" else DIGITS, learn=2, evaluate=1, seed=1)


def witnessed(folder: Path, kind: str, tells: tuple[Fact, ...]) -> tuple[Witness, pl.DataFrame]:
    learner = Witness()
    lead(run_lifetime(syllabus(kind), folder, "-".join(("life", *tells)), learner=learner, tells=tells), learner)
    return learner, perdure.read(folder / "-".join(("life", *tells))).experiences.drop("timestamp", *COST_COLUMNS)


@pytest.mark.parametrize("kind", ["episodes", "batches"])
@pytest.mark.parametrize("tells", SUBSETS)
def test_a_learner_never_receives_what_it_is_not_told(tmp_path: Path, kind: str, tells: tuple[Fact, ...]) -> None:
    learner, _ = witnessed(tmp_path, kind, tells)
    received = [*learner.started, *learner.ended]
    assert all((situation.task is not None) == ("task" in tells) for situation in received)
    assert all((situation.mode is not None) == ("mode" in tells) for situation in received)
    assert all((situation.block is not None) == ("boundary" in tells) for situation in received)
    if "mode" not in tells:
        assert all(situation.learning for situation in received)
    if "task" not in tells or kind == "episodes":
        assert all(situation.classes is None for situation in received)


@pytest.mark.parametrize("kind", ["episodes", "batches"])
@pytest.mark.parametrize("tells", SUBSETS)
def test_without_boundaries_events_come_only_when_something_that_is_told_changes(
    tmp_path: Path, kind: str, tells: tuple[Fact, ...]
) -> None:
    learner, _ = witnessed(tmp_path, kind, tells)
    blocks = syllabus(kind).scenario.blocks
    told = [tuple(getattr(block, fact) for fact in ("task", "mode") if fact in tells) for block in blocks]
    changes = sum(index == 0 or told[index] != told[index - 1] for index in range(len(told)))
    count = len(blocks) if "boundary" in tells else changes
    assert (len(learner.started), len(learner.ended)) == (count, count)


@pytest.mark.parametrize("kind", ["episodes", "batches"])
def test_what_is_told_changes_neither_lessons_nor_records(tmp_path: Path, kind: str) -> None:
    everything, records = witnessed(tmp_path, kind, FACTS)
    nothing, same = witnessed(tmp_path, kind, ())
    assert nothing.learned == everything.learned > 0
    assert same.equals(records)


def test_an_evaluation_stays_frozen_if_its_mode_is_not_told(tmp_path: Path) -> None:
    learner = Witness()
    learner.changes = True
    with pytest.raises(LearnerError, match="the learner changed while it was evaluated"):
        lead(run_lifetime(syllabus("episodes"), tmp_path, "life", learner=learner, tells=()), learner)


def test_an_unknown_fact_offers_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'mode'"):
        run_lifetime(syllabus("episodes"), tmp_path, "life", tells=("modes",))  # type: ignore[arg-type]


class OwnLoop:
    """A learner that goes through the blocks itself."""

    def live(self, life: Any) -> None:
        raise AssertionError("it must not receive the lifetime")


_MODE: tuple[Fact, ...] = ("mode",)


@pytest.mark.parametrize("learner", [OwnLoop(), Stateless(OwnLoop)], ids=["own loop", "twin"])
def test_a_learner_that_sees_every_block_is_refused(tmp_path: Path, learner: Any) -> None:
    with pytest.raises(LearnerError, match="tell all three"):
        lead(run_lifetime(syllabus("episodes"), tmp_path, "life", learner=learner, tells=_MODE), learner)


def test_the_batched_engine_refuses_to_withhold_facts(write_protocol: WriteProtocol, tmp_path: Path) -> None:
    pytest.importorskip("jax")
    protocol = write_protocol("batched:q")
    protocol.write_text('tells = ["mode"]\n' + protocol.read_text())
    ended = run_command("run", protocol, "--into", tmp_path / "run", "--engine", "batched", "--quiet")
    assert (ended.returncode, "use --engine local" in ended.stderr) == (2, True)


@pytest.mark.parametrize("tells", [["modes"], "task", [1]])
def test_wrong_facts_in_a_protocol_are_refused(tells: object) -> None:
    content = {"learner": {"use": "naive"}, "scenarios": [{"layout": "condensed", "tasks": ["pong"], "learn": 1}]}
    with pytest.raises(ProtocolError, match='expected a list with some of "task", "boundary" and "mode"'):
        parse_protocol({**content, "tells": tells})


class Agent(ContinualRLAgent):
    """An agent of tella that records its events."""

    def __init__(self) -> None:
        self.rng_seed, self.events, self.received, self.allowed = 0, [], [], set()  # type: ignore[var-annotated]

    def block_start(self, is_learning_allowed: bool) -> None:
        self.events.append(is_learning_allowed)

    def task_variant_start(self, task_name: str | None, variant_name: str | None) -> None:
        self.events += [task_name, variant_name]

    def choose_actions(self, observations: Any) -> Any:
        self.allowed.add(self.is_learning_allowed)
        return [None if observation is None else 0 for observation in observations]

    def receive_transitions(self, transitions: Any) -> None:
        self.received += [transition.reward for transition in transitions if transition]


def test_an_agent_of_tella_receives_only_what_it_is_told(tmp_path: Path) -> None:
    agents = {tells: Agent() for tells in ((), ("boundary",), FACTS)}
    for tells, agent in agents.items():
        run_tella(agent, SimpleCartPoleCurriculum(3), False, tmp_path / str(len(tells)), tells=tells)
    assert agents[()].events == []
    assert set(agents[("boundary",)].events) == {True, None}
    assert "CartPole" in agents[FACTS].events
    assert (agents[()].allowed, agents[FACTS].allowed) == ({True}, {True, False})
    assert None not in agents[()].received
    [manifest] = (tmp_path / "0").glob("*/manifest.json")
    assert json.loads(manifest.read_text())["protocol"]["tells"] == []


@pytest.fixture
def runs(write_protocol: WriteProtocol, tmp_path: Path) -> Path:
    """Run one protocol twice: with every fact told, and with none."""
    protocol = write_protocol(lifetimes=1)
    text = protocol.read_text()
    for name, line in (("all", ""), ("none", "tells = []\n")):
        protocol.write_text(line + text)
        ended = run_command("run", protocol, "--into", tmp_path / "runs" / name, "--workers", "0", "--quiet")
        assert ended.returncode == 0, ended.stderr
    return tmp_path / "runs"


def test_manifest_score_report_and_comparison_state_what_was_told(runs: Path) -> None:
    manifest = json.loads((runs / "none/lives/life-000/manifest.json").read_text())
    assert manifest["protocol"]["tells"] == []
    assert perdure.score(runs / "all/lives/life-000").told == FACTS
    explained = run_command("score", runs / "none", "--why").stdout
    assert "was told nothing, not the task" in " ".join(explained.split())
    report = json.loads(run_command("report", runs / "none", "--json", "-", folder=runs).stdout)
    assert "was told nothing, not the task, where blocks begin or whether it is evaluated" in report["methods"]
    compared = json.loads(run_command("compare", runs / "none", runs / "all", "--json", "-").stdout)
    assert any("learners were told different things" in note for note in compared["notes"])
    same = json.loads(run_command("compare", runs / "all", runs / "all", "--json", "-").stdout or '{"notes": []}')
    assert not any("told" in note for note in same["notes"])


def test_a_learner_that_needs_its_task_says_so(write_protocol: WriteProtocol, tmp_path: Path) -> None:
    protocol = write_protocol("q-learning-per-task")
    protocol.write_text('tells = ["boundary", "mode"]\n' + protocol.read_text())
    ended = run_command("run", protocol, "--into", tmp_path / "run", "--workers", "0")
    assert ended.returncode != 0
    assert "needs the task, which is not told" in ended.stdout + ended.stderr
