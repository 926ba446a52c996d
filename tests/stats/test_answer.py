"""The answers in sentences: each says what its verdict's own interval says, and nothing more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.stats.lives import lives, normal, pool

from perdure.metrics import METRICS
from perdure.metrics.declare import Threshold, VerdictWords
from perdure.stats.answer import answer, answers, asked, keeping, questions, shared_answers
from perdure.stats.groups import groups
from perdure.stats.model import Estimate, Group
from perdure.stats.sentences import word_of, words_of
from perdure.text import interval, number

BARS = {"performance_maintenance": Threshold(0.0, margin=5.0, headline="log")}


@pytest.mark.parametrize(
    ("mean", "sd", "begins"),
    [
        (-18, 3, "ppo forgets: it loses between "),
        (-2.5, 0.5, "ppo keeps what it learns: it loses between "),
        (0.2, 1.5, "ppo keeps what it learns: it loses at most "),
        (4, 1, "ppo improves on earlier tasks: it gains between "),
        (-6, 4, "ppo loses between "),
        (-3, 14, "Whether ppo keeps what it learns is undecided: the change lies between "),
    ],
)
def test_each_verdict_has_its_sentence(mean: float, sd: float, begins: str) -> None:
    (group,) = groups(pool(*lives(normal(mean, sd, 11), learner="ppo"), bars=BARS))
    assert answer(group).startswith(begins)


@given(st.floats(-30, 10), st.floats(0.1, 20), st.integers(3, 30))
def test_the_sentence_names_the_ends_of_the_interval_that_decided(mean: float, sd: float, n: int) -> None:
    (group,) = groups(pool(*lives(normal(mean, sd, n), learner="ppo")))
    found = keeping(group)
    assert found is not None
    made, said = found, answer(group)
    assert made.low is not None
    # An end near 0 has more digits as an end of an interval than as the most that may be lost.
    ends = (number(abs(made.low), made.width), interval(made.low, made.high, " ").split()[0].removeprefix("−"))
    assert any(end in said for end in ends)
    assert (made.word == "forgets") == ("forgets" in said)
    assert (made.word == "keeps") == ("keeps what it learns:" in said)
    assert (made.word == "undecided") == ("undecided" in said)


@pytest.mark.parametrize(
    ("change", "said"),
    [(-3.0, "lost 3 of 100 points"), (2.0, "gained 2 of 100 points"), (0.0, "neither lost nor gained")],
)
def test_one_lifetime_is_told_by_its_change(change: float, said: str) -> None:
    (group,) = groups(pool(*lives([change], learner="ppo"), bars=BARS))
    assert answer(group).startswith(f"ppo {said} in this lifetime")


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


BAR = Threshold(0, 5, headline="log")


def estimated(low: float, high: float, n: int = 11, metric: str = "performance_maintenance") -> Estimate:
    verdict = "met" if low > -5 else "not met" if high < -5 else "undecided"
    word = word_of(words_of(metric), verdict, (low, high), 5, 1e-7)  # type: ignore[arg-type]
    numbers = (low + high) / 2, low, high
    facts: dict[str, Any] = {"margin": 5, "verdict": verdict, "word": word, "p": 0.01}
    return Estimate(*numbers, metric=metric, group="g", n=n, missing=0, bar=BAR, **facts)


def group(one: Estimate | None, learner: str = "naive", kind: str | None = None, **how: object) -> Group:
    made = Group(learner, 11, {} if one is None else {one.metric: one}, learner=learner, scenario_type=kind)
    return replace(made, **how)


@given(st.floats(-60, 60), st.floats(0.1, 40))
def test_the_page_says_what_the_terminal_says(middle: float, half: float) -> None:
    made = estimated(middle - half, middle + half)
    (found,) = answers([group(made)])
    assert found.sentence == answer(group(made))
    assert (found.parts[0].verdict, found.parts[0].word) == (made.verdict, made.word)


def test_a_learner_in_several_scenarios_is_answered_once_with_each() -> None:
    both = [group(estimated(-20.0, -10.0), kind="condensed"), group(estimated(-9.0, -7.0), kind="dispersed")]
    (found,) = answers(both)
    assert found.sentence == (
        "naive forgets: it loses between 10.0 and 20.0 of 100 points (condensed); "
        "it loses between 7.0 and 9.0 of 100 points (dispersed)."
    )


def test_unfinished_lifetimes_are_not_judged() -> None:
    (found,) = answers([group(None, n=0, left_out=(("a", "partial"),))])
    assert found.sentence == "naive cannot be judged yet: no lifetime has reached its end."


def test_what_is_decided_of_transfer_follows_only_where_all_groups_agree() -> None:
    def transfer(word: str) -> Estimate:
        return Estimate(1.2, 1.1, 1.3, metric="forward_transfer", group="g", n=11, missing=0, verdict="met", word=word)

    def both(word: str, kind: str) -> Group:
        one = group(estimated(-20.0, -10.0), kind=kind)
        return replace(one, estimates={**one.estimates, "forward_transfer": transfer(word)})

    (agreed,) = answers([both("helps", "a"), both("helps", "b")])
    assert agreed.further == (
        "Learning one task helps tasks still to come; 11 lifetimes cannot rule out that up to 24 % collapse."
    )
    (split,) = answers([both("helps", "a"), both("undecided", "b")])
    assert split.further == ""


def test_many_learners_are_named_under_what_is_said_of_them() -> None:
    found = answers([group(estimated(-20.0, -10.0), f"m{at}") for at in range(5)] + [group(estimated(-1.0, 1.0), "k")])
    assert [(one.lead, len(one.learners)) for one in shared_answers(found)] == [
        ("5 of 6 forget", 5),
        ("1 of 6 keeps what it learns", 1),
    ]


def test_only_questions_that_somebody_can_answer_are_asked() -> None:
    declared = {one.name: one for one in METRICS}
    asked = questions([group(estimated(-20.0, -10.0))], declared)
    assert [one.metric for one in asked] == ["performance_maintenance"]
    matrix = group(estimated(-20, -10, metric="bwt"), unit="percent")
    assert [one.metric for one in questions([matrix], declared)] == ["bwt"]
    assert questions([group(None)], declared) == ()


def test_a_metric_of_ones_own_has_a_column_where_its_words_ask_for_one() -> None:
    declared = {"forward_transfer": METRICS.get("forward_transfer")}
    own = replace(declared["forward_transfer"], name="daring", words=VerdictWords(asks="Does it dare?", about="steps"))
    one = Estimate(1.2, 1.1, 1.3, metric="daring", group="g", n=11, missing=0, bar=own.criterion)
    (found,) = questions([group(one)], {**declared, "daring": own})
    assert (found.asks, found.metric, found.about) == ("Does it dare?", "daring", "steps")
