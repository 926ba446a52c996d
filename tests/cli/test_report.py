"""`perdure report`: what a user types, and what they get."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb
from tests.reports.conftest import write_life

from perdure.errors import PerdureError
from perdure.reports.write import REPORTS


@pytest.mark.parametrize("suffix", REPORTS.names())
def test_one_file_in_the_form_of_its_suffix(life: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"report{suffix}"
    done = run_verb("report", life, "--to", target, "--as", "report")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[-1] == str(target)
    assert target.stat().st_size > 1000
    assert [one.name for one in tmp_path.glob("*report*")] == [target.name]


@pytest.mark.parametrize(
    ("name", "begins"), [("a.tex", "% Perdure"), ("a.csv", "method,n,"), ("a.txt", "1 lifetime was")]
)
def test_a_table_and_the_methods_are_told_by_the_suffix(life: Path, tmp_path: Path, name: str, begins: str) -> None:
    done = run_verb("report", life, "--to", tmp_path / name)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{tmp_path / name}\n"
    assert (tmp_path / name).read_text().startswith(begins)


@pytest.mark.parametrize("name", ["=1+2", "@SUM(1)", "plain"])
def test_a_table_for_spreadsheets_holds_nothing_that_one_would_run(tmp_path: Path, name: str) -> None:
    for seed in range(2):
        write_life(tmp_path / "logs", f"life-{seed}", ["a", "b"], seed=seed, learner=name)
    for more, expected in (((), name), (("--for-spreadsheets",), name if name == "plain" else f"'{name}")):
        done = run_verb("report", tmp_path / "logs", "--to", tmp_path / "a.csv", *more)
        assert done.exit_code == 0, done.output
        (row,) = csv.DictReader((tmp_path / "a.csv").read_text().splitlines())
        assert row["method"] == expected


def test_the_verdicts_are_said_in_sentences(life: Path, tmp_path: Path) -> None:
    done = run_verb("report", life, "--to", tmp_path / "report.md")
    assert "in this lifetime" in " ".join(done.stdout.split())
    assert run_verb("report", life, "--to", tmp_path / "report.md", "--quiet").stdout == ""


def test_the_command_that_repeats_it_is_in_the_report(
    life: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/perdure", "report", "my logs", "--to", "report.json"])
    run_verb("report", life, "--to", tmp_path / "report.json")
    facts = json.loads((tmp_path / "report.json").read_text())
    assert facts["provenance"]["command"] == "perdure report 'my logs' --to report.json"


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_a_log_whose_name_is_no_text_has_a_report(
    life: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    monkeypatch.setattr("sys.argv", ["perdure", "report", "li\udcffe"])
    run_verb("report", life, "--to", tmp_path / f"report{suffix}")
    assert "li\ufffde" in (tmp_path / f"report{suffix}").read_text(encoding="utf-8")


def test_the_json_option_gives_the_facts_of_the_json_form(life: Path, tmp_path: Path) -> None:
    done = run_verb("report", life, "--to", tmp_path / "report.json", "--json", "-")
    said, written = json.loads(done.stdout), json.loads((tmp_path / "report.json").read_text())
    assert said == written


def test_a_margin_changes_the_threshold_that_is_reported(life: Path, tmp_path: Path) -> None:
    run_verb("report", life, "--to", tmp_path / "report.md", "--margin", "performance_maintenance=2")
    assert "\\> 0 − 2" in (tmp_path / "report.md").read_text()


def test_an_unknown_suffix_and_a_missing_folder_are_errors(life: Path, tmp_path: Path) -> None:
    for arguments, words in (
        ((life, "--to", tmp_path / "report.doc"), ".html, .md, .json, .tex"),
        ((tmp_path / "nowhere",), "no such file or folder"),
    ):
        done = run_verb("report", *arguments)
        assert isinstance(done.exception, PerdureError)
        assert words in str(done.exception)
