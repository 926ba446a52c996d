"""What the live page shows."""

from __future__ import annotations

import json
from pathlib import Path

from tests.report.conftest import write_life
from tests.watch.conftest import Clock, Writer

from perdure.watch.follow import Follower
from perdure.watch.page import page, state, written


def test_the_page_opens_on_what_runs(tmp_path: Path) -> None:
    for seed in range(2):
        write_life(tmp_path / "lives", f"ended-{seed}", ["a", "b"], seed=seed)
    running = Writer(tmp_path / "lives", "running")
    running.block(0)
    running.block(1)
    follower = Follower([tmp_path])
    follower.settle()
    told = state(follower)
    assert told["chosen"] == told["lifetimes"][0]["id"]
    assert told["lifetimes"][0]["state"] == "running"
    assert told["lifetimes"][0]["name"] == "running"
    assert "running" in told["figure"]
    assert state(follower, of=told["lifetimes"][-1]["id"])["chosen"] == told["lifetimes"][-1]["id"]
    running.journal.close()


def test_verdicts_say_so_far_until_every_planned_lifetime_has_ended(tmp_path: Path) -> None:
    def plan(lifetimes: int) -> None:
        scenario = {"layout": "condensed", "tasks": ["pong"], "learn": 4}
        protocol = {"learner": {"use": "naive"}, "scenarios": [scenario], "lifetimes": lifetimes, "experts": 0}
        (tmp_path / "protocol.json").write_text(json.dumps(protocol))

    for seed in range(3):
        write_life(tmp_path / "lives", f"life-{seed:03d}", ["a", "b"], keeps=0.4, seed=seed, evaluate=20)
    plan(lifetimes=5)
    clock = Clock()
    follower = Follower([tmp_path], clock=clock)
    follower.settle()
    assert "So far, from 3 of 5 lifetimes" in written(follower)["body"]
    assert "toy forgets" in written(follower)["body"]
    assert "So far, from 3 of 5 lifetimes" in page(follower)
    plan(lifetimes=3)
    clock.now += 10
    follower.poll()
    assert "So far" not in written(follower)["body"]


def test_a_running_lifetime_says_what_it_lost_so_far(tmp_path: Path) -> None:
    running = Writer(tmp_path / "lives", "running")
    for number in range(5):
        running.block(number)
    follower = Follower([tmp_path])
    follower.settle()
    assert "in this lifetime so far" in state(follower)["said"]
    running.journal.close()
    follower.settle()
    said = state(follower)["said"]
    assert "in this lifetime" in said
    assert "so far" not in said


def test_nothing_is_sent_twice(writer: Writer) -> None:
    writer.block(0)
    follower = Follower([writer.path.parent])
    follower.settle()
    version = state(follower)["version"]
    assert state(follower, since=version) == {"version": version, "scored": follower.published}
