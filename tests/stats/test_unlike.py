"""Lifetimes whose logs give a measure opposite directions, or other units or bounds, are never put together."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.verbs import run_verb

import perdure

LEVELS = [
    ("test", "a", 10),
    ("test", "b", 10),
    ("train", "a", 50),
    ("test", "a", 80),
    ("test", "b", 10),
    ("train", "b", 50),
    ("test", "a", 90),
    ("test", "b", 80),
]
EXPERT = [("train", "a", 70)]


def write_lifetimes(
    folder: Path,
    seeds: Sequence[int],
    direction: str = "higher",
    bounds: tuple[float, float] | None = None,
    blocks: Sequence[tuple[str, str, float]] = LEVELS,
    **facts: Any,
) -> Path:
    scenario = {"name": "s", "tasks": [{"label": task, "bounds": bounds} for task in "ab"]}
    for seed in seeds:
        measures: Any = {"score": direction}
        with perdure.Journal(folder, f"l{seed}", measures, seed=seed, scenario=scenario, **facts) as journal:
            for block, (mode, task, level) in enumerate(blocks):
                for number in range(12):
                    journal.log(
                        block_num=block,
                        exp_num=12 * block + number,
                        block_type=mode,
                        task_name=task,
                        score=level + (7 * seed + 5 * number + block) % 9,
                    )
    return folder


@pytest.fixture
def opposed(tmp_path: Path) -> Path:
    """Six lifetimes of one learner: three say that a higher score is better, three that a lower one is."""
    folder = write_lifetimes(tmp_path / "logs", [0, 1, 2], learner="toy")
    return write_lifetimes(folder, [3, 4, 5], "lower", learner="toy")


def groups_in(*arguments: object) -> dict[str, tuple[int, str]]:
    """Score in this process; return the size and the word of each group."""
    done = run_verb("score", *arguments, "--json", "-")
    assert done.exit_code == 0, done.output
    return {
        group["group"]: (group["n"], group["metrics"]["performance_maintenance"]["word"])
        for group in json.loads(done.stdout)["groups"]
    }


def comparisons_in_report(folder: Path, *logs: Path) -> list[object]:
    assert run_verb("report", *logs, "--to", folder / "report.html", "--json", folder / "report.json").exit_code == 0
    found: list[object] = json.loads((folder / "report.json").read_text())["comparisons"]
    return found


APART = {"toy · higher is better": (3, "gains"), "toy · lower is better": (3, "forgets")}


def test_lifetimes_of_opposite_directions_are_two_groups(opposed: Path) -> None:
    assert groups_in(opposed) == APART
    shown = run_verb("score", opposed).stdout
    assert "toy, higher is better: 3 lifetimes" in shown
    assert "toy, lower is better: 3 lifetimes" in shown
    assert "different directions of a measure are separate groups; correct the manifest" in shown


def test_lifetimes_scored_before_keep_their_directions(opposed: Path, tmp_path: Path) -> None:
    assert run_verb("score", opposed, "--json", tmp_path / "scores.json", "--out", tmp_path / "out").exit_code == 0
    assert groups_in(tmp_path / "scores.json") == APART
    assert groups_in(tmp_path / "out" / "lifetimes.tsv") == APART


def test_a_direction_given_for_all_joins_them(opposed: Path) -> None:
    assert groups_in(opposed, "--lower-is-better") == {"toy": (6, "forgets")}
    assert groups_in(opposed, "--higher-is-better") == {"toy": (6, "gains")}


@pytest.mark.parametrize(
    "command",
    [("score", "--group", "(l)"), ("report", "--group", "(l)"), ("correlate",), ("plan", "--group", "(l)", "--pilot")],
    ids=["score", "report", "correlate", "plan"],
)
def test_they_are_not_joined_by_force_and_the_error_names_both(opposed: Path, command: tuple[str, ...]) -> None:
    done = run_verb(*command, opposed)
    assert done.exit_code != 0
    assert "found higher is better (as in logs/l0); lower is better (as in logs/l3)" in str(done.exception)


def test_a_report_and_a_watched_run_answer_for_each_direction(opposed: Path, tmp_path: Path) -> None:
    done = run_verb("report", opposed, "--to", tmp_path / "report.html")
    assert "toy · lower is better: toy forgets" in done.output
    standing = run_verb("watch", opposed, "--once").stdout
    assert "(toy · higher is better)" in standing
    assert "(toy · lower is better)" in standing


def test_systems_of_opposite_directions_are_not_compared(tmp_path: Path) -> None:
    one = write_lifetimes(tmp_path / "one", [0, 1, 2], learner="one")
    other = write_lifetimes(tmp_path / "other", [3, 4, 5], "lower", learner="other")
    done = run_verb("compare", one, other)
    assert "higher is better (as in one/l0); lower is better (as in other/l3)" in str(done.exception)
    assert run_verb("compare", one, other, "--higher-is-better").exit_code == 0
    assert comparisons_in_report(tmp_path, one, other) == []


def test_experts_of_the_opposite_direction_are_left_out_with_the_reason(tmp_path: Path) -> None:
    logs = write_lifetimes(tmp_path / "logs", [0, 1, 2])
    agreeing = write_lifetimes(tmp_path / "agreeing", [7], blocks=EXPERT, role="expert")
    opposing = write_lifetimes(tmp_path / "opposing", [8], "lower", blocks=EXPERT, role="expert")
    command = ("score", logs, "--experts", agreeing, "--experts", opposing, "--json", "-")
    done = run_verb(*command)
    scores = json.loads(done.stdout)
    assert done.exit_code == 1
    assert [Path(one["path"]).parent.name for one in scores["left_out"]] == ["opposing"]
    assert "lower score is better for this expert, and higher is for the lifetime" in scores["left_out"][0]["why"]
    assert json.loads(run_verb(*command, "--higher-is-better").stdout)["left_out"] == []


def test_lifetimes_of_different_bounds_are_two_groups(tmp_path: Path) -> None:
    logs = write_lifetimes(tmp_path / "logs", [0, 1, 2], bounds=(0, 100), learner="toy")
    write_lifetimes(logs, [3, 4, 5], bounds=(0, 1000), learner="toy")
    names = ("toy · a from 0 to 100; b from 0 to 100", "toy · a from 0 to 1000; b from 0 to 1000")
    apart = dict.fromkeys(names, (3, "gains"))
    assert groups_in(logs) == apart
    assert run_verb("score", logs, "--json", tmp_path / "scores.json", "--out", tmp_path / "out").exit_code == 0
    assert groups_in(tmp_path / "scores.json") == apart
    assert groups_in(tmp_path / "out" / "lifetimes.tsv") == apart
    joined = run_verb("score", logs, "--group", "(l)")
    assert "a has 0 to 100 (as in logs/l0); 0 to 1000 (as in logs/l3)" in str(joined.exception)
    pooled = json.loads(run_verb("score", logs, "--pool", "--json", "-").stdout)
    assert "different bounds are never pooled" in pooled["not_grouped"]


def test_systems_of_different_bounds_are_not_compared(tmp_path: Path) -> None:
    one = write_lifetimes(tmp_path / "one", [0, 1, 2], bounds=(0, 100), learner="one")
    other = write_lifetimes(tmp_path / "other", [0, 1, 2], bounds=(0, 1000), learner="other")
    done = run_verb("compare", one, other)
    assert "a has 0 to 100 (as in one/l0); 0 to 1000 (as in other/l0)" in str(done.exception)
    assert comparisons_in_report(tmp_path, one, other) == []


def test_systems_are_not_compared_if_bounds_are_known_on_one_side_only(tmp_path: Path) -> None:
    """One side would be scaled by the bounds and the other by its data, so that equal learners differ."""
    one = write_lifetimes(tmp_path / "one", [0, 1, 2], bounds=(0, 100), learner="toy")
    other = write_lifetimes(tmp_path / "other", [3, 4, 5], learner="toy")
    message = "(its data, as in other/l3); give --bounds for all"
    assert message in str(run_verb("compare", one, other).exception)
    pooled = json.loads(run_verb("score", one, other, "--pool", "--json", "-").stdout)
    assert message in pooled["not_grouped"]
    assert len(groups_in(one, other)) == 2
    bounds = tmp_path / "bounds.json"
    bounds.write_text(json.dumps({task: {"min": 0, "max": 100} for task in "ab"}))
    assert run_verb("compare", one, other, "--bounds", bounds).exit_code == 0


def test_bounds_of_a_table_of_scores_that_are_not_bounds_are_an_error(tmp_path: Path) -> None:
    table = tmp_path / "scores.tsv"
    table.write_text('lifetime\tperformance_maintenance\tbounds\nl0\t1.5\t{"a": 3}\n')
    done = run_verb("score", table)
    assert "scores.tsv:2: bounds is '{\"a\": 3}'; expected" in str(done.exception)


def test_fractions_are_not_compared_with_percents(tmp_path: Path) -> None:
    for folder, scale in (("percent", 100), ("fraction", 1)):
        (tmp_path / folder).mkdir()
        for seed in range(3):
            cells = [(0.9, 0.1), (0.6 + seed / 100, 0.8)]
            text = "".join(f"{first * scale},{second * scale}\n" for first, second in cells)
            (tmp_path / folder / f"{seed}.csv").write_text(text)
    done = run_verb("compare", tmp_path / "percent", tmp_path / "fraction", "--rows", "learned")
    assert "percent (as in percent/0.csv); fraction (as in fraction/0.csv)" in str(done.exception)
