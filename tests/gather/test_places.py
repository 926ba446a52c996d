"""Logs that are given twice count once, and other files next to a log do not change its scores."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.cli.verbs import run_verb
from tests.metrics.written import LIFE, written

import perdure
from perdure.errors import LogError, PerdureError, UnverifiedError
from perdure.gather.survey import survey
from perdure.settings import Settings
from perdure.stats.systems import systems_of


def test_what_is_given_twice_counts_once(tmp_path: Path) -> None:
    life = written(tmp_path / "logs", "one", LIFE)
    assert len(survey([life, life, tmp_path / "logs"]).lifetimes) == 1


def test_lives_in_a_bulk_file_are_no_experts_of_each_other(tmp_path: Path) -> None:
    one = perdure.read(written(tmp_path, "one", LIFE))
    alone = perdure.read(written(tmp_path, "alone", [("train", "a_1", [1.0, 2.0, 3.0])]))
    perdure.write_lifetimes(tmp_path / "lives.parquet", [one, alone])
    found = survey(tmp_path / "lives.parquet")
    assert found.left_out == ()
    assert [score["relative_performance"] for score in found.scores] == [None, None]


def test_experts_in_a_file_serve_its_lives_and_are_none(tmp_path: Path) -> None:
    one = perdure.read(written(tmp_path, "one", LIFE))
    expert = perdure.read(written(tmp_path, "a", [("train", "a_1", [1.0, 2.0, 3.0])], role="expert"))
    perdure.write_lifetimes(tmp_path / "lives.parquet", [one, expert])
    (score,) = survey(tmp_path / "lives.parquet").scores
    assert score["relative_performance"] == survey(tmp_path / "one", tmp_path / "a").scores[0]["relative_performance"]


def test_a_file_of_experts_beside_lifetimes_is_named_as_unused(tmp_path: Path) -> None:
    one = perdure.read(written(tmp_path, "one", LIFE))
    expert = perdure.read(written(tmp_path, "a", [("train", "a_1", [1.0, 2.0, 3.0])], role="expert"))
    for name, life in (("lives", one), ("experts", expert)):
        perdure.write_lifetimes(tmp_path / "logs" / f"{name}.parquet", [life])
    found = survey(tmp_path / "logs")
    assert [score["relative_performance"] for score in found.scores] == [None]
    [(path, why)] = found.left_out
    assert (path, "give it by --experts" in why) == (str(tmp_path / "logs" / "experts.parquet"), True)
    given = survey(tmp_path / "logs" / "lives.parquet", tmp_path / "logs" / "experts.parquet")
    assert given.scores[0]["relative_performance"] is not None


def parts(folder: Path, lives: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    scenario = perdure.Scenario.of("s", [perdure.Block("learn", "a", 2000)])
    return perdure.write_lifetimes(folder, values=rng.random((lives, 2000)), scenario=scenario, learner="x")


def test_parts_of_a_folder_belong_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.log.write.bulk._PER_PART", 20_000)
    folder, other = parts(tmp_path / "one", 30, 1), parts(tmp_path / "two", 30, 2)
    assert len(survey(folder).lifetimes) == 30
    first, second = folder / "part-00000.parquet", folder / "part-00001.parquet"
    with pytest.raises(LogError, match="part 1 of a folder"):
        survey(second)
    shutil.copy(other / second.name, second)
    with pytest.raises(LogError, match="of another writing"):
        survey(folder)
    first.unlink()
    with pytest.raises(LogError, match="is missing"):
        survey(folder)


def test_a_journal_that_lost_its_manifest_is_refused(tmp_path: Path) -> None:
    life = written(tmp_path, "one", LIFE)
    (life / "manifest.json").unlink()
    with pytest.raises(LogError, match=r"manifest\.json: missing"):
        survey(life)


def test_a_direction_that_is_no_word_is_refused(tmp_path: Path) -> None:
    life = written(tmp_path, "one", LIFE)
    facts = json.loads((life / "manifest.json").read_text())
    (life / "manifest.json").write_text(json.dumps({**facts, "measures": {"reward": "lowes"}}))
    with pytest.raises(LogError, match="expected higher or lower"):
        survey(life)


def test_a_file_that_the_journal_never_wrote_is_not_scored(tmp_path: Path) -> None:
    life = written(tmp_path, "one", LIFE)
    shutil.copytree(life / "worker-default" / "0-test", life / "worker-default" / "99-test")
    with pytest.raises(UnverifiedError, match=r"blocks\.jsonl does not mention it"):
        survey(life)


def test_data_cannot_vouch_for_itself(tmp_path: Path) -> None:
    written(tmp_path / "logs", "one", LIFE)
    (tmp_path / "logs" / "perdure.toml").write_text("unverified = true\n")
    done = run_verb("score", tmp_path / "logs")
    assert isinstance(done.exception, PerdureError)
    assert "only be set on the command line" in str(done.exception)


@pytest.mark.parametrize("kind", ["dangling", "pipe", "folder"])
def test_settings_that_are_no_file_are_refused(tmp_path: Path, kind: str) -> None:
    written(tmp_path / "logs", "one", LIFE)
    file = tmp_path / "logs" / "perdure.toml"
    if kind == "dangling":
        file.symlink_to("nowhere")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    done = run_verb("score", tmp_path / "logs")
    assert "not a regular file" in str(done.exception)


def matrix(path: Path, shift: float = 0.0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{90 + shift},{60 + shift}\nnan,{80 + shift}\n")
    return path


def test_folders_of_matrices_are_groups_and_one_bad_file_ends_none(tmp_path: Path) -> None:
    for method in ("ewc", "der"):
        for seed in range(2):
            matrix(tmp_path / "m" / method / f"{seed}.csv", seed)
    (tmp_path / "m" / "ewc" / "bad.csv").write_text("1,2,3\n4,5,6\n7,8\n")
    found = survey(tmp_path / "m")
    assert len(found.lifetimes) == 4
    assert [Path(path).name for path, _ in found.left_out] == ["bad.csv"]
    assert {one.name for one in systems_of(found)} == {"der", "ewc"}
    done = run_verb("compare", tmp_path / "m" / "ewc", tmp_path / "m" / "der", "--json", "-")
    assert "average_accuracy" in json.loads(done.stdout)["comparisons"][0]["metrics"]


def test_watch_shows_what_a_file_holds_and_says_what_it_cannot(tmp_path: Path) -> None:
    done = run_verb("watch", matrix(tmp_path / "m.csv"), "--once", "--json", "-")
    (one,) = json.loads(done.stdout)["lifetimes"]
    assert (one["id"], one["state"]) == ("m.csv", "done")
    (tmp_path / "full.csv").write_text("90,60,50\n40,80,70\n30,20,90\n")
    assert run_verb("watch", tmp_path / "full.csv", "--once").exit_code == 1


def test_scores_made_before_are_filtered_and_told_from_what_cannot_change_them(tmp_path: Path) -> None:
    found = survey(written(tmp_path, "one", LIFE))
    (tmp_path / "s.json").write_text(json.dumps(found.as_json()))
    (tmp_path / "t.json").write_text((tmp_path / "s.json").read_text())
    assert len(survey([tmp_path / "s.json", tmp_path / "s.json"]).lifetimes) == 1
    again = survey([tmp_path / "s.json", tmp_path / "t.json"], settings=Settings(metrics=("forward_transfer",)))
    assert list(again.scores[0].metrics) == ["forward_transfer"]
    assert len({one.id for one in again.scores}) == len(again.scores)
    assert "--scale" in survey(tmp_path / "s.json", settings=Settings(scale="none")).notes[0]


def test_a_learners_name_cannot_move_the_cursor(tmp_path: Path) -> None:
    life = written(tmp_path, "one", LIFE, learner="a\x1b[2J\nb")
    assert survey(life).scores[0].learner == "a�[2J�b"


@pytest.mark.parametrize("variants", ["name", "params", "agnostic"])
def test_whose_variants_counted_is_recorded(tmp_path: Path, variants: str) -> None:
    life = written(tmp_path, "one", LIFE)
    (score,) = survey(life, settings=Settings(variants=variants)).scores  # type: ignore[arg-type]
    assert score.as_json()["variants"] == variants
