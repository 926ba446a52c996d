"""Resuming a lifetime: only from its own learner's state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import perdure
from perdure.errors import LogError, UnverifiedError
from perdure.learners.find import make_learner
from perdure.log.rules import COST_COLUMNS
from perdure.runner.lifetime import lead, run_lifetime
from perdure.runner.resume import States
from perdure.runner.seeds import Seeds
from perdure.scenario.compose import compose
from perdure.scenario.model import Task

SYLLABUS = compose(
    "condensed",
    [
        Task("pong", "wide", params={"points": 1, "steps": 30, "bot/paddle/width": 0.4}),
        Task("pong", "narrow", params={"points": 1, "steps": 30}),
    ],
    learn=4,
    evaluate=2,
    seed=1,
)
TOTAL = sum(block.length or 0 for block in SYLLABUS.scenario.blocks)


class PowerCutError(Exception):
    pass


def cut_at(count: int) -> Callable[[int], None]:
    def raise_at_count(done: int) -> None:
        if done == count:
            raise PowerCutError

    return raise_at_count


def run_with_cuts(
    folder: Path, name: str = "life", *, seed: int = 3, stop: int | None = None, use: str = "q-learning-per-task"
) -> None:
    learner = make_learner(use, 7, {})
    progress = cut_at(stop) if stop else None
    lead(
        run_lifetime(SYLLABUS, folder, name, seed, learner=learner, states=folder / "states", progress=progress),
        learner,
    )


def records(place: Path) -> pl.DataFrame:
    return perdure.read(place).experiences.drop("timestamp", *COST_COLUMNS)


@pytest.mark.parametrize("stop", range(3, TOTAL))
def test_a_lifetime_cut_at_any_experience_resumes_to_the_same_records(tmp_path: Path, stop: int) -> None:
    run_with_cuts(tmp_path / "whole")
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path / "cut", stop=stop)
    assert perdure.read(tmp_path / "cut" / "life").complete is False
    run_with_cuts(tmp_path / "cut")
    assert records(tmp_path / "cut" / "life").equals(records(tmp_path / "whole" / "life"))
    assert perdure.read(tmp_path / "cut" / "life").complete
    assert not [problem for problem in perdure.check(tmp_path / "cut" / "life").problems if problem.level == "error"]


@pytest.mark.parametrize("stop", [5, 7, 9])
def test_a_block_that_runs_again_is_closed_once(tmp_path: Path, stop: int) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=stop)
    run_with_cuts(tmp_path)
    events = [json.loads(line) for line in (tmp_path / "life" / "blocks.jsonl").read_text().splitlines()]
    closed = [event["block_num"] for event in events if event["event"] == "block"]
    assert closed == list(range(len(SYLLABUS.scenario.blocks)))


def test_resuming_removes_a_torn_line_of_the_ledger(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)
    with (tmp_path / "life" / "blocks.jsonl").open("ab") as ledger:
        ledger.write(b'{"event":"blo')
    run_with_cuts(tmp_path)
    assert perdure.check(tmp_path / "life").problems == ()


def test_a_fresh_learner_on_an_old_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)
    States(tmp_path / "states").forget()
    with pytest.raises(LogError, match=r"no state of its learner was saved.*a new learner cannot continue it"):
        run_with_cuts(tmp_path)


def test_the_state_of_another_lifetime_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)
    with pytest.raises(LogError, match="the state of another life"):
        run_with_cuts(tmp_path, seed=4)


def test_a_log_that_was_changed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)
    file = next(tmp_path.glob("life/*/0-test/data-log.tsv"))
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(LogError, match=r"0-test/data-log.tsv: altered after .*move the lifetime's folder elsewhere"):
        run_with_cuts(tmp_path)


def test_a_record_altered_before_resuming_is_found(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)
    state = States(tmp_path / "states").latest()
    assert state is not None
    for block in range(state[0].blocks):  # including the last one before the checkpoint
        file = next(tmp_path.glob(f"life/*/{block}-t*/data-log.tsv"))
        content = file.read_bytes()
        index = content.rindex(b"\t") + 1
        file.write_bytes(content[:index] + bytes([content[index] ^ 1]) + content[index + 1 :])
        with pytest.raises(UnverifiedError, match="its bytes differ"):
            run_with_cuts(tmp_path)
        file.write_bytes(content)
    run_with_cuts(tmp_path)


def test_a_learner_that_comes_back_different_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=9)

    class Amnesiac:
        def act(self, observation: Any) -> int:
            return 0

        def save(self, folder: Path) -> None:
            raise NotImplementedError

        def restore(self, folder: Path) -> None:
            self.restored = folder

        def fingerprint(self) -> str:
            return "nothing"

    with pytest.raises(LogError, match="Amnesiac came back from restore with another fingerprint"):
        run_lifetime(SYLLABUS, tmp_path, "life", 3, learner=Amnesiac(), states=tmp_path / "states")


def test_two_states_are_stored_and_an_altered_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowerCutError):
        run_with_cuts(tmp_path, stop=TOTAL - 1)
    states = States(tmp_path / "states")
    state = states.latest()
    assert state is not None
    last = len(SYLLABUS.scenario.blocks) - 1
    assert state[0].blocks == last
    assert state[0].seeds == Seeds.of(3)
    assert sorted(path.name for path in (tmp_path / "states").iterdir()) == [
        f"after-{last - 1}-blocks",
        f"after-{last - 1}-blocks.json",
        f"after-{last}-blocks",
        f"after-{last}-blocks.json",
    ]
    file = next(path for path in state[1].rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes() + b"x")
    assert not states.is_sound()
    with pytest.raises(LogError, match=f"differs from what was saved: {file.name} was altered"):
        run_with_cuts(tmp_path)
    assert states.drop_latest()
    run_with_cuts(tmp_path)  # from the state before
    assert perdure.read(tmp_path / "life").complete
