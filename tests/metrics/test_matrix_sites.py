"""The matrix of a log: which evaluations are its cells, and when the same metrics say the same of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.log.formats.matrices import accuracy_matrix
from tests.metrics.matrices import FROM_CELLS, WHOLE, from_matrix, lifetime, lived, whole_matrices

from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.log.model import Lifetime
from perdure.metrics.declare import METRICS
from perdure.metrics.matrix import AccuracySites, evaluations_of, matrix_of
from perdure.metrics.measure import Context, measure


@given(whole_matrices(), st.data())
@settings(max_examples=25)
def test_a_log_and_a_file_of_the_same_life_agree(cells: np.ndarray[Any, Any], data: Any) -> None:
    gaps = data.draw(st.sets(st.sampled_from(list(np.ndindex(cells.shape))), max_size=3))
    for cell in gaps:
        cells[cell] = np.nan
    assume(not np.isnan(cells[:, 1:][np.triu_indices(len(cells), k=1)]).all())  # that would be the other way round
    tasks = [f"t{number}" for number in range(len(cells))]
    matrix = accuracy_matrix(cells, tasks, as_given=True)
    prepared = curves(lived(cells, tasks))
    np.testing.assert_allclose(matrix_of(prepared).values, cells, atol=1e-12)
    baselines = {"random_init": 0.1, "joint": 0.9}
    for metric in FROM_CELLS:
        log = measure(metric, prepared, Context(baselines))
        file = from_matrix(metric, matrix, **baselines)
        assert (log.value is None) == (file.value is None), metric.name
        assert log.why == file.why
        if file.value is not None:
            assert log.value == pytest.approx(file.value, abs=1e-9), metric.name


@pytest.mark.parametrize(
    "prep",
    [
        Preparation(scale="none"),
        Preparation(scale="run", window="none"),
        Preparation(clamp=True),
        Preparation(noise=3.0),
    ],
)
def test_preparation_does_not_touch_the_matrix(prep: Preparation) -> None:
    life = lived(WHOLE, ["a", "b", "c"])
    np.testing.assert_array_equal(matrix_of(curves(life, prep)).values, matrix_of(curves(life)).values)


def test_the_last_evaluation_before_the_next_new_task_counts() -> None:
    life = lifetime(
        [
            ("evaluate", "a", [0.1]),
            ("evaluate", "a", [0.2]),
            ("learn", "a", [0.5]),
            ("evaluate", "a", [0.3]),
            ("learn", "a", [0.6]),
            ("evaluate", "a", [0.9]),
            ("evaluate", "a", [0.8]),
            ("learn", "b", [0.5]),
            ("evaluate", "a", [0.4]),
            ("evaluate", "b", [0.7]),
        ]
    )
    matrix = matrix_of(curves(life))
    np.testing.assert_array_equal(matrix.values, [[0.2, 0.8, 0.4], [np.nan, np.nan, 0.7]])
    assert matrix.flags == ()


def test_evaluations_in_the_midst_of_learning_are_no_memory_but_those_between_the_columns_are() -> None:
    life = lifetime(
        [
            ("learn", "a", [0.5]),
            ("evaluate", "a", [0.1]),
            ("learn", "a", [0.6]),
            ("evaluate", "a", [0.9]),
            ("learn", "b", [0.5]),
            ("evaluate", "a", [0.3]),
            ("learn", "b", [0.6]),
            ("evaluate", "a", [0.5]),
            ("evaluate", "b", [0.7]),
        ]
    )
    prepared = curves(life)
    assert matrix_of(prepared).lowest == (0.3, 0.7)
    assert measure(METRICS.get("min_accuracy"), prepared).value == 0.3
    assert measure(METRICS.get("worst_case_accuracy"), prepared).value == pytest.approx(0.7 / 2 + 0.3 / 2)


def test_a_task_that_is_never_learned_has_no_row() -> None:
    life = lifetime(
        [("evaluate", "z", [0.3]), ("learn", "b", [0.5]), ("evaluate", "z", [0.2]), ("evaluate", "b", [0.7])]
    )
    matrix = matrix_of(curves(life))
    assert matrix.tasks == ("b",)
    np.testing.assert_array_equal(matrix.values, [[np.nan, 0.7]])


def test_nothing_learned_makes_no_matrix() -> None:
    prepared = curves(lifetime([("evaluate", "a", [0.3, 0.5])]))
    sites = METRICS.get("average_accuracy").sites
    assert matrix_of(prepared).tasks == ()
    assert isinstance(sites, AccuracySites)
    assert sites.missing(prepared.scenario) == "needs a learned task (found 0)"
    assert measure(METRICS.get("average_accuracy"), prepared).value is None


def test_learning_a_task_again_after_another_is_flagged() -> None:
    once = [("learn", "a", [0.5]), ("evaluate", "a", [0.9]), ("learn", "b", [0.5]), ("evaluate", "a", [0.6])]
    again = [*once, ("learn", "a", [0.5]), ("evaluate", "a", [0.8]), ("evaluate", "b", [0.5])]
    assert not evaluations_of(lifetime(once).scenario).relearned
    prepared = curves(lifetime(again))
    np.testing.assert_array_equal(matrix_of(prepared).values, [[np.nan, 0.9, 0.8], [np.nan, np.nan, 0.5]])
    measured = measure(METRICS.get("bwt"), prepared)
    assert measured.value == pytest.approx(-0.1)
    assert any("relearned" in flag for flag in measured.flags)


def test_where_there_are_sleep_evaluations_only_those_are_read() -> None:
    life = lifetime(
        [
            ("learn", "a", [0.5]),
            ("asleep", "a", [0.9]),
            ("evaluate", "a", [0.1]),
            ("learn", "b", [0.5]),
            ("evaluate", "a", [0.2]),
            ("asleep", "a", [0.6]),
            ("asleep", "b", [0.7]),
        ]
    )
    np.testing.assert_array_equal(matrix_of(curves(life)).after, [[0.9, 0.6], [np.nan, 0.7]])


def test_where_lower_is_better_forgetting_is_a_rise() -> None:
    blocks = [
        ("learn", "a", [0.5]),
        ("evaluate", "a", [0.1]),
        ("learn", "b", [0.5]),
        ("evaluate", "a", [0.4]),
        ("evaluate", "b", [0.2]),
    ]
    prepared = curves(lifetime(blocks, "lower"))
    assert measure(METRICS.get("forgetting"), prepared).value == pytest.approx(0.3)
    assert measure(METRICS.get("bwt"), prepared).value == pytest.approx(-0.3)


def test_a_task_that_is_always_perfect_counts_in_the_average() -> None:
    life = lifetime(
        [
            ("learn", "a", [1.0, 1.0]),
            ("evaluate", "a", [1.0]),
            ("learn", "b", [0.2, 0.5]),
            ("evaluate", "a", [1.0]),
            ("evaluate", "b", [0.5]),
        ]
    )
    assert measure(METRICS.get("average_accuracy"), curves(life)).value == 0.75


def _as_reward(life: Lifetime, bounds: tuple[float, float] | None = None) -> Lifetime:
    """The same life with its measure called reward, and bounds recorded where they are given."""
    tasks = [{"label": task, "bounds": list(bounds)} for task in ("a", "b", "c")] if bounds else []
    return Lifetime(
        "life",
        life.experiences.rename({"accuracy": "reward"}),
        {"reward": "higher"},
        manifest={"scenario": {"tasks": tasks}},
    )


def test_a_log_holds_accuracies_where_it_says_so() -> None:
    fractions, percents = (lived(cells, ["a", "b", "c"]) for cells in (WHOLE, WHOLE * 100))
    assert [matrix_of(curves(one)).unit for one in (fractions, percents)] == ["fraction", "percent"]
    rewards = {
        bounds: matrix_of(curves(_as_reward(fractions, bounds))).unit for bounds in (None, (0.0, 1.0), (-1.0, 1))
    }
    assert rewards == {None: "raw", (0.0, 1.0): "fraction", (-1.0, 1): "raw"}
    assert matrix_of(curves(_as_reward(percents, (0.0, 100.0)))).unit == "percent"
    assert matrix_of(curves(lived(WHOLE * 1000, ["a", "b", "c"]))).unit == "raw"


def test_raw_values_have_no_remembering_and_a_stability_in_squared_units() -> None:
    remembering, stability = METRICS.get("dr_remembering"), METRICS.get("memory_stability")
    raw = curves(_as_reward(lived(WHOLE * 100, ["a", "b", "c"])))
    assert "bounds of 0..1 or 0..100" in (measure(remembering, raw).why or "")
    assert measure(stability, raw).flags == ("in squared units",)
    fractions = curves(lived(WHOLE, ["a", "b", "c"]))
    assert measure(stability, fractions).flags == ()
    said = curves(_as_reward(lived(WHOLE * 100, ["a", "b", "c"])))
    told = measure(remembering, said, Context({"unit": "percent"}))
    assert told.value == pytest.approx(measure(remembering, fractions).value)


def test_baselines_of_an_error_are_given_as_measured() -> None:
    blocks = [
        ("learn", "a", [0.5]),
        ("evaluate", "a", [0.1]),
        ("evaluate", "b", [0.6]),
        ("learn", "b", [0.5]),
        ("evaluate", "a", [0.4]),
        ("evaluate", "b", [0.2]),
    ]
    prepared = curves(lifetime(blocks, "lower"))
    assert measure(METRICS.get("fwt"), prepared, Context({"random_init": 0.9})).value == pytest.approx(0.3)
    assert measure(METRICS.get("above_chance"), prepared, Context({"random_init": 0.9})).value == pytest.approx(0.7)


def test_sites_cost_little_where_many_tasks_are_hardly_evaluated() -> None:
    blocks = [one for task in range(2000) for one in (("learn", f"t{task}", [0.5]), ("evaluate", f"t{task}", [0.5]))]
    scenario = lifetime(blocks).scenario
    found = {metric.name: sum(1 for _ in metric.sites(scenario)) for metric in FROM_CELLS}
    assert found["learning_accuracy"] == 2000
    assert found["dr_accuracy"] == 0
