"""Scores for people: what stands first, what is shown on request, and what never gets lost."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.stats.lives import BARS, altered, life, lives, normal, pool

from perdure.cli.answers import Depth, show_answers
from perdure.gather.model import Survey
from perdure.metrics.declare import Threshold
from perdure.metrics.measure import Flag, Measured
from perdure.stats.groups import groups

Capture = pytest.CaptureFixture[str]


def shown(capsys: Capture, given: Survey, **depth: Any) -> str:
    show_answers(given, groups(given), Depth(**depth))
    return capsys.readouterr().out


def test_the_answer_comes_first_then_the_row_that_it_rests_on(capsys: Capture) -> None:
    text = shown(capsys, pool(*lives(normal(-9, 1, 12), learner="ppo")))
    title, answer, question, row, *_ = text.splitlines()
    assert title.startswith("ppo: 12 lifetimes")
    assert answer.startswith("ppo forgets: it loses between ")
    assert question == " Does it keep what it learns?"
    assert row.split()[:2] == ["performance", "maintenance"]
    assert row.split()[-6:] == ["forgets", "p", "<", ".001", "against", "0"]


def test_the_rule_of_the_verdict_is_said_on_request(capsys: Capture) -> None:
    given = pool(*lives([1.0, 2.0, 3.0]))
    assert "the whole interval is above" not in shown(capsys, given)
    assert "the whole interval is above" in " ".join(shown(capsys, given, why=True).split())
    papers = shown(capsys, pool(*lives(normal(-9, 1, 12), preset="baker-2023")), why=True)
    assert "Decided as baker-2023 does: met where a one-tailed t test" in " ".join(papers.split())


def test_a_logs_matrix_numbers_are_hidden_where_tasks_were_relearned(capsys: Capture) -> None:
    marked = [
        replace(one, metrics={**one.metrics, "forgetting": Measured(0.002, flags=(Flag("relearned"),))})
        for one in lives([1.0, 2.0, 3.0])
    ]
    given = pool(*marked, bars={**BARS, "forgetting": Threshold(better="lower", headline="matrix")})
    text = shown(capsys, given, every=True, why=True)
    assert "forgetting: relearned (3 of 3 lifetimes)" in text
    assert "forgetting: not shown, because tasks were learned again" in text
    assert "0.002" not in text


def test_what_is_not_shown_is_counted_and_quiet_leaves_even_that_out(capsys: Capture) -> None:
    given = pool(*lives([1.0, 2.0, 3.0]))
    assert "2 without a value: --why" in shown(capsys, given)
    assert "--why" not in shown(capsys, given, quiet=True)


def test_one_lifetime_says_what_it_lost_and_that_this_may_be_chance(capsys: Capture) -> None:
    text = " ".join(shown(capsys, pool(life("only", values={"performance_maintenance": -3.0}))).split())
    assert "lost 3 of 100 points in this lifetime; its blocks are not known" in text


def test_the_guard_adds_a_table_without_what_was_not_learned(capsys: Capture) -> None:
    given = [*lives([1.0, 2.0, 3.0])]
    given[0] = altered(given[0], not_learned=("pong",))
    assert "without 1 that did not learn every task" in shown(capsys, pool(*given, guarded=True))


@pytest.mark.parametrize(("unlearned", "words"), [(("pong",), "no lifetime learned"), ((), "every lifetime learned")])
def test_the_guard_says_that_no_or_every_lifetime_learned_every_task(
    unlearned: tuple[str, ...], words: str, capsys: Capture
) -> None:
    text = shown(capsys, pool(*(altered(one, not_learned=unlearned) for one in lives([1.0, 2.0])), guarded=True))
    assert f"{words} every task to its level of --learned" in text
    assert "that did not learn" not in text


def test_a_partial_life_is_named(capsys: Capture) -> None:
    text = shown(capsys, pool(life("cut", complete=False), life("whole")))
    assert "left out: cut: it is incomplete" in text


def test_brackets_in_names_are_no_markup_and_escapes_are_not_sent(capsys: Capture) -> None:
    text = shown(capsys, pool(life("one", learner="[red]ppo\x1b]0;title\x07")))
    assert "[red]ppo" in text
    assert "\x1b" not in text


def test_each_reason_for_an_absent_value_is_said_once_with_its_metrics(capsys: Capture) -> None:
    why = {"recovery_time": "recovery_time raised ValueError", "forward_transfer": "needs an expert"}
    given = [altered(one, why=why) for one in lives([1.0, 2.0, 3.0])]
    given[0] = altered(given[0], values={**given[0].values, "recovery_time": 4.0})
    text = " ".join(shown(capsys, pool(*given), why=True).split())
    assert text.count("recovery_time: 2 of 3 lifetimes lack a value: recovery_time raised ValueError") == 1
    assert text.count("forward_transfer: no value: needs an expert") == 1


def test_why_a_metric_of_ones_own_has_no_value_is_said_unasked(capsys: Capture) -> None:
    bars = {
        "performance_maintenance": BARS["performance_maintenance"],
        "forward_transfer": Threshold(),
        "mine": Threshold(),
    }
    why = {"mine": "needs pandas", "forward_transfer": "needs an expert"}
    given = [altered(one, why=why) for one in lives([1.0, 2.0])]
    text = " ".join(shown(capsys, pool(*given, bars=bars)).split())
    assert "mine: no value: needs pandas" in text
    assert "needs an expert" not in text
    assert "1 without a value: --why" in text


@pytest.mark.parametrize("n", [12, 150])
def test_at_80_columns_ids_intervals_and_verdicts_are_whole(
    capsys: Capture, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    bars = {"performance_maintenance_terminal": Threshold(0.0, headline="log"), "cora_zero_shot_transfer": Threshold()}
    given = [
        altered(one, values=dict.fromkeys(bars, -0.008 + value / 1e5))
        for one, value in zip(lives([0.0] * n), normal(0, 9, n), strict=True)
    ]
    text = shown(capsys, pool(*given, bars=bars), every=True)
    row = next(line for line in text.splitlines() if "performance_maintenance_terminal " in line)
    assert "below" in row.split()
    assert text.count("…") == text.count(" … ") == len(bars)
    assert all(len(line) <= 80 for line in text.splitlines())
