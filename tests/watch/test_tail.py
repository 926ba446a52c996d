"""Reading a log while it is written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.curves.model import Prep
from perdure.curves.prepare import smooth
from perdure.errors import LogError
from perdure.watch.tail import Bins, Tail
from perdure.watch.terminal import sparkline


@given(st.lists(st.lists(st.floats(-1e6, 1e6), max_size=60), max_size=12))
def test_bins_keep_the_extremes_of_any_number_of_values_in_bounded_space(chunks: list[list[float]]) -> None:
    bins = Bins(16)
    for chunk in chunks:
        bins.add(np.array(chunk))
    everything = np.array([value for chunk in chunks for value in chunk])
    x, y = bins.line()
    assert len(x) == len(y) <= 32
    assert bins.count == len(everything)
    if len(everything):
        assert y.min() == everything.min()
        assert y.max() == everything.max()


@given(st.lists(st.floats(-100, 100), max_size=200), st.integers(1, 50))
def test_it_does_not_matter_in_which_portions_values_come(values: list[float], portion: int) -> None:
    whole, parts = Bins(32), Bins(32)
    whole.add(np.array(values))
    for at in range(0, len(values), portion):
        parts.add(np.array(values[at : at + portion]))
    assert [line.tolist() for line in whole.line()] == [line.tolist() for line in parts.line()]


def write(
    journal: perdure.Journal, block: int, first: int, count: int, kind: str = "train", task: str = "pong"
) -> None:
    journal.log_many(
        block_num=block, exp_num=np.arange(first, first + count), block_type=kind, task_name=task,
        reward=np.arange(first, first + count, dtype=float),
    )  # fmt: skip


def test_a_growing_log_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "life", "reward")
    assert not tail.look()
    with perdure.Journal(tmp_path, "life", ["reward"]) as journal:
        write(journal, 0, 0, 10)
        assert tail.look()
        assert [one.count for one in tail.ordered()] == [10]
        assert not tail.look()
        write(journal, 0, 10, 5)
        write(journal, 1, 15, 4, "test", "Pong")
        assert tail.look()
    assert [(one.mode, one.task, one.count) for one in tail.ordered()] == [
        ("learn", "pong", 15),
        ("evaluate", "pong", 4),
    ]
    assert tail.ordered()[1].mean == 16.5


def test_a_tail_agrees_with_the_reader(life: Path) -> None:
    tail = Tail(life, "reward")
    tail.look()
    passage = perdure.read(life).passage()
    means = [float(passage.values[a:b].mean()) for a, b in zip(passage.starts[:-1], passage.starts[1:], strict=True)]
    assert [one.mean for one in tail.ordered()] == pytest.approx(means)


def test_only_new_bytes_are_read(life: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = Tail(life, "reward")
    tail.look()
    file = next(life.glob("*/4-test/data-log.tsv"))
    line = file.read_text().splitlines()[-1]
    with file.open("a") as opened:
        opened.write(line + "\n")
    seen: list[int] = []
    add = tail._add

    def counted(body: bytes, header: tuple[str, ...]) -> bool:
        seen.append(len(body))
        return add(body, header)

    monkeypatch.setattr(tail, "_add", counted)
    assert tail.look()
    assert seen == [len(line) + 1]


def test_a_torn_last_line_waits_for_its_end(life: Path) -> None:
    tail = Tail(life, "reward")
    file = next(life.glob("*/4-test/data-log.tsv"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-5])
    tail.look()
    before = tail.rows
    assert tail.torn
    with file.open("ab") as opened:
        opened.write(whole[-5:])
    assert tail.look()
    assert tail.rows == before + 1
    assert not tail.torn


def test_a_log_that_is_cut_short_replaced_or_removed_is_read_again(life: Path) -> None:
    tail = Tail(life, "reward")
    tail.look()
    file = next(life.glob("*/3-train/data-log.tsv"))
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    assert tail.look()
    assert tail.resets == 1
    assert [one.count for one in tail.ordered()] == [2, 4, 2, 2, 2]
    other = file.with_name("other")
    other.write_text("".join(lines))
    os.replace(other, file)
    assert tail.look()
    assert [one.count for one in tail.ordered()] == [2, 4, 2, 4, 2]
    shutil.rmtree(life)
    assert tail.look()
    assert tail.ordered() == []
    assert not tail.look()


def test_rows_that_do_not_count_are_not_drawn_and_nonsense_is_survived(life: Path) -> None:
    tail = Tail(life, "reward")
    tail.look()
    file = next(life.glob("*/4-test/data-log.tsv"))
    line = file.read_text().splitlines()[-1].split("\t")
    columns = file.read_text().splitlines()[0].split("\t")
    for name, value in (
        ("exp_status", "incomplete"),
        ("reward", "nan"),
        ("reward", "inf"),
        ("reward", ""),
        ("block_num", "x"),
    ):
        bad = list(line)
        bad[columns.index(name)] = value
        with file.open("a") as opened:
            opened.write("\t".join(bad) + "\n")
    with file.open("ab") as opened:
        opened.write(b"\xff\xfe\x00 nonsense\n")
    tail.look()
    assert [one.count for one in tail.ordered()] == [2, 4, 2, 4, 2]


@pytest.mark.parametrize("few", [1, 2_000])  # lines, so that both ways of splitting them are taken
def test_values_too_large_to_be_averaged_are_not_drawn_and_others_leave_everything_finite(
    tmp_path: Path, few: int
) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number, value in enumerate([1.0, 1.7e308, -1.7e308, 1e200, -1e200] * few):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=value)
    tail = Tail(tmp_path / "life", "reward")
    tail.look()
    (block,) = tail.ordered()
    assert block.count == 3 * few
    assert np.isfinite([block.mean, block.half_width, *block.bins.line()[1]]).all()
    assert set(sparkline(block.bins.line()[1].tolist())) <= set("▁▂▃▄▅▆▇█")


def test_a_file_without_the_measure_is_named(life: Path) -> None:
    with pytest.raises(LogError, match="no column score"):
        Tail(life, "score").look()


@given(st.integers(1, 3000), st.integers(0, 2**32))
def test_a_block_that_is_not_folded_is_smoothed_as_a_report_smooths_it(count: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=count)
    bins = Bins(1 << 12)
    bins.add(values)
    x, y = bins.smoothed(Prep())
    assert np.array_equal(x, np.arange(count))
    assert np.allclose(y, smooth(values, np.array([0, count]), (0,)))


@given(st.integers(500, 5000), st.integers(0, 2**32))
def test_a_long_block_smoothed_stays_near_what_a_report_shows(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.linspace(0, 1, count) + rng.normal(0, 0.1, size=count)
    bins = Bins(240)
    for part in np.array_split(values, 7):
        bins.add(part)
    x, y = bins.smoothed(Prep())
    whole = smooth(values, np.array([0, count]), (0,))
    assert len(x) <= 240
    assert np.abs(np.interp(x, np.arange(count), whole) - y).max() < 0.1
