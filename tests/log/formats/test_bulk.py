"""Many lifetimes in one file: written and read back whole, and in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.log.formats.bulk_lives import LENGTH, SCENARIO, all_of, array, assert_same, refusal, several

import perdure
from perdure.errors import LogError
from perdure.frozen import replace
from perdure.gather.survey import survey
from perdure.log.formats import bulk
from perdure.log.formats.bulk import BULK
from perdure.log.formats.table import TABLE
from perdure.log.read import Options, lifetimes, parts, read, recognise
from perdure.log.write import bulk as bulk_writer
from perdure.log.write import bulk_rows
from perdure.metrics.engine.contract import lifetime_of
from perdure.scenario.model import Block
from perdure.scenario.variants import Variants
from perdure.testing import check_reader


@pytest.mark.parametrize("name", ["lives.parquet", "lives"])
def test_what_is_written_is_read(tmp_path: Path, name: str) -> None:
    lives = several()
    path = perdure.write_lives(tmp_path / name, iter(lives))
    assert recognise(path) is BULK
    back = all_of(path)
    for found, expected in zip(back, lives, strict=True):
        assert_same(found, expected)
        assert found.path == path


@given(
    seed=st.integers(0, 2**32 - 1), count=st.integers(1, 8), piece=st.integers(1, 400), long=st.sampled_from([1, 1000])
)
@settings(max_examples=25, deadline=None)
def test_any_lives_survive_in_pieces_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, piece: int, long: int
) -> None:
    folder = tmp_path_factory.mktemp("bulk")
    lives = several(count, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "PER_PIECE", piece)
        patch.setattr(bulk_rows, "PER_PIECE", piece)
        patch.setattr(bulk_writer, "_PER_FILE", 2 * piece)
        patch.setattr(bulk_writer, "_LONG", long)
        for path in (folder / "lives.parquet", folder / "lives"):
            perdure.write_lives(path, lives)
            named = parts(path, Options())
            back = [life for part in named for life in lifetimes(path, Options(), part)]
            for found, expected in zip(back, lives, strict=True):
                assert_same(found, expected)
            assert [life.id for life in all_of(path)] == [life.id for life in lives]


def test_arrays_and_lifetimes_are_the_same_lives(tmp_path: Path) -> None:
    values = array()
    fast = perdure.write_lives(
        tmp_path / "fast.parquet", values=values, scenario=SCENARIO, learner="ewc", seeds=range(5)
    )
    slow = perdure.write_lives(tmp_path / "slow.parquet", all_of(fast))
    for found, expected in zip(all_of(slow), all_of(fast), strict=True):
        assert_same(found, expected)
    for number, life in enumerate(all_of(fast)):
        assert (life.id, life.seed, life.learner) == (f"ewc-{number}", number, "ewc")
        assert life.experiences["reward"].to_list() == values[number].tolist()
        assert life.scenario.blocks == tuple(replace(block, group=group) for group, block in enumerate(SCENARIO.blocks))
        assert life.scenario_type == "condensed"
        assert life.manifest["scenario"]["tasks"][0]["bounds"] == [0.0, 1.0]


def test_arrays_may_come_in_batches_and_of_several_measures(tmp_path: Path) -> None:
    def batches() -> Iterator[dict[str, np.ndarray]]:
        for seed in range(3):
            yield {"loss": array(2, seed), "reward": -array(2, seed)}

    path = perdure.write_lives(
        tmp_path / "lives",
        values=batches(),
        scenario=SCENARIO,
        measures={"reward": "higher", "loss": "lower"},
    )
    found = all_of(path)
    assert [life.id for life in found] == [f"life-{number}" for number in range(6)]
    assert found[0].measures == {"reward": "higher", "loss": "lower"}
    assert (found[5].experiences["loss"] == -found[5].experiences["reward"]).all()


def test_the_reader_keeps_its_promises(tmp_path: Path) -> None:
    check_reader(BULK, perdure.write_lives(tmp_path / "one.parquet", several(1)))
    check_reader(BULK, perdure.write_lives(tmp_path / "one", values=array(1), scenario=SCENARIO))


def test_others_read_the_file_as_a_long_table(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO, learner="ewc")
    rows = pl.read_parquet(path)
    assert rows.columns[:2] == ["lifetime", "seed"]
    assert rows["lifetime"].n_unique() == 5
    assert "worker_id" not in rows.columns  # it holds one value, which the metadata has


def test_an_ordinary_table_is_none_of_ours(tmp_path: Path) -> None:
    lifetime_of(SCENARIO.blocks).experiences.write_parquet(tmp_path / "own.parquet")
    assert not BULK.recognises(tmp_path / "own.parquet")
    assert recognise(tmp_path / "own.parquet") is TABLE


def test_only_whole_lifetimes_stand_in_a_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_rows, "PER_PIECE", 3 * LENGTH)
    monkeypatch.setattr(bulk, "PER_PIECE", 3 * LENGTH)
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(8), scenario=SCENARIO)
    named = [str(one) for one in parts(path, Options())]
    assert [one.partition("@")[0] for one in named] == ["0:0+3", "0:3+3", "0:6+2"]
    assert [life.id for life in lifetimes(path, Options(), named[1])] == ["life-3", "life-4", "life-5"]
    assert [life.id for life in lifetimes(path, Options(), "0:3+3")] == ["life-3", "life-4", "life-5"]


@pytest.mark.parametrize("long", [True, False])
def test_names_of_long_lives_are_read_from_the_metadata(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(bulk_writer, "_LONG", LENGTH if long else LENGTH + 1)
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO, seeds=range(7, 12))
    read: list[str] = []
    rows = bulk._Part.rows

    def noted(*asked: object) -> pl.DataFrame:
        found: pl.DataFrame = rows(*asked)  # type: ignore[arg-type]
        read.extend(found.columns)
        return found

    monkeypatch.setattr(bulk._Part, "rows", noted)
    assert [(life.id, life.seed) for life in all_of(path)] == [(f"life-{seed}", seed) for seed in range(7, 12)]
    assert {"lifetime", "seed"}.isdisjoint(read) is long


def test_names_for_other_lifetimes_than_there_are_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(shared: bulk.Shared, name: str) -> bytes:
        return bulk_rows.as_json(msgspec.structs.replace(shared, who={"lifetime": ["a"]}), name)

    monkeypatch.setattr(bulk_writer, "as_json", short)
    perdure.write_lives(tmp_path / "lives.parquet", values=array(2), scenario=SCENARIO)
    assert "2 lifetimes, and 1 of lifetime for them" in refusal(tmp_path / "lives.parquet")


def test_lives_of_the_same_blocks_share_them(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    found = all_of(path)
    blocks = [life.passage().scenario.blocks for life in found]
    assert all(one is blocks[0] for one in blocks)
    for life in found:
        shared, own = life.passage(), replace(life, alike=None).passage()
        assert shared.scenario == own.scenario
        assert shared.values.tolist() == own.values.tolist()
        assert shared.starts.tolist() == own.starts.tolist()
        assert shared.dropped == own.dropped


def test_lifetimes_share_rows_only_with_neighbours_that_have_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_rows, "PER_PIECE", 30)
    monkeypatch.setattr(bulk, "PER_PIECE", 30)
    rng = np.random.default_rng(3)
    swapped = [*SCENARIO.blocks[1:], SCENARIO.blocks[0]]
    order = [SCENARIO.blocks, SCENARIO.blocks, SCENARIO.blocks, swapped, swapped, SCENARIO.blocks]
    lives = [lifetime_of(blocks, rng, name=f"life {number}") for number, blocks in enumerate(order)]
    found = all_of(perdure.write_lives(tmp_path / "lives.parquet", lives))
    for one, expected in zip(found, lives, strict=True):
        assert one.experiences.equals(expected.experiences)
    first = [life.passage().scenario.blocks for life in found]
    assert [next(at for at, blocks in enumerate(first) if blocks is one) for one in first] == [0, 0, 0, 3, 3, 5]


def test_what_is_shared_is_not_said_of_other_rows(tmp_path: Path) -> None:
    values = array()
    values[2, 3] = np.nan
    found = all_of(perdure.write_lives(tmp_path / "lives.parquet", values=values, scenario=SCENARIO))
    assert [life.passage().dropped_rows for life in found] == [0, 0, 1, 0, 0]
    renamed = found[1].experiences.with_columns(pl.lit("c").cast(pl.Categorical()).alias("task_name"))
    assert {block.task for block in replace(found[1], experiences=renamed).passage().scenario.blocks} == {"c"}
    assert {block.task for block in found[1].passage("reward", "agnostic").scenario.blocks} == {"a", "b"}


@pytest.mark.parametrize("variants", ["name", "agnostic", "params"])
def test_lives_of_the_same_rows_may_say_different_things_of_their_tasks(tmp_path: Path, variants: Variants) -> None:
    rng = np.random.default_rng(4)
    blocks = [Block("learn", "x_1", 5), Block("evaluate", "x_2", 3)]
    tasks = [{"label": one.task, "name": one.task, "variant": ""} for one in blocks]
    described = replace(lifetime_of(blocks, rng, name="described"), manifest={"scenario": {"tasks": tasks}})
    lives = [described, lifetime_of(blocks, rng, name="not"), replace(described, id="again")]
    for found, own in zip(all_of(perdure.write_lives(tmp_path / "lives.parquet", lives)), lives, strict=True):
        assert found.passage(variants=variants).scenario == own.passage(variants=variants).scenario


def test_a_twin_stays_one_and_is_no_lifetime_to_score(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lives = [replace(lifetime_of(SCENARIO.blocks, rng, name=str(seed)), seed=seed) for seed in range(2)]
    twins = [replace(one, id=f"twin {one.id}", role="twin") for one in lives]
    path = perdure.write_lives(tmp_path / "lives.parquet", [*lives, *twins])
    assert [one.role for one in all_of(path)] == ["life", "life", "twin", "twin"]
    found = survey(path)
    assert [one.seed for one in found.scores] == [0, 1]
    beside = survey(lives, twins)
    for mine, its in zip(found.scores, beside.scores, strict=True):
        assert mine.metrics == its.metrics


def test_reading_one_of_many_is_refused(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    with pytest.raises(LogError, match="holds 5 lifetimes, and one was asked for"):
        read(path)


def test_a_measure_that_is_not_there_offers_the_nearest(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    with pytest.raises(LogError, match="no measure 'rewards'; did you mean 'reward'"):
        all_of(path, Options(measures={"rewards": "higher"}))
    assert all_of(path, Options(measures={"reward": "lower"}))[0].measures == {"reward": "lower"}
