"""The answer in a sentence: it says what the verdict's own interval says, and nothing more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.stats.lives import lives, normal, pool

from perdure.metrics.engine.declare import Bar
from perdure.stats.answer import answer, asked, keeping
from perdure.stats.groups import groups
from perdure.words import number

BARS = {"performance_maintenance": Bar(0.0, margin=5.0, headline="log")}


@pytest.mark.parametrize(
    ("mean", "sd", "begins"),
    [
        (-18, 3, "ppo forgets: it loses between "),
        (-2.5, 0.5, "ppo keeps what it learns: it loses between "),
        (0.2, 1.5, "ppo keeps what it learns: it loses at most "),
        (4, 1, "ppo gets better at what it learned: it gains between "),
        (-6, 4, "ppo loses between "),
        (-3, 14, "Whether ppo keeps what it learns is undecided: the change lies between "),
    ],
)
def test_each_verdict_has_its_sentence(mean: float, sd: float, begins: str) -> None:
    (group,) = groups(pool(*lives(normal(mean, sd, 11), learner="ppo"), bars=BARS))
    assert answer(group).startswith(begins)


@given(st.floats(-30, 10), st.floats(0.1, 20), st.integers(3, 30))
@settings(max_examples=60, deadline=None)
def test_the_sentence_names_the_ends_of_the_interval_that_decided(mean: float, sd: float, n: int) -> None:
    (group,) = groups(pool(*lives(normal(mean, sd, n), learner="ppo")))
    found = keeping(group)
    assert found is not None
    made, said = found.decision, answer(group)
    assert made.low is not None
    assert number(abs(made.low), made.width) in said.replace("−", "")
    assert (made.word == "forgets") == ("forgets" in said)
    assert (made.word == "keeps") == ("keeps what it learns:" in said)
    assert (made.word == "undecided") == ("undecided" in said)


def test_nobody_is_said_to_lose_more_than_there_is() -> None:
    (group,) = groups(pool(*lives([-99.0, -75.0, -80.0])))
    found = keeping(group)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low < -100
    assert answer(group).endswith(f"forgets: it loses at least {number(-found.high, found.width)} of 100 points.")


def test_what_was_not_measured_is_said_with_the_reason() -> None:
    bare = [one.__class__(one.identity, {}, one.preset) for one in lives([1.0, 2.0])]
    (group,) = groups(pool(*bare))
    assert answer(group).startswith("Whether all keeps what it learns was not measured: ")
    assert asked(group) == {}
