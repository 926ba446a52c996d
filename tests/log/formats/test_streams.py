"""Test-then-train streams: tables whose rows were scored before they were learned."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import run_command

import perdure

Row = Sequence[object]


def table(path: Path, header: str, rows: Sequence[Row]) -> Path:
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def interleaved(count: int, tasks: int = 5, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [(f"t{rng.integers(tasks)}", int(rng.random() < 0.3 + 0.5 * row / count)) for row in range(count)]


def score(path: Path, **settings: Any) -> perdure.Score:
    return perdure.score(path, **{"shape": "stream", "scale": "none", **settings})


def test_a_column_of_numbers_is_a_stream(tmp_path: Path) -> None:
    values = [0, 1, 1, 0] * 25
    result = score(table(tmp_path / "s.csv", "row,correct", list(enumerate(values))))
    assert result["stream_performance"] == pytest.approx(np.mean(values))
    assert result["late_stream_performance"] == pytest.approx(np.mean(values[90:]))
    assert result["performance_maintenance"] is None


def test_without_the_shape_the_error_names_it(tmp_path: Path) -> None:
    result = run_command("score", table(tmp_path / "s.csv", "task,correct", interleaved(100)))
    assert result.returncode == 2
    assert "--shape stream" in result.stderr


@pytest.mark.parametrize("tasks", [2, 5, 40])
def test_interleaved_tasks_are_one_block(tasks: int, tmp_path: Path) -> None:
    rows = interleaved(1000, tasks)
    path = table(tmp_path / "s.csv", "task,correct", rows)
    life = perdure.survey([path], shape="stream", look=lambda curves, _: curves.scenario).lifetimes[0]
    assert [block.length for block in life.seen.blocks] == [1000]
    assert any(f"{tasks} tasks" in note for note in life.score.notes)


def test_interleaved_tasks_change_no_metric(tmp_path: Path) -> None:
    rows = interleaved(500)
    named = score(table(tmp_path / "named.csv", "task,correct", rows))
    bare = score(table(tmp_path / "bare.csv", "row,correct", [(0, value) for _, value in rows]))
    assert named.values == bare.values


def test_interleaved_train_rows_of_a_long_table_are_a_stream_too(tmp_path: Path) -> None:
    rows = [(task, "train", value) for task, value in interleaved(300)]
    path = table(tmp_path / "s.csv", "task_name,block_type,correct", rows)
    assert len(perdure.read(path).scenario.blocks) == 1
    with_evaluation = table(tmp_path / "e.csv", "task_name,block_type,correct", [*rows, ("t0", "test", 1)])
    assert len(perdure.read(with_evaluation).scenario.blocks) > 200


def test_blocks_and_short_alternations_stay_blocks(tmp_path: Path) -> None:
    rows = [(task, 1) for task in "abcabcabcabc" * 3 for _ in range(5)]
    assert score(table(tmp_path / "s.csv", "task,correct", rows))["drop_after_change"] is not None
    alternating = [("ab"[index % 2], "train", index % 3) for index in range(12)]
    path = table(tmp_path / "l.csv", "task_name,block_type,correct", alternating)
    assert len(perdure.read(path).scenario.blocks) == 12
    numbered = [(index, *row) for index, row in enumerate(interleaved(100))]
    path = table(tmp_path / "n.csv", "block_num,task,correct", numbered)
    scenario = perdure.survey([path], shape="stream", look=lambda curves, _: curves.scenario).lifetimes[0].seen
    assert len(scenario.blocks) == 100


def test_each_change_has_a_drop_and_a_recovery(tmp_path: Path) -> None:
    block = [0.0] * 10 + [1.0] * 90
    rows = [(concept, value) for concept in range(3) for value in block]
    path = table(tmp_path / "s.csv", "concept,accuracy", rows)
    for columns in ({}, {"block_num": "concept"}):
        result = score(path, columns=columns, window="none")
        assert result["drop_after_change"] == pytest.approx(1.0)
        assert result["recovery_after_change"] == pytest.approx(10)
        assert [len(values) for values in result.metrics["drop_after_change"].by.values()] == (
            [2] if columns else [1, 1]
        )


def test_a_twin_is_a_column_or_rows_with_its_role(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    rows = [(index // 50, rng.random(), rng.random()) for index in range(100)]
    expected = np.mean([mine - its for _, mine, its in rows])
    beside = table(tmp_path / "column.csv", "task,accuracy,majority", rows)
    assert score(beside, columns={"twin": "majority"})["twin_stream_gain"] == pytest.approx(expected)
    assert score(beside)["twin_stream_gain"] is None
    below = table(
        tmp_path / "rows.csv",
        "role,task,accuracy",
        [("life", task, mine) for task, mine, _ in rows] + [("twin", task, its) for task, _, its in rows],
    )
    survey = perdure.survey([below], shape="stream", scale="none")
    assert [life["twin_stream_gain"] for life in survey.scores] == pytest.approx([expected])


def test_a_twin_column_serves_each_lifetime_of_a_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    rows = [(learner, seed, rng.random(), rng.random()) for learner in "ab" for seed in range(2) for _ in range(30)]
    path = table(tmp_path / "s.csv", "learner,seed,accuracy,majority", rows)
    survey = perdure.survey([path], shape="stream", scale="none", columns={"twin": "majority"})
    pairs = [(learner, seed) for learner in "ab" for seed in range(2)]
    expected = [np.mean([mine - its for *who, mine, its in rows if tuple(who) == pair]) for pair in pairs]
    assert [life["twin_stream_gain"] for life in survey.scores] == pytest.approx(expected)


def test_a_bad_cell_of_the_twin_names_its_line(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", "accuracy,majority", [(1, 0), (0, "high"), (1, 1)])
    result = run_command("score", path, "--shape", "stream", "--column", "twin=majority")
    assert result.returncode == 2
    assert "s.csv:3" in result.stderr


def test_the_command_answers_for_a_stream(tmp_path: Path) -> None:
    path = table(tmp_path / "s.csv", "task,correct", interleaved(2000))
    result = run_command("score", path, "--shape", "stream")
    assert result.returncode == 0
    for words in ("stream performance", "late stream performance", "one stream"):
        assert words in result.stdout
