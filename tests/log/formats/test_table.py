"""Long tables: columns with custom names become a lifetime, and a bad cell is named with its line."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.log import rows as delimited_text
from perdure.log.formats.table import TABLE, frame_lifetimes
from perdure.log.model import Direction, Lifetime
from perdure.log.places import Source
from perdure.log.read import Options
from perdure.log.rows import tables
from perdure.log.rules import STANDARD_COLUMNS
from perdure.log.write.export import WRITERS as EXPORTS
from perdure.log.write.export import export
from perdure.testing import check_reader

OWN = {"task_name": "env", "block_type": "phase"}
TEXT = """env,phase,score,solved,remark
Pong,train,1,true,first
Pong,train,2.5,false,
Pong,eval,-3e-2,true,"a, b"
Freeway,Learning,4,false,
"""
GOOD = TEXT.replace("Learning", "learn")


def write_file(folder: Path, text: str | bytes, name: str = "runs.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def read_table(
    file: Path, columns: Mapping[str, str] = OWN, measures: Mapping[str, Direction] | None = None
) -> Lifetime:
    return TABLE.read(file, Options(columns, measures))


def refusal_message(
    file: Path, columns: Mapping[str, str] = OWN, measures: Mapping[str, Direction] | None = None
) -> str:
    with pytest.raises(LogError) as caught:
        read_table(file, columns, measures)
    return str(caught.value)


@pytest.fixture
def frame() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "env": ["Pong", "Pong", "Freeway", "Pong"],
            "phase": ["train", "evaluate", "testing", "training"],
            "score": [1, 2, 3, 4],
            "solved": [True, False, None, True],
        }
    )


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "csv": lambda frame, file: frame.write_csv(file),
    "tsv": lambda frame, file: frame.write_csv(file, separator="\t"),
    "parquet": lambda frame, file: frame.write_parquet(file),
    "arrow": lambda frame, file: frame.write_ipc(file),
    "feather": lambda frame, file: frame.write_ipc(file),
    "ipc": lambda frame, file: frame.write_ipc_stream(file),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_kind_of_file_gives_the_same_lifetime(suffix: str, frame: pl.DataFrame, tmp_path: Path) -> None:
    WRITERS["csv"](frame, tmp_path / "plain.csv")
    WRITERS[suffix](frame, tmp_path / f"runs.{suffix}")
    expected, result = read_table(tmp_path / "plain.csv"), read_table(tmp_path / f"runs.{suffix}")
    assert result.id == "runs"
    assert result.experiences.equals(expected.experiences)
    assert result.experiences.schema == expected.experiences.schema
    check_reader(TABLE, tmp_path / f"runs.{suffix}", options=Options(OWN))


@pytest.mark.parametrize("suffix", EXPORTS)
def test_an_exported_lifetime_is_read_back(suffix: str, tmp_path: Path) -> None:
    once = read_table(write_file(tmp_path, GOOD))
    export(once, tmp_path / f"copy{suffix}")
    again = read_table(tmp_path / f"copy{suffix}", {}, once.measures)
    assert again.experiences.equals(once.experiences)


def test_missing_columns_are_derived_or_take_l2loggers_default(tmp_path: Path) -> None:
    lifetime = read_table(write_file(tmp_path, GOOD))
    rows = lifetime.experiences
    assert rows.columns == [*STANDARD_COLUMNS, "score", "solved", "remark"]
    assert rows["block_num"].to_list() == [0, 0, 1, 2]
    assert rows["exp_num"].to_list() == [0, 1, 2, 3]
    assert rows["block_type"].to_list() == ["train", "train", "test", "train"]
    assert rows["task_name"].to_list() == ["pong", "pong", "pong", "freeway"]
    constant = rows.select("worker_id", "block_subtype", "task_params", "exp_status", "timestamp").unique()
    assert constant.rows() == [("worker-default", "wake", "{}", "complete", None)]
    assert dict(lifetime.measures) == {"score": "higher", "solved": "higher"}
    assert rows["solved"].to_list() == [1, 0, 1, 0]
    assert rows["remark"].to_list() == ["first", None, "a, b", None]


@pytest.mark.parametrize("word", ["train", "learn", "training", "TRAIN", " Learn "])
def test_synonyms_of_learning_become_train(word: str, tmp_path: Path) -> None:
    rows = read_table(write_file(tmp_path, f"env,phase,score\npong,{word},1\n")).experiences
    assert rows["block_type"].to_list() == ["train"]


@pytest.mark.parametrize("word", ["test", "evaluate", "eval", "evaluation", "testing", "Test"])
def test_synonyms_of_evaluating_become_test(word: str, tmp_path: Path) -> None:
    rows = read_table(write_file(tmp_path, f"env,phase,score\npong,{word},1\n")).experiences
    assert rows["block_type"].to_list() == ["test"]


def test_every_standard_column_may_be_given_under_another_name(tmp_path: Path) -> None:
    header = "b,e,w,m,s,t,p,x,c,score\n"
    cells = '4,9,w1,test,sleep,Pong,"{""a"": 1}",incomplete,2026-01-01,0.5\n'
    columns = dict(zip(STANDARD_COLUMNS, "bewmstpxc", strict=True))
    row = read_table(write_file(tmp_path, header + cells), columns).experiences.row(0)
    assert row == (4, 9, "w1", "test", "sleep", "pong", '{"a": 1}', "incomplete", "2026-01-01", 0.5)


def test_rows_are_put_in_order_by_their_numbers(tmp_path: Path) -> None:
    text = "task_name,block_type,block_num,exp_num,score\npong,test,1,2,30\npong,train,0,1,20\npong,train,0,0.0,10\n"
    np.testing.assert_array_equal(read_table(write_file(tmp_path, text), {}).passage().values, [10, 20, 30])


def test_a_mapped_measure_comes_first_and_a_displaced_column_is_kept(tmp_path: Path) -> None:
    text = "task_name,env,phase,length,ep_return\nx,pong,train,7,1\n"
    lifetime = read_table(write_file(tmp_path, text), OWN | {"reward": "ep_return"})
    assert list(lifetime.measures) == ["reward", "length"]
    assert lifetime.experiences.select("task_name", "task_name_in_file").row(0) == ("pong", "x")


def test_one_column_may_serve_twice(tmp_path: Path) -> None:
    rows = read_table(write_file(tmp_path, "env,phase,score\npong,train,1\n"), OWN | {"worker_id": "env"}).experiences
    assert rows.select("task_name", "worker_id").row(0) == ("pong", "pong")


def test_only_named_measures_are_measures(tmp_path: Path) -> None:
    lifetime = read_table(write_file(tmp_path, GOOD), measures={"score": "lower"})
    assert dict(lifetime.measures) == {"score": "lower"}
    assert lifetime.experiences.columns[-2:] == ["solved", "remark"]


def test_a_row_index_without_a_name_is_not_a_measure(tmp_path: Path) -> None:
    text = ",env,phase,score\n0,pong,train,5\n1,pong,train,6\n"
    lifetime = read_table(write_file(tmp_path, text))
    assert list(lifetime.measures) == ["score"]
    assert lifetime.experiences["unnamed_1"].to_list() == [0, 1]


def test_blank_cells_and_numbers_that_are_not_finite_are_kept_as_they_are(tmp_path: Path) -> None:
    lifetime = read_table(
        write_file(tmp_path, "env,phase,score\npong,train,\npong,train,nan\npong,train,inf\npong,train,1\n")
    )
    assert dict(lifetime.passage().dropped) == {"incomplete": 0, "missing": 2, "not finite": 1}


def test_a_byte_order_mark_windows_line_ends_and_blanks_after_commas_change_nothing(tmp_path: Path) -> None:
    expected = read_table(write_file(tmp_path, GOOD)).experiences
    spaced = "\ufeff" + GOOD.replace(",", ", ").replace('"a,  b"', '"a, b"').replace(', "a', ',"a')
    spaced = spaced.replace("\n", "\r\n").replace(", \r", ",\r").replace(", first", ",first")
    assert read_table(write_file(tmp_path, spaced)).experiences.equals(expected)


def test_a_column_of_dates_or_structures_is_not_a_measure(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "task_name": ["a", "a"],
            "block_type": ["train", "train"],
            "day": [datetime(2026, 1, 2)] * 2,
            "shape": [{"width": 1}, {"width": 2}],
            "score": [0.5, 0.6],
        }
    )
    frame.write_parquet(tmp_path / "runs.parquet")
    assert list(TABLE.read(tmp_path / "runs.parquet", Options()).measures) == ["score"]


def test_dates_and_categories_of_parquet_become_text(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "task_name": pl.Series(["A", "B"], dtype=pl.Categorical),
            "block_type": ["train", "train"],
            "worker_id": [3, 4],
            "timestamp": [datetime(2026, 1, 2, 3, 4, 5, 6)] * 2,
            "task_params": [{"width": 1}, {"width": 2}],
            "score": [0.5, None],
        }
    )
    frame.write_parquet(tmp_path / "x.parquet")
    rows = read_table(tmp_path / "x.parquet", {}).experiences
    assert rows["timestamp"][0] == "20260102T030405.000006"
    assert rows.select("task_name", "worker_id", "task_params").row(1) == ("b", "4", '{"width":2}')


BAD = [
    (TEXT, 5, "block_type ('phase' in the file) is 'Learning'; expected one of train, test, learn"),
    (GOOD.replace("2.5", "two"), 3, "score is 'two'; expected a number"),
    (GOOD.replace("Freeway,", ","), 5, "task_name ('env' in the file) is blank; expected a name"),
    (GOOD.replace("Freeway,", '"  ",'), 5, "task_name ('env' in the file) is '  '; expected a name"),
    (GOOD.replace("Pong,eval", "Pong,"), 4, "block_type ('phase' in the file) is blank"),
    (GOOD.replace("2.5,", ""), 3, "4 fields where the header has 5"),
    (GOOD.replace("2.5,", "2,5,"), 3, "6 fields where the header has 5"),
    (GOOD.replace("2.5", "2\0"), 3, "a NUL byte"),
    (GOOD.encode().replace(b"2.5", b"\xff"), 3, "not UTF-8 text"),
    (GOOD.replace("first", '"first'), 2, "a quote in the record that begins here is never closed"),
    (GOOD.replace("first", '"fir"st'), 2, "the quotes on this line do not fit"),
    (GOOD.replace("score", "env"), 1, "the header names 'env' more than once"),
    (GOOD.replace("first", '"two\nlines"').replace("-3e-2", "x"), 5, "score is 'x'"),
]


@pytest.mark.parametrize(("text", "line", "what"), BAD)
def test_a_bad_line_is_named(text: str | bytes, line: int, what: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, text)
    assert refusal_message(file).startswith(f"{file}:{line}: {what}")


@pytest.mark.parametrize(
    ("column", "cell", "what"),
    [
        ("block_num", "-1", "block_num is '-1'; expected a whole number, 0 or more"),
        ("exp_num", "1.5", "exp_num is '1.5'; expected a whole number"),
        ("exp_num", "9" * 30, "exp_num is '999"),
        ("exp_num", "", "exp_num is blank"),
        ("task_params", "[1]", "task_params is '[1]'; expected a JSON object"),
        ("task_params", "{", "task_params is '{'; expected a JSON object"),
        ("exp_status", "done", "exp_status is 'done'; expected one of complete, incomplete"),
        ("block_subtype", "nap", "block_subtype is 'nap'; expected one of wake, sleep"),
        ("worker_id", " ", "worker_id is ' '; expected a name"),
    ],
)
def test_a_standard_column_that_breaks_its_rule_is_named(column: str, cell: str, what: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, f"task_name\tblock_type\tscore\t{column}\npong\ttrain\t1\t{cell}\n", "runs.tsv")
    assert refusal_message(file, {}).startswith(f"{file}:2: {what}")


def test_a_bad_row_of_a_parquet_file_is_named_by_its_number(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.with_columns(pl.Series("env", ["a", None, None, "b"])).write_parquet(tmp_path / "x.parquet")
    message = refusal_message(tmp_path / "x.parquet")
    assert message.startswith(f"{tmp_path / 'x.parquet'}, row 2: task_name")
    assert message.endswith("(2 such rows)")


def test_a_missing_block_type_lists_the_columns_and_shows_the_option(tmp_path: Path) -> None:
    message = refusal_message(write_file(tmp_path, GOOD), {"task_name": "env"})
    assert "no column 'block_type' (found: env, phase, score, solved, remark)" in message
    assert "--column block_type=phase" in message


def test_a_mapping_to_a_missing_column_offers_the_nearest(tmp_path: Path) -> None:
    assert "no column 'fase' for block_type; did you mean 'phase'?" in refusal_message(
        write_file(tmp_path, GOOD), {"block_type": "fase", "task_name": "env"}
    )


def test_a_missing_measure_offers_the_nearest(tmp_path: Path) -> None:
    message = refusal_message(write_file(tmp_path, GOOD), measures={"scores": "higher"})
    assert "no column for the measure 'scores'; did you mean 'score'?" in message


def test_a_table_without_numbers_has_no_measure(tmp_path: Path) -> None:
    assert "no measure: none of the columns remark holds numbers" in refusal_message(
        write_file(tmp_path, "env,phase,remark\npong,train,good\n")
    )


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\n", "env,phase", "env,phase,score\n", "env,phase,score\npong,tr"])
def test_a_table_without_rows_is_refused(text: str, tmp_path: Path) -> None:
    file = write_file(tmp_path, text)
    assert str(file) in refusal_message(file)


def test_a_last_line_without_its_newline_is_skipped_with_a_note(tmp_path: Path) -> None:
    lifetime = read_table(write_file(tmp_path, GOOD + "Pong,train,0.66"))
    assert lifetime.experiences.height == 4
    assert lifetime.notes[0].startswith("runs.csv:6: the last line is torn (15 bytes without a newline)")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "feather", "ipc"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"ARROW1\0\0", b"nonsense" * 100])
def test_a_damaged_binary_file_is_refused(
    suffix: str, content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write_file(tmp_path, content, f"x.{suffix}")
    assert refusal_message(file).startswith(f"{file}: not a readable {suffix} file")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_binary_file_cut_anywhere_is_refused(suffix: str, frame: pl.DataFrame, tmp_path: Path) -> None:
    file = tmp_path / f"x.{suffix}"
    WRITERS[suffix](frame, file)
    whole = file.read_bytes()
    for size in range(0, len(whole) - 1, 37):
        file.write_bytes(whole[:size])
        assert str(file) in refusal_message(file)


@pytest.mark.parametrize(
    ("name", "text", "known"),
    [
        ("a.csv", "env,phase,score\n", True),
        ("a.TSV", "env\tphase\n", True),
        ("a.csv", "0.9,0.8\n0.7,0.6\n", False),
        ("a.csv", "0.9,inf\n0.7,word\n", False),
        ("a.csv", "", False),
        ("a.csv", ",,\n", False),
        ("a.txt", "env,phase,score\n", False),
        ("a.parquet", "anything", True),
    ],
)
def test_a_table_is_recognised_by_suffix_and_a_header_of_names(
    name: str, text: str, known: bool, tmp_path: Path
) -> None:
    assert TABLE.recognises(write_file(tmp_path, text, name)) is known


def test_a_field_of_ten_megabytes_is_read(tmp_path: Path) -> None:
    text = f"env,phase,score,remark\npong,train,1,{'x' * 10_000_000}\npong,train,2,y\n"
    assert read_table(write_file(tmp_path, text)).experiences["remark"].str.len_bytes().to_list() == [10_000_000, 1]


def test_text_that_spans_several_chunks_is_laid_out_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD + 'Pong,train,1,true,"two\nlines, ""quoted"""\n' * 9 + "Pong,train,bad,true,\n"
    file = write_file(tmp_path, text)
    for chunk in (1, 2, 3, 7, 64):
        monkeypatch.setattr(delimited_text, "_SCANNED_BYTES", chunk)
        assert refusal_message(file).startswith(f"{file}:24: score is 'bad'")


