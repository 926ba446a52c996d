"""Files of many lifetimes: a changed bit, a missing part and a replaced file are refused."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.formats.bulk_lifetimes import LENGTH, SCENARIO, array, make_lifetimes, read_all, refusal_message

import perdure
from perdure.errors import LogError
from perdure.log.formats import bulk
from perdure.log.formats.bulk import BULK
from perdure.log.read import Options, lifetimes
from perdure.log.write import bulk as bulk_writer


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return perdure.write_lifetimes(tmp_path_factory.mktemp("whole") / "lives.parquet", make_lifetimes(3))


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_found(
    pristine: Path, tmp_path_factory: pytest.TempPathFactory, where: float, bit: int
) -> None:
    content = bytearray(pristine.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    damaged = tmp_path_factory.mktemp("damaged") / "lives.parquet"
    damaged.write_bytes(content)
    with pytest.raises(LogError) as caught:
        list(BULK.lifetimes(damaged, Options()))
    assert str(damaged) in str(caught.value)


def test_a_damaged_file_names_the_fix_and_can_be_read_unverified(tmp_path: Path) -> None:
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=np.zeros((3, LENGTH)), scenario=SCENARIO)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:footer] + content[footer:].replace(b"two tasks", b"2 worlds."))
    message = refusal_message(path)
    assert "altered after it was written" in message
    assert "restore it from a copy, or write it again" in message
    seen = read_all(path, Options(verified=False))
    assert len(seen) == 3
    assert "altered after it was written" in seen[0].notes[0]


def test_a_file_altered_without_a_new_time_is_noticed(tmp_path: Path) -> None:
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    read_all(path)
    before, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "altered after it was written" in refusal_message(path)


def test_a_file_replaced_while_it_is_read_is_not_mixed_with_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "ROW_GROUP", 2 * LENGTH)
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    result = lifetimes(path, Options())
    next(result)
    perdure.write_lifetimes(path, values=array(seed=1), scenario=SCENARIO)
    with pytest.raises(LogError, match="was written anew while it was read"):
        list(result)
    assert len(read_all(path)) == 5


@pytest.mark.parametrize("kept_bytes", [0, 3, 11, 12, 500, -1])
def test_a_truncated_file_is_not_recognised(pristine: Path, tmp_path: Path, kept_bytes: int) -> None:
    short = tmp_path / "lives.parquet"
    short.write_bytes(pristine.read_bytes()[:kept_bytes])
    assert not BULK.recognises(short)
    with pytest.raises(LogError, match="its footer is damaged"):
        list(BULK.lifetimes(short, Options()))


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lives.parquet")
    assert not BULK.recognises(tmp_path / "lives.parquet")


def test_a_missing_part_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_writer, "_PER_PART", LENGTH)
    path = perdure.write_lifetimes(tmp_path / "lives", values=array(3), scenario=SCENARIO)
    assert sorted(item.name for item in path.iterdir()) == [f"part-0000{number}.parquet" for number in range(3)]
    assert len(read_all(path)) == 3
    (path / "part-00002.parquet").rename(tmp_path / "last")
    assert "part-00002.parquet: is missing" in refusal_message(path)
    (path / "part-00001.parquet").rename(tmp_path / "middle")
    (tmp_path / "last").rename(path / "part-00002.parquet")
    assert "part-00001.parquet is missing (found: part-00002.parquet)" in refusal_message(path)
    (path / "part-00002.parquet").rename(path / "part-00001.parquet")
    assert "was written as part-00002.parquet" in refusal_message(path)
