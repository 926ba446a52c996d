"""Durability: no acknowledged record is lost to a kill, a full disk or a refused write."""

from __future__ import annotations

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure.errors import WriteError
from perdure.log.check import check_l2logger

WRITER = """
import os, sys, perdure
journal = perdure.Journal(sys.argv[1], "life")
for number in range(10**9):
    journal.log(block_num=number // 500, exp_num=number, block_type="train", task_name="pong_wide",
                task_params={"width": 0.15}, reward=number / 7, note="n" * (number % 50))
    os.write(1, b"%d\\n" % number)
"""


@pytest.mark.parametrize("seed", range(8))
def test_a_killed_writer_loses_no_returned_record(tmp_path: Path, seed: int) -> None:
    output_file = tmp_path / "records-seen"
    with output_file.open("wb") as output:
        child = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=output)
        while not output_file.stat().st_size:  # wait until it writes, then kill it at some moment
            time.sleep(0.001)
        time.sleep(random.Random(seed).uniform(0.0, 0.3))
        child.send_signal(signal.SIGKILL)
        child.wait()
    acknowledged = output_file.read_bytes().count(b"\n")
    lifetime = perdure.read(tmp_path / "life")
    numbers = lifetime.experiences["exp_num"].to_list()
    assert numbers[:acknowledged] == list(range(acknowledged))
    assert len(numbers) - acknowledged <= 1  # one record was written and not yet acknowledged
    assert lifetime.experiences["reward"].to_list() == [number / 7 for number in numbers]
    assert lifetime.complete is False
    # A kill leaves complete files, a torn last line, or a file that was created and not yet written.
    problems = check_l2logger(tmp_path / "life").problems
    assert all("torn" in problem.what or "an empty file" in problem.what for problem in problems), problems


def test_a_torn_tail_is_dropped_at_every_byte(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number in range(3):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a_1", reward=0.662445)
    file = next(journal.path.rglob("data-log.tsv"))
    (journal.path / "blocks.jsonl").unlink()
    content = file.read_bytes()
    start = content[:-1].rfind(b"\n") + 1
    for cut in range(start + 1, len(content)):
        file.write_bytes(content[:cut])
        lifetime = perdure.read(tmp_path / "life")
        assert lifetime.experiences["exp_num"].to_list() == [0, 1], content[start:cut]
        torn, unverified = lifetime.notes
        assert "data-log.tsv:4: the last line is torn" in torn
        assert unverified == "not verified: there is no blocks.jsonl to compare the records with"
        problems = check_l2logger(tmp_path / "life").problems
        assert [(problem.level, problem.line) for problem in problems] == [("error", 4)], content[start:cut]


def test_a_refused_write_is_reported_and_leaves_whole_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number in range(5):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a_1", reward=1.0)
        write = os.write

        def full(descriptor: int, data: Any) -> int:
            write(descriptor, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(WriteError, match=r"experience 5 of block 0 .*No space left.* 5 earlier records .* intact"):
            journal.log(block_num=0, exp_num=5, block_type="train", task_name="a_1", reward=1.0)
        with pytest.raises(WriteError, match="experiences 5 to 9"):
            journal.log_many(block_num=0, exp_num=range(5, 10), block_type="train", task_name="a_1", reward=[0.5] * 5)
        monkeypatch.undo()
        journal.log(block_num=0, exp_num=5, block_type="train", task_name="a_1", reward=1.0)
    assert perdure.read(tmp_path / "life").experiences["exp_num"].to_list() == list(range(6))
    assert check_l2logger(tmp_path / "life").problems == ()


FILLER = """
import resource, signal, sys, perdure
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = perdure.Journal(sys.argv[1], "life")
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
number = 0
try:
    while True:
        journal.log(block_num=0, exp_num=number, block_type="train", task_name="a_1", reward=number / 3)
        number += 1
except perdure.PerdureError as problem:
    print(number, problem)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no file size limit to run into")
def test_a_file_at_its_size_limit_keeps_every_record(tmp_path: Path) -> None:
    output = subprocess.run(
        [sys.executable, "-c", FILLER, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    number = int(output.split()[0])
    assert number > 100
    assert f"the {number} earlier records of this file, and all earlier blocks, are intact" in output
    lifetime = perdure.read(tmp_path / "life")
    assert lifetime.experiences["exp_num"].to_list() == list(range(number))
    assert lifetime.notes == ("not verified: 1 of 1 files, whose blocks blocks.jsonl has not closed",)


def test_a_logged_record_is_synced_to_disk_within_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[float] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(time.monotonic())
        fsync(descriptor)

    with perdure.Journal(tmp_path, "life") as journal:
        monkeypatch.setattr(os, "fsync", noted)
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a_1", reward=1.0)
        logged = time.monotonic()
        while not synced and time.monotonic() - logged < 30:
            time.sleep(0.01)
        assert synced, "nothing synced an idle journal"
        before = len(synced)
        journal.log(block_num=1, exp_num=1, block_type="train", task_name="a_1", reward=1.0)
        assert len(synced) > before, "a block's end was not synced"


def test_a_failed_sync_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = perdure.Journal(tmp_path, "life")
    journal.log(block_num=0, exp_num=0, block_type="train", task_name="a_1", reward=1.0)

    def failing(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    journal.sync_waiting()
    with pytest.raises(perdure.PerdureError, match="cannot be written to disk"):
        journal.log(block_num=0, exp_num=1, block_type="train", task_name="a_1", reward=1.0)
