"""The header of a syllabus is checked, and its entries are stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.scenario.syllabus import parse_syllabus

INSTRUCTIONS = [{"$phase": "1.train"}, {"$episode": "Pong"}]


@pytest.mark.parametrize(
    ("header", "level", "words"),
    [
        ({"name": 3}, "error", "'name' is 3"),
        ({"author": ["me"]}, "error", "'author' is ['me']"),
        ({"complexity": "low"}, "warning", "'complexity' is 'low'"),
        ({"difficulty": 2}, "warning", "'difficulty' is 2"),
        ({"scenario_type": "condenced"}, "warning", "'scenario_type' is 'condenced'"),
        ({"auhtor": "me"}, "warning", "the header has no 'auhtor'"),
        ({"pre_deployment": float("nan")}, "error", "not finite"),
        ({"tasks": []}, "error", "'tasks' is []"),
        ({"tasks": {"Pong": 3}}, "error", "task 'Pong' is 3"),
        ({"tasks": {"Pong": {}, "PONG": {}}}, "error", "described twice"),
        ({"tasks": {"Pong": {"bound": [0, 1]}}}, "warning", "a task has no 'bound'"),
        ({"tasks": {"Pong": {"bounds": [1, 1]}}}, "error", "'bounds' is [1, 1]"),
        ({"tasks": {"Pong": {"bounds": [0, float("inf")]}}}, "error", "'bounds' is [0, inf]"),
        ({"tasks": {"Pong": {"bounds": [0, True]}}}, "error", "'bounds' is [0, True]"),
        ({"tasks": {"Pong": {"env": 3}}}, "error", "'env' is 3"),
        ({"tasks": {"Pong": {"variants": {"wide": 3}}}}, "error", "'variants' is"),
        ({"tasks": {"Pnog": {}}}, "warning", "'pnog' is described and never occurs"),
    ],
)
def test_a_mistake_in_the_header_is_reported(header: dict[str, Any], level: str, words: str) -> None:
    problems = parse_syllabus(json.dumps({**header, "instructions": INSTRUCTIONS}))[1]
    assert [(problem.level, words in problem.what) for problem in problems] == [(level, True)]
    assert problems[0].where.startswith(next(iter(header)))


def test_l2loggers_words_fold_case() -> None:
    text = json.dumps({"complexity": "1-LOW", "scenario_type": "Condensed", "instructions": INSTRUCTIONS})
    assert parse_syllabus(text)[1] == ()


def test_entries_of_the_header_are_stored_unchanged() -> None:
    info = {"author": "me", "pre_deployment": {"steps": 5}, "description": "x"}
    syllabus, _ = parse_syllabus(json.dumps({**info, "name": "n", "instructions": INSTRUCTIONS}))
    assert dict(syllabus.scenario.info) == info
    assert syllabus.scenario.name == "n"


def test_a_name_that_cannot_be_printed_falls_back_to_the_files() -> None:
    syllabus, _ = parse_syllabus(json.dumps({"name": "a\nb", "instructions": INSTRUCTIONS}), "file")
    assert syllabus.scenario.name == "file"
