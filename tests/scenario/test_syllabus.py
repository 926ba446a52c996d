"""Reading a syllabus follows its text, and a written syllabus is read back equal."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import ScenarioError
from perdure.scenario.compose import compose
from perdure.scenario.document import SyllabusProblem
from perdure.scenario.syllabus import Syllabus, parse_syllabus, read_syllabus, syllabus_text, write_syllabus

EXAMPLES = Path(__file__).parents[2] / "examples" / "syllabi"
TRAIN = {"$phase": "1.train"}
PONG = {"$episode": "Pong"}


def parse(*instructions: Any, **header: Any) -> tuple[Syllabus, tuple[SyllabusProblem, ...]]:
    syllabus, problems = parse_syllabus(json.dumps({**header, "instructions": instructions}))
    return syllabus, problems


def parse_valid(*instructions: Any, **header: Any) -> Syllabus:
    syllabus, problems = parse(*instructions, **header)
    assert [problem for problem in problems if problem.level == "error"] == []
    return syllabus


def lengths(syllabus: Syllabus) -> list[tuple[str, int | None]]:
    return [(block.task, block.length) for block in syllabus.scenario.blocks]


@pytest.mark.parametrize(
    ("file", "blocks", "episodes"),
    [("s003-annotated", 10, 20_060), ("s003-continual", 8, 15_500), ("s003-ant-c", 12, 30_600)],
)
def test_the_listings_of_2019_give_their_blocks_and_episodes(file: str, blocks: int, episodes: int) -> None:
    scenario = read_syllabus(EXAMPLES / f"{file}.json").scenario
    assert len(scenario.blocks) == blocks
    assert scenario.learning_experiences + scenario.evaluation_experiences == episodes


def test_fig_1_3_of_2019_is_read_block_by_block() -> None:
    syllabus = read_syllabus(EXAMPLES / "s003-annotated.json")
    assert list(dict.fromkeys(syllabus.phases)) == ["1.train", "1.test", "2.train", "2.test"]
    assert [(block.mode, block.task, block.length, dict(block.params)) for block in syllabus.scenario.blocks[1:4]] == [
        ("learn", "pong_v2", 5000, {"bot/paddle/width": 0.2}),
        ("evaluate", "pong_v1", 10, {"bot/paddle/width": 0.15}),
        ("evaluate", "pong_v3", 10, {"bot/paddle/width": 0.3}),
    ]
    assert [block.group for block in syllabus.scenario.blocks] == list(range(10))


def test_nested_repeats_multiply() -> None:
    nested = {"$repeat": {"$repeat": {"$repeat": PONG, "count": 2}, "count": 3}, "count": 5}
    assert lengths(parse_valid(TRAIN, nested)) == [("pong", 30)]


def test_consecutive_episodes_of_one_parameter_set_are_one_block() -> None:
    same = [PONG, {"$repeat": PONG, "count": 4}, {"$repeat": [PONG, {"$episode": "PONG"}], "count": 3}]
    assert lengths(parse_valid(TRAIN, *same)) == [("pong", 11)]


def test_a_repeat_of_several_instructions_is_unrolled_and_merged_at_its_ends() -> None:
    body = [PONG, {"$episode": "Breakout"}, PONG]
    assert lengths(parse_valid(TRAIN, {"$repeat": body, "count": 3})) == [
        ("pong", 1),
        ("breakout", 1),
        ("pong", 2),
        ("breakout", 1),
        ("pong", 2),
        ("breakout", 1),
        ("pong", 1),
    ]


def test_a_new_phase_or_subtype_starts_a_new_block() -> None:
    syllabus = parse_valid(TRAIN, PONG, {"$phase": "1.train", "subtype": "sleep"}, PONG, {"$phase": "2.train"}, PONG)
    assert lengths(syllabus) == [("pong", 1)] * 3
    assert [block.subtype for block in syllabus.scenario.blocks] == ["wake", "sleep", "wake"]


def test_the_phase_decides_the_mode() -> None:
    syllabus, problems = parse(
        TRAIN, {"$info": {"disable_updates": True}}, PONG, {"$phase": "1.test"}, {"$info": {}}, PONG
    )
    assert [block.mode for block in syllabus.scenario.blocks] == ["learn", "evaluate"]
    assert [(problem.level, problem.what) for problem in problems] == [("warning", "disable_updates in 1.train")]


def test_info_holds_until_the_next_info() -> None:
    body = [PONG, {"$info": {"hint": 1}}, {"$episode": "Breakout"}]
    syllabus = parse_valid(TRAIN, {"$repeat": body, "count": 2}, {"$info": {}}, PONG)
    assert [dict(info) for info in syllabus.infos] == [{}, {"hint": 1}, {"hint": 1}, {"hint": 1}, {}]


def test_a_length_in_steps_leaves_the_experiences_open() -> None:
    syllabus = parse_valid(
        TRAIN, {"$repeat": {"$repeat": PONG, "steps": 500}, "count": 2}, {"$repeat": PONG, "count": 3}
    )
    assert lengths(syllabus) == [("pong", None), ("pong", 3)]
    assert syllabus.steps == (1000, None)


def test_the_evaluation_before_any_learning_is_phase_0() -> None:
    assert parse_valid({"$phase": "0.test"}, PONG, TRAIN, PONG).phases == ("0.test", "1.train")


def test_parameters_are_stored_unchanged() -> None:
    params = {"bot/paddle/width": 0.15, "Deep/Key": [1, {"x": None}], "flag": True, "": "empty"}
    assert dict(parse_valid(TRAIN, {**PONG, **params}).scenario.blocks[0].params) == params


def test_the_header_describes_tasks() -> None:
    tasks = {"Pong": {"env": "ALE/Pong-v5", "bounds": [-21, 21], "variants": {"Wide": {"width": 0.3}}}}
    syllabus = parse_valid(TRAIN, {**PONG, "$variant": "wide"}, PONG, name="mine", author="me", tasks=tasks)
    wide, plain = syllabus.scenario.tasks
    assert (wide.label, wide.env, wide.bounds, dict(wide.params)) == (
        "pong_wide",
        "ALE/Pong-v5",
        (-21, 21),
        {"width": 0.3},
    )
    assert (plain.label, plain.env) == ("pong_v1", "ALE/Pong-v5")
    assert syllabus.scenario.name == "mine"
    assert dict(syllabus.scenario.info) == {"author": "me"}


def test_without_a_header_the_environment_is_the_task_as_spelled() -> None:
    task = parse_valid(TRAIN, {"$episode": "MiniGrid-Empty-5x5-v0"}).scenario.tasks[0]
    assert (task.name, task.env) == ("minigrid-empty-5x5-v0", "MiniGrid-Empty-5x5-v0")


def test_a_million_episodes_are_never_expanded() -> None:
    text = json.dumps({"instructions": [TRAIN, {"$repeat": {"$repeat": PONG, "count": 10**6}, "count": 900}]})
    tracemalloc.start()
    start = time.process_time()
    syllabus, _ = parse_syllabus(text)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lengths(syllabus) == [("pong", 900_000_000)]
    assert peak < 1_000_000
    assert time.process_time() - start < 1


def test_a_file_with_errors_is_not_read_as_a_syllabus(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"instructions": [PONG] * 7}))
    with pytest.raises(ScenarioError, match=r"(?s)7 errors.*instructions\[0\]: episode 'Pong' outside.*and 2 more"):
        read_syllabus(file)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({}, "no 'instructions' \\(found: nothing\\)"),
        ({"instruction": []}, "found: 'instruction'"),
        ({"instructions": {}}, "'instructions' is a dict"),
        ({"instructions": None}, "'instructions' is a NoneType"),
    ],
)
def test_a_document_that_is_not_a_syllabus_is_refused_with_its_type(value: Any, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        parse_syllabus(json.dumps(value))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.stem)
def test_an_example_survives_the_round_trip(file: Path, tmp_path: Path) -> None:
    syllabus = read_syllabus(file)
    write_syllabus(syllabus, tmp_path / "again.json")
    assert read_syllabus(tmp_path / "again.json") == syllabus


parameters = st.dictionaries(
    st.sampled_from(["w", "bot/paddle/width", "ball"]),
    st.sampled_from([0, 1, 1.0, True, 0.15, "x", None, [1, 2], {"a": {"b": 1}}, {"$uniform": [0, 1]}]),
    max_size=2,
)
episodes = st.builds(
    lambda task, variant, params: {
        "$episode": task,
        **({"$variant": variant + str(len(params))} if variant else {}),
        **params,
    },
    st.sampled_from(["Pong", "pong", "Breakout"]),
    st.sampled_from([None, "wide", "V1-"]),
    parameters,
)
repeats = st.recursive(
    episodes,
    lambda inner: st.builds(
        lambda body, count: {"$repeat": body, "count": count},
        inner | st.lists(inner, min_size=1, max_size=3),
        st.integers(1, 4),
    ),
    max_leaves=4,
)
infos = st.sampled_from([{"$info": {}}, {"$info": {"disable_updates": True}}, {"$info": {"hint": [1]}}])


@st.composite
def syllabi(draw: st.DrawFn) -> list[Any]:
    instructions: list[Any] = []
    for phase in ("0.test", "1.train", "1.test", "2.train", "4.train", "4.test"):
        if phase == "1.train" or draw(st.booleans()):
            instructions += [{"$phase": phase}, *draw(st.lists(repeats | infos, max_size=4)), draw(repeats)]
    return instructions


@given(syllabi())
def test_any_syllabus_without_errors_survives_the_round_trip(instructions: list[Any]) -> None:
    syllabus, problems = parse(*instructions)
    if not any(problem.level == "error" for problem in problems):
        again, problems = parse_syllabus(syllabus_text(syllabus))
        assert [problem for problem in problems if problem.level == "error"] == []
        assert again == syllabus


@given(syllabi())
def test_blocks_have_as_many_episodes_as_the_unrolled_syllabus(instructions: list[Any]) -> None:
    syllabus, _ = parse(*instructions)
    counted = sum(block.length or 0 for block in syllabus.scenario.blocks)
    assert counted == sum(_count_episodes(instruction) for instruction in instructions)
    for earlier, later in zip(range(len(syllabus.phases)), range(1, len(syllabus.phases)), strict=False):
        same_phase = syllabus.phases[earlier] == syllabus.phases[later]
        same_set = syllabus.scenario.blocks[earlier].task == syllabus.scenario.blocks[later].task
        assert not (same_phase and same_set) or (
            syllabus.scenario.blocks[earlier].params != syllabus.scenario.blocks[later].params
        )


def _count_episodes(instruction: Any) -> int:
    if isinstance(instruction, list):
        return sum(_count_episodes(inner) for inner in instruction)
    if "$repeat" in instruction:
        return int(instruction["count"]) * _count_episodes(instruction["$repeat"])
    return int("$episode" in instruction)


def test_a_failed_write_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="cannot be written: "):
        write_syllabus(parse_valid(TRAIN, PONG), tmp_path / "no" / "such" / "folder.json")


def test_the_repr_of_a_long_syllabus_and_its_scenario_is_one_short_line() -> None:
    many = compose("condensed", [f"task{n}" for n in range(30)], learn=2, evaluate=1)
    counted = "30 tasks, 30 learning blocks, 930 evaluation blocks"  # all are evaluated before, and after each
    assert repr(many) == f"Syllabus('condensed-0', {counted})"
    assert repr(many.scenario) == f"Scenario('condensed-0', {counted})"
    assert repr(compose("single", ["a"], learn=2, evaluate=0)).endswith(
        "1 task, 1 learning block, 0 evaluation blocks)"
    )
