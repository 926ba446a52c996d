"""Following a lifetime that grows gives what scoring it gives."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.watch.conftest import Clock

import perdure
from perdure.metrics.engine.scorer import Scorer
from perdure.watch.follow import Follower
from perdure.watch.followed import QUIET_S

blocks = st.lists(
    st.tuples(st.sampled_from(["train", "test"]), st.sampled_from("abc"), st.integers(1, 30)), max_size=14
)


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks, st.integers(0, 2**32))
def test_after_every_block_the_metrics_are_those_of_the_lifetime_so_far(
    tmp_path: Path, lived: list[tuple[str, str, int]], seed: int
) -> None:
    for old in tmp_path.iterdir():
        shutil.rmtree(old)
    rng = np.random.default_rng(seed)
    follower: Follower | None = None
    experience = 0
    with perdure.Journal(tmp_path, "life", ["reward"]) as journal:
        for number, (kind, task, count) in enumerate(lived):
            journal.log_many(
                block_num=number, exp_num=np.arange(experience, experience + count), block_type=kind, task_name=task,
                reward=rng.normal(size=count),
            )  # fmt: skip
            experience += count
            follower = follower or Follower([tmp_path])
            follower.settle()
            _same(follower, tmp_path / "life", scored=number > 0)
    if follower is not None:
        follower.settle()
        _same(follower, tmp_path / "life", scored=True)


def _same(follower: Follower, path: Path, *, scored: bool) -> None:
    (one,) = follower.lives.values()
    assert (one.told is not None) is scored
    if one.told is not None:
        assert not one.problem
        expected = Scorer().score(perdure.read(path))
        told = one.told.score
        assert told.metrics == expected.metrics
        assert [block.as_json() for block in told.blocks] == [block.as_json() for block in expected.blocks]
        assert (told.notes, told.complete) == (expected.notes, expected.complete)


def test_what_never_says_that_it_ended_is_scored_to_its_last_record_once_it_rests(tmp_path: Path) -> None:
    clock = Clock()
    follower = Follower([tmp_path], clock=clock)
    journal = perdure.Journal(tmp_path, "life", ["reward"])
    experience = 0
    for number, (kind, count) in enumerate([("test", 5), ("train", 9), ("test", 1), ("test", 8)]):
        block = min(number, 2)  # the last one goes on after it was scored
        journal.log_many(
            block_num=block, exp_num=np.arange(experience, experience + count), block_type=kind, task_name="a",
            reward=np.arange(count) / 10 + block,
        )  # fmt: skip
        experience += count
        follower.settle()
    (one,) = follower.lives.values()
    assert one.told is not None
    assert [block.block.length for block in one.told.score.blocks] == [5, 9, 1]
    scored = follower.scored
    file = next((tmp_path / "life").glob("*/0-test/data-log.tsv"))
    before = file.stat()
    (tmp_path / "life" / "blocks.jsonl").unlink()  # as where another tool writes the log
    file.write_bytes(file.read_bytes().replace(b"\t0.4", b"\t0.9"))  # as long as it was, and as old
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(3):
        clock.now += QUIET_S
        follower.settle()
    _same(follower, tmp_path / "life", scored=True)
    assert [block.block.length for block in one.told.score.blocks] == [5, 9, 9]
    assert follower.scored == scored + 1
    journal.close()


@pytest.mark.parametrize("value", [1.7e308, -1.7e308])
def test_a_lifetime_of_which_no_value_can_be_drawn_is_named_with_its_reason(tmp_path: Path, value: float) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number in range(40):
            kind = "test" if number // 10 % 2 else "train"
            journal.log(block_num=number // 10, exp_num=number, block_type=kind, task_name="a", reward=value)
    follower = Follower([tmp_path])
    follower.settle()
    ((_, why),) = follower.left_out()
    assert why
