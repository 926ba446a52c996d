"""Public functions held to their signatures: what is of another type is refused in our words."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest

import perdure
from perdure.arguments import held_to_its_signature

CLASSES = ["Journal", "Recorder", "Settings"]
FUNCTIONS = [name for name in perdure.__all__ if inspect.isfunction(getattr(perdure, name))]
NONSENSE: tuple[Any, ...] = (3, None, 2.5, "", "nonsense", b"x", {}, {"a": 1}, [], [3], [None], object())
TABLE = {
    "seed": [0] * 4 + [1] * 4,
    "block_num": [0, 1, 2, 3] * 2,
    "block_type": ["test", "train"] * 4,
    "task_name": ["a"] * 8,
    "reward": [0.1, 0.2, 0.3, 0.4] * 2,
}
PROTOCOL = """
name = "x"
lifetimes = 1
experts = 0
learner = { use = "forgetful-q" }
[[scenarios]]
layout = "condensed"
tasks = ["pong"]
learn = 2
evaluate = 1
"""


@pytest.fixture
def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Something right for each argument that has no default, by its name."""
    monkeypatch.chdir(tmp_path)
    Path("protocol.toml").write_text(PROTOCOL)
    syllabus = perdure.compose("condensed", ["pong"], learn=2, evaluate=1)
    numbers = np.arange(6.0)
    with perdure.Journal(tmp_path, "life", measures=["reward"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a", reward=1.0)
        yield {
            **dict.fromkeys(("log", "logs", "of", "path", "place"), "absent"),
            "blocks": [0, 1],
            "by_task": [numbers, numbers],
            "cells": [[0.5, 0.1], [0.4, 0.6]],
            "env": gymnasium.make("CartPole-v1"),
            "evaluate": 1,
            "figure": perdure.draw("scenario", tmp_path / "life"),
            "into": "out",
            "name": "again",
            "journal": journal,
            "kind": "scenario",
            "layout": "condensed",
            "learn": 2,
            "levels": numbers,
            "lifetime": perdure.read(tmp_path / "life"),
            "plan": perdure.plan(),
            "protocol": "protocol.toml",
            "rng": np.random.default_rng(0),
            "scenario": syllabus,
            "scores": numbers,
            "sites": lambda scenario: iter(()),
            "starts": np.array([0, 3, 6]),
            "statistic": perdure.interquartile_mean,
            "survey": perdure.survey(TABLE),
            "syllabus": syllabus,
            "task": "pong",
            "tasks": ["pong"],
            "to": "out.html",
            "values": numbers,
        }


def _refusal(function: Callable[..., Any], given: Mapping[str, Any]) -> perdure.PerdureError | None:
    """What our words are; nothing where it makes sense here. Any other error is one of the test."""
    try:
        made = function(**given)
        if isinstance(made, Iterator):
            list(made)
    except perdure.PerdureError as problem:
        return problem
    return None


@pytest.mark.parametrize("name", [*FUNCTIONS, *CLASSES])
def test_what_a_public_function_cannot_take_is_refused_in_our_words(name: str, sound: dict[str, Any]) -> None:
    function = getattr(perdure, name)
    parameters = inspect.signature(function).parameters.values()
    needed = {
        one.name: sound[one.name] for one in parameters if one.default is one.empty and one.kind != one.VAR_KEYWORD
    }
    for one in parameters:
        for value in NONSENSE if one.kind != one.VAR_KEYWORD else ():
            refused = _refusal(function, {**needed, one.name: value})
            assert refused is None or refused.fix, f"{one.name}={value!r}: {refused}"


TAKEN: dict[str, tuple[Callable[[], object], str]] = {
    "a whole number for a path": (
        lambda: perdure.lint(cast("Any", 3)),
        "syllabus is 3; give a path or perdure.Syllabus",
    ),
    "a dict of settings": (
        lambda: perdure.compare(TABLE, settings=cast("Any", {"level": 0.9})),
        "settings is {'level': 0.9}; give perdure.Settings",
    ),
    "text for a dict": (
        lambda: perdure.plan(detect=cast("Any", "x")),
        "detect is 'x'; give a dict with a number for each name",
    ),
    "another word in a dict, where a list would do": (
        lambda: perdure.read("x", measures=cast("Any", {"reward": "up"})),
        "measures is {'reward': 'up'}; give a list of text or a dict with 'higher' or 'lower' for each name",
    ),
    "text for a number in a dict": (
        lambda: perdure.plan(detect={"forward_transfer": cast("Any", "x")}),
        "detect is {'forward_transfer': 'x'}; give a dict",
    ),
    "no for False": (lambda: perdure.compare(TABLE, order=cast("Any", "no")), "order is 'no'; give True or False"),
    "a word that is near": (lambda: perdure.compare(TABLE, paired=cast("Any", "yess")), "did you mean 'yes'?"),
    "one where several are meant": (
        lambda: perdure.compose("condensed", "pong", learn=2, evaluate=1),
        "tasks is 'pong'; give a list of perdure.Task or text",
    ),
    "rows of two lengths": (
        lambda: perdure.interquartile_mean(cast("Any", [[1], [1, 2]])),
        "scores is [[1], [1, 2]]; give an array of numbers",
    ),
    "a seed for a generator": (
        lambda: perdure.stratified_bootstrap([np.ones(3)], np.mean, cast("Any", 3)),
        "rng is 3; give numpy.random.default_rng(seed)",
    ),
    "one measure": (lambda: perdure.Journal("x", "y", measures="reward"), "give a list of text or a dict"),
    "text for a switch": (lambda: perdure.Settings(pool=cast("Any", "no")), "pool is 'no'; give True or False"),
    "three for two": (
        lambda: perdure.Settings(bounds=cast("Any", {"pong": (0, 1, 2)})),
        "bounds is {'pong': (0, 1, 2)}; give a dict with (a number, a number) for each name",
    ),
    "no journal": (lambda: perdure.Recorder(cast("Any", "logs")), "journal is 'logs'; give perdure.Journal"),
    "no options": (lambda: perdure.find(".", cast("Any", 3)), "options is 3; give an Options"),
    "an object": (lambda: perdure.score(TABLE, settings=cast("Any", object())), "settings is an object; give"),
}


@pytest.mark.parametrize("what", TAKEN)
def test_a_refusal_names_the_argument_and_what_to_give(what: str) -> None:
    call, said = TAKEN[what]
    with pytest.raises(perdure.PerdureError) as problem:
        call()
    assert said in str(problem.value)
    assert str(problem.value.where).startswith("perdure.")


def test_numbers_of_numpy_are_numbers() -> None:
    whole: Any = np.int64
    made = perdure.compose("condensed", ["a", "b"], learn=whole(10), evaluate=whole(2), seed=whole(3))
    assert made == perdure.compose("condensed", ["a", "b"], learn=10, evaluate=2, seed=3)
    assert perdure.Settings(level=cast("Any", np.float32(0.75)), width=whole(5)) == perdure.Settings(
        level=0.75, width=5
    )
    assert perdure.plan(cast("Any", np.float32(1)), lifetimes=cast("Any", np.int64(5))).rule == perdure.plan(1.0).rule
    assert perdure.interquartile_mean(cast("Any", [1, 2, 3])) == 2


def test_a_list_stands_for_a_tuple_as_json_has_none() -> None:
    bounds = json.loads('{"a": [0, 1]}')
    listed, paired = (perdure.survey(TABLE, settings=perdure.Settings(bounds=one)) for one in (bounds, {"a": (0, 1)}))
    assert [one.values for one in listed.scores] == [one.values for one in paired.scores]


def test_another_name_is_left_to_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'kinds'"):
        perdure.lint("x.json", kinds="x")  # type: ignore[call-arg]


def test_a_public_function_is_the_same_one_each_time_and_can_be_sent_to_other_processes() -> None:
    for name in FUNCTIONS:
        function = getattr(perdure, name)
        assert pickle.loads(pickle.dumps(function)) is function is getattr(perdure, name)


def test_what_is_not_given_is_not_looked_at() -> None:
    def strange(x: Missing = 3, **how: Any) -> Any:  # type: ignore[name-defined]  # noqa: F821
        return x, how

    assert held_to_its_signature(strange, "perdure.strange")(y=2) == (3, {"y": 2})
    assert held_to_its_signature(strange, "perdure.strange")("anything") == ("anything", {})
