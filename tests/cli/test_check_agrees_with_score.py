"""`perdure check` and `perdure score` report the same faults of a log and end with the same status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.cli.verbs import outcome

import perdure

MODES = ("test", "test", "train", "train", "test", "test")
FILE = "worker-default/1-train/data-log.tsv"
"""The file of the third value, which is on its line 2."""
LAST = "worker-default/2-test/data-log.tsv"

Cells = Sequence[object]
Write = Callable[[Path, Cells], Path]


def table(folder: Path, cells: Cells) -> Path:
    """Write a table with one row per cell; the third is on line 4."""
    file = folder / "runs.csv"
    rows = "".join(f"a,{mode},{cell}\n" for mode, cell in zip(MODES, cells, strict=True))
    file.write_text(f"task_name,block_type,reward\n{rows}")
    return file


def journal(folder: Path, cells: Cells) -> Path:
    """Write a lifetime as Perdure does."""
    with perdure.Journal(folder, "log", learner="q") as log:
        for at, (mode, cell) in enumerate(zip(MODES, cells, strict=True)):
            log.log(block_num=at // 2, exp_num=at, block_type=mode, task_name="a", reward=cell)
    return folder / "log"


def l2logger(folder: Path, cells: Cells) -> Path:
    """Write a lifetime as L2Logger does, which has neither manifest nor ledger, cells as they are."""
    log = journal(folder, [cell if isinstance(cell, float) else 3.0 for cell in cells])
    for name in ("manifest.json", "blocks.jsonl"):
        (log / name).unlink()
    for at, cell in enumerate(cells):
        if not isinstance(cell, float):
            block = next(log.glob(f"*/{at // 2}-*/data-log.tsv"))
            lines = block.read_text().splitlines(keepends=True)
            lines[1 + at % 2] = lines[1 + at % 2].rpartition("\t")[0] + f"\t{cell}\n"
            block.write_text("".join(lines))
    return log


def with_third(cell: object) -> Cells:
    return (1.0, 2.0, cell, 4.0, 5.0, 6.0)


def agree(log: Path, in_check: str, in_score: str = "") -> None:
    """Assert that both verbs report a fault in these words (the same, unless given) and end with one status."""
    check, score = outcome("check", log), outcome("score", log, "--why")
    assert in_check in check.said
    assert (in_score or in_check) in score.said
    assert check.status == score.status


@pytest.mark.parametrize("write", [table, journal, l2logger])
def test_of_a_sound_log_both_report_nothing(tmp_path: Path, write: Write) -> None:
    log = write(tmp_path, with_third(3.0))
    check = outcome("check", log)
    assert check.status == 0
    assert check.said.endswith("6 records, no errors, no warnings\n")
    score = outcome("score", log, "--why")
    assert score.status == 0
    assert "dropped" not in score.said


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
@pytest.mark.parametrize(
    ("write", "place"),
    [
        (table, "runs.csv:4"),
        (l2logger, f"{FILE}:2"),
    ],
)
def test_both_report_an_infinity(tmp_path: Path, write: Write, place: str, cell: str) -> None:
    agree(write(tmp_path, with_third(cell)), in_check=place, in_score="1 row dropped")


@pytest.mark.parametrize(
    ("write", "cell"),
    [(table, "nan"), (table, ""), (journal, None), (journal, float("nan")), (l2logger, "nan"), (l2logger, "")],
)
def test_both_report_how_many_rows_are_dropped(tmp_path: Path, write: Write, cell: object) -> None:
    agree(write(tmp_path, with_third(cell)), "1 row dropped")


def test_both_report_an_experience_that_did_not_complete(tmp_path: Path) -> None:
    log = l2logger(tmp_path, with_third(3.0))
    (log / FILE).write_text((log / FILE).read_text().replace("complete", "incomplete", 1))
    agree(log, "1 row dropped")


def test_both_report_a_last_block_that_is_not_verified(tmp_path: Path) -> None:
    log = journal(tmp_path, with_third(3.0))
    ledger = (log / "blocks.jsonl").read_text().splitlines(keepends=True)
    (log / "blocks.jsonl").write_text("".join(line for line in ledger if LAST not in line and "closed" not in line))
    check, score = outcome("check", log), outcome("score", log, "--why")
    assert "not verified: 1 of 3 files" in check.said
    assert "not verified: 1 of 3 files" in score.said
    # The log is sound so far; the lifetime did not end, and is therefore in no group.
    assert (check.status, score.status) == (0, 1)
    assert "incomplete" in check.said
    assert "incomplete" in score.said


@pytest.mark.parametrize(("write", "place"), [(table, "runs.csv:7"), (l2logger, f"{LAST}:3")])
def test_both_report_a_last_line_without_a_newline(tmp_path: Path, write: Write, place: str) -> None:
    log = write(tmp_path, with_third(3.0))
    last = log if log.is_file() else log / LAST
    last.write_bytes(last.read_bytes()[:-1])
    agree(log, place)


def test_both_report_an_experience_that_is_completed_twice(tmp_path: Path) -> None:
    log = l2logger(tmp_path, with_third(3.0))
    lines = (log / LAST).read_text().splitlines(keepends=True)
    (log / LAST).write_text("".join([*lines, lines[-1]]))
    agree(log, f"{LAST}:4")


def refused(log: Path, place: str) -> None:
    """Assert that both verbs refuse the third cell."""
    for verb, status in (("check", 1), ("score", 2)):
        done = outcome(verb, log)
        assert done.status == status, done.said
        assert place in done.said
        assert "reward is 'True'" in done.said


def test_both_refuse_true_among_the_numbers_of_a_table(tmp_path: Path) -> None:
    refused(table(tmp_path, with_third("True")), "runs.csv:4")


def test_both_refuse_true_among_the_numbers_of_a_log(tmp_path: Path) -> None:
    refused(l2logger(tmp_path, with_third("True")), f"{FILE}:2")


def test_a_table_whose_measure_is_true_or_false_throughout_is_read(tmp_path: Path) -> None:
    log = table(tmp_path, ("True", "False") * 3)
    assert perdure.read(log).experiences["reward"].to_list() == [1.0, 0.0] * 3
    assert outcome("check", log) == (0, "6 records, no errors, no warnings\n")
