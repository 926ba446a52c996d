"""Sequences of tasks from one set of pictures follow their definitions, and can be run."""

from __future__ import annotations

import pytest

from perdure.errors import TaskError
from perdure.scenario.compose import compose
from perdure.scenario.model import Task
from perdure.tasks.catalogue import check_params, task_kind
from perdure.tasks.streams import permuted_tasks, rotated_tasks, split_tasks, table_b16_tasks


@pytest.mark.parametrize(
    "tasks",
    [
        split_tasks("digits", setting="task"),
        permuted_tasks("digits", 3),
        rotated_tasks("digits", [0, 90, 270, 450]),
        table_b16_tasks("digits"),
    ],
    ids=lambda tasks: tasks[0].name,
)
def test_the_tasks_accept_the_parameters_of_every_sequence(tasks: tuple[Task, ...]) -> None:
    for task in tasks:
        check_params(task_kind(task), task.label, task.params)
    assert len({task.label for task in tasks}) == len(tasks)
    assert compose("condensed", tasks, learn=1, evaluate=1).scenario.blocks


def test_a_split_has_each_class_once() -> None:
    result = [param for task in split_tasks("digits", 10, 5) for param in task.params["classes"]]
    assert result == list(range(10))
    with pytest.raises(TaskError, match="10 classes cannot be split into tasks of 3 each"):
        split_tasks("digits", 10, 3)


def test_table_b16_has_two_tasks_of_three_variants_in_batches_of_sixteen() -> None:
    tasks = table_b16_tasks("digits")
    assert [(task.name, task.variant) for task in tasks] == [
        *(("zero-one", variant) for variant in ("plain", "brightness", "contrast")),
        *(("one-two", variant) for variant in ("plain", "90", "270")),
    ]
    assert {task.params["batch/size"] for task in tasks} == {16}
    assert tasks[-1].params["rotation"] == -90  # equal to 270
