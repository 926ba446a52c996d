"""ContinualLearningMetrics against S002's words, recomputed here by plain loops over lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.classic.matrix import ContinualLearningMetrics
from perdure.errors import LogError

# The matrix that S002 prints: row i is task i, column j after training on task j.
PRINTED: list[list[float | None]] = [
    [98.5, 62.3, 55.1, 51.8, 49.2],
    [None, 97.8, 58.6, 52.4, 50.1],
    [None, None, 98.2, 61.3, 53.7],
    [None, None, None, 97.5, 58.9],
    [None, None, None, None, 98.1],
]


def zero_filled(cells: list[list[float | None]]) -> np.ndarray[Any, Any]:
    return np.array([[0.0 if cell is None else cell for cell in row] for row in cells])


def by_hand(a: np.ndarray[Any, Any], random_init: list[float] | None) -> dict[str, Any]:
    """S002's definitions, one by one; its conventions for one task and for a missing baseline too."""
    count = len(a)
    last = count - 1
    old = range(last)
    mean = {"aa": sum(a[i][last] for i in range(count)) / count, "la": sum(a[i][i] for i in range(count)) / count}
    bwt = fm = ms = 0.0
    fwt = None
    if count > 1:
        bwt = sum(a[i][last] - a[i][i] for i in old) / last
        fm = sum(max(a[i][j] for j in range(i, count)) - a[i][last] for i in old) / last
        variances = []
        for i in old:
            history = [a[i][j] for j in range(i, count)]
            centre = sum(history) / len(history)
            variances.append(sum((one - centre) ** 2 for one in history) / len(history))
        ms = sum(variances) / last
        if random_init is not None:
            fwt = sum(a[i][i] - random_init[i] for i in range(1, count)) / last
    return {
        "average_accuracy": mean["aa"],
        "learning_accuracy": mean["la"],
        "backward_transfer": bwt,
        "forward_transfer": fwt,
        "forgetting_measure": fm,
        "memory_stability": ms,
        "per_task_forgetting": [a[i][i] - a[i][last] for i in old],
    }


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key] == (None if value is None else pytest.approx(value, abs=1e-9)), key


@given(st.data())
def test_the_summary_is_what_the_page_defines_under_its_keys(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    accuracies = st.floats(1.5, 100).map(lambda one: round(one, 3))
    a = np.zeros((count, count))
    for i in range(count):
        for j in range(i, count):
            a[i, j] = data.draw(accuracies)
    baseline = data.draw(st.none() | st.lists(accuracies, min_size=count, max_size=count))
    same(ContinualLearningMetrics(a, baseline).summary(), by_hand(a, baseline))


def test_the_printed_matrix_gives_the_same_zero_filled_as_with_gaps_as_lists_and_as_an_array() -> None:
    expected = by_hand(zero_filled(PRINTED), [10.0] * 5)
    for given_as in (PRINTED, zero_filled(PRINTED), zero_filled(PRINTED).tolist()):
        same(ContinualLearningMetrics(given_as, np.full(5, 10.0)).summary(), expected)
    assert expected["average_accuracy"] == pytest.approx(62.0)
    assert expected["per_task_forgetting"] == pytest.approx([49.3, 47.7, 44.5, 38.6])


def test_one_task_has_the_zeros_of_the_page_where_score_has_reasons() -> None:
    made = ContinualLearningMetrics([[95.0]], [10.0])
    same(made.summary(), by_hand(np.array([[95.0]]), [10.0]))
    assert made.score["bwt"] is None
    assert "two learned tasks" in made.why["bwt"]
    assert "Accuracy matrix" in made.plot_metrics().body


def test_what_a_task_gained_is_forgetting_below_zero() -> None:
    made = ContinualLearningMetrics([[60.0, 90.0], [0.0, 80.0]])
    assert made.per_task_forgetting == [-30.0]
    assert made.forgetting_measure == 0.0


def test_a_matrix_that_is_the_other_way_round_is_turned_and_says_so() -> None:
    made = ContinualLearningMetrics(zero_filled(PRINTED).T)
    same(made.summary(), by_hand(zero_filled(PRINTED), None))
    assert "rows are the tasks learned so far" in made.notes[0]


def test_a_full_matrix_is_read_as_the_page_writes_it() -> None:
    full = np.array([[90.0, 60.0, 50.0], [20.0, 80.0, 70.0], [10.0, 30.0, 90.0]])
    same(ContinualLearningMetrics(full).summary(), by_hand(full, None))


def test_a_missing_cell_leaves_none_and_the_reason() -> None:
    made = ContinualLearningMetrics([[90.0, None, 50.0], [None, 80.0, 70.0], [None, None, 90.0]])
    assert made.forgetting_measure is None
    assert "A[1, 2] is missing" in made.why["forgetting"]
    assert made.per_task_forgetting == [40.0, 10.0]


def test_a_baseline_in_another_unit_or_number_is_refused() -> None:
    with pytest.raises(LogError, match="random_init_accuracies: random_init has 2 values for 5 tasks"):
        ContinualLearningMetrics(PRINTED, [10.0, 10.0])
    with pytest.raises(LogError, match="give it in percent"):
        ContinualLearningMetrics(PRINTED, 0.1)


def test_the_report_has_the_page_s_lines_and_reads_them_together(capsys: pytest.CaptureFixture[str]) -> None:
    ContinualLearningMetrics(PRINTED, 10).print_report()
    said = capsys.readouterr().out
    for line in ("(AA)         62.00%", "(BWT)      -45.02%", "(FWT)       +87.90%", "(FM)       45.02%", "+49.30%"):
        assert line in said, line
    assert "severe forgetting" in said


def test_the_picture_has_the_page_s_four_panels_in_one_file(tmp_path: Path) -> None:
    made = ContinualLearningMetrics([[60.0, 90.0, 95.0], [0.0, 80.0, 70.0], [0.0, 0.0, 90.0]])
    figure = made.plot_metrics(tmp_path / "four.png")
    assert (tmp_path / "four.png").stat().st_size > 10_000
    told = re.findall(r"<title>(.*?)</title>", figure.body)
    for panel in ("Accuracy matrix", "Just learned, and at the end", "Trajectories", "Forgetting by task"):
        assert panel in figure.body
    assert [one.rpartition(": ")[2] for one in told if ", just learned: " in one] == ["60", "80", "90"]
    assert [one.rpartition(": ")[2] for one in told if ", at the end: " in one] == ["95", "70", "90"]
    assert [one for one in told if "gained" in one or "lost" in one] == ["task2, lost: 10", "task1, gained: −35"]
    lines = [one for one in told if re.match(r"task\d, after task\d: ", one)]
    assert [one.rpartition(": ")[2] for one in lines] == ["60", "90", "95", "80", "70", "90"]


def test_what_it_holds_is_read_by_every_function() -> None:
    made = ContinualLearningMetrics(PRINTED)
    assert perdure.score(made.lifetime)["AA"] == made.average_accuracy
    assert perdure.survey([made.lifetime]).lifetimes[0].score["FM"] == made.forgetting_measure
