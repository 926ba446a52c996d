"""Journals: the files on disk, several writers, and when a lifetime is complete."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from pathlib import Path

import polars as pl
import pytest
from tests.log.write.records import RECORD

import perdure
from perdure.errors import LogError, PerdureError, RecordError, WriteError
from perdure.log.check import check_l2logger
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.write.stream import Stream


def test_the_file_is_exactly_l2logger_1_1(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", measures=["reward"]) as journal:
        journal.log(**RECORD, zebra="z", apple=3)
    file = tmp_path / "life" / "worker-default" / "0-train" / "data-log.tsv"
    header, line = file.read_text().splitlines()
    assert header.split("\t") == [*STANDARD_COLUMNS, "apple", "reward", "zebra"]
    fields = line.split("\t")
    assert fields[:8] == ["0", "0", "worker-default", "train", "wake", "pong_wide", "{}", "complete"]
    assert len(fields[8]) == len("20240102T030405.000000")
    assert fields[9:] == ["3", "1.0", "z"]
    info = json.loads((tmp_path / "life" / "logger_info.json").read_text())
    assert info == {"metrics_columns": ["reward"], "log_format_version": "1.1"}


def test_the_manifest_records_the_origin_of_the_lifetime(tmp_path: Path) -> None:
    scenario = perdure.Scenario.of("two", [perdure.Block("learn", "a_1", 5), perdure.Block("learn", "b_1", 5)])
    with perdure.Journal(
        tmp_path,
        "life",
        measures={"loss": "lower"},
        learner="q",
        seed=7,
        scenario=scenario,
        info={"complexity": "1-low"},
    ):
        pass
    manifest = json.loads((tmp_path / "life" / "manifest.json").read_text())
    assert (manifest["id"], manifest["learner"], manifest["seed"], manifest["role"]) == ("life", "q", 7, "life")
    assert manifest["measures"] == {"loss": "lower"}
    assert [block["task"] for block in manifest["scenario"]["blocks"]] == ["a_1", "b_1"]
    assert {"versions", "git", "machine", "command", "started"} <= manifest.keys()
    assert json.loads((tmp_path / "life" / "scenario_info.json").read_text()) == {"complexity": "1-low"}


@pytest.mark.parametrize("name", ["", "..", "a/b", "/abs", ".hidden", "a\x00b"])
def test_a_lifetime_name_cannot_leave_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="name is"):
        perdure.Journal(tmp_path, name)
    assert not list(tmp_path.iterdir())


def test_an_existing_lifetime_is_never_overwritten(life: Path) -> None:
    with pytest.raises(LogError, match="exists already"):
        perdure.Journal(life.parent, life.name)


def test_threads_share_a_journal_with_a_worker_each(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:

        def work(worker: int) -> None:
            for number in range(200):
                journal.log(**{**RECORD, "worker_id": f"w{worker}", "exp_num": number * 4 + worker})

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lifetime = perdure.read(tmp_path / "life")
    assert lifetime.experiences["exp_num"].to_list() == list(range(800))
    assert lifetime.complete
    assert check_l2logger(tmp_path / "life").problems == ()


def _write_as(folder: Path, worker: int) -> None:
    with perdure.Journal(folder, "life", join=True) as journal:
        for number in range(300):
            journal.log(**{**RECORD, "worker_id": f"w{worker}", "exp_num": number * 2 + worker})


def test_two_processes_write_one_lifetime(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_as, args=(tmp_path, worker)) for worker in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    lifetime = perdure.read(tmp_path / "life")
    assert lifetime.experiences["exp_num"].to_list() == list(range(600))
    assert lifetime.scenario.blocks[0].length == 600
    assert check_l2logger(tmp_path / "life").problems == ()


def test_two_writers_cannot_be_the_same_worker(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as first, perdure.Journal(tmp_path, "life", join=True) as second:
        first.log(**RECORD)
        with pytest.raises(RecordError, match="another journal is writing as this worker"):
            second.log(**{**RECORD, "exp_num": 1})
        second.log(**{**RECORD, "exp_num": 1, "worker_id": "other"})


def test_a_lifetime_ends_even_if_folders_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.log.write.stream.fcntl", None)  # as on Windows
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
    assert perdure.read(tmp_path / "life").complete


def test_a_worker_continues_after_its_last_record(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**{**RECORD, "block_num": 1, "exp_num": 5})
    file = tmp_path / "life" / "worker-default" / "1-train" / "data-log.tsv"
    file.write_bytes(file.read_bytes() + b"1\t6\tworker-def")
    with perdure.Journal(tmp_path, "life", join=True) as journal:
        with pytest.raises(RecordError, match="exp_num falls from 5 to 4"):
            journal.log(**{**RECORD, "block_num": 1, "exp_num": 4})
        with pytest.raises(RecordError, match="comes with colour"):
            journal.log(**{**RECORD, "block_num": 1, "exp_num": 6}, colour="red")
        journal.log(**{**RECORD, "block_num": 1, "exp_num": 6})
    assert perdure.read(tmp_path / "life").experiences["exp_num"].to_list() == [5, 6]
    assert check_l2logger(tmp_path / "life").ok
    torn = [json.loads(line) for line in (tmp_path / "life" / "blocks.jsonl").read_text().splitlines()]
    assert [event["cut"] for event in torn if event["event"] == "torn"] == ["1\t6\tworker-def"]


def test_a_lifetime_of_other_measures_is_not_joined(life: Path) -> None:
    with pytest.raises(LogError, match="has the measures"):
        perdure.Journal(life.parent, life.name, measures=["accuracy"], join=True)


def test_a_closed_journal_takes_nothing_more(tmp_path: Path) -> None:
    journal = perdure.Journal(tmp_path, "life")
    journal.close()
    journal.close()
    with pytest.raises(RecordError, match="closed"):
        journal.log(**RECORD)


def test_a_lifetime_that_raised_is_not_complete(tmp_path: Path) -> None:
    def log_and_raise() -> None:
        with perdure.Journal(tmp_path, "life") as journal:
            journal.log(**RECORD)
            raise ZeroDivisionError("a learner's own mistake")

    with pytest.raises(ZeroDivisionError):
        log_and_raise()
    assert perdure.read(tmp_path / "life").complete is False
    assert "ZeroDivisionError" in (tmp_path / "life" / "blocks.jsonl").read_text()


def test_a_lifetime_is_complete_once_every_worker_has_ended(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as late:
        late.log(**RECORD, worker_id="late")
        late.end_blocks()
        with perdure.Journal(tmp_path, "life", join=True) as early:
            early.log(**RECORD, worker_id="early")
        assert perdure.read(tmp_path / "life").complete is False
    assert perdure.read(tmp_path / "life").complete is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_write_to_its_parents_log(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
        child = os.fork()
        if not child:
            code = 1
            try:
                journal.log(**{**RECORD, "exp_num": 1})
            except PerdureError as problem:
                code = 0 if "parent process" in str(problem) else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        journal.log(**{**RECORD, "exp_num": 2})
    assert perdure.read(tmp_path / "life").experiences["exp_num"].to_list() == [0, 2]


def test_the_experiences_have_the_declared_schema(life: Path) -> None:
    rows = perdure.read(life).experiences
    assert dict(rows.schema) == {**STANDARD_COLUMNS, "reward": pl.Float64()}


def test_a_record_that_cannot_be_written_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        perdure.Journal(tmp_path, "life", info={"a": object()})
    assert not list(tmp_path.iterdir())
    perdure.Journal(tmp_path, "life").close()


def test_a_torn_first_record_does_not_fix_the_numbers(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
    file = tmp_path / "life" / "worker-default" / "5-train" / "data-log.tsv"
    file.parent.mkdir()
    header = (tmp_path / "life" / "worker-default" / "0-train" / "data-log.tsv").read_text().splitlines()[0]
    file.write_text(f"{header}\n5\t12345\twork")
    with perdure.Journal(tmp_path, "life", join=True) as journal:
        journal.log(**{**RECORD, "block_num": 5, "exp_num": 40})
    assert perdure.read(tmp_path / "life").experiences["exp_num"].to_list() == [0, 40]


def test_a_worker_that_cannot_be_closed_does_not_block_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = perdure.Journal(tmp_path, "life")
    journal.log(**{**RECORD, "worker_id": "a"})
    journal.log(**{**RECORD, "worker_id": "b", "exp_num": 1})
    note = Stream._note
    failed: list[str] = []

    def noted(self: Stream, event: dict[str, object]) -> None:
        if event["worker"] == "a":
            failed.append("a")
            raise WriteError("no room for the ledger")
        note(self, event)

    monkeypatch.setattr(Stream, "_note", noted)
    with pytest.raises(WriteError, match="no room"):
        journal.close()
    assert failed
    assert '"worker":"b"' in (tmp_path / "life" / "blocks.jsonl").read_text()
    assert not journal._syncer.is_alive()


def test_the_error_that_ended_a_block_is_raised_unchanged(tmp_path: Path) -> None:
    for number, problem in enumerate((OSError("caf\udce9.txt"), ValueError("x" * 10**6), GeneratorExit())):
        journal = perdure.Journal(tmp_path, f"life-{number}")
        journal.log(**RECORD)
        with pytest.raises(type(problem)) as raised, journal:
            raise problem
        assert raised.value is problem
        last = json.loads((tmp_path / f"life-{number}" / "blocks.jsonl").read_text().splitlines()[-1])
        assert last["event"] == "interrupted"
        assert last["why"].startswith(type(problem).__name__)
        assert len(last["why"]) < 3000
