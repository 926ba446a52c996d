"""The copy beside a log: believed only where it is what was written, and of this log."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import polars as pl
import pytest
from tests.log.copies import recalled

import perdure
from perdure.errors import Unverified
from perdure.log import cache


@pytest.mark.parametrize("name", ["experiences.parquet", "experiences.json"])
def test_no_flipped_bit_of_the_copy_changes_a_value(copied: Path, name: str) -> None:
    true = perdure.read(copied, cache=False)
    file = copied / ".perdure" / name
    whole = file.read_bytes()
    rng = random.Random(11)
    for _ in range(150):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        file.write_bytes(flipped)
        # Before Polars sees it: a flipped bit may end the process there.
        assert not recalled(copied)
        found = perdure.read(copied)
        assert found.experiences.equals(true.experiences)
        assert found.notes == true.notes
        cache.settle()
        assert recalled(copied)  # made anew


def test_a_rewritten_copy_is_not_believed(copied: Path) -> None:
    true = perdure.read(copied, cache=False).experiences
    file = copied / ".perdure" / "experiences.parquet"
    pl.read_parquet(file).with_columns(pl.col("reward") * 10).write_parquet(file)
    assert perdure.read(copied).experiences.equals(true)


def test_a_copy_cut_short_or_grown_is_not_believed(copied: Path) -> None:
    file = copied / ".perdure" / "experiences.parquet"
    whole = file.read_bytes()
    for content in (b"", whole[:-1], whole[: len(whole) // 2], whole + b"\0", whole + whole):
        file.write_bytes(content)
        assert not recalled(copied)


def test_a_copy_does_not_outlive_its_ledger_or_a_block(copied: Path) -> None:
    ledger = copied / "blocks.jsonl"
    content = ledger.read_bytes()
    ledger.write_bytes(content.replace(b'"crc32":', b'"crc32":1'))
    with pytest.raises(Unverified):
        perdure.read(copied)
    ledger.write_bytes(content)
    assert recalled(copied)
    shutil.rmtree(copied / "worker-default" / "2-test")
    with pytest.raises(Unverified, match="is missing"):
        perdure.read(copied)


def test_a_copy_does_not_serve_other_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "WORTH_KEEPING", 1)
    with perdure.Journal(tmp_path, "life", measures=["reward"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a", reward=1.0, errors=3)
    perdure.read(journal.path)
    cache.settle()
    assert recalled(journal.path)
    true = perdure.read(journal.path, measures=["errors"], cache=False).experiences
    assert perdure.read(journal.path, measures=["errors"]).experiences.equals(true)


def test_a_copy_elsewhere_is_neither_read_nor_written(copied: Path, tmp_path: Path) -> None:
    file, elsewhere = copied / ".perdure" / "experiences.parquet", tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    assert not recalled(copied)
    before = elsewhere.stat().st_mtime_ns
    perdure.read(copied)
    cache.settle()
    assert elsewhere.stat().st_mtime_ns == before
    assert recalled(copied)  # in the place of the link
