"""Blocks: where they begin and end, and which rows count."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.errors import LogError, UnknownNameError
from perdure.log.blocks import in_order
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS


def lifetime(rows: list[dict[str, Any]]) -> Lifetime:
    """Return a lifetime in memory from rows that give only the columns of interest."""
    usual = {
        "block_num": 0,
        "worker_id": "w",
        "block_type": "train",
        "block_subtype": "wake",
        "task_name": "a_1",
        "task_params": "{}",
        "exp_status": "complete",
        "timestamp": None,
        "reward": 1.0,
    }
    full = [{"exp_num": index, **usual, **row} for index, row in enumerate(rows)]
    frame = pl.DataFrame(full, schema={**STANDARD_COLUMNS, "reward": pl.Float64()})
    return Lifetime("test", in_order(frame), {"reward": "higher"})


@pytest.mark.parametrize(
    ("change", "splits"),
    [
        ({"block_num": 1}, True),
        ({"block_type": "test"}, True),
        ({"block_subtype": "sleep"}, True),
        ({"task_name": "b_1"}, True),
        ({"task_params": '{"seed": 1}'}, False),
        ({"worker_id": "x"}, False),
        ({"timestamp": "20240102T030405.000000"}, False),
    ],
)
def test_a_block_ends_where_number_mode_subtype_or_task_changes(change: dict[str, Any], splits: bool) -> None:
    life = lifetime([{}, {}, change, change])
    assert len(life.scenario.blocks) == (2 if splits else 1)


def test_a_blocks_parameters_are_those_that_do_not_change_within_it() -> None:
    wide, narrow = '{"paddle": 0.4, "points": 1, "bot": 2}', '{"paddle": 0.2, "points": 1}'
    [block] = lifetime([{"task_params": wide}] * 2 + [{"task_params": narrow}] * 2).scenario.blocks
    assert block.params == {"points": 1}


def test_rows_that_do_not_count_are_dropped_before_blocks_are_formed() -> None:
    life = lifetime(
        [
            {"block_num": 0},
            {"block_num": 1, "task_name": "b_1", "exp_status": "incomplete"},
            {"block_num": 1, "task_name": "b_1", "reward": None},
            {"block_num": 2, "reward": float("inf")},
            {"block_num": 2, "reward": float("nan")},
            {"block_num": 2, "reward": 3.0},
        ]
    )
    passage = life.passage()
    assert [(block.task, block.group, block.length) for block in passage.scenario.blocks] == [
        ("a_1", 0, 1),
        ("a_1", 2, 1),
    ]
    assert dict(passage.dropped) == {"incomplete": 1, "missing": 2, "not finite": 1}
    assert passage.dropped_rows == 4


def test_a_lifetime_in_which_nothing_counts_has_no_blocks() -> None:
    passage = lifetime([{"reward": None}]).passage()
    assert passage.scenario.blocks == ()
    assert passage.values.size == 0


def test_variants_become_their_task_on_request() -> None:
    life = lifetime([{"task_name": "my_pong_wide"}, {"task_name": "my_pong_slim"}, {"task_name": "plain"}])
    assert [block.task for block in life.passage(variants="agnostic").scenario.blocks] == ["my_pong", "plain"]
    assert [block.task for block in life.passage().scenario.blocks] == ["my_pong_wide", "my_pong_slim", "plain"]


def test_tasks_are_in_the_order_of_first_learning() -> None:
    life = lifetime(
        [
            {"block_num": 0, "block_type": "test", "task_name": "never"},
            {"block_num": 0, "block_type": "test", "task_name": "b"},
            {"block_num": 1, "task_name": "b"},
            {"block_num": 2, "task_name": "a"},
        ]
    )
    assert [task.label for task in life.scenario.tasks] == ["b", "a", "never"]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 5), st.sampled_from("uvw"), st.floats(-9, 9)),
        min_size=1,
        max_size=25,
    ),
    st.randoms(use_true_random=False),
)
def test_the_passage_does_not_depend_on_the_order_of_rows(rows: list[Any], random: Any) -> None:
    # One row per block, experience and worker, so that the rows themselves fix the order.
    unique = list({row[:3]: row for row in rows}.values())
    result = [dict(zip(("block_num", "exp_num", "worker_id", "reward"), row, strict=True)) for row in unique]
    shuffled = list(result)
    random.shuffle(shuffled)
    one, other = lifetime(result).passage(), lifetime(shuffled).passage()
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.starts, other.starts)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.floats(-9, 9)), min_size=1, max_size=25))
def test_an_experience_is_the_mean_of_its_rows(rows: list[tuple[int, int, float]]) -> None:
    life = lifetime([{"block_num": block, "exp_num": number, "reward": value} for block, number, value in rows])
    passage = life.passage()
    expected: dict[tuple[int, int], list[float]] = {}
    for block, number, value in rows:
        expected.setdefault((block, number), []).append(value)
    means = [np.mean(expected[key]) for key in sorted(expected)]
    np.testing.assert_allclose(passage.values, means, rtol=1e-12, atol=1e-12)
    assert passage.starts[-1] == len(means) == sum(block.length or 0 for block in passage.scenario.blocks)
    assert [
        len(np.unique(life.experiences.filter(pl.col("block_num") == block.group)["exp_num"]))
        for block in passage.scenario.blocks
    ] == [block.length for block in passage.scenario.blocks]


# --- a measure for each task ----------------------------------------------------------------------


def two_measures() -> Lifetime:
    """Return a lifetime in which reward measures pong, and units lost, blank elsewhere, measure battle."""
    schema = {**STANDARD_COLUMNS, "reward": pl.Float64(), "units": pl.Float64()}
    tasks = ["pong_1", "pong_1", "battle_1", "battle_1", "pong_1"]
    columns = {
        "block_num": [0, 0, 1, 1, 2],
        "exp_num": range(5),
        "worker_id": ["w"] * 5,
        "block_type": ["train"] * 5,
        "block_subtype": ["wake"] * 5,
        "task_name": tasks,
        "task_params": ["{}"] * 5,
        "exp_status": ["complete"] * 5,
        "timestamp": [None] * 5,
        "reward": [1.0, 2.0, None, None, 3.0],
        "units": [None, 7.0, 10.0, 20.0, None],
    }
    return Lifetime("two", pl.DataFrame(columns, schema=schema), {"reward": "higher", "units": "lower"})


def test_each_task_is_scored_by_its_own_measure() -> None:
    lifetime = two_measures()
    assert len(lifetime.passage("reward").scenario.blocks) == 2  # battle has no reward
    curve = lifetime.passage({"Pong": "reward", "battle_1": "units"})
    assert [block.task for block in curve.scenario.blocks] == ["pong_1", "battle_1", "pong_1"]
    assert curve.values.tolist() == [1.0, 2.0, 10.0, 20.0, 3.0]
    assert curve.measures == {"pong_1": "reward", "battle_1": "units"}
    assert curve.measure == "pong_1=reward, battle_1=units"


def test_a_mapping_of_every_task_to_one_measure_equals_that_measure() -> None:
    life = lifetime([{}, {"block_num": 1, "task_name": "b_1"}, {"block_num": 1, "task_name": "b_1", "reward": None}])
    one, each = life.passage("reward"), life.passage({"a": "reward", "b": "reward"})
    assert each.values.tolist() == one.values.tolist()
    assert each.scenario == one.scenario
    assert each.dropped == one.dropped


def test_the_measure_of_a_label_overrides_the_measure_of_its_task() -> None:
    assert two_measures().measured({"pong": "units", "pong_1": "reward", "battle": "units"}) == {
        "pong_1": "reward",
        "battle_1": "units",
    }


def test_a_task_without_a_measure_and_an_unknown_measure_are_named() -> None:
    with pytest.raises(LogError, match=r"no measure is named for task 'battle_1' \(named: pong\)"):
        two_measures().passage({"pong": "reward"})
    with pytest.raises(UnknownNameError, match="did you mean 'units'"):
        two_measures().passage({"pong": "reward", "battle": "unit"})


def test_variants_that_are_one_task_have_one_measure() -> None:
    lifetime = two_measures()
    renamed = pl.col("task_name").cast(pl.String).replace({"battle_1": "pong_2"}).cast(pl.Categorical())
    mixed = replace(lifetime, experiences=lifetime.experiences.with_columns(renamed))
    assert mixed.passage({"pong_1": "reward", "pong_2": "units"}).measures == {"pong_1": "reward", "pong_2": "units"}
    with pytest.raises(LogError, match="the variants of 'pong' are measured by 'reward' and 'units'"):
        mixed.passage({"pong_1": "reward", "pong_2": "units"}, "agnostic")
