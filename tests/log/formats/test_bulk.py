"""Many lifetimes in one file: written and read back whole, in pieces, and refused where a bit is not as it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError, PerdureError
from perdure.gather.survey import survey
from perdure.log import seal
from perdure.log.formats import bulk
from perdure.log.formats.bulk import BULK
from perdure.log.formats.table import TABLE
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.log.read import Options, lifetimes, parts, read, recognise
from perdure.log.seal import broken_seal, footer_of
from perdure.log.write import bulk as bulk_writer
from perdure.log.write import bulk_rows
from perdure.metrics.engine.contract import lifetime_of, random_blocks
from perdure.scenario.model import Block, Scenario, Task
from perdure.scenario.variants import Variants
from perdure.testing import check_reader

SCENARIO = Scenario.of(
    "two tasks",
    [Block("evaluate", "a", 2), Block("learn", "a", 5, {"wide": 1}), Block("evaluate", "a", 2), Block("learn", "b", 4)],
    [Task("a", bounds=(0.0, 1.0))],
    {"scenario_type": "condensed"},
)
LENGTH = sum(block.length or 0 for block in SCENARIO.blocks)


def array(lives: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(lives, LENGTH))


def several(count: int = 6, seed: int = 0) -> list[Lifetime]:
    """Lives of any blocks, with all that a log may say of one."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        life = lifetime_of(random_blocks(rng), rng, name=f"life {number}")
        manifest = {"id": f"recorded {number}", "protocol": {"name": "p"}} | ({"more": number} if number % 2 else {})
        found.append(
            replace(
                life,
                learner=["ewc", "sgd", None][number % 3],
                seed=number if number % 4 else None,
                role="expert" if number == 3 else "life",
                complete=[True, False, None][number % 3],
                info={"scenario_type": "dispersed"} if number % 2 else {},
                manifest=manifest,
                notes=("a line was torn",) if number == 2 else (),
            )
        )
    return found


def all_of(path: Path, options: Options | None = None) -> list[Lifetime]:
    return list(lifetimes(path, options or Options()))


