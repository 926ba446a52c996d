"""What a matrix metric needs: cells, baselines, and more than one task; what is missing is named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.log.formats.matrices import accuracy_matrix
from tests.metrics.matrices import BASELINES, FROM_CELLS, WHOLE, curves_of, from_matrix

from perdure.metrics.declare import METRICS
from perdure.metrics.matrix import AccuracySites
from perdure.metrics.presets import PRESETS, chosen_metrics

_UPPER = [(row, column) for row in range(3) for column in range(row + 1, 4)]


_LOWER = [(row, column) for row in range(3) for column in range(1, row + 1)]


NAMED: dict[str, list[tuple[int, int]]] = {
    "average_accuracy": [(0, 3), (1, 3), (2, 3)],
    "learning_accuracy": [(0, 1), (1, 2), (2, 3)],
    "bwt": [(0, 1), (0, 3), (1, 2), (1, 3)],
    "fwt": [(1, 1), (2, 2)],
    "above_chance": [(1, 2), (2, 3)],
    "forgetting": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "forgetting_strict": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "intransigence": [(1, 2), (2, 3)],
    "memory_stability": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "average_incremental_accuracy": _UPPER,
    "omega_base": [(0, 2), (0, 3)],
    "omega_new": [(1, 2), (2, 3)],
    "omega_all": [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3)],
    "dr_accuracy": _UPPER,
    "dr_bwt": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "dr_remembering": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "dr_fwt": _LOWER,
    "cora_forgetting": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "cora_zero_shot_transfer": [*_LOWER, (1, 0), (2, 0)],
    "libero_nbt": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)],
    "libero_auc": _UPPER,
}


@pytest.mark.parametrize("name", NAMED)
def test_a_value_needs_exactly_the_cells_that_its_formula_names(name: str) -> None:
    metric = METRICS.get(name)
    sites = metric.sites
    assert isinstance(sites, AccuracySites)
    whole = from_matrix(metric, accuracy_matrix(WHOLE), random_init=0.1, joint=0.9)
    for cell in np.ndindex(WHOLE.shape):
        cells = WHOLE.copy()
        cells[cell] = np.nan
        matrix = accuracy_matrix(cells)
        measured = from_matrix(metric, matrix, random_init=0.1, joint=0.9)
        missing = sites.missing(curves_of(matrix).scenario)
        if cell in NAMED[name]:
            assert measured.value is None, cell
            assert measured.why == missing
            assert f"A[{cell[0] + 1}, {cell[1]}]" in (missing or "")
        else:
            assert missing is None
            if not name.startswith("cora"):  # a task's best evaluation may lie in any cell
                assert measured.value == whole.value, cell


def test_a_missing_cell_is_called_by_its_tasks() -> None:
    cells = [[0.9, np.nan, 0.5], [np.nan, 0.8, 0.6], [np.nan, np.nan, 0.7]]
    scenario = curves_of(accuracy_matrix(cells, ["pong", "chess", "go"])).scenario
    sites = METRICS.get("forgetting").sites
    assert isinstance(sites, AccuracySites)
    expected = "A[1, 2] is missing: task 'pong' is not evaluated after 'chess' was learned and before 'go' was"
    assert sites.missing(scenario) == expected
    ahead = METRICS.get("cora_zero_shot_transfer").sites
    assert isinstance(ahead, AccuracySites)
    assert "'chess' is not evaluated before any learning" in (ahead.missing(scenario) or "")


def test_a_baseline_that_is_not_given_is_asked_for() -> None:
    matrix = accuracy_matrix(WHOLE[:, 1:], rows="evaluated")
    for name, option in [("fwt", "--random-init"), ("above_chance", "--random-init"), ("omega_all", "--joint")]:
        measured = from_matrix(METRICS.get(name), matrix)
        assert measured.value is None
        assert option in (measured.why or "")


def test_the_learner_before_any_learning_stands_for_an_untrained_one_unless_that_is_given() -> None:
    transfer, column = METRICS.get("fwt"), WHOLE[:, 0].tolist()
    assert from_matrix(transfer, accuracy_matrix(WHOLE)) == from_matrix(
        transfer, accuracy_matrix(WHOLE[:, 1:], rows="evaluated"), random_init=column
    )
    # (0.3 − 0.1 + 0.4 − 0.1)/2, whatever column 0 says.
    assert from_matrix(transfer, accuracy_matrix(WHOLE), random_init=0.1).value == pytest.approx(0.25)


def test_a_gap_before_any_learning_is_named_where_it_is_the_baseline() -> None:
    cells = WHOLE.copy()
    cells[2, 0] = np.nan
    measured = from_matrix(METRICS.get("above_chance"), accuracy_matrix(cells))
    assert measured.value is None
    assert measured.why == "A[3, 0] is missing: task 'task3' is not evaluated before any learning"
    cells = WHOLE.copy()
    cells[0, 0] = np.nan  # no formula reads what the first task was before any learning
    assert from_matrix(METRICS.get("above_chance"), accuracy_matrix(cells)).value is not None


def test_the_old_name_of_forward_transfer_still_finds_it() -> None:
    assert METRICS.get("fwt_gem") is METRICS.get("fwt")
    assert "fwt_gem" not in METRICS.names()
    assert list(chosen_metrics(PRESETS.get("standard"), ["fwt_gem"])) == ["fwt"]


def test_six_metrics_are_the_headline_of_a_matrix() -> None:
    leading = [one.name for one in METRICS if one.headline == "matrix"]
    assert leading == ["average_accuracy", "learning_accuracy", "bwt", "fwt", "forgetting", "general_ability_change"]


def test_forgetting_says_that_noise_alone_makes_it_positive() -> None:
    assert from_matrix(METRICS.get("forgetting"), accuracy_matrix(WHOLE)).flags == (
        "biased upward: noise alone gives a positive value",
    )
    assert "noise alone" in METRICS.get("forgetting").summary


def test_a_baseline_of_another_length_is_the_reason_for_no_value() -> None:
    measured = from_matrix(METRICS.get("fwt"), accuracy_matrix(WHOLE), random_init=[0.1, 0.1])
    assert "random_init has 2 values for 3 tasks" in (measured.why or "")
    assert from_matrix(METRICS.get("bwt"), accuracy_matrix(WHOLE), random_init=[0.1, 0.1]).value is not None


def test_a_joint_learner_at_zero_and_a_task_never_above_zero_give_no_ratio() -> None:
    matrix = accuracy_matrix([[0.0, 0.0], [np.nan, 0.5]])
    assert "joint learner's accuracy is 0" in (from_matrix(METRICS.get("omega_all"), matrix, joint=0).why or "")
    assert "best evaluation of 'task1' is 0" in (from_matrix(METRICS.get("cora_forgetting"), matrix).why or "")


def test_one_task_has_accuracies_but_nothing_to_forget() -> None:
    matrix = accuracy_matrix([[97.5]])
    for metric in FROM_CELLS:
        measured = from_matrix(metric, matrix, **BASELINES)
        if metric.name in {
            "average_accuracy",
            "learning_accuracy",
            "average_incremental_accuracy",
            "dr_accuracy",
            "libero_auc",
        }:
            assert measured.value == 97.5
        else:
            assert measured.value is None
            assert "two learned tasks" in (measured.why or "")
