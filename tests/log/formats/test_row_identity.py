"""Many lifetimes in one table: only the identity columns decide to which lifetime a row belongs."""

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
from perdure.log.model import Lifetime
from perdure.log.read import Options, ReaderOfFiles, ReaderOfMany, parts
from perdure.log.read import lifetimes as lifetimes_at
from perdure.log.rules import STANDARD_COLUMNS

HEADER = "method,seed,task_name,block_type,reward"
BLOCKS = [("a", "train"), ("a", "test"), ("b", "train"), ("a", "test")]


def rows(*identity: str, length: int = 3) -> list[str]:
    return [
        ",".join([*identity, task, mode, str(10 * block + step)])
        for block, (task, mode) in enumerate(BLOCKS)
        for step in range(length)
    ]


def write_file(folder: Path, lines: list[str], name: str = "runs.csv") -> Path:
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
    result = lifetimes(write_file(tmp_path, [HEADER, *lines]))
    assert [lifetime.inside for lifetime in result] == ["ewc/0", "ewc/1", "ewc/2", "der/0", "der/1", "der/2"]
    assert [(lifetime.learner, lifetime.seed) for lifetime in result] == [
        (m, s) for m in ("ewc", "der") for s in range(3)
    ]
    assert all(dict(lifetime.measures) == {"reward": "higher"} for lifetime in result)
    assert all([block.task for block in lifetime.scenario.blocks] == ["a", "a", "b", "a"] for lifetime in result)
    assert result[0].id == "runs#ewc/0"


def test_one_lifetime_with_identity_columns_needs_no_name_inside(tmp_path: Path) -> None:
    lifetime = TABLE.read(write_file(tmp_path, [HEADER, *rows("ewc", "7")]), Options())
    assert (lifetime.id, lifetime.inside, lifetime.learner, lifetime.seed) == ("runs", "", "ewc", 7)


def test_reading_one_of_several_is_refused_with_their_names(tmp_path: Path) -> None:
    file = write_file(tmp_path, [HEADER, *rows("ewc", "0"), *rows("ewc", "1")])
    with pytest.raises(LogError, match=r"runs\.csv: 2 lifetimes in it \(ewc/0, ewc/1\), where one was asked for"):
        TABLE.read(file, Options())


