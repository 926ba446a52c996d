"""What a journal accepts, refuses, and leaves on disk."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import threading
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError, PerdureError, RecordError, WriteError
from perdure.log.check import check_l2logger
from perdure.log.model import STANDARD_COLUMNS
from perdure.log.write.stream import Stream

RECORD: dict[str, Any] = {
    "block_num": 0,
    "exp_num": 0,
    "block_type": "train",
    "task_name": "pong_wide",
    "task_params": {},
    "reward": 1.0,
}


def text_of(journal: perdure.Journal) -> str:
    return "".join(sorted(file.read_text() for file in journal.path.rglob("data-log.tsv")))


def test_the_file_is_l2logger_1_1_to_the_letter(tmp_path: Path) -> None:
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


def test_the_manifest_says_what_produced_the_life(tmp_path: Path) -> None:
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


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"block_num": -1}, "not negative"),
        ({"block_num": 1.0}, "whole number"),
        ({"block_num": True}, "whole number"),
        ({"exp_num": "3"}, "whole number"),
        ({"exp_num": 2**63}, "not negative"),
        ({"block_type": "learn"}, "'train' or 'test'"),
        ({"block_subtype": "nap"}, "'wake' or 'sleep'"),
        ({"exp_status": "done"}, "'complete' or 'incomplete'"),
        ({"worker_id": ".."}, "worker_id"),
        ({"worker_id": "a/b"}, "worker_id"),
        ({"worker_id": ""}, "worker_id"),
        ({"worker_id": 3}, "worker_id"),
        ({"task_name": "../../etc"}, "without '../'"),
        ({"task_name": ""}, "one line of text"),
        ({"task_name": "a\tb"}, "control characters"),
        ({"task_name": "a\ud800"}, "control characters"),
        ({"task_params": [1]}, "expected a JSON object, a dict"),
        ({"task_params": []}, "expected a JSON object, a dict"),
        ({"task_params": {"x": object()}}, "JSON"),
        ({"task_params": {"x": math.nan}}, "JSON"),
        ({"reward": math.inf}, "infinite"),
        ({"reward": "high"}, "expected a number"),
        ({"reward": "1.0"}, "expected a number"),
        ({"note": "a\x00b"}, "NUL"),
        ({"note": "a\ud800"}, "surrogate"),
    ],
)
def test_a_record_that_breaks_a_rule_leaves_nothing_behind(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        with pytest.raises(RecordError, match=said):
            journal.log(**{**RECORD, **change})
        assert not list(journal.path.rglob("data-log.tsv"))
        # The same after a good record, when words and columns have been seen before.
        journal.log(**{**RECORD, **({"note": "fine"} if "note" in change else {})})
        before = text_of(journal)
        with pytest.raises(RecordError):
            journal.log(**{**RECORD, **change})
        assert text_of(journal) == before


def test_numbers_never_decrease(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**{**RECORD, "block_num": 2, "exp_num": 9})
        with pytest.raises(RecordError, match="block_num falls from 2 to 1"):
            journal.log(**{**RECORD, "block_num": 1, "exp_num": 9})
        with pytest.raises(RecordError, match="exp_num falls from 9 to 8"):
            journal.log(**{**RECORD, "block_num": 2, "exp_num": 8})
        with pytest.raises(RecordError, match="a new mode needs a new block_num"):
            journal.log(**{**RECORD, "block_num": 2, "exp_num": 9, "block_type": "test"})


def test_columns_are_those_of_the_first_record(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        with pytest.raises(RecordError, match="measure 'reward' is missing"):
            journal.log(**{key: value for key, value in RECORD.items() if key != "reward"}, other=1)
        journal.log(**RECORD, steps=4)
        with pytest.raises(RecordError, match="comes without steps"):
            journal.log(**RECORD)
        with pytest.raises(RecordError, match="comes with extra"):
            journal.log(**RECORD, steps=4, extra=1)


@pytest.mark.parametrize("name", ["", "..", "a/b", "/abs", ".hidden", "a\x00b"])
def test_a_life_cannot_be_named_out_of_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="name is"):
        perdure.Journal(tmp_path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("measures", [[], "reward", {"reward": "up"}, ["timestamp"], [3]])
def test_measures_must_make_sense(tmp_path: Path, measures: Any) -> None:
    with pytest.raises(RecordError):
        perdure.Journal(tmp_path, "life", measures=measures)
    assert not list(tmp_path.iterdir())


def test_an_existing_life_is_never_overwritten(life: Path) -> None:
    with pytest.raises(LogError, match="exists already"):
        perdure.Journal(life.parent, life.name)


def test_numpy_numbers_none_and_nan_are_taken(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**{**RECORD, "block_num": np.int64(0), "exp_num": np.int32(1), "reward": np.float32(0.5)})
        journal.log(**{**RECORD, "exp_num": 2, "reward": None})
        journal.log(**{**RECORD, "exp_num": 3, "reward": math.nan})
        journal.log(**{**RECORD, "exp_num": 4, "reward": True, "task_params": {"size": np.int64(3), "at": np.ones(2)}})
    rows = perdure.read(tmp_path / "life").experiences
    assert rows["reward"].to_list() == [0.5, None, None, 1.0]
    assert json.loads(rows["task_params"][3]) == {"size": 3, "at": [1.0, 1.0]}


text = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00"), max_size=12)
numbers = st.one_of(
    st.none(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False), st.booleans()
)
# Polars may know a newer Unicode than this Python, and fold letters that are still unassigned ("Cn") here.
known = text.filter(lambda name: all(category(one) != "Cn" for one in name))
names = known.filter(lambda name: name.strip() and all(ord(one) >= 32 and ord(one) != 127 for one in name))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(names.filter(lambda name: ".." not in name), numbers, text), min_size=1, max_size=8))
def test_what_is_logged_is_what_is_read(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("round")
    with perdure.Journal(folder, "life") as journal:
        for number, (task, reward, note) in enumerate(records):
            journal.log(
                block_num=number,
                exp_num=number,
                block_type="train",
                task_name=task,
                task_params={"note": note},
                reward=reward,
                note=f"x{note}",
            )
    rows = perdure.read(folder / "life", cache=False).experiences
    assert rows["task_name"].to_list() == [task.lower() for task, _, _ in records]
    assert rows["reward"].to_list() == [None if reward is None else float(reward) for _, reward, _ in records]
    assert [json.loads(one)["note"] for one in rows["task_params"]] == [note for _, _, note in records]
    assert [one.replace("\r\n", "\n") for one in rows["note"]] == [
        f"x{note}".replace("\r\n", "\n") for _, _, note in records
    ]
    assert check_l2logger(folder / "life").ok


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["w1", "w2"]),
            st.sampled_from(["a_1", 'q"uote_1', "tab b_1"]),
            st.one_of(st.none(), st.floats(allow_infinity=False)),
            text,
        ),
        min_size=1,
        max_size=10,
    )
)
def test_columns_and_single_records_say_the_same(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("many")
    workers, tasks, rewards, notes = map(list, zip(*records, strict=True))
    blocks = sorted(index // 3 for index in range(len(records)))
    common: dict[str, Any] = {"block_type": "train", "task_params": {"a": 'b"c'}}
    with perdure.Journal(folder, "one") as journal:
        for at in range(len(records)):
            journal.log(
                block_num=blocks[at],
                exp_num=at,
                worker_id=workers[at],
                task_name=tasks[at],
                reward=rewards[at],
                note=notes[at],
                **common,
            )
    with perdure.Journal(folder, "many") as journal:
        journal.log_many(
            block_num=np.array(blocks),
            exp_num=range(len(records)),
            worker_id=workers,
            task_name=tasks,
            reward=rewards,
            note=notes,
            **common,
        )
    one, many = (perdure.read(folder / name, cache=False).experiences.drop("timestamp") for name in ("one", "many"))
    assert one.equals(many)
    assert check_l2logger(folder / "many").problems == ()


def test_a_block_at_once_keeps_every_bit_of_its_numbers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=40_000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 40_000)
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log_many(**{**RECORD, "exp_num": np.arange(values.size), "reward": values})
    assert (perdure.read(tmp_path / "life").experiences["reward"].to_numpy() == values).all()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exp_num": [0, 1, 2]}, "differ in length"),
        ({"exp_num": [1, 0]}, "exp_num falls from 1 to 0"),
        ({"exp_num": [0.0, 1.0]}, "whole number"),
        ({"exp_num": [0, -1]}, "not negative"),
        ({"exp_num": np.zeros((2, 2), dtype=int)}, "one dimension"),
        ({"block_num": [1, 0]}, "block_num falls"),
        ({"block_type": ["train", "test"]}, "both train and test"),
        ({"block_type": ["train", "learn"]}, "'train' or 'test'"),
        ({"worker_id": ["a", ".."]}, "worker_id"),
        ({"task_name": ["a", ""]}, "task_name"),
        ({"task_params": [{}, 3]}, "expected a JSON object, a dict"),
        ({"reward": np.array([1.0, np.inf])}, r"reward\[1\] is inf"),
        ({"reward": [1.0, "x"]}, "expected a number"),
        ({"other": 1}, "comes with other"),
    ],
)
def test_a_column_that_breaks_a_rule_leaves_nothing_behind(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
        before = text_of(journal)
        with pytest.raises(RecordError, match=said):
            journal.log_many(**{**RECORD, "exp_num": [0, 1], "reward": [0.0, 1.0], **change})
        assert text_of(journal) == before


def test_no_records_at_once_are_no_records(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log_many(**{**RECORD, "exp_num": [], "reward": []})
        assert not list(journal.path.rglob("data-log.tsv"))


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


def test_a_life_ends_also_where_folders_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.log.write.stream.fcntl", None)  # as on Windows
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
    assert perdure.read(tmp_path / "life").complete


def test_a_worker_is_taken_up_where_it_stands(tmp_path: Path) -> None:
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


def test_a_life_of_other_measures_is_not_joined(life: Path) -> None:
    with pytest.raises(LogError, match="has the measures"):
        perdure.Journal(life.parent, life.name, measures=["accuracy"], join=True)


def test_a_closed_journal_takes_nothing_more(tmp_path: Path) -> None:
    journal = perdure.Journal(tmp_path, "life")
    journal.close()
    journal.close()
    with pytest.raises(RecordError, match="closed"):
        journal.log(**RECORD)


def test_a_life_that_raised_is_not_complete(tmp_path: Path) -> None:
    def live() -> None:
        with perdure.Journal(tmp_path, "life") as journal:
            journal.log(**RECORD)
            raise ZeroDivisionError("a learner's own mistake")

    with pytest.raises(ZeroDivisionError):
        live()
    assert perdure.read(tmp_path / "life").complete is False
    assert "ZeroDivisionError" in (tmp_path / "life" / "blocks.jsonl").read_text()


def test_a_life_is_complete_once_every_worker_has_ended(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as late:
        late.log(**RECORD, worker_id="late")
        late.end_blocks()
        with perdure.Journal(tmp_path, "life", join=True) as early:
            early.log(**RECORD, worker_id="early")
        assert perdure.read(tmp_path / "life").complete is False
    assert perdure.read(tmp_path / "life").complete is True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_write_in_its_parents_name(tmp_path: Path) -> None:
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


def test_what_cannot_be_written_leaves_no_folder_behind(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="cannot be written as JSON"):
        perdure.Journal(tmp_path, "life", info={"a": object()})
    assert not list(tmp_path.iterdir())
    perdure.Journal(tmp_path, "life").close()


def test_a_torn_first_record_says_nothing_about_numbers(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
    file = tmp_path / "life" / "worker-default" / "5-train" / "data-log.tsv"
    file.parent.mkdir()
    header = (tmp_path / "life" / "worker-default" / "0-train" / "data-log.tsv").read_text().splitlines()[0]
    file.write_text(f"{header}\n5\t12345\twork")
    with perdure.Journal(tmp_path, "life", join=True) as journal:
        journal.log(**{**RECORD, "block_num": 5, "exp_num": 40})
    assert perdure.read(tmp_path / "life").experiences["exp_num"].to_list() == [0, 40]


def test_a_worker_that_cannot_be_closed_does_not_keep_the_others_open(
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


def test_truths_are_written_the_same_one_by_one_and_at_once(tmp_path: Path) -> None:
    truths = [True, False, True]
    with perdure.Journal(tmp_path, "one") as journal:
        for at, truth in enumerate(truths):
            journal.log(**{**RECORD, "exp_num": at, "reward": truth, "solved": truth})
    with perdure.Journal(tmp_path, "many") as journal:
        journal.log_many(**{**RECORD, "exp_num": range(3), "reward": truths, "solved": truths})
    one, many = (perdure.read(tmp_path / name).experiences.drop("timestamp") for name in ("one", "many"))
    assert one.equals(many)
    assert many["reward"].to_list() == [1.0, 0.0, 1.0]
