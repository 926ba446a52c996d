"""Several syllabi in one lifetime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.command import run_command

import perdure
from perdure.errors import ScenarioError
from perdure.scenario.model import Task
from perdure.scenario.syllabus import Syllabus, checked_syllabus, join_syllabi, syllabus_text

TASKS = ("pong", "breakout", "freeway")
composed = st.builds(
    perdure.compose,
    st.sampled_from(["condensed", "dispersed", "alternating"]),
    st.permutations(TASKS).map(lambda tasks: tasks[:2]),
    learn=st.integers(4, 9),
    evaluate=st.integers(0, 3),
    superblocks=st.just(2),
    seed=st.integers(0, 9),
)


def collapsed(blocks: Sequence[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Return mode, task and total length of blocks of one mode and task that follow each other."""
    runs = groupby(blocks, key=lambda block: block[:2])
    return [(mode, task, sum(length for *_, length in run)) for (mode, task), run in runs]


@given(st.lists(composed, min_size=1, max_size=3))
def test_a_joined_syllabus_has_all_blocks_in_order_and_is_valid(parts: list[Syllabus]) -> None:
    joined = join_syllabi(parts, "whole")
    assert checked_syllabus(syllabus_text(joined), "whole") == joined
    expected = [(block.mode, block.task, block.length or 0) for part in parts for block in part.scenario.blocks]
    found = [(block.mode, block.task, block.length or 0) for block in joined.scenario.blocks]
    # The last evaluation of a part and the first of the next may be one block.
    assert collapsed(found) == collapsed(expected)
    assert [block.group for block in joined.scenario.blocks] == list(range(len(found)))


def test_parameter_sets_that_differ_between_parts_are_variants() -> None:
    wide, narrow = (
        perdure.compose("single", [Task("pong", params={"bot/paddle/width": width})], learn=2, evaluate=1)
        for width in (0.4, 0.2)
    )
    assert {task.label for task in join_syllabi([wide, narrow]).scenario.tasks} == {"pong_v1", "pong_v2"}
    assert {task.label for task in join_syllabi([wide, wide]).scenario.tasks} == {"pong"}


def test_a_task_that_differs_in_bounds_is_refused() -> None:
    parts = [perdure.compose("single", [Task("pong", bounds=(0.0, high))], learn=2, evaluate=1) for high in (1.0, 2.0)]
    with pytest.raises(ScenarioError, match="differs in env or bounds"):
        join_syllabi(parts)
    with pytest.raises(ScenarioError, match="no syllabus to join"):
        join_syllabi([])


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, tasks in (("a", ["pong"]), ("b", ["breakout", "pong"])):
        syllabus = perdure.compose("condensed", tasks, learn=3, evaluate=2, name=name)
        perdure.write_syllabus(syllabus, tmp_path / f"{name}.json")
    return tmp_path


def test_compose_joins_files(files: Path) -> None:
    written = run_command("compose", "join", "--of", "a.json", "b.json", "--json", "whole.json", folder=files)
    assert written.returncode == 0, written.stderr
    whole = perdure.read_syllabus(files / "whole.json")
    assert whole.scenario.name == "a+b"
    assert whole == join_syllabi([perdure.read_syllabus(files / f"{name}.json") for name in "ab"])
    assert not [problem for problem in perdure.lint(files / "whole.json") if problem.level == "error"]


def test_a_protocol_runs_several_syllabi_as_one_lifetime(files: Path) -> None:
    (files / "protocol.toml").write_text(
        'lifetimes = 1\nexperts = 0\nlearner = { use = "q-learning" }\n[limits]\nsteps_per_episode = 30\n'
        '[[scenarios]]\nfile = ["a.json", "b.json"]\n'
    )
    ended = run_command("run", "protocol.toml", "--into", "run", "--workers", "0", "--quiet", folder=files)
    assert ended.returncode == 0, ended.stderr
    rows = perdure.read(files / "run/lives/life-000").experiences
    parts = [perdure.read_syllabus(files / f"{name}.json").scenario.blocks for name in "ab"]
    assert rows["block_num"].unique().sort().to_list() == list(range(rows["block_num"].n_unique()))
    assert rows.height == sum(block.length or 0 for blocks in parts for block in blocks)
    score = perdure.score(files / "run/lives/life-000")
    assert score.order == ("pong", *(block.task for block in parts[1] if block.mode == "learn"))
    assert score["performance_maintenance"] is not None
    stored = json.loads((files / "run/protocol.json").read_text())
    assert "file" not in stored["scenarios"][0]


@pytest.mark.parametrize("file", ["[]", '[""]', "3", '["a.json", "missing.json"]'])
def test_a_wrong_list_of_files_is_refused(files: Path, file: str) -> None:
    (files / "protocol.toml").write_text(f'learner = {{ use = "q-learning" }}\n[[scenarios]]\nfile = {file}\n')
    ended = run_command("run", "protocol.toml", "--into", "run", folder=files)
    assert ended.returncode == 2
    assert "file" in ended.stderr
