"""`perdure score` of accuracy matrices: what is read from them, what they cannot give, what is never pooled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.scoring import as_json, invoke

import perdure
from perdure.errors import PerdureError
from perdure.settings import Settings


def test_a_matrix_file_is_scored(logs: Path) -> None:
    (logs / "matrix.csv").write_text("90,80\n,70\n")
    metrics = as_json(logs / "matrix.csv")["lifetimes"][0]["metrics"]
    assert metrics["average_accuracy"]["value"] == 75.0


def test_what_a_matrix_cannot_give_is_said_where_it_was_asked_for(logs: Path) -> None:
    (logs / "matrix.csv").write_text("90,80\n,70\n")
    found = as_json(logs / "matrix.csv", "--metrics", "saturation,bwt")["lifetimes"][0]["metrics"]
    assert found["bwt"]["value"] == -10.0
    assert found["saturation"] == {
        "value": None,
        "by": {},
        "why": "needs a log of experiences; an accuracy matrix holds none",
        "flags": [],
        "experts": {},
        "at": {},
        "over_items": None,
    }
    assert "saturation" not in as_json(logs / "matrix.csv")["lifetimes"][0]["metrics"]
    assert "accuracy" in invoke(logs / "matrix.csv", "--metrics", "bwt", "--measure", "accuracy")
    with pytest.raises(PerdureError, match=r"unknown measure of matrix 'reward'"):
        invoke(logs / "matrix.csv", "--measure", "reward")


def test_percents_and_fractions_are_groups_apart(logs: Path) -> None:
    (logs / "percent.csv").write_text("90,80\n,70\n")
    (logs / "fraction.csv").write_text("0.9,0.8\n,0.7\n")
    facts = as_json(logs / "percent.csv", logs / "fraction.csv")
    means = {one["group"]: one["metrics"]["average_accuracy"]["mean"] for one in facts["groups"]}
    assert sorted(means.values()) == [0.75, 75.0]


def test_a_mean_over_some_of_the_lifetimes_is_labelled(tmp_path: Path) -> None:
    for seed in range(3):
        rows = [[90, 80], [None, 70]] if seed else [[50, 90, 80], [40, 45, 70]]
        (tmp_path / f"seed{seed}.json").write_text(json.dumps(rows))
    assert "fwt: 2 of 3 lifetimes lack a value: " in " ".join(invoke(tmp_path).split())


def test_a_matrix_of_one_task_is_one_number(logs: Path) -> None:
    (logs / "one.csv").write_text("90\n")
    assert as_json(logs / "one.csv")["lifetimes"][0]["metrics"]["average_accuracy"]["value"] == 90.0


def test_experts_beside_a_matrix_are_said_to_be_unused(logs: Path) -> None:
    (logs / "matrix.csv").write_text("90,80\n,70\n")
    notes = as_json(logs / "matrix.csv", "--experts", logs / "experts")["lifetimes"][0]["notes"]
    assert "experts do not apply to a matrix and were not used" in notes
    assert perdure.score(logs / "matrix.csv", settings=Settings(metrics="bwt"))["bwt"] == -10.0


def test_a_full_matrix_is_refused_unless_said_which_way_round_it_is(logs: Path) -> None:
    (logs / "matrix.csv").write_text("90,20\n80,70\n")
    with pytest.raises(PerdureError, match=r"--rows evaluated .* or --rows learned"):
        invoke(logs / "matrix.csv")
    for said in (["--rows", "learned"], ["--transposed"]):
        assert as_json(logs / "matrix.csv", *said)["lifetimes"][0]["metrics"]["bwt"]["value"] == -10.0
    assert as_json(logs / "matrix.csv", "--rows", "evaluated")["lifetimes"][0]["metrics"]["bwt"]["value"] == -70.0


def test_a_matrix_written_either_way_round_is_scored_without_a_word(logs: Path) -> None:
    (logs / "matrix.csv").write_text("90,\n80,70\n")
    life = as_json(logs / "matrix.csv")["lifetimes"][0]
    assert life["metrics"]["bwt"]["value"] == -10.0
    assert any("rows are the tasks learned so far" in note for note in life["notes"])


def test_names_and_an_old_id_reach_the_table(logs: Path) -> None:
    (logs / "matrix.csv").write_text(",pong,chess\npong,90,80\nchess,10,70\n")
    found = as_json(logs / "matrix.csv", "--rows", "evaluated", "--metrics", "fwt_gem", "--random-init", "4")
    assert found["lifetimes"][0]["tasks"] == ["pong", "chess"]
    assert found["lifetimes"][0]["metrics"]["fwt"]["value"] == 6.0