def assert_same(found: Lifetime, expected: Lifetime) -> None:
    assert found.experiences.schema == expected.experiences.schema
    assert found.experiences.equals(expected.experiences)
    for name in ("id", "measures", "learner", "seed", "role", "complete", "info", "manifest", "notes", "scenario_type"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.inside == expected.id


def refusal(path: Path) -> str:
    with pytest.raises(LogError) as caught:
        all_of(path)
    return str(caught.value)


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


# --- damage --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return perdure.write_lives(tmp_path_factory.mktemp("whole") / "lives.parquet", several(3))


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=150, deadline=None)
def test_a_flipped_bit_anywhere_is_found(
    written: Path, tmp_path_factory: pytest.TempPathFactory, where: float, bit: int
) -> None:
    content = bytearray(written.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    damaged = tmp_path_factory.mktemp("damaged") / "lives.parquet"
    damaged.write_bytes(content)
    with pytest.raises(LogError) as caught:
        list(BULK.lifetimes(damaged, Options()))
    assert str(damaged) in str(caught.value)


def test_a_damaged_file_says_what_to_do_and_can_be_seen_unverified(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=np.zeros((3, LENGTH)), scenario=SCENARIO)
    at = footer_of(path)
    assert at is not None
    content = path.read_bytes()
    path.write_bytes(content[: at[0]] + content[at[0] :].replace(b"two tasks", b"2 worlds."))
    said = refusal(path)
    assert "altered after it was written" in said
    assert "restore it from a copy, or write it again" in said
    seen = all_of(path, Options(verified=False))
    assert len(seen) == 3
    assert "altered after it was written" in seen[0].notes[0]


def test_a_file_that_changed_since_it_was_found_whole_is_looked_at_again(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    assert broken_seal(path) is None
    with path.open("r+b") as file:
        file.seek(30)
        file.write(b"\xff")
    os.utime(path, (1, 1))
    assert "altered" in (broken_seal(path) or "")


def test_a_piece_is_read_on_the_word_of_who_named_it_while_the_file_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    piece = parts(path, Options())[0]
    monkeypatch.setattr(seal, "_whole", {})  # another process
    bulk._opened.cache_clear()
    monkeypatch.setattr(seal, "_checksum", lambda *_: "read again")
    assert len(list(lifetimes(path, Options(), piece))) == 5
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(LogError, match=r"altered after it was written: its bytes give the checksum read again"):
        list(lifetimes(path, Options(), piece))


def test_a_file_altered_behind_its_time_is_noticed(tmp_path: Path) -> None:
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    all_of(path)
    before, content = path.stat(), bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "altered after it was written" in refusal(path)


def test_a_file_written_anew_while_it_is_read_is_not_mixed_with_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_LIVES", 2)
    path = perdure.write_lives(tmp_path / "lives.parquet", values=array(), scenario=SCENARIO)
    found = lifetimes(path, Options())
    next(found)
    perdure.write_lives(path, values=array(seed=1), scenario=SCENARIO)
    with pytest.raises(LogError, match="was written anew while it was read"):
        list(found)
    assert len(all_of(path)) == 5


@pytest.mark.parametrize("kept", [0, 3, 11, 12, 500, -1])
def test_a_file_that_was_cut_short_is_none_of_ours(written: Path, tmp_path: Path, kept: int) -> None:
    short = tmp_path / "lives.parquet"
    short.write_bytes(written.read_bytes()[:kept])
    assert not BULK.recognises(short)
    with pytest.raises(LogError, match="its footer is damaged"):
        list(BULK.lifetimes(short, Options()))


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lives.parquet")
    assert not BULK.recognises(tmp_path / "lives.parquet")


def test_a_part_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_rows, "PER_PIECE", LENGTH)
    monkeypatch.setattr(bulk_writer, "_PER_FILE", LENGTH)
    path = perdure.write_lives(tmp_path / "lives", values=array(3), scenario=SCENARIO)
    assert sorted(one.name for one in path.iterdir()) == [f"part-0000{number}.parquet" for number in range(3)]
    assert len(all_of(path)) == 3
    (path / "part-00002.parquet").rename(tmp_path / "last")
    assert "part-00002.parquet: is missing" in refusal(path)
    (path / "part-00001.parquet").rename(tmp_path / "middle")
    (tmp_path / "last").rename(path / "part-00002.parquet")
    assert "part-00001.parquet is missing (found: part-00002.parquet)" in refusal(path)
    (path / "part-00002.parquet").rename(path / "part-00001.parquet")
    assert "was written as part-00002.parquet" in refusal(path)


# --- what cannot be written ----------------------------------------------------------------------


def unwritten(path: Path, *arguments: object, **more: object) -> str:
    with pytest.raises(PerdureError) as caught:
        perdure.write_lives(path, *arguments, **more)  # type: ignore[arg-type]
    assert not path.exists()
    assert not list(path.parent.iterdir()) if path.parent.exists() else True
    return str(caught.value)


@pytest.mark.parametrize("name", ["lives.parquet", "lives"])
def test_nothing_is_left_of_what_cannot_be_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name

    def breaking() -> Iterator[Lifetime]:
        yield from several(2)
        raise LogError("the third is not there")

    assert unwritten(path, breaking()) == "the third is not there"
    assert "no lifetime to write" in unwritten(path, [])
    assert "no lifetime to write" in unwritten(path, values=array(0), scenario=SCENARIO)
    assert "lives or values, and not both" in unwritten(path)
    assert "give scenario=" in unwritten(path, values=array())
    assert f"expected a row per lifetime and {LENGTH} columns" in unwritten(
        path, values=array()[:, 1:], scenario=SCENARIO
    )
    assert "3 seeds for more lifetimes" in unwritten(path, values=array(), scenario=SCENARIO, seeds=[1, 2, 3])
    assert "two lifetimes are called 'life-1'" in unwritten(path, values=array(2), scenario=SCENARIO, seeds=[1, 1])
    steps = Scenario.of("steps", [Block("learn", "a", None)])
    assert "has no length in experiences" in unwritten(path, values=array(), scenario=steps)
    one, other = several(2)
    assert "two lifetimes are called" in unwritten(path, [one, one])
    assert "its measures are" in unwritten(path, [one, replace(other, measures={"reward": "lower"})])
    wider = replace(other, experiences=other.experiences.with_columns(pl.lit(1).alias("steps")))
    assert "differing: steps" in unwritten(path, [one, wider])
    unsayable = unwritten(path, [replace(one, manifest={"what": object()})])
    assert "cannot be written as JSON" in unsayable
    assert "choose another place" not in unsayable
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bulk_rows, "PER_PIECE", 1)  # so that it breaks when some are written
        assert unwritten(path, breaking()) == "the third is not there"


def test_further_columns_are_kept_and_may_not_take_our_names(tmp_path: Path) -> None:
    (one,) = several(1)
    wider = replace(one, experiences=one.experiences.with_columns(pl.lit(7).alias("steps")))
    (back,) = all_of(perdure.write_lives(tmp_path / "lives.parquet", [wider]))
    assert back.experiences.equals(wider.experiences)
    taken = replace(one, experiences=one.experiences.with_columns(pl.lit(7).alias("seed")))
    with pytest.raises(LogError, match="a column is called 'seed'"):
        perdure.write_lives(tmp_path / "taken.parquet", [taken])


def test_a_file_is_replaced_whole_and_a_folder_is_not_touched(tmp_path: Path) -> None:
    file = perdure.write_lives(tmp_path / "lives.parquet", values=array(2), scenario=SCENARIO)
    with pytest.raises(LogError):
        perdure.write_lives(file, values=array()[:, 1:], scenario=SCENARIO)
    assert len(all_of(file)) == 2
    perdure.write_lives(file, values=array(4), scenario=SCENARIO)
    assert len(all_of(file)) == 4
    folder = perdure.write_lives(tmp_path / "lives", values=array(2), scenario=SCENARIO)
    with pytest.raises(LogError, match="is there already"):
        perdure.write_lives(folder, values=array(4), scenario=SCENARIO)
    assert len(all_of(folder)) == 2


def test_every_standard_column_comes_back_in_its_type(tmp_path: Path) -> None:
    (life,) = all_of(perdure.write_lives(tmp_path / "lives.parquet", values=array(1), scenario=SCENARIO))
    assert dict(life.experiences.schema) == {**STANDARD_COLUMNS, "reward": pl.Float64()}
