"""Records that a journal accepts, singly and in columns; a refused record leaves nothing behind."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from unicodedata import category

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.write.records import RECORD, text_of

import perdure
from perdure.errors import RecordError
from perdure.log.check import check_l2logger


@pytest.mark.parametrize(
    ("change", "message_part"),
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
def test_a_record_that_breaks_a_rule_leaves_nothing_behind(
    tmp_path: Path, change: dict[str, Any], message_part: str
) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        with pytest.raises(RecordError, match=message_part):
            journal.log(**{**RECORD, **change})
        assert not list(journal.path.rglob("data-log.tsv"))
        # The same after a good record, when texts and columns are already known.
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


@pytest.mark.parametrize("measures", [[], "reward", {"reward": "up"}, ["timestamp"], [3]])
def test_measures_must_make_sense(tmp_path: Path, measures: Any) -> None:
    with pytest.raises(RecordError):
        perdure.Journal(tmp_path, "life", measures=measures)
    assert not list(tmp_path.iterdir())


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


# Polars may know a newer Unicode than this Python, and fold characters that are still unassigned ("Cn") here.
known = text.filter(lambda name: all(category(letter) != "Cn" for letter in name))


names = known.filter(lambda name: name.strip() and all(ord(letter) >= 32 and ord(letter) != 127 for letter in name))


@given(st.lists(st.tuples(names.filter(lambda name: ".." not in name), numbers, text), min_size=1, max_size=8))
def test_reading_returns_the_logged_rows(tmp_path_factory: pytest.TempPathFactory, records: list[Any]) -> None:
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
    rows = perdure.read(folder / "life").experiences
    assert rows["task_name"].to_list() == [task.lower() for task, _, _ in records]
    assert rows["reward"].to_list() == [None if reward is None else float(reward) for _, reward, _ in records]
    assert [json.loads(row)["note"] for row in rows["task_params"]] == [note for _, _, note in records]
    assert [row.replace("\r\n", "\n") for row in rows["note"]] == [
        f"x{note}".replace("\r\n", "\n") for _, _, note in records
    ]
    assert check_l2logger(folder / "life").ok


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
def test_columns_and_single_records_write_the_same_log(
    tmp_path_factory: pytest.TempPathFactory, records: list[Any]
) -> None:
    folder = tmp_path_factory.mktemp("many")
    workers, tasks, rewards, notes = map(list, zip(*records, strict=True))
    blocks = sorted(index // 3 for index in range(len(records)))
    common: dict[str, Any] = {"block_type": "train", "task_params": {"a": 'b"c'}}
    with perdure.Journal(folder, "one") as journal:
        for position in range(len(records)):
            journal.log(
                block_num=blocks[position],
                exp_num=position,
                worker_id=workers[position],
                task_name=tasks[position],
                reward=rewards[position],
                note=notes[position],
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
    one, many = (perdure.read(folder / name).experiences.drop("timestamp") for name in ("one", "many"))
    assert one.equals(many)
    assert check_l2logger(folder / "many").problems == ()


def test_a_block_logged_in_columns_keeps_every_bit_of_its_numbers(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=40_000) * 10.0 ** np.random.default_rng(1).integers(-300, 300, 40_000)
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log_many(**{**RECORD, "exp_num": np.arange(values.size), "reward": values})
    assert (perdure.read(tmp_path / "life").experiences["reward"].to_numpy() == values).all()


@pytest.mark.parametrize(
    ("change", "message_part"),
    [
        ({"exp_num": [0, 1, 2]}, "differ in length"),
        ({"exp_num": [1, 0]}, "exp_num falls from 1 to 0"),
        ({"exp_num": [0.0, 1.0]}, "whole number"),
        ({"exp_num": [0, -1]}, "not negative"),
        ({"exp_num": np.zeros((2, 2), dtype=int)}, "one dimension"),
        ({"block_num": [1, 0]}, "block_num falls"),
        ({"block_type": ["train", "test"]}, "record 1: block 0 is a train block, and this record says test"),
        ({"block_type": ["train", "learn"]}, "'train' or 'test'"),
        ({"worker_id": ["a", ".."]}, "worker_id"),
        ({"task_name": ["a", ""]}, "task_name"),
        ({"task_params": [{}, 3]}, "expected a JSON object, a dict"),
        ({"reward": np.array([1.0, np.inf])}, "record 1: reward is inf"),
        ({"reward": [1.0, "x"]}, "expected a number"),
        ({"other": 1}, "comes with other"),
    ],
)
def test_a_column_that_breaks_a_rule_leaves_nothing_behind(
    tmp_path: Path, change: dict[str, Any], message_part: str
) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log(**RECORD)
        before = text_of(journal)
        with pytest.raises(RecordError, match=message_part):
            journal.log_many(**{**RECORD, "exp_num": [0, 1], "reward": [0.0, 1.0], **change})
        assert text_of(journal) == before


def test_empty_columns_write_no_records(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        journal.log_many(**{**RECORD, "exp_num": [], "reward": []})
        assert not list(journal.path.rglob("data-log.tsv"))


def test_booleans_are_written_the_same_singly_and_in_columns(tmp_path: Path) -> None:
    truths = [True, False, True]
    with perdure.Journal(tmp_path, "one") as journal:
        for index, truth in enumerate(truths):
            journal.log(**{**RECORD, "exp_num": index, "reward": truth, "solved": truth})
    with perdure.Journal(tmp_path, "many") as journal:
        journal.log_many(**{**RECORD, "exp_num": range(3), "reward": truths, "solved": truths})
    one, many = (perdure.read(tmp_path / name).experiences.drop("timestamp") for name in ("one", "many"))
    assert one.equals(many)
    assert many["reward"].to_list() == [1.0, 0.0, 1.0]
