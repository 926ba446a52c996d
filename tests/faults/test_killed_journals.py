"""Journals that are killed with SIGKILL and continued: every acknowledged record is read, checked and scored."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.verbs import run_verb

import perdure
from perdure.errors import UnverifiedError, WriteError

BLOCK = 1000  # records
WRITER = """
import itertools, os, sys, perdure
into, worker, block, number = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
journal = perdure.Journal(into, "lifetime", join=True)
for count in itertools.count():
    at = block + count // int(sys.argv[5])
    journal.log(block_num=at, exp_num=number + count, block_type="train" if at % 2 else "test", task_name="a",
                worker_id=worker, reward=count / 7)
    os.write(1, b"%d\\n" % (number + count))
"""


def write_until_killed(
    into: Path, chance: random.Random, *, worker: str = "w", block: int = 0, number: int = 0, per_block: int = BLOCK
) -> list[int]:
    """Log in a separate process, which is killed at a random moment; return the acknowledged numbers."""
    into.mkdir(exist_ok=True)
    acknowledged = into / "acknowledged"
    with acknowledged.open("wb") as output:
        arguments = [str(into), worker, str(block), str(number), str(per_block)]
        child = subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=output)
        while not acknowledged.stat().st_size and child.poll() is None:
            time.sleep(0.001)
        time.sleep(chance.uniform(0.0, 0.1))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    return [int(line) for line in acknowledged.read_bytes().split(b"\n")[:-1]]


def last_of(into: Path, worker: str = "w") -> tuple[int, int]:
    """Return the last block and the last experience of a worker."""
    rows = perdure.read(into / "lifetime").experiences
    rows = rows.filter(rows["worker_id"] == worker)
    return int(rows["block_num"].max()), int(rows["exp_num"].max())  # type: ignore[arg-type]


def close_after(into: Path, block: int, number: int, *workers: str) -> list[int]:
    """Join the lifetime, write two blocks and close it; return the numbers written."""
    numbers = list(range(number, number + 2 * BLOCK * len(workers)))
    with perdure.Journal(into, "lifetime", join=True) as journal:
        for index, exp_num in enumerate(numbers):
            number_of_block = block + index // (BLOCK * len(workers))
            mode = "train" if number_of_block % 2 else "test"
            worker = workers[index % len(workers)]
            journal.log(
                block_num=number_of_block,
                exp_num=exp_num,
                block_type=mode,
                task_name="a",
                worker_id=worker,
                reward=index / 3,
            )
    return numbers


def assert_all_usable(log: Path, acknowledged: list[int], kills: int) -> perdure.Lifetime:
    """Read, check and score the log, and count its records."""
    lifetime = perdure.read(log)
    numbers = lifetime.experiences["exp_num"].to_list()
    assert set(acknowledged) <= set(numbers)
    assert len(numbers) - len(acknowledged) <= kills  # a record that was written and not yet acknowledged
    checked = run_verb("check", log)
    assert checked.exit_code == 0, checked.stdout
    scores = json.loads(run_verb("score", log, "--json", "-").stdout)
    assert scores["left_out"] == []
    assert len(scores["lifetimes"]) == 1
    return lifetime


@pytest.mark.parametrize("kills", [1, 2])
@pytest.mark.parametrize("later", [0, 1, 2], ids=["the same block", "the next block", "two blocks later"])
def test_a_killed_journal_that_is_continued_and_closed_is_usable(tmp_path: Path, later: int, kills: int) -> None:
    chance = random.Random(10 * later + kills)
    into = tmp_path / "logs"
    acknowledged = write_until_killed(into, chance)
    for _ in range(kills - 1):
        block, number = last_of(into)
        acknowledged += write_until_killed(into, chance, block=block + later, number=number + 1)
    block, number = last_of(into)
    acknowledged += close_after(into, block + later, number + 1, "w")
    lifetime = assert_all_usable(into / "lifetime", acknowledged, kills)
    assert lifetime.complete is True


def test_a_worker_killed_in_its_first_block_spoils_no_record_of_others(tmp_path: Path) -> None:
    into = tmp_path / "logs"
    acknowledged = write_until_killed(into, random.Random(0), worker="dying", per_block=10**9)
    _, number = last_of(into, "dying")
    acknowledged += close_after(into, 0, number + 1, "a", "b")
    lifetime = assert_all_usable(into / "lifetime", acknowledged, 1)
    assert lifetime.complete is False
    assert lifetime.notes == ("not verified: 1 of 5 files, whose blocks blocks.jsonl has not closed",)
    _, number = last_of(into, "b")
    acknowledged += close_after(into, 1, number + 1, "dying")
    lifetime = assert_all_usable(into / "lifetime", acknowledged, 1)
    assert lifetime.complete is True
    assert lifetime.notes == ("not verified: 1 of 7 files, whose blocks blocks.jsonl has not closed",)


def test_a_continued_lifetime_with_a_lost_ledger_is_usable(tmp_path: Path) -> None:
    acknowledged = close_after(tmp_path, 0, 0, "a", "b")
    (tmp_path / "lifetime" / "blocks.jsonl").unlink()
    acknowledged += close_after(tmp_path, 2, len(acknowledged), "a")
    lifetime = assert_all_usable(tmp_path / "lifetime", acknowledged, 0)
    assert lifetime.notes == (
        "not verified: 4 of 6 files, whose blocks blocks.jsonl has not closed",
        "not verified: blocks.jsonl has no checksums of the files that describe the log",
    )


def test_a_file_added_to_a_continued_log_is_refused_without_advice_to_remove_it(tmp_path: Path) -> None:
    block, number = 3, write_until_killed(tmp_path, random.Random(1), block=3, per_block=10**9)[-1]
    close_after(tmp_path, block + 1, number + 2, "w")
    added = tmp_path / "lifetime" / "w" / "9-train" / "data-log.tsv"
    added.parent.mkdir()
    added.write_bytes((tmp_path / "lifetime" / "w" / "5-train" / "data-log.tsv").read_bytes())
    with pytest.raises(UnverifiedError, match=r"9-train.*blocks\.jsonl does not mention it") as refused:
        perdure.read(tmp_path / "lifetime")
    assert "remove" not in str(refused.value)
    assert "delete" not in str(refused.value)


def log_block(journal: perdure.Journal, block: int, count: int = 3) -> None:
    for number in range(block * 10, block * 10 + count):
        journal.log(block_num=block, exp_num=number, block_type="train", task_name="a", reward=number)


def full(*_: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_block_end_that_a_full_disk_refused_is_noted_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with perdure.Journal(tmp_path, "lifetime") as journal:
        log_block(journal, 0)
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", full)
            with pytest.raises(WriteError, match=r"blocks\.jsonl: cannot be written \(No space left"):
                log_block(journal, 1, 1)
        log_block(journal, 1)
    assert assert_all_usable(tmp_path / "lifetime", [0, 1, 2, 10, 11, 12], 0).notes == ()


def test_a_journal_whose_first_line_was_refused_continues_when_the_disk_has_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with perdure.Journal(tmp_path, "lifetime") as journal:
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", full)
            with pytest.raises(WriteError, match=r"blocks\.jsonl: cannot be written"):
                log_block(journal, 0)
        log_block(journal, 0)
    assert assert_all_usable(tmp_path / "lifetime", [0, 1, 2], 0).notes == ()


@pytest.mark.parametrize("same_block", [True, False])
def test_a_torn_record_that_cannot_be_cut_off_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, same_block: bool
) -> None:
    write = os.write

    def in_part(descriptor: int, data: bytes) -> int:
        write(descriptor, data[:9])
        return full()

    with perdure.Journal(tmp_path, "lifetime") as journal:
        log_block(journal, 0)
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", in_part)
            disk.setattr(os, "ftruncate", full)
            with pytest.raises(WriteError, match="experience 3 of block 0 could not be written"):
                journal.log(block_num=0, exp_num=3, block_type="train", task_name="a", reward=3)
        if same_block:
            journal.log(block_num=0, exp_num=3, block_type="train", task_name="a", reward=3)
        log_block(journal, 1)
    numbers = perdure.read(tmp_path / "lifetime").experiences["exp_num"].to_list()
    assert numbers == [0, 1, 2, *([3] if same_block else []), 10, 11, 12]


def test_a_block_in_which_no_record_could_be_written_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with perdure.Journal(tmp_path, "lifetime") as journal:
        log_block(journal, 0)
        journal.end_blocks()
        with monkeypatch.context() as disk:
            disk.setattr(os, "write", full)
            with pytest.raises(WriteError, match="experience 10 of block 1"):
                log_block(journal, 1)
        log_block(journal, 2)
    assert assert_all_usable(tmp_path / "lifetime", [0, 1, 2, 20, 21, 22], 0).notes
