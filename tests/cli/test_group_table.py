"""Groups for people: what the table shows, and what stands under it."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console
from tests.stats.lives import life, lives, normal, pool

from perdure.cli.group_table import show_groups
from perdure.stats.groups import groups
from perdure.stats.model import Group


def shown(*found: Group, quiet: bool = False) -> str:
    console = Console(file=io.StringIO(), width=200, highlight=False)
    show_groups(found, quiet=quiet, console=console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_group_shows_its_estimate_its_verdict_and_the_rule() -> None:
    text = shown(*groups(pool(*lives(normal(-5, 1, 12), learner="ppo"))))
    assert "ppo · 12 lifetimes" in text
    row = next(line for line in text.splitlines() if line.startswith("performance_maintenance"))
    assert row.split()[-2:] == ["not", "met"]
    assert "0/12" in row
    assert "met where a one-tailed t test" in text


def test_quiet_leaves_the_rule_out() -> None:
    assert "one-tailed" not in shown(*groups(pool(*lives([1.0, 2.0]))), quiet=True)


def test_one_lifetime_and_no_value_are_said_and_no_failure() -> None:
    text = shown(*groups(pool(life("only"))))
    assert "one lifetime has no spread" in text
    assert "no lifetime has a value of forward_transfer, recovery_time" in text


def test_the_guard_adds_a_table_without_what_was_not_learned() -> None:
    given = [*lives([1.0, 2.0, 3.0])]
    given[0] = replace(given[0], not_learned=("pong",))
    assert "without 1 that did not learn every task" in shown(*groups(pool(*given, guarded=True)))


def test_a_partial_life_is_named() -> None:
    assert "left out cut: it did not reach its end" in shown(*groups(pool(life("cut", complete=False), life("whole"))))


def test_brackets_in_names_are_no_markup() -> None:
    assert "[red]ppo" in shown(*groups(pool(life("one", learner="[red]ppo"))))
