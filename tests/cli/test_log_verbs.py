"""`perdure check`, `export`, `info`: what a user types, and what they see."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import perdure

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_clean_log_checks_clean(life: Path, run_cli: Run) -> None:
    done = run_cli("check", life)
    assert (done.returncode, done.stdout.strip()) == (0, "14 records, no errors, no warnings")
    facts = json.loads(run_cli("check", life, "--json", "-").stdout)
    assert facts == {"ok": True, "rows": 14, "problems": [], "what": "", "notes": []}


def test_the_json_of_a_check_says_what_the_table_says(life: Path, run_cli: Run) -> None:
    file = life / "worker-default" / "4-test" / "data-log.tsv"
    file.write_bytes(file.read_bytes()[:-2])
    (life / "blocks.jsonl").unlink()
    done = run_cli("check", life, "--json", "-")
    facts = json.loads(done.stdout)
    assert done.returncode == 1
    assert (facts["ok"], facts["rows"]) == (False, 13)
    (problem,) = facts["problems"]
    assert set(problem) == {"level", "file", "line", "what", "fix"}
    assert (problem["level"], problem["file"], problem["line"]) == ("error", "worker-default/4-test/data-log.tsv", 3)


def test_warnings_alone_are_no_failure(life: Path, run_cli: Run) -> None:
    (life / "scenario_info.json").unlink()
    (life / "blocks.jsonl").unlink()  # which would say that it was there
    done = run_cli("check", life)
    assert done.returncode == 0
    assert "1 warning" in done.stdout


def test_what_is_no_log_exits_with_2_and_a_sentence(tmp_path: Path, run_cli: Run) -> None:
    done = run_cli("check", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("perdure: ")
    assert "not a log format that Perdure recognises" in done.stderr


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".parquet", pl.read_parquet),
        (".arrow", pl.read_ipc),
        (".csv", pl.read_csv),
        (".tsv", lambda file: pl.read_csv(file, separator="\t")),
    ],
)
def test_export_writes_every_record(
    life: Path, tmp_path: Path, run_cli: Run, suffix: str, read: Callable[[Path], pl.DataFrame]
) -> None:
    target = tmp_path / f"table{suffix}"
    done = run_cli("export", life, "--to", target)
    assert done.returncode == 0, done.stderr
    table = read(target)
    assert table["reward"].to_list() == perdure.read(life).experiences["reward"].to_list()
    assert table.columns == perdure.read(life).experiences.columns


def test_export_refuses_an_unknown_suffix_and_a_folder_that_is_not_there(
    life: Path, tmp_path: Path, run_cli: Run
) -> None:
    done = run_cli("export", life, "--to", tmp_path / "x.xlsx")
    assert (done.returncode, "choose one of .parquet, .arrow, .csv, .tsv" in done.stderr) == (2, True)
    done = run_cli("export", life, "--to", tmp_path / "no" / "x.csv")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_info_prints_what_learnkit_info_printed(life: Path, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2DATA", str(life.parents[1]))
    lines = run_cli("info").stdout.splitlines()
    assert lines[0] == f"Perdure v{perdure.__version__}"
    assert lines[1:5] == ["L2 data folder:", f"    {life.parents[1]}", "L2 logs folder:", f"    {life.parent}"]
    assert lines[5:7] == ["Most recent log folder:", f"    {life}"]
    assert lines[7].startswith("    created on ")


def test_info_get_prints_only_the_path(life: Path, run_cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2DATA", str(life.parents[1]))
    assert run_cli("info", "--get", "logdir").stdout == f"{life.parent}\n"
    assert run_cli("info", "--get", "latest").stdout == f"{life}\n"


def test_info_without_any_log_says_so_and_makes_no_folder(
    tmp_path: Path, run_cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("L2DATA", str(tmp_path / "data"))
    assert "none yet" in run_cli("info").stdout
    assert run_cli("info", "--get", "latest").returncode == 1
    assert not (tmp_path / "data").exists()


def test_the_version_is_one(run_cli: Run) -> None:
    assert run_cli("--version").stdout == f"perdure {perdure.__version__}\n"


def test_json_can_go_to_a_file(life: Path, tmp_path: Path, run_cli: Run) -> None:
    run_cli("check", life, "--json", tmp_path / "check.json")
    assert json.loads((tmp_path / "check.json").read_text())["ok"] is True
    done = run_cli("check", life, "--json", tmp_path / "no" / "check.json")
    assert (done.returncode, "cannot be written: " in done.stderr) == (2, True)


def test_export_never_writes_into_the_log_it_reads(life: Path, run_cli: Run) -> None:
    file = life / "worker-default" / "1-train" / "data-log.tsv"
    before = file.read_bytes()
    done = run_cli("export", life, "--to", file)
    assert (done.returncode, "lies in the log " in done.stderr) == (2, True)
    assert file.read_bytes() == before


def test_export_writes_what_the_2019_framework_reads(life: Path, tmp_path: Path, run_cli: Run) -> None:
    done = run_cli("export", life, "--to", "learnkit", "--into", tmp_path / "data")
    (tree,) = (tmp_path / "data" / "logs").iterdir()
    assert re.fullmatch(rf"{life.name}-\d{{13}}", tree.name)
    assert (done.returncode, done.stdout.strip()) == (0, str(tree))
    assert perdure.read(tree).experiences.height == 14
    done = run_cli("export", life, "--to", "taskinfo", "--into", tmp_path / "data", "--json", "-")
    assert (done.returncode, "an expert learns one task alone" in done.stderr) == (2, True)
    done = run_cli("export", life, "--to", tmp_path / "x.csv", "--into", tmp_path)
    assert (done.returncode, "--into only applies to" in done.stderr) == (2, True)
