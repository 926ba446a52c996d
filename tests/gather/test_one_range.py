"""Lifetimes of a survey share one range per task, unless bounds are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.metrics.written import table, written

from perdure.curves.arrays import Range
from perdure.errors import PerdureError
from perdure.gather.survey import survey
from perdure.settings import Settings
from perdure.stats.groups import check_comparable, groups
from perdure.watch.monitor import Monitor


def blocks(first: float, last: float, low: float = 0.0) -> list[tuple[str, str, Sequence[float]]]:
    """Return a lifetime that reaches `first` and falls to `last` in task a."""
    return [
        ("train", "a", [low, (low + first) / 2, first]),
        ("test", "a", [first, first]),
        ("train", "b", [0.0, 1.0]),
        ("test", "a", [last, last]),
        ("test", "b", [1.0]),
    ]


def test_equal_losses_are_equal_in_points_whatever_the_spread_of_a_learner() -> None:
    narrow = [table(f"n{n}", blocks(5, 4), learner="narrow", seed=n) for n in range(3)]
    wide = [table(f"w{n}", blocks(9, 8, low=-1), learner="wide", seed=n) for n in range(3)]
    scores = survey([*narrow, *wide]).scores
    assert [score["performance_maintenance"] for score in scores] == pytest.approx([-10.0] * 6)
    assert all(score.ranges == {"a": Range(-1, 9), "b": Range(0, 1)} for score in scores)
    assert any("of all 6 lifetimes" in note for note in scores[0].notes)
    alone = survey(narrow[0]).scores[0]
    assert alone["performance_maintenance"] == pytest.approx(-20)
    assert not any("lifetimes" in note for note in alone.notes)


def test_the_order_of_files_changes_no_value(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"life{n}", blocks(4 + n, 3), seed=n) for n in range(4)]
    there, back = survey(paths), survey(paths[::-1])
    assert {score.id: score.values for score in there.scores} == {score.id: score.values for score in back.scores}


def test_experts_are_scaled_by_the_same_range_and_widen_it(tmp_path: Path) -> None:
    paths = [written(tmp_path / "run" / "lives", f"life{n}", blocks(4, 3 + n / 2), seed=n) for n in range(2)]
    written(tmp_path / "run" / "experts", "a", [("train", "a", [0.0, 20.0, 20.0])], role="expert")
    scores = survey(tmp_path / "run").scores
    assert len(scores) == len(paths)
    assert {score.ranges["a"] for score in scores} == {Range(0, 20)}


def test_bounds_are_never_replaced_and_other_presets_and_values_as_measured_keep_their_own() -> None:
    lives = [table(str(n), blocks(5 + n, 4)) for n in range(2)]
    bounds = {"a": (0.0, 10.0), "b": (0.0, 1.0)}
    assert survey(lives, settings=Settings(bounds=bounds)).scores[0].ranges["a"] == Range(0, 10, given=True)
    for settings in (Settings("new-2022"), Settings(scale="none")):
        alone = [survey(life, settings=settings).scores[0].values for life in lives]
        assert [score.values for score in survey(lives, settings=settings).scores] == alone


def test_one_range_for_the_run_is_taken_over_all_lifetimes() -> None:
    lives = [table(str(n), blocks(5 + n, 4, low=-n)) for n in range(3)]
    assert {
        span for score in survey(lives, settings=Settings(scale="run")).scores for span in score.ranges.values()
    } == {Range(-2, 7)}


def test_lower_is_better_and_higher_is_better_are_not_mixed_and_ranges_are_written_as_measured() -> None:
    lives = [table(str(n), blocks(5 + n, 4)) for n in range(2)]
    pool = survey(lives, settings=Settings(lower_is_better=True))
    assert pool.scores[0].ranges["a"] == Range(-6, 0)
    assert pool.as_json()["lifetimes"][0]["ranges"]["a"] == {"min": 0.0, "max": 6.0, "given": False}


def files(folder: Path, **settings: Any) -> list[Path]:
    paths = []
    for height in (5, 9):
        pool = survey(
            [table(f"{height}-{n}", blocks(height, 4 + n), learner="x") for n in range(2)],
            settings=Settings(**settings),
        )
        paths.append(folder / f"{height}.json")
        paths[-1].write_text(json.dumps(pool.as_json()))
    return paths


def test_score_files_with_different_ranges_are_neither_compared_nor_pooled(tmp_path: Path) -> None:
    pool = survey(files(tmp_path))
    message = "a has 0 to 5 .*compare the logs themselves, or give --bounds for all"
    with pytest.raises(PerdureError, match=message):
        check_comparable(pool.scores, "a and b")
    with pytest.raises(PerdureError, match=message):
        groups(pool, pool=True)
    assert len(groups(pool)) == 2


@pytest.mark.parametrize(
    "settings", [{"scale": "none"}, {"preset": "new-2022"}, {"bounds": {"a": (0, 10), "b": (0, 1)}}]
)
def test_ranges_that_decide_nothing_or_belong_to_a_preset_may_differ(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    check_comparable(survey(files(tmp_path, **settings)).scores, "a and b")


def test_watching_scores_finished_lifetimes_again_when_the_range_grows(tmp_path: Path) -> None:
    for n in range(2):
        written(tmp_path / "logs", f"life{n}", blocks(4 + n, 3), learner="x", seed=n)
    monitor = Monitor([tmp_path / "logs"])
    monitor.settle()
    written(tmp_path / "logs", "life2", blocks(9, 3), learner="x", seed=2)
    monitor.settle()
    data = monitor.data()
    assert data is not None
    assert data.apart is None
    scored = survey(tmp_path / "logs")
    assert {life.id: life.score.values for life in data.lifetimes} == {
        life.id: life.score.values for life in scored.lifetimes
    }
