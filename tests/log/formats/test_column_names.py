"""Headers: names alone decide the shape of a table and the columns that are never measures."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import LogError
from perdure.log.formats.column_names import IDENTITY, is_bookkeeping, layout, table_shape
from perdure.log.read import Options


@pytest.mark.parametrize(
    ("header", "columns", "shape"),
    [
        ("task_name,block_type,reward", {}, "long"),
        ("task_name,reward", {}, "long"),  # its error then names the missing column
        ("env,phase,reward", {}, None),
        ("env,phase,reward", {"task_name": "env"}, "long"),
        ("env,phase,reward", {"lifetime": "phase"}, None),
        ("eval_exp,training_exp,value", {}, "triplets"),
        ("Eval_Exp,Training_Exp,value", {}, "triplets"),
        ("eval_exp,value", {}, None),
        ("eval_exp,exp,value", {"training_exp": "exp"}, "triplets"),
        ("x,train/active_env,pong", {}, "wide"),
        ("x,Current Task,pong", {}, "wide"),
        ("x,what,pong", {"active_task": "what"}, "wide"),
        ("task_name,block_type,active_task,reward", {}, "long"),
        ("a,b,c", {}, None),
    ],
)
def test_the_header_decides_the_shape(header: str, columns: dict[str, str], shape: str | None) -> None:
    assert table_shape(header.split(","), Options(columns)) == shape


@pytest.mark.parametrize("shape", ["long", "wide", "triplets"])
def test_a_declared_shape_overrides_the_header(shape: str) -> None:
    assert table_shape(["task_name", "active_task"], Options(shape=shape)) == shape  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["reward", "accuracy", "length", "x", "return", "steps_to_goal", "response_time"])
def test_a_possible_measure_is_not_bookkeeping(name: str) -> None:
    assert not is_bookkeeping(name)


@pytest.mark.parametrize("name", ["Step", "time/total_timesteps", "Wall Time", "unnamed_1", "Unnamed: 0", "run_id"])
def test_bookkeeping_columns_are_recognised_in_any_case_and_folder(name: str) -> None:
    assert is_bookkeeping(name)


def test_a_name_below_a_folder_of_names_is_not_an_identity() -> None:
    assert layout(["env/agent", "task_name", "block_type"], Path("x.csv"), Options()).identity == ()


NAMES = st.sampled_from([*(name for names in IDENTITY.values() for name in names), "task_name", "reward", "Seed", "a"])


@given(st.lists(NAMES, unique=True, min_size=1), st.dictionaries(NAMES, NAMES, max_size=3))
def test_every_column_of_the_file_keeps_a_place_and_no_two_share_a_name(
    header: list[str], columns: dict[str, str]
) -> None:
    try:
        scenario = layout(header, Path("x.csv"), Options(columns))
    except LogError as problem:
        message = str(problem)
        assert "no column" in message or "two columns would be called" in message
        return
    assert set(scenario.columns.values()) == set(header)
    assert len(scenario.columns) == len(scenario.pairs)
