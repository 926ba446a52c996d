"""Watching logs while they grow: progress, scores equal to `perdure score`, warnings, and processor time."""

from __future__ import annotations

import io
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console
from tests.watch.conftest import LENGTH, Clock, Writer

import perdure
from perdure.log.formats.l2logger import L2Logger
from perdure.log.read import Options
from perdure.metrics.score import Scorer
from perdure.reports.data import gather
from perdure.results import to_plain
from perdure.settings import Settings
from perdure.watch.live_log import QUIET_S
from perdure.watch.monitor import Monitor
from perdure.watch.page import Page, facts
from perdure.watch.progress import planned_scenario, waits_for
from perdure.watch.terminal import table


def test_progress_is_told_by_block_with_the_time_left(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    monitor.poll()
    assert monitor.progress()[0].state == "waiting"
    writer.block(0)
    monitor.poll()
    clock.now += 10
    writer.block(1)
    monitor.poll()
    (item,) = monitor.progress()
    assert (item.id, item.state, item.done, item.total) == ("logs/life-0", "running", 60, 150)
    assert item.block == "block 1: learning a"
    assert item.left_s == pytest.approx(30)  # 30 experiences took 10 s, and 90 are left


def test_a_metric_waits_for_the_block_that_gives_its_first_site(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    for number in range(4):
        writer.block(number)
    monitor.settle()
    waits = monitor.progress()[0].waits
    assert waits["performance_maintenance"] == "waits for block 4 (the last is 4), evaluation of a"
    assert waits["forward_transfer"].startswith("cannot be answered here: needs ")
    writer.block(4)
    clock.now += 100
    monitor.settle()
    (item,) = monitor.progress()
    assert "performance_maintenance" not in item.waits
    assert item.values["performance_maintenance"] is not None


def test_what_waits_and_what_is_measured_agree_at_the_end(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    monitor = Monitor([writer.path.parent])
    monitor.settle()
    planned = planned_scenario(monitor.lifetimes[0].manifest)
    answered = {name for name, why in waits_for(planned, monitor.metrics).items() if why.startswith("waits")}
    values = monitor.progress()[0].values
    measured = {name for name in values if values[name] is not None and monitor.metrics[name].threshold is not None}
    experts = {name for name, metric in monitor.metrics.items() if metric.expert}
    assert measured == answered - experts


def test_a_life_that_is_done_is_not_said_to_go_on(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    monitor = Monitor([writer.path.parent])
    monitor.settle()
    (item,) = monitor.progress()
    assert (item.state, item.block) == ("done", "ended after block 4")


def test_a_worker_that_falls_silent_and_a_learner_that_raised_are_warned_of(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    writer.block(0)
    monitor.poll()
    clock.now += 90
    (item,) = monitor.progress()
    assert item.state == "quiet"
    assert "no record for 90 s; its worker may have died" in item.warnings
    (writer.path / "traceback.txt").write_text("ValueError")
    (item,) = monitor.progress()
    assert item.state == "failed"
    assert "the learner raised an exception: see traceback.txt" in item.warnings


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
    monitor = Monitor([tmp_path])
    monitor.poll()
    assert monitor.progress()[0].warnings == ("never learned: task0",)


def test_a_filling_disk_is_warned_of(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**12, 10**12, 5_000_000))
    assert Monitor([writer.path.parent]).warnings() == (f"{writer.path.parent}: the disk is filling, 5 MB are left",)


def test_truncation_and_removal_are_survived(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    writer.block(0)
    writer.block(1)
    monitor.settle()
    file = next(writer.path.glob("*/1-train/data-log.tsv"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:5]))
    clock.now += 5
    monitor.poll()
    assert monitor.progress()[0].done == LENGTH + 4
    assert "the log was cut short or replaced, and read again" in monitor.progress()[0].warnings
    shutil.rmtree(writer.path)
    clock.now += 5
    monitor.poll()
    assert monitor.progress()[0].state == "gone"
    shutil.rmtree(writer.path.parent)
    clock.now += 5
    monitor.poll()
    assert any("cannot be read; was it removed" in item for item in monitor.warnings())


def test_one_bad_log_never_stops_the_rest(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Writer(writer.path.parent, "life-1")
    monitor = Monitor([writer.path.parent])
    for number in range(2):
        writer.block(number)
        other.block(number)
        monitor.settle()
    read = L2Logger.read

    def broken(reader: L2Logger, path: Path, options: Options) -> perdure.Lifetime:
        if path == writer.path:
            raise RuntimeError("what nobody thought of")
        return read(reader, path, options)

    monkeypatch.setattr(L2Logger, "read", broken)
    writer.block(2)
    other.block(2)
    monitor.settle()
    states = {item.id.rpartition("/")[2]: item for item in monitor.progress()}
    assert any("what nobody thought of" in item for item in states["life-0"].warnings)
    assert states["life-1"].done == 3 * LENGTH


def test_a_damaged_line_is_named_and_what_was_read_before_stays(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    writer.block(0)
    monitor.poll()
    file = next(writer.path.glob("*/0-test/data-log.tsv"))
    with file.open("ab") as opened:
        opened.write(b"\xff\xfe nonsense\n")
    clock.now += 5
    monitor.poll()
    (item,) = monitor.progress()
    assert item.done == LENGTH
    assert any(f"data-log.tsv:{LENGTH + 2}: " in warning for warning in item.warnings)
    assert [path for path, _ in monitor.left_out()] == [str(writer.path)]


def test_a_torn_last_line_waits_for_its_end(life: Path) -> None:
    file = next(life.glob("*/4-test/data-log.tsv"))
    whole = file.read_bytes()
    (life / "blocks.jsonl").unlink()
    file.write_bytes(whole[:-5])
    monitor = Monitor([life])
    monitor.settle()
    before = monitor.progress()[0].done
    file.write_bytes(whole)
    monitor.settle()
    assert monitor.progress()[0].done == before + 1


def test_a_replaced_file_is_read_again(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    writer.block(0)
    monitor.poll()
    file = next(writer.path.glob("*/0-test/data-log.tsv"))
    other = file.with_name("other")
    other.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:11]))
    other.replace(file)
    clock.now += 5
    monitor.poll()
    (item,) = monitor.progress()
    assert item.done == 10
    assert "the log was cut short or replaced, and read again" in item.warnings


def test_a_log_without_the_measure_is_left_out(life: Path) -> None:
    monitor = Monitor([life], settings=Settings(measure="score"))
    monitor.settle()
    ((_, why),) = monitor.left_out()
    assert "score" in why


def test_a_lifetime_that_logged_nothing_yet_is_not_left_out(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", ["reward"]):
        monitor = Monitor([tmp_path])
        monitor.settle()
        (item,) = monitor.progress()
        assert (item.state, item.block, item.warnings) == ("waiting", "nothing logged yet", ())
        assert monitor.left_out() == ()


def test_values_too_large_to_average_leave_everything_shown_finite(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number, value in enumerate([1.0, 1.7e308, -1.7e308, 1e200, -1e200] * 9):
            journal.log(block_num=number // 20, exp_num=number, block_type="train", task_name="a", reward=value)
    monitor = Monitor([tmp_path])
    monitor.settle()
    json.dumps(facts(monitor), allow_nan=False)
    console = Console(width=80, file=io.StringIO())
    console.print(table(monitor))


@pytest.mark.parametrize("value", [1.7e308, -1.7e308])
def test_a_lifetime_of_which_no_value_can_be_drawn_is_named_with_its_reason(tmp_path: Path, value: float) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number in range(40):
            kind = "test" if number // 10 % 2 else "train"
            journal.log(block_num=number // 10, exp_num=number, block_type=kind, task_name="a", reward=value)
    monitor = Monitor([tmp_path])
    monitor.settle()
    ((_, why),) = monitor.left_out()
    assert why


def test_a_log_is_read_again_only_when_its_files_changed(writer: Writer) -> None:
    clock = Clock()
    monitor = Monitor([writer.path.parent], clock=clock)
    for number in range(5):
        writer.block(number)
    monitor.settle()
    readings = monitor.readings
    (writer.path / "checkpoint.bin").write_bytes(b"state")  # not a part of the log
    monitor.settle()
    assert monitor.readings == readings
    writer.journal.close()
    monitor.settle()
    assert monitor.readings == readings + 1
    monitor.settle()
    assert monitor.readings == readings + 1
    ledger = writer.path / "blocks.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"crc32":', b'"crc32":1'))
    monitor.settle()
    assert monitor.readings == readings + 2
    assert len(monitor.left_out()) == 1


def test_curves_are_those_of_the_report(writer: Writer) -> None:
    for number in range(4):
        writer.block(number)
    monitor = Monitor([writer.path.parent])
    monitor.settle()
    (live,), (reported,) = monitor.lifetimes, gather([writer.path.parent]).lifetimes
    for stretch, expected in zip(live.seen.blocks, reported.seen.blocks, strict=True):
        assert np.array_equal(stretch.measured.y, expected.measured.y)
        assert (stretch.smoothed is None) == (expected.smoothed is None)
        assert stretch.smoothed is None or np.array_equal(stretch.smoothed.y, expected.smoothed.y)


def test_a_tenth_of_one_core_is_not_exceeded_and_the_age_is_shown(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, used_s = Clock(), 0.0

    def process_time() -> float:  # every piece of work takes half a second
        nonlocal used_s
        used_s += 0.5
        return used_s

    monkeypatch.setattr(time, "process_time", process_time)
    monitor = Monitor([writer.path.parent], clock=clock)
    page = Page(monitor)
    oldest, version, scored, works = 0.0, -1, 0, 0.0
    for second in range(400):
        if second % 80 < 60:
            writer.block(second // 80, 1)
        monitor.poll()
        state = page.state(since=version)
        version = state["version"]
        if state["scored"] != scored:
            scored = state["scored"]
            page.report()
        age = monitor.progress()[0].age_s
        assert age is not None
        oldest = max(oldest, age)
        if age >= 1:
            assert f"read {age:.0f} s ago" in state["age"]
        clock.now += 1
    works = used_s / 2  # the processor time is read before and after
    assert works < 0.1 * 400
    assert 1 < oldest < 60


def test_logs_with_a_new_block_are_read_before_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, used_s = Clock(), 0.0

    def process_time() -> float:
        nonlocal used_s
        used_s += 0.15
        return used_s

    writers = [Writer(tmp_path, f"life-{number}") for number in range(3)]
    monitor = Monitor([tmp_path], clock=clock)
    for writer in writers:
        writer.block(0, 5)
    monitor.settle()
    monkeypatch.setattr(time, "process_time", process_time)
    for writer in writers[:2]:
        writer.block(0, 5)
    writers[2].block(1)
    clock.now += 1
    monitor.poll()
    blocks = {item.id: item.block for item in monitor.progress()}
    done = {item.id: item.done for item in monitor.progress()}
    name = tmp_path.name
    assert blocks[f"{name}/life-2"] == "block 1: learning a"
    assert done[f"{name}/life-0"] == done[f"{name}/life-1"] == 5
    for writer in writers:
        writer.journal.close()


def test_watching_writes_nothing_to_the_logs(writer: Writer) -> None:
    for number in range(5):
        writer.block(number)
    writer.journal.close()
    before = {item: item.stat().st_mtime_ns for item in writer.path.rglob("*")}
    Monitor([writer.path.parent]).settle()
    assert {item: item.stat().st_mtime_ns for item in writer.path.rglob("*")} == before


def test_experts_of_a_run_folder_serve_and_are_not_followed(tmp_path: Path, gather_run: Callable[..., Any]) -> None:
    material = gather_run(2, 1, ("keeper",))
    run = Path(material.lifetimes[0].score.identity.source).parents[1]
    monitor = Monitor([run])
    monitor.settle()
    assert [item.id for item in monitor.progress()] == [material.lifetimes[0].id]
    assert monitor.progress()[0].values["relative_performance"] == material.lifetimes[0].score["relative_performance"]


blocks = st.lists(
    st.tuples(st.sampled_from(["train", "test"]), st.sampled_from("abc"), st.integers(1, 30)), max_size=14
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks, st.integers(0, 2**32))
def test_after_every_block_the_metrics_are_those_of_the_lifetime_so_far(
    tmp_path: Path, lived: list[tuple[str, str, int]], seed: int
) -> None:
    for old in tmp_path.iterdir():
        shutil.rmtree(old)
    rng = np.random.default_rng(seed)
    monitor: Monitor | None = None
    experience = 0
    with perdure.Journal(tmp_path, "life", ["reward"]) as journal:
        for number, (kind, task, count) in enumerate(lived):
            journal.log_many(
                block_num=number, exp_num=np.arange(experience, experience + count), block_type=kind, task_name=task,
                reward=rng.normal(size=count),
            )  # fmt: skip
            experience += count
            monitor = monitor or Monitor([tmp_path])
            monitor.settle()
            _same(monitor, tmp_path / "life")
    if monitor is not None:
        monitor.settle()
        _same(monitor, tmp_path / "life")


def _same(monitor: Monitor, path: Path) -> None:
    (item,) = monitor.lifetimes
    assert monitor.left_out() == ()
    expected = Scorer().score(perdure.read(path))
    assert item.score.metrics == expected.metrics
    assert to_plain(item.score.blocks) == to_plain(expected.blocks)
    assert (item.score.notes, item.score.complete) == (expected.notes, expected.complete)


def test_what_never_says_that_it_ended_is_scored_to_its_last_record_once_it_rests(tmp_path: Path) -> None:
    clock = Clock()
    monitor = Monitor([tmp_path], clock=clock)
    journal = perdure.Journal(tmp_path, "life", ["reward"])
    experience = 0
    for number, (kind, count) in enumerate([("test", 5), ("train", 9), ("test", 1), ("test", 8)]):
        block = min(number, 2)  # the last one goes on after it was scored
        journal.log_many(
            block_num=block, exp_num=np.arange(experience, experience + count), block_type=kind, task_name="a",
            reward=np.arange(count) / 10 + block,
        )  # fmt: skip
        experience += count
        monitor.settle()
    readings = monitor.readings
    file = next((tmp_path / "life").glob("*/0-test/data-log.tsv"))
    before = file.stat()
    (tmp_path / "life" / "blocks.jsonl").unlink()  # as if another tool wrote the log
    file.write_bytes(file.read_bytes().replace(b"\t0.4", b"\t0.9"))  # same size and time
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(3):
        clock.now += QUIET_S
        monitor.settle()
    _same(monitor, tmp_path / "life")
    assert [block.block.length for block in monitor.lifetimes[0].score.blocks] == [5, 9, 9]
    assert monitor.readings == readings + 1
    journal.close()
