"""L2Logger folders: versions, workers, order, names and extra columns."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import perdure
from perdure.errors import NotALogError, UnknownNameError
from perdure.log.read import find


def test_l2metrics_own_example_has_its_published_counts(shared: Path) -> None:
    lifetime = perdure.read(shared / "data" / "l2metrics-examples" / "ll_logs" / "multi_task")
    scenario = lifetime.scenario
    assert (scenario.learning_experiences, scenario.evaluation_experiences) == (1200, 720)
    assert [task.label for task in scenario.tasks] == ["task1_1", "task2_1", "task3_1"]
    assert (lifetime.id, lifetime.complete, dict(lifetime.measures)) == ("multi_task", None, {"performance": "higher"})


def test_format_1_0_reads_as_wake_and_names_fold_case(shared: Path) -> None:
    lifetime = perdure.read(shared / "data" / "cases" / "c24_v10_uppercase" / "ll" / "c24_v10_uppercase")
    assert set(lifetime.experiences["block_subtype"]) == {"wake"}
    assert all(task.label == task.label.lower() for task in lifetime.scenario.tasks)


def test_every_shared_case_is_read_completely(shared: Path) -> None:
    for folder in sorted((shared / "data" / "cases").iterdir()):
        if folder.is_dir():
            (log,) = (folder / "ll").iterdir()
            lifetime = perdure.read(log)
            lines = sum(file.read_bytes().count(b"\n") - 1 for file in log.rglob("data-log.tsv"))
            assert lifetime.experiences.height == lines, folder.name


def test_the_order_of_files_never_matters(tmp_path: Path) -> None:
    frames = []
    for name, order in (("forth", [0, 1, 2]), ("back", [2, 1, 0])):
        with perdure.Journal(tmp_path, name) as journal:
            for worker in order:  # the same numbers from several workers, files made in another order
                for number in range(20):
                    value = random.Random(worker * 100 + number).random()
                    journal.log(
                        block_num=number // 10,
                        exp_num=number,
                        worker_id=f"w{worker}",
                        block_type="train",
                        task_name="a_1",
                        reward=value,
                    )
        frames.append(perdure.read(tmp_path / name))
    one, other = (lifetime.experiences.drop("timestamp") for lifetime in frames)
    assert one.equals(other)
    assert np.array_equal(frames[0].passage().values, frames[1].passage().values)


def test_large_and_small_files_are_read_the_same(tmp_path: Path) -> None:
    """Files above and below the size at which the reader changes its method must give one table."""
    values = np.random.default_rng(3).normal(size=30_000)
    lengths = [5, 12_000, 3, 17_000, 992]
    with perdure.Journal(tmp_path, "life") as journal:
        start = 0
        for block, length in enumerate(lengths):
            journal.log_many(
                block_num=block,
                exp_num=np.arange(start, start + length),
                block_type="train",
                task_name=f"a_{block}",
                reward=values[start : start + length],
                steps=np.arange(length),
            )
            start += length
    lifetime = perdure.read(tmp_path / "life")
    assert np.array_equal(lifetime.experiences["reward"].to_numpy(), values)
    assert [block.length for block in lifetime.scenario.blocks] == lengths
    assert lifetime.experiences["steps"].dtype == pl.Int64


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [(["1", "2"], pl.Int64), (["1.5", "2"], pl.Float64), (["007", "1"], pl.String), (["x", "2"], pl.String)],
)
def test_an_extra_column_becomes_numeric_only_if_nothing_is_lost(
    tmp_path: Path, cells: list[str], dtype: pl.DataType
) -> None:
    with perdure.Journal(tmp_path, "life") as journal:
        for number, cell in enumerate(cells):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=1, extra=cell)
    assert perdure.read(tmp_path / "life").experiences["extra"].dtype == dtype


def test_a_bare_name_is_found_under_l2data(life: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2DATA", str(life.parents[1]))
    monkeypatch.chdir(life)
    assert perdure.read(life.name).id == "small"
    with pytest.raises(NotALogError, match="no such file or folder"):
        perdure.read("no-such-life")


def test_a_folder_that_is_not_a_log_is_described(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(NotALogError, match=r"found: notes\.md"):
        perdure.read(tmp_path)


def test_all_lifetimes_below_a_folder_are_found_in_order(life: Path) -> None:
    for name in ("b", "a"):
        with perdure.Journal(life.parent / "more", name) as journal:
            journal.log(block_num=0, exp_num=0, block_type="train", task_name="a", reward=1)
    assert [place.name for place in find(life.parent)] == ["a", "b", "small"]


def test_an_unknown_measure_offers_the_nearest(life: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'reward'"):
        perdure.read(life).passage("rewrad")
