"""Finding logs below folders: tables are found like folders, and files that only resemble tables are skipped."""

from __future__ import annotations

import inspect
import os
from pathlib import Path

import polars as pl
import pytest

import perdure
from perdure.errors import NotALogError
from perdure.gather.output_files import FILES, write_outputs
from perdure.log.check import check_log
from perdure.log.model import Lifetime
from perdure.log.read import _BY_THEIR_FILES, READERS, Options, find, lifetimes, locate, recognise

TEXT = "task_name,block_type,reward\na,train,1\na,test,2\n"
OWN = TEXT.replace("task_name,block_type", "env,phase")


def write_file(file: Path, text: str = TEXT) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def found_names(place: Path, **columns: str) -> list[str]:
    return [path.relative_to(place).as_posix() for path in find(place, Options(columns))]


def test_tables_are_found_in_folders_in_the_order_of_their_paths(tmp_path: Path) -> None:
    for name in ("ewc/seed1.csv", "ewc/seed0.csv", "der/seed0.csv", "all.csv"):
        write_file(tmp_path / name)
    pl.read_csv(tmp_path / "all.csv").write_parquet(tmp_path / "ewc" / "more.parquet")
    pl.read_csv(tmp_path / "all.csv").write_ipc(tmp_path / "ewc" / "more.arrow")
    assert found_names(tmp_path) == [
        "all.csv",
        "der/seed0.csv",
        "ewc/more.arrow",
        "ewc/more.parquet",
        "ewc/seed0.csv",
        "ewc/seed1.csv",
    ]


def test_a_file_that_only_resembles_a_table_is_skipped_unless_damaged(tmp_path: Path) -> None:
    write_file(tmp_path / "runs.csv")
    write_file(tmp_path / "results.csv", "name,value\nx,1\n")
    write_file(tmp_path / "config.tsv", "a\tb\n")
    write_file(tmp_path / "broken.parquet", "nonsense")
    write_file(tmp_path / "empty.csv", "")
    write_file(tmp_path / ".hidden.csv")
    write_file(tmp_path / ".hidden" / "runs.csv")
    write_file(tmp_path / "half.csv", "task_name,reward\na,1\n")
    for name in ("data-log.tsv", "block-report.tsv"):
        write_file(tmp_path / "torn" / name, TEXT.replace(",", "\t"))
    (tmp_path / "link.csv").symlink_to(tmp_path / "runs.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    assert found_names(tmp_path) == ["broken.parquet", "runs.csv"]  # a damaged file is found, and skipped with a reason


def test_outputs_of_perdure_are_not_logs_even_with_mapped_columns(tmp_path: Path) -> None:
    write_file(tmp_path / "runs.csv")
    write_outputs(perdure.survey(tmp_path / "runs.csv"), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == set(FILES)
    assert found_names(tmp_path) == ["runs.csv"]
    assert found_names(tmp_path, task_name="task", block_type="mode") == []


def test_mapped_columns_count_in_the_search_for_tables(tmp_path: Path) -> None:
    write_file(tmp_path / "a.csv", OWN)
    write_file(tmp_path / "b.csv", TEXT)
    assert found_names(tmp_path) == ["b.csv"]
    assert found_names(tmp_path, task_name="env", block_type="phase") == ["a.csv"]


def test_a_named_file_is_always_read(tmp_path: Path) -> None:
    file = write_file(tmp_path / "a.csv", OWN)
    assert list(find(file)) == [file]


def test_every_lifetime_of_a_folder_of_tables_is_read(tmp_path: Path) -> None:
    for seed in range(3):
        write_file(tmp_path / f"seed{seed}.csv", TEXT.replace("1\n", f"{seed}\n"))
    read = [lifetime for place in find(tmp_path) for lifetime in lifetimes(place, Options())]
    assert [lifetime.id for lifetime in read] == ["seed0", "seed1", "seed2"]


def test_check_counts_every_lifetime_of_a_table(tmp_path: Path) -> None:
    lines = ["method,task_name,block_type,reward", "x,a,train,1", "y,a,train,1", "y,a,test,2"]
    report = check_log(write_file(tmp_path / "runs.csv", "\n".join(lines) + "\n"))
    assert (report.rows, report.problems) == (3, ())


def test_a_folder_of_unclaimed_tables_is_refused_with_a_fix(tmp_path: Path) -> None:
    write_file(tmp_path / "a.csv", OWN)
    with pytest.raises(
        NotALogError, match=r"found: a\.csv; a\.csv may be a table: say which column is which \(--column\)"
    ):
        recognise(tmp_path)


def test_a_folder_that_is_not_a_log_names_up_to_six_files_and_mentions_the_rest(tmp_path: Path) -> None:
    for count, end in ((6, "f5.md"), (7, "f5.md, …")):
        for index in range(count):
            write_file(tmp_path / f"f{index}.md")
        with pytest.raises(NotALogError) as caught:
            recognise(tmp_path)
        assert f"(found: f0.md, f1.md, f2.md, f3.md, f4.md, {end})" in str(caught.value)


def test_a_missing_path_is_not_a_log(tmp_path: Path) -> None:
    with pytest.raises(NotALogError, match="no such file or folder"):
        locate(tmp_path / "absent")


class _Raising:
    name, summary = "raising", "raises over whatever it sees"

    def recognises(self, path: Path) -> bool:
        raise RuntimeError(f"what is {path.name}?")

    def read(self, path: Path, options: Options) -> Lifetime:
        raise NotImplementedError


def test_a_reader_that_raises_does_not_hide_the_logs_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(READERS, "_things", {"raising": _Raising(), **READERS._things})
    file = write_file(tmp_path / "runs.csv")
    assert recognise(file).name == "table"
    assert found_names(tmp_path) == ["runs.csv"]
    with pytest.raises(NotALogError, match=r"the reader raising failed on it: RuntimeError: what is notes\.txt\?"):
        recognise(write_file(tmp_path / "notes.txt", "hello"))


_THEIR_FILES = (
    *("a.csv", "monitor.csv", "evaluations.npz", "events.out.tfevents.1", "run-1.wandb", "meta.yaml"),
    *("part-0.parquet", "matrix.npy", "logs.pyd", "acc_tag-1.txt", "results.json", "wandb-history.jsonl"),
)


@pytest.mark.parametrize("name", sorted(_BY_THEIR_FILES))
def test_readers_skipped_for_a_folder_of_folders_would_not_recognise_it(tmp_path: Path, name: str) -> None:
    for folder in ("one", "two/metrics"):
        (tmp_path / folder).mkdir(parents=True)
        for file in _THEIR_FILES:
            (tmp_path / folder / file).touch()
    assert not READERS.get(name).recognises(tmp_path)


def test_tools_can_inspect_the_class_of_a_lifetime() -> None:
    # Completion, documentation and autospecs read each of the class's attributes.
    names = dict(inspect.getmembers(Lifetime))
    assert "passage" in names
