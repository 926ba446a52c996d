"""One seed of a matrix with standard errors: its interval comes from items, and its marks are rarely wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import perdure
from perdure.log.accuracy_matrix import MatrixLifetime, errors_of_items, errors_of_means
from perdure.log.formats.matrix import lifetime_of, matrix_of_cells
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings
from perdure.stats.decide import decide
from perdure.stats.model import Decision

SCORER = Scorer(Settings(metrics=("bwt",)))
BAR = SCORER.metrics["bwt"].criterion


def same_model(rng: np.random.Generator, tasks: int, count: int, level: float, *, paired: bool) -> MatrixLifetime:
    """Return the evaluations of a model that does not change, on items of different difficulty."""
    names = [f"task{number}" for number in range(tasks)]
    chance = rng.beta(level, 1 - level, size=(tasks, 1, count))
    items = (rng.random((tasks, tasks + 1, count)) < chance).astype(float)
    errors = {
        name: errors_of_items([dict(enumerate(column)) for column in of_task])
        if paired
        else errors_of_means(np.sqrt(of_task.var(axis=1, ddof=1) / count), np.full(tasks + 1, float(count)))
        for name, of_task in zip(names, items, strict=True)
    }
    return lifetime_of(replace(matrix_of_cells(items.mean(axis=2), names, "fraction"), errors=errors), "one")


def decided(life: MatrixLifetime) -> Decision:
    return decide((SCORER.score(life),), "bwt", BAR)


@pytest.mark.parametrize("paired", [True, False])
def test_a_model_that_does_not_change_rarely_gets_a_mark(paired: bool) -> None:
    rng = np.random.default_rng(11)
    cells = [(tasks, count, level) for tasks in (2, 3) for count, level in ((100, 0.5), (12, 0.5), (30, 0.8))]
    verdicts = [decided(same_model(rng, *cell, paired=paired)).verdict for _ in range(100) for cell in cells]
    assert sum(verdict != "undecided" for verdict in verdicts) <= 0.07 * len(verdicts)


def one(first: float, last: float, count: int) -> Score:
    """Return a score of two tasks, the first of which changes."""
    values = np.array([[np.nan, first, last], [np.nan, np.nan, 0.5]])
    items = np.full(3, float(count))
    errors = {
        name: errors_of_means(np.sqrt(row * (1 - row) / (items - 1)), items)
        for name, row in zip("ab", values, strict=True)
    }
    return SCORER.score(lifetime_of(replace(matrix_of_cells(values, "ab", "fraction"), errors=errors), "one"))


def test_a_large_change_gets_a_mark_and_an_interval_over_items_but_no_word() -> None:
    made = decide((one(0.9, 0.4, 100),), "bwt", BAR)
    assert (made.verdict, made.word, made.p, made.over) == ("not met", None, None, "items")
    assert made.low is not None
    assert made.high is not None
    assert made.low < -0.5 < made.high < 0
    assert made.interval_name == "95 % interval over items, one seed"
    gained = decide((one(0.4, 0.9, 100),), "bwt", BAR)
    assert gained.verdict == "met"
    assert gained.low == pytest.approx(-made.high)


def test_few_items_or_items_that_never_differ_decide_nothing() -> None:
    few = decide((one(0.9, 0.4, 9),), "bwt", BAR)
    assert (few.verdict, few.low, few.notes[0]) == ("undecided", None, "an evaluation has fewer than 10 items")
    still = decide((one(1.0, 0.0, 100),), "bwt", BAR)
    assert (still.verdict, still.low, still.notes[0]) == ("undecided", None, "no item varies")


def test_several_seeds_are_judged_by_their_own_spread_alone() -> None:
    lives = tuple(
        replace(one(first, 0.4, 100), identity=replace(one(first, 0.4, 100).identity, id=str(first)))
        for first in (0.88, 0.9, 0.93)
    )
    made = decide(lives, "bwt", BAR)
    assert made.over == "lifetimes"
    values = np.array([life.value("bwt") for life in lives])
    assert made.sd == pytest.approx(values.std(ddof=1))


def test_a_score_file_keeps_the_interval(tmp_path: Path) -> None:
    file = tmp_path / "scores.json"
    life = same_model(np.random.default_rng(0), 2, 50, 0.5, paired=True)
    survey = perdure.survey([life])
    file.write_text(survey.to_json())
    before, after = (perdure.groups(one)[0].estimates["bwt"] for one in (survey, perdure.survey([file])))
    assert (before.low, before.high, before.over) == (after.low, after.high, after.over)
    assert before.over == "items"
