"""Many lifetimes in one table: its identity columns say whose a row is, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.log.formats import table as table_module
from perdure.log.formats.table import TABLE
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.log.read import Options, ReaderOfFiles, ReaderOfMany, parts
from perdure.log.read import lifetimes as lifetimes_at

HEADER = "method,seed,task_name,block_type,reward"
BLOCKS = [("a", "train"), ("a", "test"), ("b", "train"), ("a", "test")]


def rows(*identity: str, length: int = 3) -> list[str]:
    return [
        ",".join([*identity, task, mode, str(10 * block + step)])
        for block, (task, mode) in enumerate(BLOCKS)
        for step in range(length)
    ]


def put(folder: Path, lines: list[str], name: str = "runs.csv") -> Path:
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return file


def lifetimes(file: Path, **columns: str) -> list[Lifetime]:
    return list(TABLE.lifetimes(file, Options(columns)))


def facts(lifetime: Lifetime) -> tuple[object, ...]:
    who = (lifetime.learner, lifetime.seed, lifetime.stated_type, lifetime.role, dict(lifetime.measures))
    return (*who, lifetime.experiences.select(*STANDARD_COLUMNS, *lifetime.measures).rows())


def test_two_methods_by_three_seeds_are_six_lifetimes(tmp_path: Path) -> None:
    lines = [line for method in ("ewc", "der") for seed in "012" for line in rows(method, seed)]
    found = lifetimes(put(tmp_path, [HEADER, *lines]))
    assert [one.inside for one in found] == ["ewc/0", "ewc/1", "ewc/2", "der/0", "der/1", "der/2"]
    assert [(one.learner, one.seed) for one in found] == [(m, s) for m in ("ewc", "der") for s in range(3)]
    assert all(dict(one.measures) == {"reward": "higher"} for one in found)
    assert all([block.task for block in one.scenario.blocks] == ["a", "a", "b", "a"] for one in found)
    assert found[0].id == "runs#ewc/0"


def test_one_lifetime_with_identity_columns_needs_no_name_inside(tmp_path: Path) -> None:
    one = TABLE.read(put(tmp_path, [HEADER, *rows("ewc", "7")]), Options())
    assert (one.id, one.inside, one.learner, one.seed) == ("runs", "", "ewc", 7)


def test_reading_one_of_several_is_refused_with_their_names(tmp_path: Path) -> None:
    file = put(tmp_path, [HEADER, *rows("ewc", "0"), *rows("ewc", "1")])
    with pytest.raises(LogError, match=r"runs\.csv: 2 lifetimes in it \(ewc/0, ewc/1\), where one was asked for"):
        TABLE.read(file, Options())


@pytest.mark.parametrize("name", ["learner", "Method", "ALGORITHM", "agent"])
def test_every_word_for_a_learner_is_understood(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("method", name)
    assert [one.learner for one in lifetimes(put(tmp_path, [header, *rows("x", "0"), *rows("y", "0")]))] == ["x", "y"]


@pytest.mark.parametrize("name", ["lifetime", "Run", "run_id"])
def test_a_lifetime_column_alone_gives_its_own_value(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("method,seed", f"{name},method")
    found = lifetimes(put(tmp_path, [header, *rows("r1", "ewc"), *rows("r2", "ewc")]))
    assert [(one.inside, one.learner) for one in found] == [("r1", "ewc"), ("r2", "ewc")]


def test_a_lifetime_column_that_repeats_is_told_apart_by_the_others(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "run")
    found = lifetimes(put(tmp_path, [header, *rows("ewc", "0"), *rows("der", "0")]))
    assert [one.inside for one in found] == ["ewc/0", "der/0"]


def test_names_that_read_the_same_are_told_apart(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "run")
    found = lifetimes(put(tmp_path, [header, *rows("a", "b/c"), *rows("a/b", "c"), *rows("a/b", "b/c")]))
    assert [one.inside for one in found] == ["a/b/c (1)", "a/b/c (2)", "a/b/b/c"]


@pytest.mark.parametrize("name", ["scenario", "Scenario_Type"])
def test_the_scenario_is_identity_and_states_its_type(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("seed", name)
    found = lifetimes(put(tmp_path, [header, *rows("ewc", "condensed"), *rows("ewc", "dispersed")]))
    assert [one.scenario_type for one in found] == ["condensed", "dispersed"]
    assert [one.inside for one in found] == ["ewc/condensed", "ewc/dispersed"]


def test_a_column_of_any_name_may_be_mapped_to_identity(tmp_path: Path) -> None:
    header = HEADER.replace("method,seed", "uid,draw")
    file = put(tmp_path, [header, *rows("r1", "3"), *rows("r2", "4")])
    found = lifetimes(file, lifetime="uid", seed="draw")
    assert [(one.inside, one.seed) for one in found] == [("r1", 3), ("r2", 4)]


def test_a_role_column_makes_experts(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "role")
    found = lifetimes(put(tmp_path, [header, *rows("ewc", "life"), *rows("ewc", "Expert")]))
    assert [(one.role, one.inside) for one in found] == [("life", "ewc"), ("expert", "expert/ewc")]


def test_a_role_of_another_meaning_is_refused(tmp_path: Path) -> None:
    file = put(tmp_path, [HEADER.replace("seed", "role"), *rows("ewc", "striker")])
    with pytest.raises(LogError, match=r"runs\.csv:2: role is 'striker'; expected one of life, .*expert"):
        lifetimes(file)


def test_a_seed_alone_is_identity_where_every_value_spans_two_blocks(tmp_path: Path) -> None:
    header = HEADER.removeprefix("method,")
    assert [one.seed for one in lifetimes(put(tmp_path, [header, *rows("4"), *rows("9")]))] == [4, 9]


def test_a_seed_that_changes_within_a_block_is_noise_and_no_measure(tmp_path: Path) -> None:
    lines = [f"{number},{line}" for number, line in enumerate(rows())]
    (one,) = lifetimes(put(tmp_path, [HEADER.removeprefix("method,"), *lines]))
    assert one.seed is None
    assert list(one.measures) == ["reward"]
    assert one.experiences["seed"].to_list() == list(range(12))
    (note,) = one.notes
    assert note.startswith("runs.csv: the column seed is taken for noise: 12 of its 12 values stand in one block only")


def test_a_seed_that_stands_in_one_block_is_identity_where_it_was_declared(tmp_path: Path) -> None:
    lines = [f"{number},{line}" for number, line in enumerate(rows())]
    file = put(tmp_path, [HEADER.removeprefix("method,"), *lines])
    assert len(lifetimes(file, seed="seed")) == 12
    assert [one.inside for one in lifetimes(file, lifetime="seed")][:3] == ["0", "1", "2"]


def test_steps_times_and_running_numbers_are_never_measures(tmp_path: Path) -> None:
    names = [
        "global_step",
        "Total Timesteps",
        "time/total_timesteps",
        "epoch",
        "wall-time",
        "elapsed",
        "env_seed",
        "id",
    ]
    lines = [line + ",1" * len(names) for line in rows("ewc", "0")]
    (one,) = lifetimes(put(tmp_path, [",".join([HEADER, *names]), *lines]))
    assert list(one.measures) == ["reward"]
    assert set(names) <= set(one.experiences.columns)


def test_a_table_of_bookkeeping_alone_says_why_it_has_no_measure(tmp_path: Path) -> None:
    file = put(tmp_path, ["task_name,block_type,step", "a,train,1"])
    with pytest.raises(LogError, match=r"no measure: .*\(step: by their names no measures\)"):
        lifetimes(file)


def test_a_time_may_be_declared_a_measure(tmp_path: Path) -> None:
    file = put(tmp_path, ["task_name,block_type,duration", "a,train,1"])
    (one,) = TABLE.lifetimes(file, Options(measures={"duration": "lower"}))
    assert dict(one.measures) == {"duration": "lower"}


def test_a_blank_identity_cell_is_named_with_its_line(tmp_path: Path) -> None:
    file = put(tmp_path, [HEADER, *rows("ewc", "0"), *rows("", "0")])
    with pytest.raises(LogError, match=r"runs\.csv:14: learner \('method' in the file\) is blank; expected a value"):
        lifetimes(file)


def test_an_identity_column_that_is_blank_throughout_says_nothing(tmp_path: Path) -> None:
    (one,) = lifetimes(put(tmp_path, [HEADER, *rows("", "3")]))
    assert (one.learner, one.seed) == (None, 3)


def test_two_columns_for_one_role_are_noted(tmp_path: Path) -> None:
    (one,) = lifetimes(put(tmp_path, [HEADER.replace("seed", "algorithm"), *rows("ewc", "sac")]))
    assert one.learner == "ewc"
    assert "'method' and 'algorithm' could each be the learner: 'method' is taken" in one.notes[0]


def test_a_seed_that_is_no_number_still_tells_lifetimes_apart(tmp_path: Path) -> None:
    found = lifetimes(put(tmp_path, [HEADER, *rows("ewc", "s1"), *rows("ewc", "s2")]))
    assert [(one.inside, one.seed) for one in found] == [("ewc/s1", None), ("ewc/s2", None)]


def test_a_lifetime_has_the_measures_that_it_logged(tmp_path: Path) -> None:
    header = HEADER + ",accuracy"
    lines = [
        *(line + "," for line in rows("rl", "0")),
        *(f"{line.rpartition(',')[0]},,0.5" for line in rows("cl", "0")),
    ]
    found = lifetimes(put(tmp_path, [header, *lines]))
    assert [list(one.measures) for one in found] == [["reward"], ["accuracy"]]


def test_csv_and_parquet_name_their_lifetimes_alike(tmp_path: Path) -> None:
    lines = [line for seed in ("0", "1") for line in rows("ewc", seed)]
    file = put(tmp_path, [HEADER, *lines])
    frame = pl.read_csv(file)
    for name, kind in {"whole": pl.Int64, "real": pl.Float64, "text": pl.String}.items():
        frame.with_columns(pl.col("seed").cast(kind)).write_parquet(tmp_path / f"{name}.parquet")
        found = lifetimes(tmp_path / f"{name}.parquet")
        assert [(one.inside, *facts(one)) for one in found] == [(one.inside, *facts(one)) for one in lifetimes(file)]


def test_tables_keep_the_contracts_of_many_and_of_files() -> None:
    assert isinstance(TABLE, ReaderOfMany)
    assert isinstance(TABLE, ReaderOfFiles)


@pytest.mark.parametrize("interleaved", [False, True])
def test_pieces_of_a_parquet_file_hold_whole_lifetimes_and_together_all(
    interleaved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for seed in range(20) for line in rows("ewc", str(seed))]
    if interleaved:
        lines = [line for step in range(12) for line in lines[step::12]]
    pl.read_csv(put(tmp_path, [HEADER, *lines])).write_parquet(tmp_path / "runs.parquet", row_group_size=50)
    whole = [(one.inside, *facts(one)) for one in lifetimes(tmp_path / "runs.parquet")]
    monkeypatch.setattr(table_module, "_PIECE", 50)
    pieces = parts(tmp_path / "runs.parquet", Options())
    assert len(pieces) == 5
    apart = [one for piece in pieces for one in lifetimes_at(tmp_path / "runs.parquet", Options(), piece)]
    assert [(one.inside, *facts(one)) for one in apart] == whole
    assert [one.inside for one in lifetimes_at(tmp_path / "runs.parquet", Options())] == [one[0] for one in whole]


def test_a_bad_row_in_a_piece_is_named_by_its_place_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for seed in range(4) for line in rows("ewc", str(seed))]
    lines[40] = lines[40].replace("train", "nap").replace("test", "nap")
    pl.read_csv(put(tmp_path, [HEADER, *lines])).write_parquet(tmp_path / "runs.parquet")
    monkeypatch.setattr(table_module, "_PIECE", 12)
    with pytest.raises(LogError, match=r"runs\.parquet, row 41: block_type is 'nap'"):
        lifetimes(tmp_path / "runs.parquet")


def test_a_file_of_the_bulk_writer_is_left_to_its_reader(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task_name": ["a"], "block_type": ["train"], "reward": [1.0]})
    frame.write_parquet(tmp_path / "ours.parquet", metadata={"perdure.bulk": "1"})
    frame.write_parquet(tmp_path / "theirs.parquet")
    assert [TABLE.recognises(tmp_path / f"{name}.parquet") for name in ("ours", "theirs")] == [False, True]


LIFE = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["train", "test"]), st.integers(-9, 9)), min_size=1)
WHO = st.tuples(st.sampled_from(["ewc", "der", "a b"]), st.integers(0, 3))


@given(st.dictionaries(WHO, LIFE, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_lifetimes_are_the_same_in_one_file_in_many_and_shuffled_among_each_other(
    lives: dict[tuple[str, int], list[tuple[str, str, int]]], random: object
) -> None:
    texts = {who: [",".join(map(str, (*who, *row))) for row in life] for who, life in lives.items()}
    with TemporaryDirectory() as folder:
        together = put(Path(folder), [HEADER, *(line for life in texts.values() for line in life)])
        expected = {(one.learner, one.seed): facts(one) for one in lifetimes(together)}
        assert len(expected) == len(lives)
        for number, (who, life) in enumerate(texts.items()):
            alone = TABLE.read(put(Path(folder), [HEADER, *life], f"{number}.csv"), Options())
            assert facts(alone) == expected[who]
        turns = [who for who, life in texts.items() for _ in life]
        random.shuffle(turns)  # type: ignore[attr-defined]
        waiting = {who: iter(life) for who, life in texts.items()}
        mixed = put(Path(folder), [HEADER, *(next(waiting[who]) for who in turns)], "mixed.csv")
        assert {(one.learner, one.seed): facts(one) for one in lifetimes(mixed)} == expected