@pytest.mark.parametrize("name", ["learner", "Method", "ALGORITHM", "agent"])
def test_every_name_for_the_learner_column_is_recognised(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("method", name)
    assert [
        lifetime.learner for lifetime in lifetimes(write_file(tmp_path, [header, *rows("x", "0"), *rows("y", "0")]))
    ] == [
        "x",
        "y",
    ]


@pytest.mark.parametrize("name", ["lifetime", "Run", "run_id"])
def test_a_single_lifetime_column_gives_the_name(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("method,seed", f"{name},method")
    result = lifetimes(write_file(tmp_path, [header, *rows("r1", "ewc"), *rows("r2", "ewc")]))
    assert [(lifetime.inside, lifetime.learner) for lifetime in result] == [("r1", "ewc"), ("r2", "ewc")]


def test_repeated_lifetime_names_are_distinguished_by_the_other_columns(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "run")
    result = lifetimes(write_file(tmp_path, [header, *rows("ewc", "0"), *rows("der", "0")]))
    assert [lifetime.inside for lifetime in result] == ["ewc/0", "der/0"]


def test_equal_names_get_a_number(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "run")
    result = lifetimes(write_file(tmp_path, [header, *rows("a", "b/c"), *rows("a/b", "c"), *rows("a/b", "b/c")]))
    assert [lifetime.inside for lifetime in result] == ["a/b/c (1)", "a/b/c (2)", "a/b/b/c"]


@pytest.mark.parametrize("name", ["scenario", "Scenario_Type"])
def test_the_scenario_column_is_identity_and_gives_the_scenario_type(name: str, tmp_path: Path) -> None:
    header = HEADER.replace("seed", name)
    result = lifetimes(write_file(tmp_path, [header, *rows("ewc", "condensed"), *rows("ewc", "dispersed")]))
    assert [lifetime.scenario_type for lifetime in result] == ["condensed", "dispersed"]
    assert [lifetime.inside for lifetime in result] == ["ewc/condensed", "ewc/dispersed"]


def test_a_column_of_any_name_may_be_mapped_to_identity(tmp_path: Path) -> None:
    header = HEADER.replace("method,seed", "uid,draw")
    file = write_file(tmp_path, [header, *rows("r1", "3"), *rows("r2", "4")])
    result = lifetimes(file, lifetime="uid", seed="draw")
    assert [(lifetime.inside, lifetime.seed) for lifetime in result] == [("r1", 3), ("r2", 4)]


def test_a_role_column_makes_experts(tmp_path: Path) -> None:
    header = HEADER.replace("seed", "role")
    result = lifetimes(write_file(tmp_path, [header, *rows("ewc", "life"), *rows("ewc", "Expert")]))
    assert [(lifetime.role, lifetime.inside) for lifetime in result] == [("life", "ewc"), ("expert", "expert/ewc")]


def test_an_unknown_role_is_refused(tmp_path: Path) -> None:
    file = write_file(tmp_path, [HEADER.replace("seed", "role"), *rows("ewc", "striker")])
    with pytest.raises(LogError, match=r"runs\.csv:2: role is 'striker'; expected one of life, .*expert"):
        lifetimes(file)


def test_a_single_seed_column_is_identity_if_every_value_spans_two_blocks(tmp_path: Path) -> None:
    header = HEADER.removeprefix("method,")
    assert [lifetime.seed for lifetime in lifetimes(write_file(tmp_path, [header, *rows("4"), *rows("9")]))] == [4, 9]


def test_a_seed_that_changes_within_a_block_is_noise_and_not_a_measure(tmp_path: Path) -> None:
    lines = [f"{number},{line}" for number, line in enumerate(rows())]
    (one,) = lifetimes(write_file(tmp_path, [HEADER.removeprefix("method,"), *lines]))
    assert one.seed is None
    assert list(one.measures) == ["reward"]
    assert one.experiences["seed"].to_list() == list(range(12))
    (note,) = one.notes
    assert note.startswith("runs.csv: the column seed is taken for noise: 12 of its 12 values stand in one block only")


def test_a_seed_of_one_block_is_identity_if_declared(tmp_path: Path) -> None:
    lines = [f"{number},{line}" for number, line in enumerate(rows())]
    file = write_file(tmp_path, [HEADER.removeprefix("method,"), *lines])
    assert len(lifetimes(file, seed="seed")) == 12
    assert [lifetime.inside for lifetime in lifetimes(file, lifetime="seed")][:3] == ["0", "1", "2"]


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
    (one,) = lifetimes(write_file(tmp_path, [",".join([HEADER, *names]), *lines]))
    assert list(one.measures) == ["reward"]
    assert set(names) <= set(one.experiences.columns)


def test_a_table_with_only_bookkeeping_reports_why_it_has_no_measure(tmp_path: Path) -> None:
    file = write_file(tmp_path, ["task_name,block_type,step", "a,train,1"])
    with pytest.raises(LogError, match=r"no measure: .*\(step: by their names no measures\)"):
        lifetimes(file)


def test_a_time_may_be_declared_a_measure(tmp_path: Path) -> None:
    file = write_file(tmp_path, ["task_name,block_type,duration", "a,train,1"])
    (one,) = TABLE.lifetimes(file, Options(measures={"duration": "lower"}))
    assert dict(one.measures) == {"duration": "lower"}


def test_a_blank_identity_cell_is_named_with_its_line(tmp_path: Path) -> None:
    file = write_file(tmp_path, [HEADER, *rows("ewc", "0"), *rows("", "0")])
    with pytest.raises(LogError, match=r"runs\.csv:14: learner \('method' in the file\) is blank; expected a value"):
        lifetimes(file)


def test_a_completely_blank_identity_column_is_ignored(tmp_path: Path) -> None:
    (one,) = lifetimes(write_file(tmp_path, [HEADER, *rows("", "3")]))
    assert (one.learner, one.seed) == (None, 3)


def test_two_columns_for_one_role_are_noted(tmp_path: Path) -> None:
    (one,) = lifetimes(write_file(tmp_path, [HEADER.replace("seed", "algorithm"), *rows("ewc", "sac")]))
    assert one.learner == "ewc"
    assert "'method' and 'algorithm' could each be the learner: 'method' is taken" in one.notes[0]


def test_a_seed_that_is_not_a_number_still_distinguishes_lifetimes(tmp_path: Path) -> None:
    result = lifetimes(write_file(tmp_path, [HEADER, *rows("ewc", "s1"), *rows("ewc", "s2")]))
    assert [(lifetime.inside, lifetime.seed) for lifetime in result] == [("ewc/s1", None), ("ewc/s2", None)]


def test_a_lifetime_has_the_measures_that_it_logged(tmp_path: Path) -> None:
    header = HEADER + ",accuracy"
    lines = [
        *(line + "," for line in rows("rl", "0")),
        *(f"{line.rpartition(',')[0]},,0.5" for line in rows("cl", "0")),
    ]
    result = lifetimes(write_file(tmp_path, [header, *lines]))
    assert [list(lifetime.measures) for lifetime in result] == [["reward"], ["accuracy"]]


def test_csv_and_parquet_give_lifetimes_the_same_names(tmp_path: Path) -> None:
    lines = [line for seed in ("0", "1") for line in rows("ewc", seed)]
    file = write_file(tmp_path, [HEADER, *lines])
    frame = pl.read_csv(file)
    for name, kind in {"whole": pl.Int64, "real": pl.Float64, "text": pl.String}.items():
        frame.with_columns(pl.col("seed").cast(kind)).write_parquet(tmp_path / f"{name}.parquet")
        result = lifetimes(tmp_path / f"{name}.parquet")
        assert [(lifetime.inside, *facts(lifetime)) for lifetime in result] == [
            (lifetime.inside, *facts(lifetime)) for lifetime in lifetimes(file)
        ]


def test_the_reader_keeps_its_contract_for_many_lifetimes_and_files() -> None:
    assert isinstance(TABLE, ReaderOfMany)
    assert isinstance(TABLE, ReaderOfFiles)


@pytest.mark.parametrize("interleaved", [False, True])
def test_parts_of_a_parquet_file_have_whole_lifetimes_and_together_all(
    interleaved: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [line for seed in range(20) for line in rows("ewc", str(seed))]
    if interleaved:
        lines = [line for step in range(12) for line in lines[step::12]]
    pl.read_csv(write_file(tmp_path, [HEADER, *lines])).write_parquet(tmp_path / "runs.parquet", row_group_size=50)
    whole = [(lifetime.inside, *facts(lifetime)) for lifetime in lifetimes(tmp_path / "runs.parquet")]
    monkeypatch.setattr(table_module, "_PIECE", 50)
    pieces = parts(tmp_path / "runs.parquet", Options())
    assert len(pieces) == 5
    apart = [lifetime for piece in pieces for lifetime in lifetimes_at(tmp_path / "runs.parquet", Options(), piece)]
    assert [(value.inside, *facts(value)) for value in apart] == whole
    assert [lifetime.inside for lifetime in lifetimes_at(tmp_path / "runs.parquet", Options())] == [
        row[0] for row in whole
    ]


def test_a_bad_row_in_a_part_is_named_by_its_row_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for seed in range(4) for line in rows("ewc", str(seed))]
    lines[40] = lines[40].replace("train", "nap").replace("test", "nap")
    pl.read_csv(write_file(tmp_path, [HEADER, *lines])).write_parquet(tmp_path / "runs.parquet")
    monkeypatch.setattr(table_module, "_PIECE", 12)
    with pytest.raises(LogError, match=r"runs\.parquet, row 41: block_type is 'nap'"):
        lifetimes(tmp_path / "runs.parquet")


def test_a_file_of_the_bulk_writer_is_left_to_its_reader(tmp_path: Path) -> None:
    frame = pl.DataFrame({"task_name": ["a"], "block_type": ["train"], "reward": [1.0]})
    frame.write_parquet(tmp_path / "ours.parquet", metadata={"perdure.bulk": "1"})
    frame.write_parquet(tmp_path / "theirs.parquet")
    assert [TABLE.recognises(tmp_path / f"{name}.parquet") for name in ("ours", "theirs")] == [False, True]


BLOCK_ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(["train", "test"]), st.integers(-9, 9)), min_size=1
)
WHO = st.tuples(st.sampled_from(["ewc", "der", "a b"]), st.integers(0, 3))


@given(st.dictionaries(WHO, BLOCK_ROWS, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_lifetimes_are_the_same_in_one_file_in_several_and_interleaved(
    lives: dict[tuple[str, int], list[tuple[str, str, int]]], random: object
) -> None:
    texts = {who: [",".join(map(str, (*who, *row))) for row in life] for who, life in lives.items()}
    with TemporaryDirectory() as folder:
        together = write_file(Path(folder), [HEADER, *(line for life in texts.values() for line in life)])
        expected = {(lifetime.learner, lifetime.seed): facts(lifetime) for lifetime in lifetimes(together)}
        assert len(expected) == len(lives)
        for number, (who, life) in enumerate(texts.items()):
            alone = TABLE.read(write_file(Path(folder), [HEADER, *life], f"{number}.csv"), Options())
            assert facts(alone) == expected[who]
        turns = [who for who, life in texts.items() for _ in life]
        random.shuffle(turns)  # type: ignore[attr-defined]
        waiting = {who: iter(life) for who, life in texts.items()}
        mixed = write_file(Path(folder), [HEADER, *(next(waiting[who]) for who in turns)], "mixed.csv")
        assert {(lifetime.learner, lifetime.seed): facts(lifetime) for lifetime in lifetimes(mixed)} == expected
