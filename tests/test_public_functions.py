"""Calls of public functions: mistakes that would give a wrong result are refused with a message."""

from __future__ import annotations

import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

import perdure

TABLE = {
    "seed": [0] * 4 + [1] * 4,
    "block_num": [0, 1, 2, 3] * 2,
    "block_type": ["test", "train"] * 4,
    "task_name": ["a"] * 8,
    "reward": [0.1, 0.2, 0.3, 0.4] * 2,
}
FUNCTIONS = [name for name in perdure.__all__ if inspect.isfunction(getattr(perdure, name))]

REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "one task instead of a list": (
        lambda: perdure.compose("condensed", "pong", learn=2, evaluate=1),
        r"tasks is the text 'pong'; give a list of tasks, \['pong'\]",
    ),
    "one measure instead of a list": (
        lambda: perdure.Journal("x", "y", measures="reward"),
        r"measures is the text 'reward'; expected a list of names, \['reward'\]",
    ),
    "a dict instead of settings": (
        lambda: perdure.survey(TABLE, settings=cast("Any", {"preset": "standard"})),
        r"settings is a dict; give perdure.Settings\(preset=…, …\)",
    ),
    "a dict instead of settings of a report": (
        lambda: perdure.report("logs", to="r.html", settings=cast("Any", {"preset": "standard"})),
        r"settings is a dict",
    ),
    "an unknown role": (
        lambda: perdure.run_lifetime("x.json", role=cast("Any", "expret")),
        "unknown role 'expret'; did you mean 'expert'",
    ),
    "an unknown window": (
        lambda: perdure.smooth(np.ones(6), np.array([0, 6]), [0], window=cast("Any", "haning")),
        "unknown window 'haning'; did you mean 'hanning'",
    ),
    "an unknown alignment": (
        lambda: perdure.smooth(np.ones(6), np.array([0, 6]), [0], alignment=cast("Any", "left")),
        "unknown alignment 'left'; known: centred, lagging",
    ),
    "an unknown comparison": (
        lambda: perdure.plan(compare=cast("Any", "paird")),
        "unknown comparison 'paird'; did you mean 'paired'",
    ),
    "an unknown direction": (
        lambda: perdure.metric(lambda scenario: iter(()), better=cast("Any", "up")),
        "unknown value of better 'up'; known: higher, lower",
    ),
    "the name of sites instead of their function": (
        lambda: perdure.metric(cast("Any", "each_learning_block")),
        "sites is 'each_learning_block'; give a function of perdure.scenario.sites",
    ),
    "a near word": (
        lambda: perdure.compare(TABLE, paired=cast("Any", "yess")),
        "unknown value of paired 'yess'; did you mean 'yes'",
    ),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_that_would_change_the_result_is_refused(mistake: str) -> None:
    call, message = REFUSED[mistake]
    with pytest.raises(perdure.PerdureError, match=message):
        call()


def test_numpy_numbers_are_accepted() -> None:
    whole: Any = np.int64
    scenario = perdure.compose("condensed", ["a", "b"], learn=whole(10), evaluate=whole(2), seed=whole(3))
    assert scenario == perdure.compose("condensed", ["a", "b"], learn=10, evaluate=2, seed=3)
    assert json.loads(json.dumps(scenario.scenario.info["composed"]))["learn"] == 10
    assert perdure.plan(cast("Any", np.float32(1)), lifetimes=cast("Any", np.int64(5))).rule == perdure.plan(1.0).rule
    assert perdure.interquartile_mean(cast("Any", [1, 2, 3])) == 2


def test_a_single_log_is_accepted_as_a_list() -> None:
    assert perdure.settings_for("absent", {"level": 0.9}) == perdure.settings_for(["absent"], {"level": 0.9})


def test_a_public_function_keeps_its_identity_and_can_be_pickled() -> None:
    for name in FUNCTIONS:
        function = getattr(perdure, name)
        assert pickle.loads(pickle.dumps(function)) is function is getattr(perdure, name)
