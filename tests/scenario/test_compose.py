"""Composed syllabi: they have the structure of their layout, and the seed reproduces them."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ScenarioError, UnknownNameError
from perdure.scenario.compose import chosen_tasks, compose, parse_task, single, single_task_syllabus
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.lint import lint
from perdure.scenario.model import Task
from perdure.scenario.syllabus import Syllabus, parse_syllabus, syllabus_text

SIX = ["navigate:clear", "navigate:fog", "follow:sedan", "follow:truck", "park:day", "park:night"]


def learned_blocks(syllabus: Syllabus) -> list[tuple[str, int | None]]:
    return [(block.task, block.length) for block in syllabus.scenario.blocks if block.mode == "learn"]


def evaluations(syllabus: Syllabus) -> list[list[str]]:
    """Return the tasks of each evaluation: consecutive evaluation blocks."""
    groups = itertools.groupby(syllabus.scenario.blocks, key=lambda block: block.mode)
    return [[block.task for block in group] for mode, group in groups if mode == "evaluate"]


def test_condensed_learns_six_variants_once_and_evaluates_all_seven_times() -> None:
    syllabus = compose("condensed", SIX, learn=300, evaluate=10, seed=1)
    assert sorted(learned_blocks(syllabus)) == sorted((task.replace(":", "_"), 300) for task in SIX)
    assert [sorted(tasks) for tasks in evaluations(syllabus)] == [sorted(t.replace(":", "_") for t in SIX)] * 7


def test_dispersed_learns_in_three_fresh_orders_as_much_as_condensed() -> None:
    condensed = compose("condensed", SIX, learn=3000, evaluate=10, seed=1)
    dispersed = compose("dispersed", SIX, learn=3000, evaluate=10, seed=1)
    blocks = learned_blocks(dispersed)
    assert len(blocks) == 18
    assert len(evaluations(dispersed)) == 19
    orders = [tuple(task for task, _ in blocks[start : start + 6]) for start in (0, 6, 12)]
    assert [sorted(order) for order in orders] == [sorted(t.replace(":", "_") for t in SIX)] * 3
    assert len(set(orders)) == 3
    assert dispersed.scenario.learning_experiences == condensed.scenario.learning_experiences == 18_000


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 8))
def test_superblocks_repeat_an_order_only_after_every_order_was_used(seed: int, tasks: int, superblocks: int) -> None:
    syllabus = compose("dispersed", [*"abcd"[:tasks]], learn=8, evaluate=1, superblocks=superblocks, seed=seed)
    blocks = [task for task, _ in learned_blocks(syllabus)]
    orders = {tuple(blocks[start : start + tasks]) for start in range(0, len(blocks), tasks)}
    assert len(orders) == min(superblocks, math.factorial(tasks))


def test_a_remainder_goes_to_the_first_superblocks() -> None:
    syllabus = compose("dispersed", ["a", "b"], learn=11, evaluate=1, superblocks=4)
    assert [length for task, length in learned_blocks(syllabus) if task == "a"] == [3, 3, 3, 2]


def test_alternating_repeats_one_order() -> None:
    tasks = [task for task, _ in learned_blocks(compose("alternating", ["a", "b", "c"], learn=30, evaluate=5, seed=3))]
    assert tasks[:3] == tasks[3:6] == tasks[6:]
    assert sorted(tasks[:3]) == ["a", "b", "c"]


def test_permuted_covers_every_order_once_over_that_number_of_seeds() -> None:
    orders = [
        tuple(
            task
            for task, _ in learned_blocks(compose("permuted", ["a", "b", "c", "d"], learn=20, evaluate=5, seed=seed))
        )
        for seed in range(24)
    ]
    assert set(orders) == set(itertools.permutations("abcd"))
    assert compose("permuted", ["a", "b"], learn=20, evaluate=5, seed=2).scenario.blocks == (
        compose("permuted", ["a", "b"], learn=20, evaluate=5, seed=0).scenario.blocks
    )


def test_condensed_orders_are_all_reached() -> None:
    orders = Counter(
        tuple(
            task for task, _ in learned_blocks(compose("condensed", ["a", "b", "c"], learn=20, evaluate=0, seed=seed))
        )
        for seed in range(120)
    )
    assert set(orders) == set(itertools.permutations("abc"))


def test_continual_goes_through_the_variants_of_one_task() -> None:
    syllabus = compose("continual", ["pong:a", "pong:b", "pong:c"], learn=50, evaluate=10)
    assert sorted(task for task, _ in learned_blocks(syllabus)) == ["pong_a", "pong_b", "pong_c"]
    assert syllabus.phases[0] == "1.train"


def test_ant_a_tests_the_tasks_learned_so_far() -> None:
    syllabus = compose("ant-a", ["a", "b", "c"], learn=50, evaluate=10, seed=5)
    order = [task for task, _ in learned_blocks(syllabus)]
    assert evaluations(syllabus) == [order[:1], order[:2], order]


def test_ant_b_tests_all_tasks_after_each_learning_block() -> None:
    assert evaluations(compose("ant-b", ["a", "b"], learn=50, evaluate=10)) == [["a", "b"]] * 2


def test_ant_c_learns_the_variants_of_a_task_together() -> None:
    tasks = [
        task
        for task, _ in learned_blocks(compose("ant-c", ["a:x", "b:x", "a:y", "b:y"], learn=50, evaluate=10, seed=2))
    ]
    assert [sorted(tasks[:2]), sorted(tasks[2:])] in (
        [["a_x", "a_y"], ["b_x", "b_y"]],
        [["b_x", "b_y"], ["a_x", "a_y"]],
    )


def test_an_expert_learns_as_much_as_the_lifetime_it_is_compared_with() -> None:
    lifetime = compose("dispersed", SIX, learn=3001, evaluate=10, seed=1)
    expert = single_task_syllabus(lifetime, "park:night", evaluate=10)
    assert learned_blocks(expert) == [("park_night", 3001)]
    assert evaluations(expert) == [["park_night"]] * 2
    assert expert.scenario.info["scenario_type"] == "ste"


def test_an_expert_has_the_parameters_and_bounds_of_its_task() -> None:
    task = Task("Pong", "wide", "ALE/Pong-v5", {"w": 0.3}, (-21, 21))
    lifetime = compose("condensed", [task, "breakout"], learn=20, evaluate=5)
    block = single_task_syllabus(lifetime, "pong_wide").scenario.blocks[0]
    assert (block.task, dict(block.params)) == ("pong_wide", {"w": 0.3})
    assert single_task_syllabus(lifetime, "pong_wide").scenario.tasks[0].bounds == (-21, 21)


def test_an_expert_counts_wake_blocks_only_and_keeps_steps() -> None:
    text = """{"instructions": [
      {"$phase": "1.train"}, {"$repeat": {"$episode": "a"}, "steps": 500},
      {"$phase": "1.train", "subtype": "sleep"}, {"$repeat": {"$episode": "a"}, "steps": 70},
      {"$phase": "2.train"}, {"$repeat": {"$episode": "a"}, "steps": 300},
      {"$repeat": {"$episode": "b"}, "count": 3}]}"""
    lifetime, _ = parse_syllabus(text)
    expert = single_task_syllabus(lifetime, "a", evaluate=2)
    assert expert.steps == (None, 800, None)
    assert learned_blocks(expert) == [("a", None)]
    assert parse_syllabus(syllabus_text(expert))[0] == expert


def test_an_expert_for_a_task_that_is_never_learned_is_refused() -> None:
    text = '{"instructions": [{"$phase": "1.train"}, {"$episode": "a"}, {"$phase": "1.test"}, {"$episode": "b"}]}'
    with pytest.raises(ScenarioError, match=r"'b' is never learned.*choose one that is: a"):
        single_task_syllabus(parse_syllabus(text)[0], "b")


def test_the_seed_decides_the_order_and_is_recorded_with_it() -> None:
    first, again, other = (compose("dispersed", SIX, learn=90, evaluate=5, seed=seed) for seed in (4, 4, 5))
    assert first == again
    assert learned_blocks(first) != learned_blocks(other)
    record: Any = first.scenario.info["composed"]
    assert (record["layout"], record["seed"], record["superblocks"]) == ("dispersed", 4, 3)
    assert record["order"] == [task for task, _ in learned_blocks(first)]


def test_superblocks_are_ignored_by_layouts_without_them() -> None:
    sizes: dict[str, Any] = {"learn": 20, "evaluate": 5}
    assert compose("condensed", ["a", "b"], superblocks=0, **sizes) == compose("condensed", ["a", "b"], **sizes)


def test_without_evaluations_there_are_no_test_phases() -> None:
    syllabus = compose("condensed", ["a", "b"], learn=20, evaluate=0)
    assert set(syllabus.phases) == {"1.train", "2.train"}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, list[Task], dict[str, Any]]:
    layout = draw(st.sampled_from(sorted(LAYOUTS)))
    names = draw(
        st.lists(st.sampled_from(["Pong", "Breakout", "mini-grid", "Ünï"]), min_size=2, max_size=3, unique=True)
    )
    params = draw(st.sampled_from([{}, {"bot/paddle/width": {"$uniform": [0.1, 0.3]}}]))
    bounds = draw(st.sampled_from([None, (0.0, 1.5)]))
    variants = ["narrow", "wide"] if layout in ("continual", "ant-c") or draw(st.booleans()) else [""]
    if layout.startswith("ant-") and layout != "ant-c":
        variants, params = [draw(st.sampled_from(["", "only"]))], {}
    if layout in ("continual", "single"):
        names = names[:1]
    tasks = [
        Task(name, variant, None, {**params, "v": variant} if variant else params, bounds)
        for name in names
        for variant in variants
    ]
    if layout.startswith("ant-") and layout != "ant-c":
        tasks = [Task(task.name, task.variant, None, {}, bounds) for task in tasks]
    sizes = {
        "learn": draw(st.integers(60, 2000)),
        "evaluate": draw(st.integers(1, 100)),
        "superblocks": draw(st.integers(1, 4)),
        "seed": draw(st.integers(0, 2**40)),
    }
    return layout, tasks[:1] if layout == "single" else tasks, sizes


@given(requests())
def test_a_composed_syllabus_survives_the_round_trip(
    request: tuple[str, list[Task], dict[str, Any]],
) -> None:
    layout, tasks, sizes = request
    syllabus = compose(layout, tasks, **sizes)
    assert parse_syllabus(syllabus_text(syllabus))[0] == syllabus
    assert compose(layout, tasks, **sizes) == syllabus


@given(requests())
def test_a_composed_syllabus_lints_clean_for_its_type(request: tuple[str, list[Task], dict[str, Any]]) -> None:
    layout, tasks, sizes = request
    report = lint(compose(layout, tasks, **sizes))
    assert [problem for problem in report.problems if problem.level != "advice"] == []
    assert (report.kind or "").startswith(("CL", "ANT")) == (layout == "continual" or layout.startswith("ant-"))


@given(requests())
def test_every_variant_is_learned_for_the_requested_length(request: tuple[str, list[Task], dict[str, Any]]) -> None:
    layout, tasks, sizes = request
    totals: Counter[str] = Counter()
    for task, length in learned_blocks(compose(layout, tasks, **sizes)):
        totals[task] += length or 0
    assert totals == {task.label.lower(): sizes["learn"] for task in tasks}


@pytest.mark.parametrize(
    ("layout", "tasks", "words"),
    [
        ("condenced", ["a"], "did you mean 'condensed'"),
        ("condensed", [], "no task to compose from"),
        ("condensed", ["a", "A"], "'a' is named twice"),
        ("condensed", ["a", "a:x"], "with and without a variant"),
        ("condensed", ["a:x_y"], "has an underscore"),
        ("condensed", ["a:"], "write NAME or NAME:VARIANT"),
        ("condensed", ["a", " b"], "without spaces around it"),
        ("condensed", [Task("a", "x", "one"), Task("a", "y", "two")], "differ in env or bounds"),
        ("condensed", [Task("a", params={"w": float("nan")})], "not finite"),
        ("condensed", [Task("a", params={"w": {1, 2}})], "cannot be written as JSON"),
        ("condensed", [Task("a", params={"$w": 1})], "unknown word '\\$w'"),
        ("continual", ["a:x", "b:x"], "needs one task in two or more variants"),
        ("continual", ["a"], "needs one task in two or more variants"),
        ("ant-a", ["a"], "two or more different tasks"),
        ("ant-b", ["a:x", "a:y"], "two or more different tasks"),
        ("ant-c", ["a:x", "a:y", "b"], "each in two or more variants"),
        ("single", ["a", "b"], "an expert learns one task variant, not 2"),
    ],
)
def test_tasks_that_do_not_fit_a_layout_are_refused(layout: str, tasks: list[Any], words: str) -> None:
    with pytest.raises((ScenarioError, UnknownNameError), match=words):
        compose(layout, tasks, learn=30, evaluate=5)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"learn": 0}, "learn is 0; give a whole number from 1"),
        ({"learn": 10**12}, "learn is 1000000000000"),
        ({"learn": 2.5}, "learn is 2.5"),
        ({"evaluate": -1}, "evaluate is -1"),
        ({"superblocks": 0}, "superblocks is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"learn": 2}, "cannot be divided among 3 superblocks"),
        ({"name": ""}, "give printable text"),
    ],
)
def test_invalid_sizes_are_refused(sizes: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        compose("dispersed", ["a", "b"], **{"learn": 30, "evaluate": 5, **sizes})


@pytest.mark.parametrize("layout", ["ant-a", "ant-b", "ant-c"])
def test_types_that_require_tests_are_not_composed_without_them(layout: str) -> None:
    tasks = ["a:x", "b:x", "a:y", "b:y"] if layout == "ant-c" else ["a", "b"]
    with pytest.raises(ScenarioError, match="needs evaluations"):
        compose(layout, tasks, learn=30, evaluate=0)


def test_tasks_are_selected_from_a_syllabus_by_label_or_variant() -> None:
    lifetime = compose("condensed", SIX, learn=30, evaluate=5)
    assert [task.label for task in chosen_tasks(lifetime, ["park:day", "NAVIGATE_fog"])] == ["park_day", "navigate_fog"]
    assert len(chosen_tasks(lifetime, [])) == 6
    assert chosen_tasks(None, ["a:b"]) == (Task("a", "b"),)
    with pytest.raises(UnknownNameError, match="did you mean 'park_day'"):
        chosen_tasks(lifetime, ["park:dya"])


def test_tuples_become_lists_as_a_file_would_give_them() -> None:
    syllabus = single(Task("a", params={"start": (1, 2)}), learn=20)
    assert dict(syllabus.scenario.blocks[0].params) == {"start": [1, 2]}
    assert parse_syllabus(syllabus_text(syllabus))[0] == syllabus


def test_a_colon_separates_task_and_variant() -> None:
    assert parse_task("ALE/Pong:wide") == Task("ALE/Pong", "wide")
    assert parse_task("pong") == Task("pong")


def test_single_makes_one_block_to_learn() -> None:
    assert single("a", learn=3).scenario.blocks[0].length == 3


DECLARES = """
import json
from typer.testing import CliRunner
from perdure.scenario.layouts import Phase, layout

@layout("there-and-back", "all variants, and again in reverse", "all, at the end", in_rounds=True)
def there_and_back(request):
    both = (*request.tasks, *reversed(request.tasks))
    yield Phase(tuple((task, request.learn) for task in both), request.tasks)

from perdure.cli.app import application
from perdure.scenario.lint import lint

def run_cli(*arguments):
    done = CliRunner().invoke(application(), arguments)
    assert done.exit_code == 0, done.output
    return done.stdout

composed = run_cli("compose", "there-and-back", "--task", "a", "b", "--learn", "9")
assert json.loads(composed)["scenario_type"] == "there-and-back"
assert lint(composed).ok
assert not [problem for problem in lint(composed).problems if "scenario_type" in problem.what]
assert "there-and-back" in run_cli("list", "layouts")
assert "or there-and-back only)" in " ".join(run_cli("compose", "--help").replace("│", " ").split())
"""


def test_a_declared_layout_appears_in_help_lists_and_lint() -> None:
    subprocess.run([sys.executable, "-c", DECLARES], check=True, timeout=60)
