"""Experts: where they come from, and how long they took."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import perdure
from perdure.curves.experts import Experts, expert_logs, merge_experts, read_experts, seconds_learning
from perdure.curves.model import Preparation
from perdure.errors import LogError, NotALogError
from perdure.log.read import Options
from perdure.metrics.contract import lifetime_of
from perdure.scenario.model import Block


def written(folder: Path, name: str, task: str) -> Path:
    with perdure.Journal(folder, name, measures=["reward"]) as journal:
        for number in range(3):
            journal.log(
                block_num=0, exp_num=number, block_type="train", task_name=task, task_params={}, reward=float(number)
            )
    return folder / name


def test_a_folder_of_experts_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    written(tmp_path / "two", "b", "a_1")
    written(tmp_path / "two", "a", "b_1")
    found = read_experts([tmp_path / "two"])
    assert [one.id for one in found.lifetimes] == ["a", "b"]


def test_a_single_log_is_one_expert(tmp_path: Path) -> None:
    assert len(read_experts([written(tmp_path, "one", "a_1")]).lifetimes) == 1


def test_a_broken_expert_is_left_out_and_the_others_serve(tmp_path: Path) -> None:
    written(tmp_path / "two", "good", "a_1")
    bad = written(tmp_path / "two", "bad", "a_1")
    next(bad.rglob("data-log.tsv")).write_bytes(b"\xff\xfe nonsense\n")
    found = read_experts([tmp_path / "two"], Options())
    assert [one.id for one in found.lifetimes] == ["good"]
    assert [path for path, _ in found.left_out] == [str(bad)]


def test_experts_given_in_two_ways_count_once_and_all_others_are_kept(tmp_path: Path) -> None:
    written(tmp_path, "one", "a_1")
    written(tmp_path, "two", "a_1")
    first, both = read_experts([tmp_path / "one"]), read_experts([tmp_path / "one", tmp_path / "two"])
    in_memory = replace(both.lifetimes[0], id="in memory", path=None)
    assert [one.id for one in merge_experts(first, both).lifetimes] == ["one", "two"]
    assert [one.id for one in merge_experts(first, Experts((in_memory,))).lifetimes] == ["one", "in memory"]


TABLE = "lifetime,role,env,block_type,reward\n" + "".join(
    f"{name},{role},{task},train,{number}\n"
    for name, role, tasks in [("one", "expert", "a"), ("two", "expert", "b"), ("three", "life", "ab")]
    for task in tasks
    for number in range(3)
)


def test_a_table_gives_its_experts_by_their_role(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "all.csv").write_text(TABLE)
    found = read_experts([tmp_path / "runs"], Options({"task_name": "env"}))
    assert [one.inside for one in found.lifetimes] == ["one", "two"]
    assert found.left_out == ()


def test_of_a_table_without_roles_those_serve_that_learn_one_task_alone(tmp_path: Path) -> None:
    file = tmp_path / "all.csv"
    file.write_text(TABLE.replace("role", "remark").replace("env", "task_name"))
    found = read_experts([file])
    assert [one.inside for one in found.lifetimes] == ["one", "two"]
    why = f"{file}#three: an expert learns one task alone; it learns a, b"
    assert found.left_out == ((f"{file}#three", why),)


def test_a_folder_without_a_log_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no expert here"):
        read_experts([tmp_path])
    with pytest.raises(NotALogError, match="no such file or folder"):
        read_experts([tmp_path / "absent"])


def test_info_json_states_saturations_by_task(tmp_path: Path) -> None:
    stated = tmp_path / "info.json"
    stated.write_text(json.dumps({"Task_1": 0.8746, "task_2": 1}))
    assert read_experts([stated]).saturations == {"task_1": 0.8746, "task_2": 1.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read as JSON"),
        ("[1]", "expected an object"),
        ('{"a": "high"}', "expected a finite number"),
        ('{"a": NaN}', "expected a finite number"),
        ('{"a": true}', "expected a finite number"),
    ],
)
def test_a_wrong_info_json_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "info.json").write_text(text)
    with pytest.raises(LogError, match=said):
        read_experts([tmp_path / "info.json"])


def test_time_is_summed_over_learning_blocks_between_their_experiences() -> None:
    # The timestamps of `lifetime_of` are a second apart: 4 and 2 seconds over 4 and 2 intervals.
    passage = lifetime_of([Block("learn", "a", 5), Block("evaluate", "a", 9), Block("learn", "a", 3)]).passage()
    assert seconds_learning(passage) == (6.0, 6)


def test_a_single_experience_takes_no_measurable_time() -> None:
    assert seconds_learning(lifetime_of([Block("learn", "a", 1)]).passage()) == (0.0, 0)


def test_a_copy_of_an_expert_counts_once_and_one_of_another_task_is_none(tmp_path: Path) -> None:
    for place, task in (("first", "a_1"), ("again", "a_1"), ("other", "b_1")):
        (tmp_path / place).mkdir()
        written(tmp_path / place, "expert", task)
    experts = read_experts([tmp_path / place for place in ("first", "again", "other")]).lifetimes
    assert len(experts) == 3
    served, left_out = expert_logs(experts, "reward", "higher", Preparation())
    assert [one.task for one in served] == ["a_1", "b_1"]
    ((path, why),) = left_out
    assert Path(path).parent.name == "again"
    assert "a copy of " in why
    assert f"{tmp_path / 'first' / 'expert'} " in why
