"""Parameters of tasks: the values that they accept and refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from perdure.errors import TaskError
from perdure.tasks.interface import Parameter, settled

WIDTH = Parameter("bot/paddle/width", 0.2, "the paddle", low=0.02, high=1)
LANES = Parameter("lanes", 4, "lanes to cross", low=1, high=12)
SEEN = Parameter("observation", "features", "what is seen", choices=("features", "pixels"))
FLIPPED = Parameter("mirrored", False, "whether it is mirrored", choices=(False, True))
FREE = Parameter("agent_pos", (1, 1), "a place")
ALL = (WIDTH, LANES, SEEN, FLIPPED, FREE)


def test_a_missing_parameter_has_its_default() -> None:
    assert settled(ALL, {"lanes": 2}, "t") == {
        "bot/paddle/width": 0.2,
        "lanes": 2,
        "observation": "features",
        "mirrored": False,
        "agent_pos": (1, 1),
    }


def test_an_unknown_parameter_offers_the_nearest() -> None:
    with pytest.raises(
        TaskError, match=r"'t': takes no parameter 'bot/padle/width'; did you mean 'bot/paddle/width'\?"
    ):
        settled(ALL, {"bot/padle/width": 0.1}, "t")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bot/paddle/width", 0),
        ("bot/paddle/width", 1.01),
        ("bot/paddle/width", True),
        ("bot/paddle/width", "wide"),
        ("bot/paddle/width", float("nan")),
        ("bot/paddle/width", float("inf")),
        ("bot/paddle/width", None),
        ("lanes", 2.5),
        ("lanes", 0),
        ("observation", "sounds"),
        ("mirrored", 1),
        ("mirrored", "yes"),
    ],
)
def test_an_unfit_value_is_refused_with_the_accepted_values(name: str, value: object) -> None:
    with pytest.raises(TaskError, match=r"it takes .* unless given"):
        settled(ALL, {name: value}, "t")


def test_a_number_gets_the_type_of_its_default() -> None:
    result = settled(ALL, {"lanes": 3.0, "bot/paddle/width": 1}, "t")
    assert (result["lanes"], result["bot/paddle/width"]) == (3, 1.0)
    assert isinstance(result["lanes"], int)
    assert isinstance(result["bot/paddle/width"], float)


def test_the_form_describes_the_accepted_values() -> None:
    assert WIDTH.form == "0.02 to 1"
    assert LANES.form == "a whole number, 1 to 12"
    assert SEEN.form == "'features' or 'pixels'"
    assert Parameter("x", 1.0, "m", low=0).form == "0 or more"
    assert Parameter("x", 1.0, "m", high=3).form == "3 or less"
    assert FREE.form == "any"


@given(some.floats(0.02, 1), some.integers(1, 12))
def test_resolving_parameters_twice_changes_nothing(width: float, lanes: int) -> None:
    once = settled(ALL, {"bot/paddle/width": width, "lanes": lanes}, "t")
    assert (once["bot/paddle/width"], once["lanes"]) == (width, lanes)
    assert settled(ALL, once, "t") == once
