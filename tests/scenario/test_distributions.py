"""Drawn parameters: they depend only on seed, block and index, and stay within their distribution."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.scenario.model import Block
from perdure.scenario.parameters import distribution_problem, draw_parameters, episodes, is_drawn

PARAMS: dict[str, Any] = {
    "width": {"$uniform": [0.1, 0.3]},
    "ghost": {"$choice": ["red", "blue", 3]},
    "speed": {"$normal": [5, 2]},
    "light": {"$linear": [0, 10]},
    "nested": {"inner": [{"$uniform": [1, 2]}, 7]},
    "fixed": "as it is",
}


@given(st.integers(0, 2**64), st.integers(0, 500), st.integers(0, 10**9))
def test_the_draw_of_an_episode_does_not_depend_on_earlier_draws(seed: int, block: int, index: int) -> None:
    again = draw_parameters(PARAMS, seed, block, index)
    draw_parameters(PARAMS, seed, block, index + 1)
    assert draw_parameters(PARAMS, seed, block, index) == again
    assert draw_parameters(dict(reversed(PARAMS.items())), seed, block, index) == again


@given(st.integers(0, 1000))
def test_a_draw_stays_within_its_distribution(index: int) -> None:
    params = draw_parameters(PARAMS, 1, 2, index, 0.25)
    assert 0.1 <= params["width"] <= 0.3
    assert params["ghost"] in ("red", "blue", 3)
    assert params["light"] == 2.5
    assert 1 <= params["nested"]["inner"][0] <= 2
    assert params["nested"]["inner"][1] == 7
    assert params["fixed"] == "as it is"
    assert list(params) == list(PARAMS)


def test_seed_block_and_index_each_change_the_draw() -> None:
    widths = {
        draw_parameters(PARAMS, *place)["width"] for place in [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 1)]
    }
    assert len(widths) == 5


def test_draws_have_the_moments_of_their_distribution() -> None:
    many = [draw_parameters(PARAMS, 7, 0, index) for index in range(2000)]
    assert np.mean([lifetime["width"] for lifetime in many]) == pytest.approx(0.2, abs=4 * 0.2 / np.sqrt(12 * 2000))
    assert np.mean([lifetime["speed"] for lifetime in many]) == pytest.approx(5, abs=4 * 2 / np.sqrt(2000))
    assert np.std([lifetime["speed"] for lifetime in many]) == pytest.approx(2, rel=0.1)
    assert sum(lifetime["ghost"] == "red" for lifetime in many) == pytest.approx(
        2000 / 3, abs=4 * np.sqrt(2000 * 2 / 9)
    )


def test_linear_reaches_both_ends_of_a_block() -> None:
    block = Block("learn", "pong", 5, {"w": {"$linear": [1, 3]}})
    assert [params["w"] for params in episodes(block, 0, 0)] == [1, 1.5, 2, 2.5, 3]
    assert [params["w"] for params in episodes(Block("learn", "pong", 1, block.params), 0, 0)] == [1]


def test_a_million_million_episodes_are_never_in_memory() -> None:
    block = Block("learn", "pong", 10**12, {"w": {"$uniform": [0, 1]}})
    assert len(list(islice(episodes(block, 0, 0), 3))) == 3


def test_a_block_in_steps_has_no_last_episode() -> None:
    assert len(list(islice(episodes(Block("learn", "pong", None), 0, 0), 50))) == 50


def test_episodes_do_not_share_their_parameters() -> None:
    first, second = episodes(Block("learn", "pong", 2, {"w": 1}), 0, 0)
    first["w"] = 9
    assert second == {"w": 1}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"$unifrom": [0, 1]}, "did you mean '$uniform'"),
        ({"$uniform": [1, 0]}, "low not above high"),
        ({"$uniform": [0]}, "low, high"),
        ({"$uniform": [0, True]}, "low, high"),
        ({"$uniform": "0..1"}, "low, high"),
        ({"$uniform": [-1e301, 1e308]}, "low, high"),
        ({"$normal": [0, -1]}, "not negative"),
        ({"$choice": []}, "at least one"),
        ({"$linear": [0, "x"]}, "two numbers"),
        ({"$linear": [0, 1], "w": 1}, "alone"),
    ],
)
def test_an_invalid_distribution_is_refused_with_the_valid_form(value: dict[str, Any], words: str) -> None:
    problem = distribution_problem(value)
    assert problem is not None
    assert words in "; ".join(problem)


def test_valid_distributions_have_no_problem() -> None:
    for value in PARAMS.values():
        assert not isinstance(value, dict) or "inner" in value or distribution_problem(value) is None


def test_a_distribution_is_found_at_any_depth() -> None:
    assert is_drawn(PARAMS["nested"])
    assert is_drawn({"a": [{"$linear": [0, 1]}]}, "$linear")
    assert not is_drawn({"a": [{"$uniform": [0, 1]}]}, "$linear")
    assert not is_drawn({"a": 1, "b": ["$uniform"]})
