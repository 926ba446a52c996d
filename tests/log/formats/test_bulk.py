"""Files of many lifetimes: they are written and read whole and in parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.log.formats.bulk_lifetimes import LENGTH, SCENARIO, array, assert_same, make_lifetimes, read_all

import perdure
from perdure.errors import LogError
from perdure.gather.survey import survey
from perdure.log.formats import bulk
from perdure.log.formats.bulk import BULK
from perdure.log.formats.table import TABLE
from perdure.log.read import Options, lifetimes, parts, read, recognise
from perdure.log.write import bulk as bulk_writer
from perdure.metrics.contract import lifetime_of
from perdure.scenario.model import Block, Variants
from perdure.testing import check_reader


@pytest.mark.parametrize("name", ["lives.parquet", "lives"])
def test_reading_returns_the_written_lifetimes(tmp_path: Path, name: str) -> None:
    lifetimes = make_lifetimes()
    path = perdure.write_lifetimes(tmp_path / name, iter(lifetimes))
    assert recognise(path) is BULK
    back = read_all(path)
    for match, expected in zip(back, lifetimes, strict=True):
        assert_same(match, expected)
        assert match.path == path


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 8), piece=st.integers(1, 400), part=st.integers(1, 800))
@settings(max_examples=25)
def test_any_lifetimes_survive_in_pieces_of_any_size(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, piece: int, part: int
) -> None:
    folder = tmp_path_factory.mktemp("bulk")
    lives = make_lifetimes(count, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "ROW_GROUP", piece)
        patch.setattr(bulk_writer, "ROW_GROUP", piece)
        patch.setattr(bulk_writer, "_PER_PART", part)
        for path in (folder / "lives.parquet", folder / "lives"):
            perdure.write_lifetimes(path, lives)
            named = parts(path, Options())
            back = [life for name in named for life in lifetimes(path, Options(), name)]
            for match, expected in zip(back, lives, strict=True):
                assert_same(match, expected)
            assert [life.id for life in read_all(path)] == [life.id for life in lives]


def test_arrays_and_lifetimes_are_the_same_lifetimes(tmp_path: Path) -> None:
    values = array()
    fast = perdure.write_lifetimes(
        tmp_path / "fast.parquet", values=values, scenario=SCENARIO, learner="ewc", seeds=range(5)
    )
    slow = perdure.write_lifetimes(tmp_path / "slow.parquet", read_all(fast))
    for match, expected in zip(read_all(slow), read_all(fast), strict=True):
        assert_same(match, expected)
    for number, lifetime in enumerate(read_all(fast)):
        assert (lifetime.id, lifetime.seed, lifetime.learner) == (f"ewc-{number}", number, "ewc")
        assert lifetime.experiences["reward"].to_list() == values[number].tolist()
        assert lifetime.scenario.blocks == tuple(
            replace(block, group=group) for group, block in enumerate(SCENARIO.blocks)
        )
        assert lifetime.scenario_type == "condensed"
        assert lifetime.manifest["scenario"]["tasks"][0]["bounds"] == [0.0, 1.0]


def test_arrays_may_come_in_batches_and_of_several_measures(tmp_path: Path) -> None:
    def batches() -> Iterator[dict[str, np.ndarray]]:
        for seed in range(3):
            yield {"loss": array(2, seed), "reward": -array(2, seed)}

    path = perdure.write_lifetimes(
        tmp_path / "lives",
        values=batches(),
        scenario=SCENARIO,
        measures={"reward": "higher", "loss": "lower"},
    )
    lifetimes = read_all(path)
    assert [lifetime.id for lifetime in lifetimes] == [f"life-{number}" for number in range(6)]
    assert lifetimes[0].measures == {"reward": "higher", "loss": "lower"}
    assert (lifetimes[5].experiences["loss"] == -lifetimes[5].experiences["reward"]).all()


def test_the_reader_keeps_its_contract(tmp_path: Path) -> None:
    check_reader(BULK, perdure.write_lifetimes(tmp_path / "one.parquet", make_lifetimes(1)))
    check_reader(BULK, perdure.write_lifetimes(tmp_path / "one", values=array(1), scenario=SCENARIO))


def test_other_tools_read_the_file_as_a_long_table(tmp_path: Path) -> None:
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO, learner="ewc")
    rows = pl.read_parquet(path)
    assert rows.columns[:3] == ["lifetime", "learner", "seed"]
    assert rows["lifetime"].n_unique() == 5
    rows.write_parquet(tmp_path / "again.parquet")  # without our metadata
    again = list(lifetimes(tmp_path / "again.parquet"))
    for match, expected in zip(again, read_all(path), strict=True):
        assert (match.inside, match.learner, match.seed) == (expected.inside, expected.learner, expected.seed)
        assert match.experiences["reward"].equals(expected.experiences["reward"])
        assert match.scenario.blocks == expected.scenario.blocks


def test_an_ordinary_table_is_not_recognised(tmp_path: Path) -> None:
    lifetime_of(SCENARIO.blocks).experiences.write_parquet(tmp_path / "own.parquet")
    assert not BULK.recognises(tmp_path / "own.parquet")
    assert recognise(tmp_path / "own.parquet") is TABLE


def test_a_piece_holds_whole_lifetimes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "ROW_GROUP", 3 * LENGTH)
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(8), scenario=SCENARIO)
    named = parts(path, Options())
    assert named == ("0:0-3", "0:3-6", "0:6-8")
    assert [lifetime.id for lifetime in lifetimes(path, Options(), named[1])] == ["life-3", "life-4", "life-5"]
    for unknown in ("0:9-11", "1:0-3", "x"):
        with pytest.raises(LogError, match=r"no piece|has 8 lifetimes"):
            list(lifetimes(path, Options(), unknown))


def test_many_lifetimes_repeat_no_part_of_their_manifests(tmp_path: Path) -> None:
    lifetimes = make_lifetimes(40)
    long = [
        msgspec.structs.replace(lifetime, manifest={**lifetime.manifest, "command": "x" * 10_000})
        for lifetime in lifetimes
    ]
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", long)
    assert len(pl.read_parquet_metadata(path)["perdure.bulk"]) < 40_000
    assert [lifetime.manifest for lifetime in read_all(path)] == [lifetime.manifest for lifetime in long]


def test_shared_blocks_do_not_describe_other_rows(tmp_path: Path) -> None:
    values = array()
    values[2, 3] = np.nan
    lifetimes = read_all(perdure.write_lifetimes(tmp_path / "lives.parquet", values=values, scenario=SCENARIO))
    assert [lifetime.passage().dropped_rows for lifetime in lifetimes] == [0, 0, 1, 0, 0]
    renamed = lifetimes[1].experiences.with_columns(pl.lit("c").cast(pl.Categorical()).alias("task_name"))
    assert {
        block.task for block in msgspec.structs.replace(lifetimes[1], experiences=renamed).passage().scenario.blocks
    } == {"c"}
    assert {block.task for block in lifetimes[1].passage("reward", "agnostic").scenario.blocks} == {"a", "b"}


@pytest.mark.parametrize("variants", ["name", "agnostic", "params"])
def test_lifetimes_of_the_same_rows_may_describe_their_tasks_differently(tmp_path: Path, variants: Variants) -> None:
    rng = np.random.default_rng(4)
    blocks = [Block("learn", "x_1", 5), Block("evaluate", "x_2", 3)]
    tasks = [{"label": block.task, "name": block.task, "variant": ""} for block in blocks]
    described = msgspec.structs.replace(
        lifetime_of(blocks, rng, name="described"), manifest={"scenario": {"tasks": tasks}}
    )
    lifetimes = [described, lifetime_of(blocks, rng, name="not"), msgspec.structs.replace(described, id="again")]
    for match, own in zip(
        read_all(perdure.write_lifetimes(tmp_path / "lives.parquet", lifetimes)), lifetimes, strict=True
    ):
        assert match.passage(variants=variants).scenario == own.passage(variants=variants).scenario


def test_a_twin_stays_a_twin_and_is_not_scored_as_a_lifetime(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    lifetimes = [
        msgspec.structs.replace(lifetime_of(SCENARIO.blocks, rng, name=str(seed)), seed=seed) for seed in range(2)
    ]
    twins = [msgspec.structs.replace(lifetime, id=f"twin {lifetime.id}", role="twin") for lifetime in lifetimes]
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", [*lifetimes, *twins])
    assert [lifetime.role for lifetime in read_all(path)] == ["life", "life", "twin", "twin"]
    result = survey(path)
    assert [score.seed for score in result.scores] == [0, 1]
    survey_with_twins = survey(lifetimes, twins)
    for mine, its in zip(result.scores, survey_with_twins.scores, strict=True):
        assert mine.metrics == its.metrics


def test_reading_one_of_many_is_refused(tmp_path: Path) -> None:
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    with pytest.raises(LogError, match=r"more than 4 lifetimes in it .*, where one was asked for"):
        read(path)


def test_a_missing_measure_offers_the_nearest(tmp_path: Path) -> None:
    path = perdure.write_lifetimes(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    with pytest.raises(LogError, match="no measure 'rewards'; did you mean 'reward'"):
        read_all(path, Options(measures={"rewards": "higher"}))
    assert read_all(path, Options(measures={"reward": "lower"}))[0].measures == {"reward": "lower"}
