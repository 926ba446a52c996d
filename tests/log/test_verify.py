"""Verification: a log is read as the journal wrote it, or the altered file is named."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perdure
from perdure.errors import LogError, UnverifiedError
from perdure.log.check import check_l2logger

FIRST, MIDDLE, LAST = (f"worker-default/{name}/data-log.tsv" for name in ("0-test", "1-train", "4-test"))

NO_LEDGER = "not verified: there is no blocks.jsonl to compare the records with"


Cli = Callable[..., subprocess.CompletedProcess[str]]


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def swap_files(lifetime: Path) -> None:
    one, other = lifetime / "worker-default" / "0-test", lifetime / "worker-default" / "4-test"
    one.rename(lifetime / "aside")
    other.rename(one)
    (lifetime / "aside").rename(other)


def make_change(file: str, new: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    def apply_change(lifetime: Path) -> None:
        (lifetime / file).write_bytes(b"".join(new(lines_of(lifetime / file))))

    return apply_change


def without_a_digit(lines: list[bytes]) -> list[bytes]:
    return [*lines[:-1], lines[-1].replace(b"\t0.5\n", b"\t0.7\n").replace(b"\t2.5\n", b"\t2.7\n")]


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a removed block": (
        lambda lifetime: shutil.rmtree(lifetime / "worker-default" / "2-test"),
        "2-test/data-log.tsv, a block",
    ),
    "an altered record": (make_change(FIRST, without_a_digit), f"{FIRST}: altered.*its bytes differ"),
    "a record less": (make_change(MIDDLE, lambda lines: lines[:-1]), f"{MIDDLE}: altered.*bytes shorter"),
    "a file cut within a line": (
        make_change(MIDDLE, lambda lines: [*lines[:-1], lines[-1][:-3]]),
        f"{MIDDLE}: altered",
    ),
    "an extra line": (make_change(MIDDLE, lambda lines: [*lines, lines[-1]]), f"{MIDDLE}: altered.*bytes longer"),
    "an extra line at the end of the life": (
        make_change(LAST, lambda lines: [*lines, lines[-1]]),
        f"{LAST}.*bytes longer",
    ),
    "lines in another order": (make_change(MIDDLE, lambda lines: [lines[0], *lines[:0:-1]]), f"{MIDDLE}: altered"),
    "an emptied file": (make_change(MIDDLE, lambda _: []), f"{MIDDLE}: altered.*bytes shorter"),
    "a swapped pair": (swap_files, f"{FIRST}: altered"),
    "a damaged line of the ledger": (
        make_change("blocks.jsonl", lambda lines: [b"{x}\n", *lines]),
        "blocks.jsonl:1: not written by a journal",
    ),
    "a record more in the ledger's count": (
        make_change(
            "blocks.jsonl",
            lambda lines: [line.replace(b'"rows":2', b'"rows":3', index < 4) for index, line in enumerate(lines)],
        ),
        f"{FIRST}: altered.*there are 2 records",
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_log_that_is_not_what_was_written_is_refused_with_file_and_reason(life: Path, damage: str) -> None:
    perdure.read(life)
    act, message_part = DAMAGE[damage]
    act(life)
    with pytest.raises(UnverifiedError, match=message_part) as refused:
        perdure.read(life)
    assert "--unverified" in str(refused.value)
    assert not re.search(r"\b(remove|delete)\b", str(refused.value)), "records are never to be deleted"
    problems = check_l2logger(life).problems  # which reads the same lines and names the same file
    assert any(problem.level == "error" and problem.what[:60] in str(refused.value) for problem in problems)


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_unverified_log_can_be_read_with_a_note(life: Path, damage: str) -> None:
    DAMAGE[damage][0](life)
    lifetime = perdure.read(life, verified=False)
    assert any(note.startswith("unverified: ") for note in lifetime.notes)
    records = sum(len(lines_of(file)) - 1 for file in life.rglob("data-log.tsv") if file.stat().st_size)
    assert records - lifetime.experiences.height in (0, 1)  # a torn line is skipped as always


def test_an_undamaged_log_has_no_notes(life: Path) -> None:
    assert perdure.read(life).notes == ()
    assert perdure.read(life, verified=False).notes == ()


def test_scoring_skips_a_damaged_log_and_continues(life: Path, run_cli: Cli) -> None:
    shutil.copytree(life, life.parent / "other")
    DAMAGE["an altered record"][0](life)
    done = run_cli("score", life.parent, "--json", "-")
    assert done.returncode == 1
    facts = json.loads(done.stdout)
    assert len(facts["lifetimes"]) == 1
    (left_out,) = facts["left_out"]
    assert FIRST in left_out["why"]


def test_a_log_of_another_logger_is_read_with_one_note(life: Path) -> None:
    for name in ("blocks.jsonl", "manifest.json"):
        (life / name).unlink()
    assert perdure.read(life).notes == (NO_LEDGER,)
    assert check_l2logger(life).ok


class TestBlocksNotClosed:
    """Blocks that the ledger has not closed: they are reported as unverified and not refused."""

    @pytest.fixture
    def journal(self, tmp_path: Path) -> perdure.Journal:
        journal = perdure.Journal(tmp_path, "life")
        for number in range(6):
            journal.log(block_num=number // 3, exp_num=number, block_type="train", task_name="a", reward=number)
        return journal

    def test_a_running_lifetime_reads(self, journal: perdure.Journal) -> None:
        with journal:
            lifetime = perdure.read(journal.path)
            assert lifetime.experiences.height == 6
            assert lifetime.notes == ("not verified: 1 of 2 files, whose blocks blocks.jsonl has not closed",)

    def test_a_torn_tail_in_an_open_block_is_only_a_note(self, journal: perdure.Journal) -> None:
        with journal:
            file = journal.path / "worker-default" / "1-train" / "data-log.tsv"
            content = file.read_bytes()
            file.write_bytes(content[:-2])
            torn, unverified = perdure.read(journal.path).notes
            file.write_bytes(content)
        assert "the last line is torn" in torn
        assert unverified.startswith("not verified: 1 of 2")

    def test_a_closed_block_before_an_open_one_is_still_verified(self, journal: perdure.Journal) -> None:
        with journal:
            make_change("worker-default/0-train/data-log.tsv", lambda lines: lines[:-1])(journal.path)
            with pytest.raises(UnverifiedError, match="0-train"):
                perdure.read(journal.path)

    @pytest.mark.parametrize("ended", [True, False], ids=["ended", "killed"])
    def test_a_reopened_block_may_have_grown(self, journal: perdure.Journal, ended: bool) -> None:
        journal.close()
        again = perdure.Journal(journal.path.parent, "life", join=True)
        again.log(block_num=1, exp_num=6, block_type="train", task_name="a", reward=6)
        if ended:
            again.close()
        lifetime = perdure.read(journal.path)
        assert lifetime.experiences.height == 7
        assert lifetime.complete is ended
        assert len(lifetime.notes) == (0 if ended else 1)
        assert check_l2logger(journal.path).problems == ()
        again.close()

    def test_a_block_that_was_closed_again_may_not_grow(self, journal: perdure.Journal) -> None:
        journal.close()
        with perdure.Journal(journal.path.parent, "life", join=True) as again:
            again.log(block_num=1, exp_num=6, block_type="train", task_name="a", reward=6)
        make_change("worker-default/1-train/data-log.tsv", lambda lines: [*lines, lines[-1]])(journal.path)
        with pytest.raises(UnverifiedError, match=r"1-train.*bytes longer"):
            perdure.read(journal.path)

    def test_only_the_last_block_of_a_running_worker_may_have_grown(self, journal: perdure.Journal) -> None:
        with journal:
            journal.end_blocks()
            last, before = (f"worker-default/{name}/data-log.tsv" for name in ("1-train", "0-train"))
            make_change(last, lambda lines: [*lines, lines[-1].replace(b"\t5", b"\t6")])(journal.path)
            assert perdure.read(journal.path).experiences.height == 7
            make_change(before, lambda lines: [*lines, lines[-1]])(journal.path)
            with pytest.raises(UnverifiedError, match=r"0-train.*bytes longer"):
                perdure.read(journal.path)

    def test_the_closed_part_of_a_grown_block_is_verified(self, journal: perdure.Journal) -> None:
        journal.close()
        with perdure.Journal(journal.path.parent, "life", join=True) as again:
            again.log(block_num=1, exp_num=6, block_type="train", task_name="a", reward=6)
            file = journal.path / "worker-default" / "1-train" / "data-log.tsv"
            file.write_bytes(file.read_bytes().replace(b"\t4\n", b"\t7\n"))
            with pytest.raises(UnverifiedError, match=r"1-train.*its bytes differ"):
                perdure.read(journal.path)

    def test_a_ledger_line_that_a_full_disk_tore_leaves_its_block_open(self, journal: perdure.Journal) -> None:
        journal.close()
        ledger = journal.path / "blocks.jsonl"
        ledger.write_bytes(b"".join([*lines_of(ledger)[:2], lines_of(ledger)[2][:-9]]))
        assert perdure.read(journal.path).notes == (
            "not verified: 2 of 2 files, whose blocks blocks.jsonl has not closed",
        )
        assert check_l2logger(journal.path).ok
        with perdure.Journal(journal.path.parent, "life", join=True) as again:  # and does not spoil the next
            again.log(block_num=2, exp_num=6, block_type="train", task_name="a", reward=6)
        lifetime = perdure.read(journal.path)
        assert lifetime.notes == ("not verified: 2 of 3 files, whose blocks blocks.jsonl has not closed",)

    def test_cells_with_newlines_are_counted_as_in_the_journal(self, tmp_path: Path) -> None:
        for number in range(3):  # reopened twice, so that the count comes from the file
            with perdure.Journal(tmp_path, "life", join=number > 0) as journal:
                values: dict[str, Any] = {"reward": 1.0, "note": 'two\nlines "and\n quotes'}
                journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", **values)
        assert perdure.read(tmp_path / "life").notes == ()
        assert check_l2logger(tmp_path / "life").problems == ()


def test_a_running_journal_never_makes_its_log_look_altered(tmp_path: Path) -> None:
    """Read while blocks end, are closed and are reopened."""
    stop = threading.Event()
    problems: list[LogError] = []

    def keep_reading() -> None:
        while not stop.is_set():
            try:
                perdure.read(tmp_path / "life")
            except UnverifiedError as problem:
                problems.append(problem)
            except LogError:
                continue  # nothing is written yet

    reader = threading.Thread(target=keep_reading)
    reader.start()
    try:
        for round_ in range(30):
            with perdure.Journal(tmp_path, "life", join=round_ > 0) as journal:
                for number in range(10):
                    index = round_ * 10 + number
                    journal.log(block_num=index // 7, exp_num=index, block_type="train", task_name="a", reward=index)
    finally:
        stop.set()
        reader.join()
    assert problems == []


def test_many_files_are_verified_in_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data file is opened again for its checksum."""
    from perdure import files

    with perdure.Journal(tmp_path, "life") as journal:
        for block in range(20):
            numbers = np.arange(block * 10, block * 10 + 10)
            journal.log_many(block_num=block, exp_num=numbers, block_type="train", task_name="a", reward=numbers / 2)
    opened: list[str] = []
    descriptor = files.open_descriptor

    def noted(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
        opened.append(str(path))
        return descriptor(path, flags)

    monkeypatch.setattr(files, "open_descriptor", noted)
    perdure.read(tmp_path / "life")
    data = [name for name in opened if name.endswith("data-log.tsv")]
    assert len(data) == len(set(data)) == 20
