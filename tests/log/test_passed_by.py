"""Damage in a given folder: no damaged log, column or record is skipped silently."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.cli.verbs import outcome, scored
from tests.gather.records import BLOCKS, as_journal, as_table, experience_values

import perdure
from perdure.errors import LogError


def write_tables(folder: Path, count: int = 3) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [({"learner": "q", "seed": seed}, experience_values(seed), BLOCKS) for seed in range(count)]
    return [as_table(folder / f"{number}.csv", [row]) for number, row in enumerate(rows)]


@pytest.mark.parametrize("damage", ["a cut gzip", "a wrong checksum", "a cut Parquet file", "a journal without data"])
def test_a_damaged_log_in_a_folder_is_skipped_with_a_reason(tmp_path: Path, damage: str) -> None:
    *_, last = write_tables(tmp_path / "logs")
    packed = gzip.compress(last.read_bytes())
    if damage == "a cut Parquet file":
        lifetime = perdure.read(last)
        perdure.write_lifetimes(tmp_path / "logs" / "bulk.parquet", [lifetime])
        content = (tmp_path / "logs" / "bulk.parquet").read_bytes()
        (tmp_path / "logs" / "bulk.parquet").write_bytes(content[: len(content) // 2])
    elif damage == "a journal without data":
        log = as_journal(tmp_path / "logs", "log", experience_values(7))
        (log / "logger_info.json").unlink()
        for file in log.rglob("data-log.tsv"):
            file.unlink()
    else:
        bad = packed[:-30] if damage == "a cut gzip" else packed[:-8] + bytes(8)
        (tmp_path / "logs" / "packed.csv.gz").write_bytes(bad)
    last.unlink()
    status, facts = scored(tmp_path / "logs")
    assert (status, len(facts["lifetimes"]), len(facts["left_out"])) == (1, 2, 1)


def test_a_column_with_too_few_numbers_for_a_measure_is_named(tmp_path: Path) -> None:
    (file,) = write_tables(tmp_path, 1)
    lines = file.read_text().splitlines()
    cells = [line if number % 5 else f"{line.rpartition(',')[0]},n/a" for number, line in enumerate(lines[1:])]
    cells = [line if number % 5 < 2 else f"{line.rpartition(',')[0]},n/a" for number, line in enumerate(cells)]
    file.write_text("\n".join([f"{lines[0]},loss", *(f"{line},0.5" for line in cells)]) + "\n")
    for verb in ("check", "score"):
        assert "the column reward is not a measure" in outcome(verb, file).said


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize("running", [False, True], ids=["plain", "with a running index"])
def test_repeated_rows_are_reported(tmp_path: Path, times: int, running: bool) -> None:
    (file,) = write_tables(tmp_path, 1)
    header, *lines = file.read_text().splitlines()
    rows = [f"{line},{number}" if running else line for number, line in enumerate(lines * times)]
    file.write_text("\n".join([f"{header},step" if running else header, *rows]) + "\n")
    check = outcome("check", file)
    assert check.status == 1
    assert f"{file.name}:{len(lines) + 2}" in check.said


def test_experience_numbers_that_restart_in_each_block_are_not_repeated_rows(tmp_path: Path) -> None:
    rows = "".join(f"a,{mode},{number},{number % 2}\n" for mode in ("test", "train", "test") for number in range(30))
    file = tmp_path / "runs.csv"
    file.write_text(f"task_name,block_type,exp_num,reward\n{rows}")
    assert outcome("check", file) == (0, "90 records, no errors, no warnings\n")


def test_a_torn_record_of_several_lines_is_cut_off_whole(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "log") as journal:
        for number in range(4):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=number, note="one\ntwo")
    file = next((tmp_path / "log").rglob("data-log.tsv"))
    content = file.read_bytes()
    file.write_bytes(content[: content.rfind(b"\ntwo") + 2])  # within the quotes of the last record
    ledger = tmp_path / "log" / "blocks.jsonl"
    ledger.write_text("".join(line for line in ledger.read_text().splitlines(keepends=True) if "block" not in line))
    with perdure.Journal(tmp_path, "log", join=True) as journal:
        for number in range(4, 6):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", reward=number, note="x")
    assert perdure.read(tmp_path / "log").experiences["exp_num"].to_list() == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("other", [{"learner": "dqn"}, {"seed": 8}, {"role": "expert"}])
def test_a_journal_is_not_continued_as_another_learner_seed_or_role(tmp_path: Path, other: dict[str, object]) -> None:
    as_journal(tmp_path, "log", experience_values(0), learner="ppo", seed=7)
    with pytest.raises(LogError, match="this lifetime has the"):
        perdure.Journal(tmp_path, "log", join=True, **other)  # type: ignore[arg-type]


def test_a_learner_that_is_not_text_is_refused(tmp_path: Path) -> None:
    log = as_journal(tmp_path, "log", experience_values(0), learner="q")
    (log / "blocks.jsonl").unlink()
    manifest = log / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"q"', '["q"]'))
    for verb, status in (("score", 2), ("check", 1)):
        done = outcome(verb, log)
        assert (done.status, "learner is ['q']; expected text" in done.said.replace("  → ", "; ")) == (status, True)
