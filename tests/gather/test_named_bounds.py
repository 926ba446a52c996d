"""A measure called accuracy has bounds by its name, so that values do not move when experts or other logs arrive."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.verbs import run_verb

import perdure

BLOCKS = [("train", "a", 0.5), ("test", "a", 0.6), ("train", "b", 0.4), ("test", "a", 0.45), ("test", "b", 0.5)]
NOTE = "bounds 0 … 1 from the measure's name"


def write(
    folder: Path,
    name: str,
    measure: str = "accuracy",
    *,
    whole: float = 1.0,
    blocks: Sequence[tuple[str, str, float]] = BLOCKS,
    **facts: Any,
) -> Path:
    with perdure.Journal(folder, name, [measure], **facts) as journal:
        for block, (mode, task, level) in enumerate(blocks):
            for number in range(20):
                value = whole * (level + 0.01 * (number % 5))
                values: dict[str, Any] = {measure: value}
                journal.log(block_num=block, exp_num=20 * block + number, block_type=mode, task_name=task, **values)
    return folder / name


def maintenance(*logs: Path, **how: Any) -> float | None:
    return perdure.score(logs[0], logs[1:], **how)["performance_maintenance"]


@pytest.mark.parametrize(("measure", "whole"), [("accuracy", 1.0), ("Acc", 1.0), ("accuracy", 100.0)])
def test_a_point_of_accuracy_is_a_point_whatever_the_data(tmp_path: Path, measure: str, whole: float) -> None:
    log = write(tmp_path, "l", measure, whole=whole)
    assert maintenance(log) == pytest.approx(-15)
    score = perdure.score(log)
    assert score.bounds == {"a": (0, whole), "b": (0, whole)}
    assert f"bounds 0 … {whole:g} from the measure's name" in str(score.notes)


def test_values_do_not_move_when_an_expert_or_a_better_lifetime_arrives(tmp_path: Path) -> None:
    log = write(tmp_path / "logs", "l")
    expert = write(tmp_path / "experts", "e", blocks=[("train", "a", 0.9)], role="expert")
    assert maintenance(log, expert) == maintenance(log)
    write(tmp_path / "logs", "m", blocks=[(mode, task, level + 0.3) for mode, task, level in BLOCKS])
    both = perdure.survey(tmp_path / "logs")
    assert {score["performance_maintenance"] for score in both} == {maintenance(log)}


def test_fractions_and_percentages_are_never_scored_together(tmp_path: Path) -> None:
    write(tmp_path, "high", whole=100.0)
    low = write(tmp_path, "low", whole=1.2)  # accuracies below 1 percent, or fractions
    assert perdure.score(low).bounds["a"] == (0, 1)
    (left_out,) = perdure.survey(tmp_path).left_out
    assert left_out[0] == str(low)
    assert "accuracy is at most 0.768 here and up to 64 in others, as in percent" in left_out[1]
    known = perdure.survey(tmp_path, bounds=dict.fromkeys("ab", (0.0, 100.0)))
    assert {score.bounds["a"] for score in known} == {(0, 100)}


def test_an_expert_in_percent_counts_as_well(tmp_path: Path) -> None:
    log = write(tmp_path / "logs", "l", whole=1.2)
    expert = write(tmp_path / "experts", "e", whole=100.0, blocks=[("train", "a", 0.9)], role="expert")
    assert perdure.score(log, expert).bounds["a"] == (0, 100)


@pytest.mark.parametrize(
    ("measure", "whole"), [("reward", 1.0), ("accuracy_loss", 1.0), ("accuracy", 1000.0), ("acc", -1.0)]
)
def test_other_names_and_values_that_are_no_accuracies_keep_the_range_of_the_data(
    tmp_path: Path, measure: str, whole: float
) -> None:
    score = perdure.score(write(tmp_path, "l", measure, whole=whole))
    assert score.bounds == {}
    assert "from the measure's name" not in str(score.notes)


def test_bounds_that_are_recorded_or_given_win(tmp_path: Path) -> None:
    scenario = {"name": "s", "tasks": [{"label": "a", "bounds": [0.2, 0.8]}, {"label": "b"}]}
    log = write(tmp_path, "l", scenario=scenario)
    score = perdure.score(log)
    assert score.bounds == {"a": (0.2, 0.8), "b": (0, 1)}
    assert "bounds of b 0 … 1 from the measure's name" in str(score.notes)
    assert "the bounds of a are those recorded in the log" in str(score.notes)
    given = {"a": (0.0, 0.9), "b": (0.1, 0.9)}
    assert perdure.score(log, bounds=given).bounds == given


@pytest.mark.parametrize("preset", ["new-2022", "baker-2023", "l2metrics-3.1"])
def test_presets_of_papers_keep_the_range_of_the_data(tmp_path: Path, preset: str) -> None:
    score = perdure.score(write(tmp_path, "l"), preset=preset)
    assert score.bounds == {}
    assert "from the measure's name" not in str(score.notes)


def test_the_terminal_and_the_report_flag_the_bounds_of_several_lifetimes(tmp_path: Path) -> None:
    for seed in range(3):
        write(tmp_path / "logs", f"l{seed}", seed=seed, whole=1 - seed / 100, learner="toy")
    assert NOTE in run_verb("score", tmp_path / "logs").stdout
    assert run_verb("report", tmp_path / "logs", "--to", tmp_path / "report.md").exit_code == 0
    assert NOTE in (tmp_path / "report.md").read_text()
