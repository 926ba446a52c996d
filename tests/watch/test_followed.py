"""What is told of each lifetime that is followed: how far it is, what it waits for, what looks wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.watch.conftest import LENGTH, Clock, Writer

import perdure
from perdure.watch.follow import Follower
from perdure.watch.followed import waits_for
from perdure.watch.tail import Tail


def test_progress_is_told_by_block_with_the_time_left(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    follower.poll()
    assert follower.progress()[0].state == "waiting"
    writer.block(0)
    follower.poll()
    clock.now += 10
    writer.block(1)
    follower.poll()
    (one,) = follower.progress()
    assert (one.id, one.state, one.done, one.total) == ("logs/life-0", "running", 60, 150)
    assert one.block == "block 1: learning a"
    assert one.left_s == pytest.approx(30)  # 30 experiences took 10 s, 90 are left


def test_a_metric_waits_for_the_block_that_gives_its_first_site(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    for number in range(4):
        writer.block(number)
    follower.settle()
    waits = follower.progress()[0].waits
    assert waits["performance_maintenance"] == "waits for block 4 (the last is 4), evaluation of a"
    assert waits["forward_transfer"].startswith("cannot be answered here: needs ")
    writer.block(4)
    clock.now += 100
    follower.settle()
    (one,) = follower.progress()
    assert "performance_maintenance" not in one.waits
    assert one.values["performance_maintenance"] is not None


def test_what_waits_and_what_is_measured_agree_at_the_end(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    follower = Follower([writer.path.parent])
    follower.settle()
    (life,) = follower.lives.values()
    answered = {name for name, why in waits_for(life.planned, follower.metrics).items() if why.startswith("waits")}
    values = follower.progress()[0].values
    measured = {name for name in values if values[name] is not None and follower.metrics[name].threshold is not None}
    experts = {name for name, metric in follower.metrics.items() if metric.expert}
    assert measured == answered - experts


def test_a_life_that_is_done_is_not_said_to_go_on(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    follower = Follower([writer.path.parent])
    follower.settle()
    (one,) = follower.progress()
    assert (one.state, one.block) == ("done", "ended after block 4")


def test_a_worker_that_falls_silent_and_a_learner_that_raised_are_warned_of(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    writer.block(0)
    follower.poll()
    clock.now += 90
    (one,) = follower.progress()
    assert one.state == "quiet"
    assert "no record for 90 s; its worker may have died" in one.warnings
    (writer.path / "traceback.txt").write_text("ValueError")
    (one,) = follower.progress()
    assert one.state == "failed"
    assert "the learner raised an exception: see traceback.txt" in one.warnings


def test_a_task_that_is_never_learned_is_warned_of(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "flat", ["reward"]) as journal:
        for block, values in enumerate((np.linspace(1, 0, 50), np.linspace(0, 1, 50), np.ones(5))):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(100 * block, 100 * block + len(values)),
                block_type="train" if block < 2 else "test",
                task_name=f"task{block}",
                reward=values,
            )
    follower = Follower([tmp_path])
    follower.poll()
    assert follower.progress()[0].warnings == ("never learned so far: task0",)


def test_a_filling_disk_is_warned_of(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 5_000_000))
    assert Follower([writer.path.parent]).warnings() == (f"{writer.path.parent}: the disk is filling, 5 MB are left",)


def test_truncation_and_removal_are_survived(writer: Writer) -> None:
    clock = Clock()
    follower = Follower([writer.path.parent], clock=clock)
    writer.block(0)
    writer.block(1)
    follower.settle()
    file = next(writer.path.glob("*/1-train/data-log.tsv"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    clock.now += 5
    follower.poll()
    assert follower.progress()[0].done == LENGTH + 4
    assert "the log was cut short or replaced, and read again" in follower.progress()[0].warnings
    shutil.rmtree(writer.path)
    clock.now += 5
    follower.poll()
    assert follower.progress()[0].state == "gone"
    shutil.rmtree(writer.path.parent)
    clock.now += 5
    follower.poll()
    assert any("cannot be looked at" in one for one in follower.warnings())


def test_one_bad_log_never_stops_the_rest(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Writer(writer.path.parent, "life-1")
    follower = Follower([writer.path.parent])
    for number in range(2):
        writer.block(number)
        other.block(number)
        follower.settle()
    look = Tail.look

    def broken(tail: Tail) -> bool:
        if tail.path == writer.path:
            raise RuntimeError("what nobody thought of")
        return look(tail)

    monkeypatch.setattr(Tail, "look", broken)
    other.block(2)
    follower.settle()
    states = {one.id.rpartition("/")[2]: one for one in follower.progress()}
    assert any("what nobody thought of" in one for one in states["life-0"].warnings)
    assert states["life-1"].done == 3 * LENGTH


def test_watching_writes_nothing_to_the_logs(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    before = {one: one.stat().st_mtime_ns for one in writer.path.rglob("*")}
    Follower([writer.path.parent]).settle()
    assert {one: one.stat().st_mtime_ns for one in writer.path.rglob("*")} == before


def test_experts_of_a_run_folder_serve_and_are_not_followed(tmp_path: Path, told: Callable[..., Any]) -> None:
    material = told(2, 1, ("keeper",))
    run = Path(material.lives[0].score.identity.source).parents[1]
    follower = Follower([run])
    follower.settle()
    assert [one.id for one in follower.progress()] == [material.lives[0].id]
    assert follower.progress()[0].values["relative_performance"] == material.lives[0].score["relative_performance"]
