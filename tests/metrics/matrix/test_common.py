"""The accuracy-matrix metrics against S002's numbers, plain loops, and their own laws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import perdure
from perdure.curves.build import curves
from perdure.curves.from_matrix import matrix_curves
from perdure.curves.model import Curves, Prep
from perdure.log.accuracy_matrix import AccuracyMatrix, passage_of
from perdure.log.formats.matrix import matrix_lifetime, read_matrix
from perdure.log.formats.matrix_settled import accuracy_matrix
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.metrics.engine.contract import check_metric
from perdure.metrics.engine.declare import METRICS, Context, Metric
from perdure.metrics.engine.load import chosen
from perdure.metrics.engine.measure import Measured, measure
from perdure.metrics.engine.presets import preset
from perdure.metrics.engine.score import Scorer
from perdure.metrics.engine.settings import Settings
from perdure.metrics.matrix.cells import evaluations_of, matrix_of
from perdure.metrics.matrix.cited import CITED_METRICS
from perdure.metrics.matrix.common import MATRIX_METRICS as OF_THE_PAGE
from perdure.metrics.matrix.sites import AccuracySites

EXAMPLE = Path(__file__).parents[3] / "examples" / "matrix" / "s002.csv"
MATRIX_METRICS = (*OF_THE_PAGE, *CITED_METRICS)
FROM_CELLS = tuple(one for one in MATRIX_METRICS if isinstance(one.sites, AccuracySites))
BASELINES = {"random_init": 10, "joint": 98}

# Below the diagonal and in column 0 too: three tasks, every cell measured.
WHOLE = np.array([[0.1, 0.9, 0.6, 0.7], [0.2, 0.3, 0.8, 0.5], [0.15, 0.1, 0.4, 0.95]])


def curves_of(matrix: AccuracyMatrix) -> Curves:
    return matrix_curves(passage_of(matrix, "m"), "m")


def from_matrix(metric: Metric, matrix: AccuracyMatrix, **baselines: Any) -> Measured:
    return measure(metric, curves_of(matrix), Context(baselines))


def lifetime(blocks: Sequence[tuple[str, str, Sequence[float]]], direction: Any = "higher") -> Lifetime:
    """A life of blocks `(mode, task, values)`; a mode is learn, evaluate, or evaluate asleep."""
    rows = [
        (
            number,
            10_000 * number + index,
            "w",
            "train" if mode == "learn" else "test",
            "sleep" if mode == "asleep" else "wake",
            task,
            "{}",
            "complete",
            "",
            float(value),
        )
        for number, (mode, task, values) in enumerate(blocks)
        for index, value in enumerate(values)
    ]
    schema = {**STANDARD_COLUMNS, "accuracy": pl.Float64()}
    return Lifetime("life", pl.DataFrame(rows, schema=schema, orient="row"), {"accuracy": direction})


def lived(values: np.ndarray[Any, Any], tasks: Sequence[str]) -> Lifetime:
    """A life whose matrix is `values`: each cell an evaluation of two experiences around it."""
    blocks: list[tuple[str, str, Sequence[float]]] = []
    for column in range(values.shape[1]):
        if column:
            blocks.append(("learn", tasks[column - 1], [0.0, 0.5, 1.0]))
        blocks += [
            ("evaluate", tasks[row], [values[row, column] - 0.01, values[row, column] + 0.01])
            for row in range(len(tasks))
            if not np.isnan(values[row, column])
        ]
    return lifetime(blocks)


def whole_matrices(least: int = 2) -> Any:
    shapes = st.integers(least, 5).map(lambda count: (count, count + 1))
    return shapes.flatmap(lambda shape: hnp.arrays(np.float64, shape, elements=st.floats(0.05, 0.95)))


# --- numbers from outside --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("average_accuracy", 62.0),
        ("learning_accuracy", 98.02),
        ("bwt", -45.025),
        ("forgetting", 45.025),
        ("memory_stability", 363.0510076),
        ("above_chance", 87.9),
        ("intransigence", 0.1),
        ("average_incremental_accuracy", 75.3866667),
        ("dr_accuracy", 69.5666667),
        ("dr_bwt", -42.79),
        ("dr_remembering", 0.5721),
        ("min_accuracy", 52.975),
        ("worst_case_accuracy", 62.0),
    ],
)
def test_the_example_of_s002_gives_its_published_values(name: str, value: float) -> None:
    measured = from_matrix(METRICS.get(name), read_matrix(EXAMPLE), **BASELINES)
    assert measured.value == pytest.approx(value, abs=5e-8)


def test_the_example_of_s002_gives_its_forgetting_task_by_task() -> None:
    by = from_matrix(METRICS.get("forgetting"), read_matrix(EXAMPLE)).by
    assert [value for (value,) in by.values()] == pytest.approx([49.3, 47.7, 44.5, 38.6])


def test_the_zero_filled_transposed_twin_of_s002_gives_the_same_values(tmp_path: Path) -> None:
    # Read the wrong way round, zeros and all, it would give AA 19.62 and BWT −98.0.
    twin = tmp_path / "twin.csv"
    np.savetxt(twin, np.nan_to_num(read_matrix(EXAMPLE).after).T, delimiter=",", fmt="%.1f")
    here, there = (
        perdure.score(EXAMPLE, settings=Settings(random_init=10, joint=98)),
        perdure.score(twin, settings=Settings(random_init=10, joint=98)),
    )
    assert there["average_accuracy"] == pytest.approx(62.0)
    assert there["bwt"] == pytest.approx(-45.025)
    assert {name: one.value for name, one in here.metrics.items()} == {
        name: one.value for name, one in there.metrics.items()
    }
    assert any("rows are the tasks learned so far" in note for note in there.notes)
    assert any("count as not evaluated" in note and "--as-given" in note for note in there.notes)


@given(whole_matrices(3), st.sampled_from(["column 0", "missing", "zeros"]))
@settings(max_examples=40, deadline=None)
def test_which_way_round_a_matrix_is_written_changes_no_value(cells: np.ndarray[Any, Any], sign: str) -> None:
    if sign != "column 0":
        cells = cells[:, 1:]
        cells[np.tril_indices_from(cells, k=-1)] = np.nan if sign == "missing" else 0.0
    scorer = Scorer(Settings(random_init=0.1, joint=0.9))
    ways = [scorer.score(matrix_lifetime(one)) for one in (cells, cells.T)]
    assert ways[0].metrics == ways[1].metrics
    assert any(one.value is not None for one in ways[0].metrics.values())


def test_a_matrix_is_scored_like_any_lifetime() -> None:
    made = perdure.score(matrix_lifetime([[0.9, 0.5], [np.nan, 0.8]], ["Pong", "Chess"]))
    assert (made.id, made.measure, made.identity.unit) == ("matrix", "accuracy", "fraction")
    assert made.tasks == made.order == ("pong", "chess")
    assert made["bwt"] == pytest.approx(-0.4)
    assert set(made.metrics) == {one.name for one in FROM_CELLS} | {"general_ability_change"}
    assert any("an accuracy matrix in fraction" in note for note in made.notes)


def test_no_preparation_touches_a_matrix() -> None:
    life = matrix_lifetime(WHOLE)
    plain = curves(life)
    for prep in (Prep(scale="run"), Prep(clamp=True), Prep(noise=3.0), Prep(bounds={"task1": (0.0, 1.0)})):
        np.testing.assert_array_equal(curves(life, prep).values, plain.measured)


def test_a_matrix_of_errors_is_scored_as_its_complement_would_be() -> None:
    errors = Scorer(Settings(lower_is_better=True, random_init=0.9)).score(matrix_lifetime(1 - WHOLE))
    accuracies = Scorer(Settings(random_init=0.1)).score(matrix_lifetime(WHOLE))
    for name in ("bwt", "fwt", "above_chance", "forgetting", "libero_nbt", "dr_remembering", "memory_stability"):
        assert errors[name] == pytest.approx(accuracies[name]), name
    assert errors["average_accuracy"] == pytest.approx((accuracies["average_accuracy"] or 0) - 1)


# --- plain loops over the definitions --------------------------------------------------------------


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _columns(a: Any) -> range:
    return range(1, len(a) + 1)


# Rows count from 1 by `a[i - 1][j]`, columns from 0, before any learning, to n; r and q are the baselines.
LOOPS: dict[str, Callable[[Any, int, list[float], list[float]], float]] = {
    "average_accuracy": lambda a, n, r, q: _mean([a[i - 1][n] for i in _columns(a)]),
    "learning_accuracy": lambda a, n, r, q: _mean([a[i - 1][i] for i in _columns(a)]),
    "bwt": lambda a, n, r, q: _mean([a[i - 1][n] - a[i - 1][i] for i in range(1, n)]),
    "fwt": lambda a, n, r, q: _mean([a[i - 1][i - 1] - r[i - 1] for i in range(2, n + 1)]),
    "above_chance": lambda a, n, r, q: _mean([a[i - 1][i] - r[i - 1] for i in range(2, n + 1)]),
    "forgetting": lambda a, n, r, q: _mean([max(a[i - 1][i : n + 1]) - a[i - 1][n] for i in range(1, n)]),
    "forgetting_strict": lambda a, n, r, q: _mean([max(a[i - 1][i:n]) - a[i - 1][n] for i in range(1, n)]),
    "intransigence": lambda a, n, r, q: _mean([q[i - 1] - a[i - 1][i] for i in range(2, n + 1)]),
    "memory_stability": lambda a, n, r, q: _mean(
        [_mean([(x - _mean(a[i - 1][i:])) ** 2 for x in a[i - 1][i:]]) for i in range(1, n)]
    ),
    "average_incremental_accuracy": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][j] for i in range(1, j + 1)]) for j in _columns(a)]
    ),
    "omega_base": lambda a, n, r, q: _mean([a[0][j] / q[0] for j in range(2, n + 1)]),
    "omega_new": lambda a, n, r, q: _mean([a[j - 1][j] for j in range(2, n + 1)]),
    "omega_all": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][j] for i in range(1, j + 1)]) / _mean(q[:j]) for j in range(2, n + 1)]
    ),
    "dr_accuracy": lambda a, n, r, q: _mean([a[i - 1][j] for j in _columns(a) for i in range(1, j + 1)]),
    "dr_bwt": lambda a, n, r, q: _mean([a[i - 1][j] - a[i - 1][i] for j in _columns(a) for i in range(1, j)]),
    "dr_remembering": lambda a, n, r, q: 1 - abs(min(LOOPS["dr_bwt"](a, n, r, q), 0)),
    "dr_fwt": lambda a, n, r, q: _mean([a[i - 1][j] for i in _columns(a) for j in range(1, i)]),
    "min_accuracy": lambda a, n, r, q: _mean([min(a[i - 1][i:]) for i in range(1, n)]),
    "worst_case_accuracy": lambda a, n, r, q: (
        a[n - 1][n] / n + (1 - 1 / n) * _mean([min(a[i - 1][i:]) for i in range(1, n)])
    ),
    "cora_forgetting": lambda a, n, r, q: _mean(
        [(a[i - 1][j - 1] - a[i - 1][j]) / abs(max(a[i - 1])) for j in _columns(a) for i in range(1, j)]
    ),
    "cora_zero_shot_transfer": lambda a, n, r, q: _mean(
        [(a[i - 1][j] - a[i - 1][j - 1]) / abs(max(a[i - 1])) for i in _columns(a) for j in range(1, i)]
    ),
    "libero_nbt": lambda a, n, r, q: _mean(
        [_mean([a[i - 1][i] - a[i - 1][j] for j in range(i + 1, n + 1)]) for i in range(1, n)]
    ),
    "libero_auc": lambda a, n, r, q: _mean([_mean(a[i - 1][i:]) for i in _columns(a)]),
}


def test_every_cell_metric_has_a_loop_to_be_held_against() -> None:
    assert {one.name for one in FROM_CELLS} == set(LOOPS)
    assert {one.name for one in MATRIX_METRICS} == {*LOOPS, "cw_forward_transfer"}


@given(whole_matrices(), st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_each_metric_equals_its_definition_written_as_a_loop(cells: np.ndarray[Any, Any], random: Any) -> None:
    count = len(cells)
    untrained = [random.uniform(0.0, 0.3) for _ in range(count)]
    joint = [random.uniform(0.5, 1.0) for _ in range(count)]
    matrix = accuracy_matrix(cells)
    for metric in FROM_CELLS:
        measured = from_matrix(metric, matrix, random_init=untrained, joint=joint)
        expected = LOOPS[metric.name](cells.tolist(), count, untrained, joint)
        assert measured.value == pytest.approx(expected, rel=1e-12, abs=1e-14), metric.name


@given(whole_matrices())
@settings(max_examples=25, deadline=None)
def test_average_accuracy_is_learning_accuracy_plus_the_share_of_bwt(cells: np.ndarray[Any, Any]) -> None:
    count, matrix = len(cells), accuracy_matrix(cells)
    average, learning, change = (
        from_matrix(METRICS.get(name), matrix).value or 0.0 for name in ("average_accuracy", "learning_accuracy", "bwt")
    )
    assert average == pytest.approx(learning + change * (count - 1) / count, abs=1e-12)


@given(whole_matrices())
@settings(max_examples=15, deadline=None)
def test_percent_and_fractions_tell_the_same(cells: np.ndarray[Any, Any]) -> None:
    fractions, percents = accuracy_matrix(cells), accuracy_matrix(cells * 100, unit="percent")
    for metric in FROM_CELLS:
        small = from_matrix(metric, fractions, random_init=0.1, joint=0.9).value
        large = from_matrix(metric, percents, random_init=10, joint=90).value
        assert small is not None
        factor = 1 if metric.unit in {"ratio", "fraction"} else 1e4 if metric.name == "memory_stability" else 100
        assert large == pytest.approx(small * factor, rel=1e-9, abs=1e-11), metric.name


# --- missing cells ---------------------------------------------------------------------------------

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
    assert list(chosen(preset("standard"), ["fwt_gem"])) == ["fwt"]


def test_five_metrics_are_the_headline_of_a_matrix() -> None:
    leading = [one.name for one in METRICS if one.headline == "matrix"]
    assert leading == ["average_accuracy", "learning_accuracy", "bwt", "fwt", "forgetting"]


def test_forgetting_says_that_noise_alone_makes_it_positive() -> None:
    assert from_matrix(METRICS.get("forgetting"), accuracy_matrix(WHOLE)).flags == ("noise alone makes it positive",)
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


# --- from a log ------------------------------------------------------------------------------------


@given(whole_matrices(), st.data())
@settings(max_examples=25, deadline=None)
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
    "prep", [Prep(scale="none"), Prep(scale="run", window="none"), Prep(clamp=True), Prep(noise=3.0)]
)
def test_preparation_does_not_touch_the_matrix(prep: Prep) -> None:
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


# --- against experts -------------------------------------------------------------------------------


def expert(values: Sequence[float], task: str = "a") -> Lifetime:
    return lifetime([("learn", task, values)])


def test_forward_transfer_is_the_share_of_the_room_above_the_expert() -> None:
    # Means over the first four: learner 0.7, expert 0.4; (0.7 − 0.4)/(1 − 0.4).
    own = lifetime([("learn", "a", [0.4, 0.6]), ("evaluate", "a", [0.0]), ("learn", "a", [0.8, 1.0])])
    for prep in (Prep(), Prep(scale="none"), Prep(scale="run")):
        prepared = curves(own, prep, [expert([0.1, 0.3, 0.5, 0.7, 1.0, 1.0])])
        assert measure(METRICS.get("cw_forward_transfer"), prepared).value == pytest.approx(0.5)


def test_forward_transfer_reads_given_bounds_as_zero_and_one() -> None:
    own = lifetime([("learn", "a", [40.0, 60.0, 80.0, 100.0])])
    transfer = METRICS.get("cw_forward_transfer")
    other = [expert([10.0, 30.0, 50.0, 70.0])]
    assert "between 0 and 1" in (measure(transfer, curves(own, Prep(), other)).why or "")
    bounded = curves(own, Prep(bounds={"a": (0.0, 100.0)}), other)
    assert measure(transfer, bounded).value == pytest.approx(0.5)


def test_forward_transfer_averages_experts_before_tasks_and_needs_room() -> None:
    own = lifetime([("learn", "a", [0.5, 0.5]), ("learn", "b", [0.5, 0.5])])
    transfer = METRICS.get("cw_forward_transfer")
    others = [expert([0.0, 0.0]), expert([0.5, 0.5]), expert([0.0, 0.0], "b")]
    assert measure(transfer, curves(own, Prep(), others)).value == pytest.approx((0.25 + 0.5) / 2)
    perfect = measure(transfer, curves(own, Prep(), [expert([1.0, 1.0])]))
    assert "leaves no room" in (perfect.why or "")


@pytest.mark.parametrize("metric", MATRIX_METRICS, ids=lambda one: one.name)
def test_each_metric_keeps_the_contract_of_plug_ins(metric: Metric) -> None:
    check_metric(metric)
