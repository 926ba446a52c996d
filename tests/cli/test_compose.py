"""`perdure compose`: what a user types, and the syllabus they get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from perdure.scenario.compose import compose
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.lint import lint
from perdure.scenario.syllabus import parse_syllabus, write_syllabus

Run = Callable[..., subprocess.CompletedProcess[str]]

TASKS = {
    "continual": ("--task", "Pong:narrow", "--task", "Pong:wide"),
    "ant-c": ("--task", "a:x", "--task", "a:y", "--task", "b:x", "--task", "b:y"),
    "single": ("--task", "Pong:wide"),
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_every_layout_is_composed_reproducibly_and_lints_clean(layout: str, run_cli: Run) -> None:
    tasks = TASKS.get(layout, ("--task", "Pong", "--task", "Breakout", "--task", "Freeway"))
    command = ("compose", layout, *tasks, "--learn", 60, "--evaluate", 10, "--seed", 5)
    done = run_cli(*command)
    assert done.returncode == 0, done.stderr
    assert [problem for problem in lint(done.stdout).problems if problem.level != "advice"] == []
    assert run_cli(*command).stdout == done.stdout


def test_the_command_gives_what_the_function_gives(run_cli: Run) -> None:
    done = run_cli(
        "compose", "condensed", "--task", "Pong:wide", "--task", "b", "--learn", 60, "--evaluate", 7, "--seed", 9
    )
    assert parse_syllabus(done.stdout)[0] == compose("condensed", ["Pong:wide", "b"], learn=60, evaluate=7, seed=9)


def test_an_expert_is_composed_for_a_task_of_another_syllabus(tmp_path: Path, run_cli: Run) -> None:
    write_syllabus(compose("dispersed", ["a:x", "a:y"], learn=100, evaluate=10), tmp_path / "life.json")
    done = run_cli("compose", "single", "--of", "life.json", "--task", "a:y", "--evaluate", 0)
    assert done.returncode == 0, done.stderr
    assert [(block.task, block.length) for block in parse_syllabus(done.stdout)[0].scenario.blocks] == [("a_y", 100)]


def test_tasks_are_taken_from_another_syllabus(tmp_path: Path, run_cli: Run) -> None:
    write_syllabus(compose("condensed", ["a:x", "a:y", "b"], learn=100, evaluate=10), tmp_path / "life.json")
    done = run_cli("compose", "dispersed", "--of", "life.json", "--learn", 60)
    assert {task.label for task in parse_syllabus(done.stdout)[0].scenario.tasks} == {"a_x", "a_y", "b"}


def test_several_tasks_may_follow_one_option(run_cli: Run) -> None:
    apart = run_cli("compose", "condensed", "--task", "a", "--task", "b:x", "--learn", 20)
    together = run_cli("compose", "condensed", "--task", "a", "b:x", "--learn", 20)
    assert together.returncode == 0, together.stderr
    assert together.stdout == apart.stdout


def test_a_file_can_be_named_for_the_syllabus(tmp_path: Path, run_cli: Run) -> None:
    done = run_cli("compose", "condensed", "--task", "a", "--learn", 20, "--json", "out.json")
    assert (done.returncode, done.stdout) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["composed"]["layout"] == "condensed"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("condenced", "--task", "a", "--learn", 5), "did you mean 'condensed'"),
        (("condensed", "--learn", 5), "no task to compose from"),
        (("condensed", "--task", "a"), "add --learn N"),
        (("condensed", "--task", "a", "--learn", 0), "learn is 0"),
        (("continual", "--task", "a", "--learn", 20), "two or more variants"),
        (("single", "--of", "nowhere.json", "--task", "a"), "cannot be read"),
    ],
)
def test_a_request_that_makes_no_sense_exits_2_with_a_sentence(
    arguments: tuple[object, ...], words: str, run_cli: Run
) -> None:
    done = run_cli("compose", *arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert done.stdout == ""


def test_the_example_of_the_help_runs(tmp_path: Path) -> None:
    from perdure.cli.compose import EXAMPLE

    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        EXAMPLE, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert lint(done.stdout).ok
