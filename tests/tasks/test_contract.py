"""check_task: every embedded task keeps the contract, and each breach is reported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from tests.tasks import strange

import perdure.tasks.catalogue  # noqa: F401
from perdure.scenario.model import Mode
from perdure.tasks.contract import check_task
from perdure.tasks.interface import TASKS, Parameter
from perdure.tasks.streams import ImageStream, drawn_digits

NEEDS = {"minigrid5x5": "minigrid", "sklearn-digits": "sklearn"}


@pytest.mark.parametrize("name", TASKS.names())
def test_an_embedded_task_keeps_the_contract(name: str) -> None:
    if name in NEEDS and find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    check_task(name)


@pytest.mark.parametrize("game", ["pong", "breakout", "freeway"])
@pytest.mark.parametrize(
    "params",
    [{"observation": "pixels"}, {"mirrored": True}, {"controls/inverted": True}, {"background": 0.3, "steps": 20}],
)
def test_a_game_keeps_the_contract_in_every_variant(game: str, params: dict[str, Any]) -> None:
    check_task(game, params=params)


@pytest.mark.parametrize("env", [strange.Honest, strange.Talking])
def test_the_class_of_an_environment_can_be_checked_directly(env: type) -> None:
    check_task(env)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (strange.Raising, "raised ZeroDivisionError"),
        (strange.NotANumber, "give a finite number"),
        (strange.Endless, "did not end within 200 steps"),
        (strange.Shifting, "the action_space changed"),
        (strange.Growing, "not in its observation_space"),
        (strange.Unseeded, "two different courses; draw all chance from self.np_random"),
        (strange.Silent, "return detour as well"),
    ],
)
def test_a_breach_of_an_environment_is_reported(env: type, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_task(env, step_limit=200)


class Declared(strange.Talking):
    """An environment whose subclasses change its declaration."""


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("measures", {}, "expected a mapping"),
        ("measures", {"reward": "up"}, "'reward' is 'up'; expected 'higher' or 'lower'"),
        ("parameters", (Parameter("length", 0, "m", low=1, high=5),), "which it does not take"),
        ("parameters", (Parameter("length", 3, " ", low=1, high=5),), "does not say what it means"),
        ("parameters", (Parameter("length", 3, "m"), Parameter("length", 4, "m")), "declared twice"),
    ],
)
def test_a_breach_of_a_declaration_is_reported(attribute: str, value: Any, message: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(Declared, attribute, value)
    with pytest.raises(AssertionError, match=message):
        check_task(Declared)


class Stream(ImageStream):
    """A stream of drawn digits, whose subclasses break the contract."""

    def __init__(self) -> None:
        super().__init__("stream", "tell digits", drawn_digits()._pictures, 10)


class Careless(Stream):
    """A stream that draws random numbers from another generator."""

    own = np.random.default_rng(1)

    def examples(self, params: Mapping[str, Any], number: int, mode: Mode, rng: np.random.Generator) -> Any:
        return super().examples(params, number, mode, self.own)


class Upside(Stream):
    """A stream that declares a higher error as better."""

    measures = {"error": "higher"}  # noqa: RUF012


class Blank(Stream):
    """A stream whose measure is not a number."""

    def get_batch_log_info(self, labels: np.ndarray, predictions: np.ndarray) -> Mapping[str, float]:
        return {"accuracy": float("nan"), "error": 0.0}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Careless, "the same seed gave two different batches"),
        (Upside, "higher is said to be better"),
        (Blank, "a measure is a finite number"),
    ],
)
def test_a_breach_of_a_stream_is_reported(kind: type, message: str) -> None:
    check_task(Stream)
    with pytest.raises(AssertionError, match=message):
        check_task(kind)
