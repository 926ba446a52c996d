"""Progress and remaining time of all lifetimes together."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from perdure.watch.progress import (
    Planned,
    Progress,
    headline,
    planned_scenario,
    short_names,
    so_far_text,
    time_text,
    totals,
)

DONE = Progress("a", "done", 100, 100, "", None)
RUNNING = Progress("b", "running", 40, 100, "", 30.0, per_s=2.0)


def test_what_is_left_is_divided_by_the_speed_of_all_that_run() -> None:
    other = replace(RUNNING, id="c", done=20, left_s=40.0)
    result = totals([DONE, RUNNING, other], Planned(5))
    # 500 experiences are planned, 160 are done, and the speed is 4 per second.
    assert (result.done, result.total) == (160, 500)
    assert result.left_s == pytest.approx(85)
    assert headline(result) == "2 running, 2 not begun, 1 of 5 lifetimes done · 32 % · about 85 s left"


def test_the_last_lifetime_is_waited_for_however_fast_the_others_were() -> None:
    slow = replace(RUNNING, id="c", done=99, per_s=0.01, left_s=100.0)
    assert totals([DONE, RUNNING, slow]).left_s == pytest.approx(100)


@pytest.mark.parametrize("state", ["quiet", "failed", "gone"])
def test_what_will_never_be_finished_is_not_waited_for(state: str) -> None:
    stuck = Progress("c", state, 10, 100, "", None)
    assert totals([DONE, RUNNING, stuck]).left_s == totals([DONE, RUNNING]).left_s


def test_nothing_is_said_of_time_and_share_where_a_length_is_not_known() -> None:
    result = totals([DONE, replace(RUNNING, total=None, left_s=None)])
    assert (result.total, result.left_s) == (None, None)
    assert headline(result) == "1 running, 1 of 2 lifetimes done · 50 %"  # of the lifetimes


def test_once_all_have_ended_nothing_is_so_far_text() -> None:
    result = totals([DONE, replace(DONE, id="b")])
    assert (result.all_done, result.share, so_far_text(result)) == (True, 1.0, "")
    assert headline(result) == "2 of 2 lifetimes done"
    assert so_far_text(totals([DONE, RUNNING])) == "So far, from 1 of 2 lifetimes"
    assert so_far_text(totals([DONE], Planned(4))) == "So far, from 1 of 4 lifetimes"


def test_experts_are_counted_until_they_have_ended() -> None:
    assert "2 of 6 experts done" in headline(totals([DONE, RUNNING], Planned(2, 6), (2, 3)))
    assert "expert" not in headline(totals([DONE, RUNNING], experts=(3, 3)))


def test_experts_are_part_of_the_share_and_of_the_time_left() -> None:
    result = totals([DONE, RUNNING], Planned(2, 4, 600), (1, 2))
    assert result.share == pytest.approx((140 + 150) / 800)
    assert result.left_s == pytest.approx((60 + 450) / 2)
    last = totals([DONE], Planned(1, 4, 600), (3, 3))
    assert (last.all_done, so_far_text(last)) == (False, "So far, from 1 of 1 lifetime and 3 of 4 experts")
    assert totals([DONE], Planned(1, 4, 600), (4, 4)).share == 1


@pytest.mark.parametrize(
    "blocks", [None, "x", [1], [{"mode": "learn", "task": "a"}], [{"mode": "learn", "task": 1, "length": 2}],
               [{"mode": "learn", "task": "a", "length": "x"}], [{"mode": "rest", "task": "a", "length": 2}], []]
)  # fmt: skip
def test_a_scenario_that_makes_no_sense_announces_nothing(blocks: object) -> None:
    assert planned_scenario({"scenario": {"blocks": blocks}}) is None


def test_before_the_first_lifetime_something_is_said() -> None:
    assert headline(totals([])) == "No lifetime here yet; waiting for the first."


def test_time_left_is_said_in_the_unit_that_suits() -> None:
    assert [time_text(seconds) for seconds in (None, 45, 720, 12_240)] == ["", "45 s", "12 min", "3.4 h"]


def test_names_drop_the_folders_that_all_share_and_stay_different() -> None:
    assert list(short_names(["run/lives/a-0", "run/lives/b-0"]).values()) == ["a-0", "b-0"]
    assert list(short_names(["x/lives/life-0", "y/lives/life-0"]).values()) == ["x/lives/life-0", "y/lives/life-0"]
    assert short_names(["alone"]) == {"alone": "alone"}
    assert short_names([]) == {}
