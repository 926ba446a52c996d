"""Contents of the live page."""

from __future__ import annotations

import json
from pathlib import Path

from tests.reports.conftest import write_life
from tests.watch.conftest import Clock, Writer

from perdure.watch.monitor import Monitor
from perdure.watch.page import Page


def test_the_page_opens_on_what_runs(tmp_path: Path) -> None:
    for seed in range(2):
        write_life(tmp_path / "lives", f"ended-{seed}", ["a", "b"], seed=seed)
    running = Writer(tmp_path / "lives", "running")
    running.block(0)
    running.block(1)
    monitor = Monitor([tmp_path])
    monitor.settle()
    page = Page(monitor)
    state = page.state()
    assert state["chosen"] == state["lifetimes"][0]["id"]
    assert state["lifetimes"][0]["state"] == "running"
    assert state["lifetimes"][0]["name"] == "running"
    assert "running" in state["figure"]
    assert page.state(of=state["lifetimes"][-1]["id"])["chosen"] == state["lifetimes"][-1]["id"]
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
    monitor = Monitor([tmp_path], clock=clock)
    monitor.settle()
    page = Page(monitor)
    assert "So far, from 3 of 5 lifetimes" in page.report()["body"]
    assert "toy forgets" in page.report()["body"]
    assert "So far, from 3 of 5 lifetimes" in page.html()
    plan(lifetimes=3)
    clock.now += 10
    monitor.poll()
    assert "So far" not in page.report()["body"]


def test_a_running_lifetime_says_what_it_lost_so_far(tmp_path: Path) -> None:
    running = Writer(tmp_path / "lives", "running")
    for number in range(5):
        running.block(number)
    monitor = Monitor([tmp_path])
    monitor.settle()
    page = Page(monitor)
    assert "in this lifetime so far" in page.state()["said"]
    running.journal.close()
    monitor.settle()
    text = page.state()["said"]
    assert "in this lifetime" in text
    assert "so far" not in text


def test_nothing_is_sent_twice(writer: Writer) -> None:
    writer.block(0)
    monitor = Monitor([writer.path.parent])
    monitor.settle()
    page = Page(monitor)
    version = page.state()["version"]
    again = page.state(since=version)
    assert again == {"version": version, "scored": monitor.published, "age": monitor.age_text}
