"""ContinualLearningMetrics, compared with the accuracy-matrix page's definitions as plain loops over lists."""

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

# The matrix printed on the page: row i is task i, column j after training on task j.
PRINTED: list[list[float | None]] = [
    [98.5, 62.3, 55.1, 51.8, 49.2],
    [None, 97.8, 58.6, 52.4, 50.1],
    [None, None, 98.2, 61.3, 53.7],
    [None, None, None, 97.5, 58.9],
    [None, None, None, None, 98.1],
]


def zero_filled(cells: list[list[float | None]]) -> np.ndarray[Any, Any]:
    return np.array([[0.0 if cell is None else cell for cell in row] for row in cells])


def compute_by_hand(a: np.ndarray[Any, Any], random_init: list[float] | None) -> dict[str, Any]:
    """Compute the page's definitions one by one, with its conventions for one task and for a missing baseline."""
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
            variances.append(sum((item - centre) ** 2 for item in history) / len(history))
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


def assert_same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert list(found) == list(expected)
    for key, value in expected.items():
        assert found[key] == (None if value is None else pytest.approx(value, abs=1e-9)), key


@given(st.data())
def test_the_summary_has_the_pages_definitions_under_its_keys(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 6))
    accuracies = st.floats(1.5, 100).map(lambda one: round(one, 3))
    a = np.zeros((count, count))
    for i in range(count):
        for j in range(i, count):
            a[i, j] = data.draw(accuracies)
    baseline = data.draw(st.none() | st.lists(accuracies, min_size=count, max_size=count))
    assert_same(ContinualLearningMetrics(a, baseline).summary(), compute_by_hand(a, baseline))


def test_the_printed_matrix_gives_the_same_result_in_every_form() -> None:
    expected = compute_by_hand(zero_filled(PRINTED), [10.0] * 5)
    for given_as in (PRINTED, zero_filled(PRINTED), zero_filled(PRINTED).tolist()):
        assert_same(ContinualLearningMetrics(given_as, np.full(5, 10.0)).summary(), expected)
    assert expected["average_accuracy"] == pytest.approx(62.0)
    assert expected["per_task_forgetting"] == pytest.approx([49.3, 47.7, 44.5, 38.6])


def test_one_task_has_the_zeros_of_the_page_and_reasons_in_score() -> None:
    metrics = ContinualLearningMetrics([[95.0]], [10.0])
    assert_same(metrics.summary(), compute_by_hand(np.array([[95.0]]), [10.0]))
    assert metrics.score["bwt"] is None
    assert "two learned tasks" in metrics.why["bwt"]
    assert "Accuracy matrix" in metrics.plot_metrics().body


def test_a_gain_is_negative_forgetting() -> None:
    metrics = ContinualLearningMetrics([[60.0, 90.0], [0.0, 80.0]])
    assert metrics.per_task_forgetting == [-30.0]
    assert metrics.forgetting_measure == 0.0


def test_a_matrix_in_the_other_orientation_is_transposed_with_a_note() -> None:
    metrics = ContinualLearningMetrics(zero_filled(PRINTED).T)
    assert_same(metrics.summary(), compute_by_hand(zero_filled(PRINTED), None))
    assert "rows are the tasks learned so far" in metrics.notes[0]


def test_a_full_matrix_has_the_orientation_of_the_page() -> None:
    full = np.array([[90.0, 60.0, 50.0], [20.0, 80.0, 70.0], [10.0, 30.0, 90.0]])
    assert_same(ContinualLearningMetrics(full).summary(), compute_by_hand(full, None))


def test_a_missing_cell_gives_none_and_the_reason() -> None:
    metrics = ContinualLearningMetrics([[90.0, None, 50.0], [None, 80.0, 70.0], [None, None, 90.0]])
    assert metrics.forgetting_measure is None
    assert "A[1, 2] is missing" in metrics.why["forgetting"]
    assert metrics.per_task_forgetting == [40.0, 10.0]


def test_a_baseline_in_another_unit_or_number_is_refused() -> None:
    with pytest.raises(LogError, match="random_init_accuracies: random_init has 2 values for 5 tasks"):
        ContinualLearningMetrics(PRINTED, [10.0, 10.0])
    with pytest.raises(LogError, match="give it in percent"):
        ContinualLearningMetrics(PRINTED, 0.1)


def test_the_report_has_the_page_s_lines_and_interprets_them_together(capsys: pytest.CaptureFixture[str]) -> None:
    ContinualLearningMetrics(PRINTED, 10).print_report()
    output = capsys.readouterr().out
    for line in ("(AA)         62.00%", "(BWT)      -45.02%", "(FWT)       +87.90%", "(FM)       45.02%", "+49.30%"):
        assert line in output, line
    assert "severe forgetting" in output


def test_the_figure_has_the_page_s_four_panels_in_one_file(tmp_path: Path) -> None:
    metrics = ContinualLearningMetrics([[60.0, 90.0, 95.0], [0.0, 80.0, 70.0], [0.0, 0.0, 90.0]])
    figure = metrics.plot_metrics(tmp_path / "four.png")
    assert (tmp_path / "four.png").stat().st_size > 10_000
    names = re.findall(r"<title>(.*?)</title>", figure.body)
    for panel in ("Accuracy matrix", "Just learned, and at the end", "Trajectories", "Forgetting by task"):
        assert panel in figure.body
    assert [name.rpartition(": ")[2] for name in names if ", just learned: " in name] == ["60", "80", "90"]
    assert [name.rpartition(": ")[2] for name in names if ", at the end: " in name] == ["95", "70", "90"]
    assert [name for name in names if "gained" in name or "lost" in name] == ["task1, gained: −35", "task2, lost: 10"]
    lines = [name for name in names if re.match(r"task\d, after task\d: ", name)]
    assert [line.rpartition(": ")[2] for line in lines] == ["60", "90", "95", "80", "70", "90"]


def test_every_function_accepts_the_metrics_object() -> None:
    metrics = ContinualLearningMetrics(PRINTED)
    assert perdure.score(metrics.lifetime)["AA"] == metrics.average_accuracy
    assert perdure.survey([metrics.lifetime]).lifetimes[0].score["FM"] == metrics.forgetting_measure
