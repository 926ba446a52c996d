"""Task orders in `perdure score`, and the advice of `perdure plan`: what a user sees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.verbs import fits, run_verb

from perdure import Block, Scenario
from perdure.simulate import IdealLearner, lifetime, write_log


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six lifetimes of two task orders; the first order forgets more."""
    folder = tmp_path_factory.mktemp("orders") / "ideal"
    evaluation = [Block("evaluate", task, 10) for task in "ab"]
    for number, order in enumerate(("ab", "ba") * 3):
        learning = [Block("learn", task, 40) for task in order]
        blocks = [*evaluation, learning[0], *evaluation, learning[1], *evaluation]
        learner = IdealLearner(noise=0.05, forward=0.2, forgetting=0.5 if order == "ab" else 0.1)
        write_log(lifetime(learner, Scenario.of(order, blocks), seed=number, id=f"life-{number}"), folder)
    return folder


def test_a_group_of_several_orders_reports_their_share_of_the_spread(logs: Path) -> None:
    done = run_verb("score", logs, columns=300)
    (line,) = [line for line in done.output.splitlines() if "the order of tasks explains" in line]
    assert "% of the spread of performance maintenance (" in line
    assert line.endswith("2 orders of 3 lifetimes")
    facts = json.loads(run_verb("score", logs, "--json", "-").stdout)
    fits("score", facts)
    spread = facts["groups"][0]["spread"]["performance_maintenance"]
    assert spread["lifetimes"] == [3, 3]
    assert spread["share"] > 0.8
    assert spread["order"] + spread["evaluations"] + spread["seed"] == pytest.approx(spread["total"])


def test_a_group_of_one_order_reports_no_share(logs: Path) -> None:
    same = [logs / f"life-{number}" for number in (0, 2, 4)]
    assert "the order of tasks" not in run_verb("score", *same).output
    assert json.loads(run_verb("score", *same, "--json", "-").stdout)["groups"][0]["spread"] is None


def test_single_lifetimes_of_each_order_give_the_reason_on_request(logs: Path) -> None:
    two = [logs / f"life-{number}" for number in (0, 1)]
    assert "the order" not in run_verb("score", *two).output
    said = " ".join(run_verb("score", *two, "--why").output.split())
    assert "the order's share of the spread is not known: needs at least two orders" in said


def test_a_pilot_shows_which_number_narrows_an_interval_most(logs: Path) -> None:
    done = run_verb("plan", "--pilot", logs, "--json", "-")
    facts = json.loads(done.stdout)
    fits("plan", facts)
    gain = facts["pilot"]["performance_maintenance"]["narrower"]
    assert 0 < gain["evaluations"] < gain["lifetimes"]
    assert gain["experts"] is None
    said = run_verb("plan", "--pilot", logs).output
    assert "how much narrower an interval of 11 lifetimes" in said
    (row,) = [line for line in said.splitlines() if line.split()[:1] == ["performance_maintenance"] and "%" in line][
        -1:
    ]
    assert row.split()[-1] == "lifetimes"
    assert f"{gain['lifetimes']:.0%}".replace("%", " %") in row
    assert "for their cost" in said.lower()
