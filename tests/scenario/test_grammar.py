"""Mistakes in a syllabus: each is reported with its place and a fix."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from perdure.scenario.document import SyllabusProblem
from perdure.scenario.grammar import LONGEST, MOST_BLOCKS
from perdure.scenario.syllabus import parse_syllabus

TRAIN, TEST = {"$phase": "1.train"}, {"$phase": "1.test"}
PONG, BREAKOUT = {"$episode": "Pong"}, {"$episode": "Breakout"}


def problems(*instructions: Any, level: str = "error", **header: Any) -> list[SyllabusProblem]:
    text = json.dumps({**header, "instructions": instructions})
    return [problem for problem in parse_syllabus(text)[1] if problem.level == level]


def only(found: list[SyllabusProblem]) -> SyllabusProblem:
    assert len(found) == 1, [str(problem) for problem in found]
    return found[0]


@pytest.mark.parametrize(
    ("instructions", "where", "words"),
    [
        # phases
        ([TEST, PONG], 0, "1.test before any training"),
        ([{"$phase": "2.train"}, PONG], 0, "the first phase is 2.train"),
        ([{"$phase": "0.test"}, PONG, {"$phase": "2.train"}, PONG], 2, "the first training phase is 2.train"),
        ([{"$phase": "0.train"}, PONG], 0, "no phase 0.train"),
        ([{"$phase": "0.test"}, PONG, TEST, PONG], 2, "1.test before any training"),
        ([TRAIN, PONG, {"$phase": "2.train"}, PONG, TEST, PONG], 4, "phase 1.test after 2.train"),
        ([TRAIN, PONG, TRAIN, PONG], 2, "phase 1.train after 1.train"),
        ([TRAIN, PONG, TEST, PONG, TRAIN, PONG], 4, "phase 1.train after 1.test"),
        ([TRAIN, PONG, {"$phase": "0.test"}, PONG], 2, "phase 0.test after 1.train"),
        ([{"$phase": "1.Train"}, PONG], 0, "$phase is '1.Train'"),
        ([{"$phase": "train"}], 0, "$phase is 'train'"),
        ([{"$phase": 1}], 0, "$phase is 1"),
        ([{"$phase": "٣.train"}], 0, "$phase is '٣.train'"),
        ([{"$phase": "1.train", "subtype": "nap"}, PONG], 0, "'subtype' is 'nap'"),
        ([{"$phase": "1.train", "sub": 1}, PONG], 0, "unknown key 'sub' beside $phase"),
        ([PONG, TRAIN, PONG], 0, "episode 'Pong' outside any phase"),
        # words
        ([TRAIN, PONG, {"$epsiode": "Pong"}], 2, "unknown word '$epsiode'"),
        ([TRAIN, PONG, {"episode": "Pong"}], 2, "without a $ word"),
        ([TRAIN, PONG, {}], 2, "without a $ word"),
        ([TRAIN, PONG, 3], 2, "an instruction is an object, not 3"),
        ([TRAIN, PONG, {"$episode": "Pong", "$phase": "2.train"}], 2, "$episode and $phase in one instruction"),
        ([TRAIN, PONG, {**PONG, "$varaint": "x"}], 2, "unknown word '$varaint'"),
        ([TRAIN, PONG, {"$episode": ""}], 2, "$episode is ''"),
        ([TRAIN, PONG, {"$episode": 7}], 2, "$episode is 7"),
        ([TRAIN, PONG, {"$episode": "a\tb"}], 2, "$episode is 'a\\tb'"),
        ([TRAIN, PONG, {"$episode": "\ud800"}], 2, "$episode is '\\ud800'"),
        ([TRAIN, {**PONG, "$variant": "very_wide"}, PONG], 1, "has an underscore"),
        ([TRAIN, {**PONG, "$variant": None}, PONG], 1, "$variant is None"),
        ([TRAIN, PONG, {"$info": 1}], 2, "$info is 1"),
        ([TRAIN, PONG, {"$info": {"disable_updates": "yes"}}], 2, "'disable_updates' is 'yes'"),
        ([TRAIN, PONG, {"$info": {"x": float("inf")}}], 2, "not finite"),
        # counts
        ([TRAIN, PONG, {"$repeat": PONG}], 2, "no 'count'"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": 0}], 2, "'count' is 0"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": -3}], 2, "'count' is -3"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": 2.5}], 2, "'count' is 2.5"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": True}], 2, "'count' is True"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": "5"}], 2, "'count' is '5'"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": None}], 2, "'count' is None"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": 10**12}], 2, f"repeats more than {LONGEST:,} times"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": 10**4000}], 2, "repeats more than"),
        ([TRAIN, PONG, {"$repeat": PONG, "count": 3, "steps": 4}], 2, "both 'count' and 'steps'"),
        ([TRAIN, PONG, {"$repeat": PONG, "cuont": 3}], 2, "unknown key 'cuont'"),
        ([TRAIN, PONG, {"$repeat": [PONG], "steps": 3}], 2, "'steps' over more than one"),
        ([TRAIN, PONG, {"$repeat": [], "count": 3}], 2, "$repeat of nothing"),
        ([TRAIN, {"$repeat": TRAIN, "count": 2}, PONG], 1, "a $phase inside a $repeat"),
        # parameters
        ([TRAIN, PONG, {**PONG, "w": float("nan")}], 2, "parameter 'w' is nan, which is not finite"),
        ([TRAIN, PONG, {**PONG, "w": [1, {"x": float("-inf")}]}], 2, "parameter 'w' is -inf"),
        ([TRAIN, PONG, {**PONG, "w": {"$unifrom": [0, 1]}}], 2, "unknown distribution '$unifrom'"),
        ([TRAIN, {"$repeat": {**PONG, "w": {"$linear": [0, 1]}}, "steps": 9}], 1, "$linear in a block"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_at_its_instruction(instructions: list[Any], where: int, words: str) -> None:
    result = [problem for problem in problems(*instructions) if words in problem.what]
    assert only(result).where == f"instructions[{where}]"
    assert only(result).fix


@pytest.mark.parametrize(
    ("instruction", "suggestion"),
    [
        ({"$epsiode": "x"}, "$episode"),
        ({"$phse": "1.train"}, "$phase"),
        ({"$reapet": {}}, "$repeat"),
        ({"$inof": {}}, "$info"),
    ],
)
def test_an_unknown_word_offers_the_nearest(instruction: dict[str, Any], suggestion: str) -> None:
    assert only(problems(TRAIN, PONG, instruction)).fix == f"did you mean {suggestion!r}?"


def test_a_problem_inside_a_repeat_names_its_own_line() -> None:
    text = """{"instructions": [
      {"$phase": "1.train"},
      {"$repeat": {"$repeat": [
          {"$episode": "Pong"},
          {"$episode": ""}
        ], "count": 2}, "count": 3},
      {"$episode": "Pong",
       "w": 1, "w": 2}
    ]}"""
    syllabus = parse_syllabus(text)[1]
    assert [problem.where for problem in syllabus] == ["instructions[1].$repeat.$repeat[1]", "instructions[2]"]
    assert syllabus[1].what == "the key 'w' occurs twice"


def test_a_mistake_in_a_repeated_instruction_is_reported_once() -> None:
    assert len(problems(TRAIN, {"$repeat": [PONG, {"$episode": 1}], "count": 1000})) == 1


def test_ten_thousand_mistakes_in_one_repeat_are_found_quickly() -> None:
    start = time.process_time()
    assert len(problems(TRAIN, {"$repeat": [{"$episode": 1}] * 10_000, "count": 2})) == 10_000
    assert time.process_time() - start < 3


def test_a_key_named_twice_is_an_error_anywhere() -> None:
    inner = '{"instructions": [{"$phase": "1.train"}, {"$episode": "a", "w": {"x": 1, "x": 2}}]}'
    info = '{"instructions": [{"$phase": "1.train"}, {"$info": {"x": 1, "x": 2}}, {"$episode": "a"}]}'
    header = '{"tasks": {"a": {}, "a": {}}, "instructions": [{"$phase": "1.train"}, {"$episode": "a"}]}'
    outer = '{"name": "a", "name": "b", "instructions": [{"$phase": "1.train"}, {"$episode": "a"}]}'
    assert "'x' occurs twice" in only(list(parse_syllabus(inner)[1])).what
    assert "in $info the key 'x' occurs twice" in only(list(parse_syllabus(info)[1])).what
    assert "in 'tasks' the key 'a' occurs twice" in only(list(parse_syllabus(header)[1])).what
    assert "'name' occurs twice" in only(list(parse_syllabus(outer)[1])).what


@pytest.mark.parametrize("empty", [[], [TRAIN], [{"$info": {}}]])
def test_a_syllabus_without_an_episode_is_an_error(empty: list[Any]) -> None:
    assert only(problems(*empty)).what == "no episode at all"


def test_a_count_may_be_written_with_an_exponent() -> None:
    syllabus, found = parse_syllabus(
        '{"instructions": [{"$phase": "1.train"}, {"$repeat": {"$episode": "a"}, "count": 1e3}]}'
    )
    assert not found
    assert syllabus.scenario.blocks[0].length == 1000


def test_nested_counts_are_limited_by_their_product() -> None:
    nested = {"$repeat": {"$repeat": PONG, "count": 10**6}, "count": 10**6}
    assert "repeats more than" in only(problems(TRAIN, PONG, nested)).what
    lists = {"$repeat": [{"$repeat": [PONG], "count": 10**6}], "count": 10**6}
    assert "a block of" in only(problems(TRAIN, BREAKOUT, lists)).what


def test_alternating_a_million_times_is_refused_before_it_is_unrolled() -> None:
    start = time.process_time()
    result = problems(TRAIN, {"$repeat": [PONG, BREAKOUT], "count": 10**6})
    assert "gives 2,000,000 blocks" in only(result).what
    body: Any = [PONG, BREAKOUT]
    for _ in range(45):
        body = [{"$repeat": body, "count": 1000}, BREAKOUT]
    assert any("blocks" in problem.what for problem in problems(TRAIN, *body))
    assert time.process_time() - start < 10


def test_a_repeat_of_only_info_takes_no_time() -> None:
    start = time.process_time()
    assert not problems(TRAIN, {"$repeat": [{"$info": {}}], "count": 10**9}, PONG)
    assert time.process_time() - start < 1


def test_more_blocks_than_a_syllabus_may_have_are_refused_once() -> None:
    half = {"$repeat": [PONG, BREAKOUT], "count": MOST_BLOCKS // 2}
    assert "more than 200,000 blocks" in only(problems(TRAIN, half, PONG, BREAKOUT, PONG)).what


def test_an_empty_phase_is_a_warning() -> None:
    assert only(problems(TRAIN, {"$phase": "2.train"}, PONG, level="warning")).what == "phase 1.train holds no episode"


def test_a_test_phase_with_its_own_number_is_a_warning() -> None:
    result = problems(TRAIN, PONG, TEST, PONG, {"$phase": "2.test"}, PONG, level="warning")
    assert only(result).what == "2.test tests what no 2.train taught"


def test_numbers_may_have_gaps_if_they_increase() -> None:
    assert not problems(TRAIN, PONG, {"$phase": "5.train"}, PONG, {"$phase": "5.test"}, PONG)


@pytest.mark.parametrize("name", ["../../etc", "a/../b", ".."])
def test_a_name_that_the_log_would_refuse_is_an_error(name: str) -> None:
    text = json.dumps({"instructions": [{"$phase": "1.train"}, {"$episode": name}]})
    _, problems = parse_syllabus(text)
    assert any("../" in problem.fix for problem in problems)
