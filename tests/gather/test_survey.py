"""A survey finds lifetimes, assigns their experts, and reports the lifetimes left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.metrics.written import LIFE, written

import perdure
from perdure.errors import LogError, NotALogError
from perdure.gather.find import find_lifetimes
from perdure.gather.survey import survey
from perdure.settings import Settings


def test_lifetimes_below_a_folder_are_called_by_their_paths_and_keep_their_order(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        written(tmp_path / "logs" / name, "life", LIFE)
    scores = survey([tmp_path / "logs"])
    assert [one.id for one in scores.scores] == ["logs/a/life", "logs/b/life", "logs/c/life"]


def test_experts_of_a_run_folder_are_used_and_never_counted_as_lives(tmp_path: Path) -> None:
    written(tmp_path / "run" / "lives", "one", LIFE)
    written(tmp_path / "run" / "experts", "a", [("train", "a_1", [1.0, 2.0, 3.0])])
    found = find_lifetimes([tmp_path / "run"])
    assert [one.path.name for one in found.lifetimes] == ["one"]
    assert [(Path(one.path).name, one.run) for one in found.experts] == [("a", tmp_path / "run")]
    scores = survey([tmp_path / "run"])
    assert len(scores.scores) == 1
    assert scores.scores[0]["relative_performance"] is not None
    assert scores.settings["experts"] == [str(tmp_path / "run" / "experts" / "a")]


def run_folder(folder: Path, learner: str, reward: float) -> Path:
    """Write a run folder of one learner: two lifetimes, and an expert of each task that reaches `reward`."""
    for number in range(2):
        written(folder / "lives", f"life{number}", LIFE, learner=learner)
    for task in ("a_1", "b_1"):
        written(folder / "experts", task, [("train", task, [0.0, reward, reward])], learner=learner, role="expert")
    return folder


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_learner_is_never_measured_against_the_experts_of_another(tmp_path: Path, jobs: int) -> None:
    folders = [run_folder(tmp_path / "runs" / name, name, reward) for name, reward in (("x", 1.0), ("y", 9.0))]
    settings = Settings(bounds={"a_1": (0, 9), "b_1": (0, 9)})
    together = survey([tmp_path / "runs"], settings=settings, jobs=jobs)
    alone = [one for folder in folders for one in survey([folder], settings=settings).scores]
    assert [dict(one.metrics) for one in together.scores] == [dict(one.metrics) for one in alone]
    assert together.scores[0]["relative_performance"] != together.scores[2]["relative_performance"]
    assert len(together.settings["experts"]) == 4
    assert together.left_out == ()


def test_experts_that_are_given_or_lie_in_no_run_folder_serve_every_lifetime(tmp_path: Path) -> None:
    written(tmp_path / "logs" / "run" / "lives", "one", LIFE)
    written(tmp_path / "logs", "loose", LIFE)
    written(tmp_path / "logs" / "singles", "a", [("train", "a_1", [1.0, 2.0, 3.0])], role="expert")
    given = written(tmp_path / "given", "b", [("train", "b_1", [1.0, 2.0, 3.0])])
    for one in survey([tmp_path / "logs"], [given]).scores:
        assert set(one.metrics["relative_performance"].by) == {"a_1", "b_1"}


def test_an_expert_both_given_and_found_counts_once(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "x", "x", 1.0)
    scores = survey([run], [run / "experts" / "a_1"])
    assert len(scores.scores[0].metrics["relative_performance"].by["a_1"]) == 1


def test_experts_of_a_run_without_lifetimes_here_are_named_as_left_out(tmp_path: Path) -> None:
    one, other = run_folder(tmp_path / "x", "x", 1.0), run_folder(tmp_path / "y", "y", 9.0)
    scores = survey([one / "lives", other / "experts"])
    assert {path for path, _ in scores.left_out} == {str(other / "experts" / task) for task in ("a_1", "b_1")}
    assert all("give it by --experts" in why for _, why in scores.left_out)
    assert scores.scores[0]["relative_performance"] is None


def test_what_is_given_as_an_expert_is_no_life_even_where_it_lies_among_them(tmp_path: Path) -> None:
    written(tmp_path / "logs", "one", LIFE)
    written(tmp_path / "logs" / "single", "a", [("train", "a_1", [1.0, 2.0, 3.0])])
    scores = survey([tmp_path / "logs"], [tmp_path / "logs" / "single"])
    assert [one.id for one in scores.scores] == ["logs/one"]


def test_an_expert_given_twice_counts_once(tmp_path: Path) -> None:
    life = written(tmp_path, "life", LIFE)
    expert = written(tmp_path / "experts", "a", [("train", "a_1", [1.0, 2.0, 3.0])])
    scores = survey([life], [expert, tmp_path / "experts"])
    assert len(scores.scores[0].metrics["relative_performance"].by["a_1"]) == 1


def test_lifetimes_of_one_id_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    paths = [written(tmp_path / name / "same", "life", LIFE) for name in ("a", "b")]
    scores = survey([tmp_path / "a" / "same", tmp_path / "b" / "same"])
    assert [one.id for one in scores.scores] == [str(path) for path in paths]
    assert [one.identity.recorded for one in scores.scores] == ["life", "life"]


def test_a_bad_lifetime_is_left_out_and_the_others_scored(tmp_path: Path) -> None:
    written(tmp_path / "logs", "good", LIFE)
    bad = written(tmp_path / "logs", "bad", LIFE)
    next(bad.rglob("data-log.tsv")).write_bytes(b"\xff nonsense\n")
    scores = survey([tmp_path / "logs"])
    assert len(scores.scores) == 1
    [(path, why)] = scores.left_out
    assert path == str(bad)
    assert why


def test_neighbours_taken_in_one_handful_score_as_each_does_alone(tmp_path: Path) -> None:
    places: list[Path] = []
    for number in range(26):  # runs with experts of their own, another scenario, one that cannot be read, one too large
        blocks = LIFE if number % 5 else [*LIFE, ("test", "a_1", [float(number)])]
        blocks = [(kind, task, [value + number for value in values]) for kind, task, values in blocks]
        if number == 12:
            blocks = [("train", "a_1", [1e301, 2.0])]
        place = written(tmp_path / "all" / f"run{number // 9}" / "lives", f"life{number:02}", blocks)
        if number == 7:
            (place / "logger_info.json").write_text("{")
        places.append(place)
    written(tmp_path / "all" / "run1" / "experts", "a", [("train", "a_1", [1.0, 2.0, 3.0])], role="expert")
    settings = Settings(bounds={"a_1": (0, 60), "b_1": (0, 60)})
    together = survey([tmp_path / "all"], settings=settings, jobs=1)
    assert len(together.left_out) == 2
    assert len(together.lifetimes) == 24
    alone = {
        place: survey([place], [tmp_path / "all/run1/experts"] if "run1" in str(place) else (), settings)
        for place in places
        if place not in (places[7], places[12])
    }
    for one in together.scores:
        (other,) = alone[Path(one.identity.source)].scores
        assert dict(one.metrics) == dict(other.metrics)
        assert one.blocks == other.blocks
        assert one.notes == other.notes


def test_where_nothing_can_be_scored_the_reason_is_raised(tmp_path: Path) -> None:
    with pytest.raises(NotALogError, match="not a log format that Perdure recognises"):
        survey([tmp_path])
    path = written(tmp_path, "nothing", [("train", "a_1", [None])])
    with pytest.raises(LogError, match="no value of 'reward' counts"):
        survey([path])


def test_an_expert_of_another_measure_is_left_out_by_name(tmp_path: Path) -> None:
    life = written(tmp_path, "life", LIFE)
    with perdure.Journal(tmp_path, "expert", measures=["accuracy"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a_1", task_params={}, accuracy=1.0)
    scores = survey([life], [tmp_path / "expert"])
    [(path, why)] = scores.left_out
    assert path == str(tmp_path / "expert")
    assert "this expert has no measure 'reward' (it has: accuracy)" in why
    assert scores.scores[0].metrics["relative_performance"].why == "needs an expert for a_1, b_1"


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    for number in range(4):
        written(tmp_path / "logs", f"life{number}", LIFE)
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from perdure.curves.model import Curve\nfrom perdure.metrics import metric\n"
        "from perdure.scenario import sites\n"
        "@metric(sites.each_learning_block)\ndef length(learned: Curve) -> float:\n"
        '    """How long."""\n    return len(learned)\n'
    )
    told: list[tuple[int, int]] = []
    settings = Settings(metrics=(str(mine),))
    alone = survey([tmp_path / "logs"], settings=settings, jobs=1)
    together = survey([tmp_path / "logs"], settings=settings, jobs=2, progress=lambda *done: told.append(done))
    assert alone.as_json() == together.as_json()
    assert together.scores[0]["length"] == 3.0
    assert sorted(told) == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("call", "count"),
    [("len(perdure.survey(['logs']).scores)", 8), ("len(gather(['logs'], jobs=2).lifetimes)", 8)],
)
def test_a_script_without_a_guard_may_survey(tmp_path: Path, call: str, count: int) -> None:
    for number in range(count):
        written(tmp_path / "logs", f"life{number}", LIFE)
    script = tmp_path / "script.py"
    script.write_text(f"import perdure\nfrom perdure.reports.data import gather\nprint('scored', {call})\n")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (f"scored {count}\n", "", 0)


def test_an_expert_folder_with_nothing_in_it_is_the_same_error_in_several_processes(tmp_path: Path) -> None:
    for number in range(2):
        written(tmp_path / "logs", f"life{number}", LIFE)
    (tmp_path / "empty").mkdir()
    for jobs in (1, 2):
        with pytest.raises(LogError, match="no expert here"):
            survey([tmp_path / "logs"], [tmp_path / "empty"], jobs=jobs)


def test_accuracy_matrices_are_scored_as_they_were_read(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("90,60,50\n,80,70\n,,90\n")
    matrix = perdure.read_matrix(tmp_path / "m.csv")
    assert perdure.score(matrix)["bwt"] == perdure.score(tmp_path / "m.csv")["bwt"] == -25
    assert len(perdure.survey([matrix, matrix])) == 2
