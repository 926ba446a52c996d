"""The 2019 framework's metrics on blocks made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import perdure
from perdure.classic.framework2019 import moving_average
from perdure.gather.survey import score
from perdure.metrics import METRICS
from perdure.metrics.contract import lifetime_of
from perdure.metrics.score import Score
from perdure.scenario.model import Block
from perdure.settings import Settings

RAMP = [float(value) for value in range(20)]


def scored(*blocks: tuple[Block, list[float]], experts: tuple[Path, ...] = ()) -> Score:
    lifetime = lifetime_of([block for block, _ in blocks], values=[values for _, values in blocks])
    return score(lifetime, experts, Settings(preset="framework-2019"))


def learn(task: str, group: int) -> Block:
    return Block("learn", task, None, group=group)


def test_the_moving_average_discards_its_edges() -> None:
    assert moving_average(np.array(RAMP)).tolist() == list(range(5, 15))


def test_a_block_shorter_than_the_window_has_its_plain_mean() -> None:
    assert moving_average(np.array([1.0, 2.0, 6.0])).tolist() == [3.0]


def test_saturation_and_its_time_are_read_off_the_moving_average() -> None:
    scores = scored((learn("a", 0), [*RAMP, *reversed(RAMP)]))
    # The best eleven in a row start at 14, the fifteenth value, and go up to the maximum and down to 15.
    best = [14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 19.0, 18.0, 17.0, 16.0, 15.0]
    assert scores["saturation"] == pytest.approx(sum(best) / 11)
    assert scores["time_to_saturation"] == 15


def test_the_integral_is_divided_by_the_blocks_own_length() -> None:
    assert scored((learn("a", 0), [4.0] * 20))["normalized_integral"] == pytest.approx(4.0 * 10 / 20)
    assert scored((learn("a", 0), [1.0, 2.0, 6.0]))["normalized_integral"] == pytest.approx(3.0)


def test_recovery_is_within_two_percent_of_the_earlier_saturation() -> None:
    scores = scored((learn("a", 0), [10.0] * 11), (learn("a", 1), [0.0] * 11 + [9.8] * 30), (learn("a", 2), [1.0] * 11))
    assert scores.metrics["recovery_time"].by == {"a": (11.0, 12.0)}
    assert "never recovered" in scores.metrics["recovery_time"].flags[0]


def test_a_negative_saturation_is_approached_from_below_too() -> None:
    scores = scored((learn("a", 0), [-10.0] * 11), (learn("a", 1), [-10.2] * 11))
    assert scores["recovery_time"] == 0


def test_maintenance_on_test_compares_equal_parameters_only() -> None:
    scores = scored(
        (learn("a", 0), [5.0] * 11),
        (Block("evaluate", "a", None, group=1), [7.0] * 11),
        (Block("evaluate", "b", None, group=2), [1.0]),
    )
    assert scores.metrics["maintenance_on_test"].by == {"a": (2.0,)}


def test_an_expert_in_info_json_matches_by_its_full_name(tmp_path: Path) -> None:
    stated = tmp_path / "info.json"
    stated.write_text(json.dumps({"A": 4.0, "b_long": 1.0}))
    scores = scored((learn("a", 0), [8.0] * 11), (learn("b", 1), [8.0] * 11), experts=(stated,))
    assert scores.metrics["ste_relative"].by == {"a": (2.0,)}
    assert scores.metrics["ste_relative"].flags == ("no expert for b",)


def test_without_an_expert_the_metric_is_not_computable_and_never_one() -> None:
    scores = scored((learn("a", 0), [8.0] * 11))
    assert (scores["ste_relative"], scores.metrics["ste_relative"].why) == (None, "needs an expert for a")


def test_stated_saturations_are_not_used_for_metrics_that_need_a_curve(tmp_path: Path) -> None:
    (tmp_path / "info.json").write_text('{"a": 4.0}')
    scores = score(lifetime_of([learn("a", 0)], values=[RAMP]), [tmp_path / "info.json"])
    assert scores.metrics["relative_performance"].why == "needs an expert for a"


def test_an_experts_log_gives_the_same_value(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "expert", measures=["reward"]) as journal:
        for number in range(11):
            journal.log(block_num=0, exp_num=number, block_type="train", task_name="a", task_params={}, reward=2.0)
    scores = scored((learn("a", 0), [8.0] * 11), experts=(tmp_path / "expert",))
    assert scores["ste_relative"] == pytest.approx(4.0)


def test_the_width_may_be_any_odd_number_or_a_share_of_the_block() -> None:
    """The framework allows any odd integer; its draft, a smoothing parameter of 0.1."""
    values = np.random.default_rng(0).normal(size=40)
    lifetime = lifetime_of([learn("a", 0)], values=[values])
    for width, used in ((7, 7), (0.1, 4), (1, 1), (39, 39)):
        best = max(values[index : index + used].mean() for index in range(40 - used + 1))
        assert score(lifetime, settings=Settings(preset="framework-2019", width=width))["saturation"] == pytest.approx(
            best
        )


def test_the_global_mean_is_over_the_whole_syllabus() -> None:
    scores = scored((learn("a", 0), [1.0, 2.0, 6.0]), (Block("evaluate", "b", None, group=1), [11.0]))
    assert scores["global_perf"] == pytest.approx((1 + 2 + 6 + 11) / 4)
    assert METRICS.canonical("GlobalMean") == "global_perf"


def test_a_task_is_learned_again_with_other_parameters_too() -> None:
    """After a change in its environment, a task has to regain its earlier performance (2019, §2.1.4)."""
    scores = scored((learn("pong_v1", 0), [10.0] * 11), (learn("pong_v2", 1), [0.0] * 5 + [10.0] * 30))
    assert scores.metrics["recovery_time"].by == {"pong_v2": (5.0,)}


def test_maintenance_compares_every_metric_of_test_and_train() -> None:
    train, test = [0.0] * 4 + [5.0] * 12, [2.0] * 3 + [3.0] * 12
    scores = scored((learn("a", 0), train), (Block("evaluate", "a", None, group=1), test))
    assert scores["maintenance_on_test"] == pytest.approx(3.0 - 5.0)
    assert scores["maintenance_on_test_time"] == 4 - 5
    assert scores["maintenance_on_test_mean"] == pytest.approx(np.mean(test) - np.mean(train))


def test_an_error_is_never_shown_negated(tmp_path: Path) -> None:
    falling = [0.9] * 9 + [0.2] * 12
    blocks = [learn("a", 0), Block("evaluate", "a", None, group=1)]
    lifetime = lifetime_of(blocks, values=[falling, [0.3] * 11], measure="error")
    (tmp_path / "info.json").write_text('{"a": 0.1}')
    scores = score(lifetime, [tmp_path / "info.json"], Settings(preset="framework-2019", lower_is_better=True))
    assert scores["saturation"] == pytest.approx(0.2)
    assert scores["time_to_saturation"] == 10
    assert scores["maintenance_on_test"] == pytest.approx(0.3 - 0.2)
    assert scores["ste_relative"] == pytest.approx(0.1 / 0.2)
    assert scores["global_perf"] == pytest.approx((sum(falling) + 11 * 0.3) / 32)
    assert [block.saturation for block in scores.blocks] == pytest.approx([0.2, 0.3])
    assert [block.terminal for block in scores.blocks] == pytest.approx([0.2, 0.3])
    for name in ("saturation", "maintenance_on_test", "global_perf"):
        assert "an error: lower is better" in scores.metrics[name].flags
