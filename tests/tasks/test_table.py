"""Tables of tasks and parameters come from the declarations."""

from __future__ import annotations

from perdure.tasks.catalogue import parameter_table, task_table
from perdure.tasks.interface import TASKS


def test_every_task_has_a_line() -> None:
    lines = task_table().splitlines()
    assert len(lines) == 2 + len(TASKS.names())
    assert "| `pong` | return the ball until the opponent misses it: +1 or −1 a point |" in lines


def test_every_parameter_has_a_line() -> None:
    table = parameter_table("pong")
    assert "| `bot/paddle/width` | 0.2 | 0.02 to 1 | the learner's paddle, as a part of its line |" in table
    assert len(table.splitlines()) == 2 + len(TASKS.get("pong").parameters or ())


def test_a_gymnasium_id_refers_to_its_environment_for_parameters() -> None:
    assert "its environment decides" in parameter_table("CartPole-v1")
