"""Values that a setting accepts, as plain data and as text."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import PerdureError
from perdure.settings import OPTIONS, Settings

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(value=PLAIN, name=st.sampled_from(sorted(OPTIONS)))
def test_plain_data_is_accepted_or_refused_and_never_crashes(value: Any, name: str) -> None:
    option = OPTIONS[name]
    try:
        setting = option.read(value)
    except ValueError:
        return
    assert option.read(value) == setting


@given(
    text=st.text(max_size=20),
    name=st.sampled_from([key for key, option in OPTIONS.items() if option.word_type in (str, list[str])]),
)
def test_text_is_accepted_or_refused_with_a_message(text: str, name: str) -> None:
    with contextlib.suppress(ValueError, PerdureError):
        OPTIONS[name].read_text(text)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("measure", "reward", "reward"),
        ("measure", "Pong=reward, battle=units", {"pong": "reward", "battle": "units"}),
        (
            "measure",
            "gsm8k=exact_match,strict-match, mbpp=acc",
            {"gsm8k": "exact_match,strict-match", "mbpp": "acc"},
        ),
        ("margins", "a=1", {"a": 1.0}),
        ("columns", "exp_num=episode", {"exp_num": "episode"}),
        ("metrics", "a, b", ("a", "b")),
        ("variants", "aware", "name"),
        ("joint", "90,80", [90.0, 80.0]),
        ("joint", "90", 90.0),
    ],
)
def test_text_gives_the_same_value_as_plain_data(name: str, text: Any, value: Any) -> None:
    settings = Settings(**{name: OPTIONS[name].read_text(text)})
    assert settings == Settings(**{name: value})
    assert settings.given == {name: value}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("measure", "pong="),
        ("measure", "pong=reward,=units"),
        ("margins", "a"),
        ("margins", "a=-1"),
        ("columns", "=x"),
    ],
)
def test_half_a_pair_is_refused(name: str, text: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        OPTIONS[name].read_text(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level", 1.5),
        ("level", "high"),
        ("width", 0),
        ("width", True),
        ("clamp", 1),
        ("scale", "all"),
        ("noise", float("nan")),
        ("bounds", {"a": {"min": 2, "max": 1}}),
        ("bounds", "bounds.json"),
        ("learned", {"a": "much"}),
        ("joint", [0.5, None]),
    ],
)
def test_an_unfit_value_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r".+"):
        OPTIONS[name].read(value)
