"""Groups for people: what the table shows, and what stands under it."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from tests.stats.lives import BARS, altered, life, lives, normal, pool

from perdure.cli.console import Console
from perdure.cli.group_table import show_groups
from perdure.metrics.engine.declare import Bar
from perdure.metrics.engine.flag import Flag
from perdure.metrics.engine.measure import Measured
from perdure.stats.groups import groups
from perdure.stats.model import Group


def shown(*found: Group, quiet: bool = False, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    show_groups(found, quiet=quiet, console=console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_group_shows_its_estimate_its_verdict_and_the_rule() -> None:
    text = shown(*groups(pool(*lives(normal(-9, 1, 12), learner="ppo"))))
    assert "ppo · 12 lifetimes" in text
    answer, row = (line for line in text.splitlines() if line.startswith("performance_maintenance"))
    assert answer.startswith("performance_maintenance: forgets: it loses")  # before the table
    assert row.split()[-2:] == ["✗", "forgets"]
    assert "0/12" in row
    assert "The interval decides" in " ".join(text.split())


def test_other_presets_say_how_they_decide() -> None:
    text = shown(*groups(pool(*lives(normal(-9, 1, 12), preset="baker-2023"))))
    assert "Decided as baker-2023 does: met where a one-tailed t test" in " ".join(text.split())


def test_flags_are_counted_and_a_logs_matrix_numbers_are_hidden_where_tasks_were_relearned() -> None:
    given = [
        replace(one, metrics={**one.metrics, "forgetting": Measured(0.002, flags=(Flag("relearned"),))})
        for one in lives([1.0, 2.0, 3.0])
    ]
    text = shown(*groups(pool(*given, bars={**BARS, "forgetting": Bar(better="lower", headline="matrix")})))
    assert "flag: relearned (3 of 3 lifetimes) [forgetting]" in text
    assert "forgetting: not shown, tasks were learned again" in text
    assert "0.002" not in text


def test_quiet_leaves_the_rule_out() -> None:
    assert "The interval decides" not in shown(*groups(pool(*lives([1.0, 2.0]))), quiet=True)


def test_one_lifetime_and_no_value_are_said_and_no_failure() -> None:
    text = shown(*groups(pool(life("only"))))
    assert "one lifetime says nothing of the next" in " ".join(text.split())
    assert "no value of forward_transfer, recovery_time: it was not scored" in text
    assert "all · 1 lifetime ·" in text


def test_the_guard_adds_a_table_without_what_was_not_learned() -> None:
    given = [*lives([1.0, 2.0, 3.0])]
    given[0] = altered(given[0], not_learned=("pong",))
    assert "without 1 that did not learn every task" in shown(*groups(pool(*given, guarded=True)))


def test_a_partial_life_is_named() -> None:
    assert "left out cut: it did not reach its end" in shown(*groups(pool(life("cut", complete=False), life("whole"))))


def test_brackets_in_names_are_no_markup() -> None:
    assert "[red]ppo" in shown(*groups(pool(life("one", learner="[red]ppo"))))


def test_each_reason_for_an_absent_value_is_said_once_with_its_metrics() -> None:
    why = {"recovery_time": "recovery_time raised ValueError", "forward_transfer": "needs an expert"}
    given = [altered(one, why=why) for one in lives([1.0, 2.0, 3.0])]
    given[0] = altered(given[0], values={**given[0].values, "recovery_time": 4.0})
    text = shown(*groups(pool(*given)))
    assert text.count("2 of 3 lifetimes lack recovery_time: recovery_time raised ValueError") == 1
    assert text.count("no value of forward_transfer: needs an expert") == 1


@pytest.mark.parametrize("n", [12, 150])
def test_at_80_columns_ids_intervals_and_verdicts_are_whole(n: int) -> None:
    bars = {"performance_maintenance_terminal": Bar(0.0, headline="log"), "cora_zero_shot_transfer": Bar()}
    given = [
        altered(one, values=dict.fromkeys(bars, -0.008 + value / 1e5))
        for one, value in zip(lives([0.0] * n), normal(0, 9, n), strict=True)
    ]
    text = shown(*groups(pool(*given, bars=bars)), width=80)
    row = next(line for line in text.splitlines() if line.startswith("performance_maintenance_terminal "))
    assert row.split()[-1] == "✗"
    assert text.count("…") == text.count(" … ") == len(bars)
    assert all(len(line) <= 80 for line in text.splitlines())