@given(st.integers(0, len(GOOD.encode()) - 1), st.binary(max_size=4), st.integers(0, 6))
def test_damage_anywhere_is_a_log_error_or_harmless(place: int, put_in: bytes, taken_out: int) -> None:
    whole = GOOD.encode()
    with TemporaryDirectory() as folder:
        file = write_file(Path(folder), whole[:place] + put_in + whole[place + taken_out :])
        try:
            outcome: Lifetime | str = read_table(file)
        except LogError as problem:
            outcome = str(problem)
    if isinstance(outcome, str):
        assert str(file) in outcome
    else:
        assert outcome.experiences.columns[: len(STANDARD_COLUMNS)] == list(STANDARD_COLUMNS)


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(CELLS, st.none() | CELLS), min_size=1, max_size=6), st.sampled_from(",\t"))
def test_any_text_that_polars_writes_is_laid_out_as_polars_reads_it(
    cells: list[tuple[str, str | None]], separator: str
) -> None:
    frame = pl.DataFrame(cells, schema={"one": pl.String, "other": pl.String}, orient="row")
    with TemporaryDirectory() as folder:
        file = Path(folder, "any.csv")
        frame.write_csv(file, separator=separator)
        (table,) = tables([Source(str(file), file.name, file.stat().st_size)], separator, [])
    assert table.rows.equals(frame)
    number = 2
    for row, record in enumerate(frame.iter_slices(1)):
        refused = table.refusal(row, "", "")
        assert (refused.file, refused.line) == (str(file), number)
        number += record.write_csv(separator=separator, include_header=False).count("\n")


def test_a_matrix_with_labels_is_refused_with_the_format_of_a_matrix(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="an accuracy matrix is numbers alone, or JSON"):
        read_table(write_file(tmp_path, "task,a,b\na,90,85\nb,10,80\n"), {})


def test_a_gap_in_a_pandas_frame_is_null_in_a_column_of_any_type() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not among what Perdure needs")
    columns = {
        "block_type": ["train"] * 3,
        "task_name": ["a"] * 3,
        "reward": [1.0, math.nan, 3.0],
        "remark": ["x", math.nan, None],
        "count": pandas.array([1, None, 3], dtype="Int64"),
    }
    (result,) = frame_lifetimes(pandas.DataFrame(columns), Options())
    assert result.experiences["reward"].to_list() == [1.0, None, 3.0]
    assert result.experiences["remark"].to_list() == ["x", None, None]
    assert result.experiences["count"].to_list() == [1.0, None, 3.0]
