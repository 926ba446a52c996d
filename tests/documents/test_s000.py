"""New et al. 2022, Lifelong Learning Metrics, recomputed by hand from its text and compared with `perdure`."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.documents.by_hand import (
    Values,
    contrast,
    mean,
    output_of,
    percentile,
    run_json,
    scaled,
    slope,
    smoothed,
    terminal,
    theil_sen,
    write_log,
)

import perdure

SYLLABI = Path(__file__).parents[2] / "examples" / "syllabi"

# Table 1: one task, a regime for each learning block, and no evaluation block by design. A fourth regime gives three
# recovery times, which the Theil-Sen slope needs.
REGIMES: list[dict[str, Any]] = [
    {"light": "noon", "weather": "fog"},
    {"light": "dusk", "weather": "rain"},
    {"light": "any", "weather": "sun"},
    {"light": "night", "weather": "sun"},
]
DRIVES: list[Values] = [
    [2.0 + 0.1 * index for index in range(60)],  # ends at 7.9
    [3.0] * 6 + [5.0] * 20 + [8.5] * 14,
    [4.0] * 3 + [6.0] * 4 + [9.0] * 33,
    [1.0] * 12 + [9.25] * 28,
]


def drives(folder: Path) -> Path:
    return write_log(folder, "drives", [("train", "drive", drive) for drive in DRIVES], params=REGIMES)


def one_by_one(prepared: list[Values], unsmoothed: list[Values]) -> tuple[Values, Values, Values]:
    """§2.4: return droop, recovery time and recovery rate of each learning block but the first."""
    droops, times = [], []
    for number in range(1, len(prepared)):
        before, later = terminal(prepared[number - 1]), prepared[number]
        # "The drop in performance relative to the most recent TLP": of the block's first tenth, definitions §3.
        droops.append(before - mean(unsmoothed[number][: max(1, len(later) // 10)]))
        reached = [index for index, value in enumerate(later) if value >= before - 1e-9 * max(1, abs(before))]
        times.append(float(reached[0] if reached else len(later) + 1))
    return droops, times, [droop / time for droop, time in zip(droops, times, strict=True)]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_single_task_drops_and_recovers_after_each_regime_as_in_the_text(tmp_path: Path, prepared: bool) -> None:
    curves = unsmoothed = DRIVES
    if prepared:
        smooth = [smoothed(drive) for drive in DRIVES]
        low, high = (end(value for item in smooth for value in item) for end in (min, max))
        # The range is that of the smoothed values, and does not clip the others.
        curves, unsmoothed = (
            [[1 + 100 * (value - low) / (high - low) for value in item] for item in each] for each in (smooth, DRIVES)
        )
    droops, times, rates = one_by_one(curves, unsmoothed)
    as_logged = () if prepared else ("--window", "none", "--scale", "none")
    result = run_json("score", drives(tmp_path), "--variants", "agnostic", *as_logged)["lifetimes"][0]["metrics"]
    assert result["droop"]["by"]["drive"] == pytest.approx(droops)
    assert result["recovery_time"]["by"]["drive"] == times
    assert result["recovery_rate"]["by"]["drive"] == pytest.approx(rates)
    # App. B.1: the negative slope of recovery times over learning blocks.
    assert result["performance_recovery"]["value"] == pytest.approx(-theil_sen(times))
    for name, values in (("droop", droops), ("recovery_time", times), ("recovery_rate", rates)):
        assert result[name]["value"] == pytest.approx(mean(values)), name
        assert result[name]["at"] == {"drive": [[0, 1], [1, 2], [2, 3]]}, "which blocks each value is read from"
    if not prepared:
        assert times == [26, 7, 12], "counted from the lists above"


def test_regimes_as_separate_tasks_give_no_recovery_and_name_the_option(tmp_path: Path) -> None:
    path = drives(tmp_path)
    result = run_json("score", path, "--variants", "params")["lifetimes"][0]["metrics"]
    for name in ("droop", "recovery_time", "recovery_rate", "performance_recovery"):
        assert result[name]["value"] is None
        assert "--variants agnostic" in result[name]["why"], name
    # Table 1's question has an answer if the log uses one name: the regimes are then one task.
    assert run_json("score", path)["lifetimes"][0]["metrics"]["recovery_time"]["value"] is not None


def test_recovery_takes_one_more_than_the_length_if_never_reached_and_zero_if_the_block_starts_above(
    tmp_path: Path,
) -> None:
    path = write_log(
        tmp_path, "life", [("train", "a", [5.0] * 10), ("train", "a", [4.0] * 15), ("train", "a", [6.0] * 10)]
    )
    metrics = perdure.score(path, settings=perdure.Settings(window="none", scale="none")).metrics
    assert metrics["recovery_time"].by == {"a": (16, 0)}
    assert metrics["recovery_rate"].value is None, "a rate of what never came, and of no time, means nothing"


# Table 2 and Figs. 7 and 9: two tasks, an evaluation of both before, between and after the learning blocks.
def draw_lifetime(seed: int) -> list[tuple[str, str, Values]]:
    chance = random.Random(seed)
    blocks: list[tuple[str, str, Values]] = []

    def evaluated() -> None:
        blocks.extend(("test", task, [chance.uniform(0, 10) for _ in range(6)]) for task in ("blue", "green"))

    evaluated()
    for task in ("blue", "green", "blue", "green", "green", "blue"):
        count = chance.choice([20, 25, 40])
        rise = chance.uniform(3, 9)
        blocks.append(("train", task, [rise * index / count + chance.uniform(0, 2) for index in range(count)]))
        evaluated()
    return blocks


EXPERTS = {"blue": 2, "green": 3}


def prepared_as_in_appendix_a(
    blocks: list[tuple[str, str, Values]], experts: list[tuple[str, Values]]
) -> tuple[list[tuple[str, str, Values]], list[tuple[str, Values]]]:
    smooth = [(mode, task, smoothed(values) if mode == "train" else values) for mode, task, values in blocks]
    task_experts = [(task, smoothed(values)) for task, values in experts]
    limits = {}
    for task in {task for _, task, _ in blocks}:
        # A.2: "over the Lifelong Learning Agent and the STE".
        pooled = [value for _, of, values in smooth if of == task for value in values]
        pooled += [value for of, values in task_experts if of == task for value in values]
        limits[task] = percentile(pooled, 0.1), percentile(pooled, 0.9)
    return (
        [(mode, task, scaled(values, *limits[task])) for mode, task, values in smooth],
        [(task, scaled(values, *limits[task])) for task, values in task_experts],
    )


@pytest.fixture(params=range(4))
def both(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Any, list[tuple[str, str, Values]], Any]:
    """Return the result of `perdure score --preset new-2022`, and the lifetime and experts prepared as in App. A."""
    blocks = draw_lifetime(request.param)
    chance = random.Random(100 + request.param)
    experts = [
        (task, [8 * index / 70 + chance.uniform(0, 2) for index in range(70)])
        for task, count in EXPERTS.items()
        for _ in range(count)
    ]
    lifetime = write_log(tmp_path, "life", blocks)
    for number, (task, values) in enumerate(experts):
        write_log(tmp_path / "experts", f"{task}-{number}", [("train", task, values)], role="expert")
    result = run_json("score", lifetime, "--experts", tmp_path / "experts", "--preset", "new-2022")["lifetimes"][0][
        "metrics"
    ]
    return result, *prepared_as_in_appendix_a(blocks, experts)


def maintenance_values(blocks: list[tuple[str, str, Values]]) -> dict[str, list[tuple[list[int], float]]]:
    """§3.4.1: each later evaluation minus the one after the task's last learning block, with both blocks."""
    results: dict[str, list[tuple[list[int], float]]] = {}
    for task in ("blue", "green"):
        reference = None
        learned = False
        for index, (mode, of, values) in enumerate(blocks):
            if of != task:
                continue
            if mode == "train":
                learned, reference = True, None
            elif learned and reference is None:
                reference = index
            elif learned and reference is not None:
                results.setdefault(task, []).append(([reference, index], mean(values) - mean(blocks[reference][2])))
    return results


def transfer_values(blocks: list[tuple[str, str, Values]], backward: bool) -> dict[str, list[tuple[list[int], float]]]:
    """§3.4.2, §3.4.3: the contrast around a learning block of the other task, before or after a task is learned."""
    results: dict[str, list[tuple[list[int], float]]] = {}
    learned: set[str] = set()
    for index, (mode, by, _) in enumerate(blocks):
        if mode != "train":
            continue
        of = "green" if by == "blue" else "blue"
        if (of in learned) == backward:
            before = max(position for position in range(index) if blocks[position][:2] == ("test", of))
            after = min(position for position in range(index, len(blocks)) if blocks[position][:2] == ("test", of))
            value = contrast(mean(blocks[after][2]), mean(blocks[before][2]))
            results.setdefault(f"{by}→{of}", []).append(([before, after], value))
        learned.add(by)
    return results


def test_maintenance_is_the_mean_maintenance_value_and_each_has_its_two_blocks(both: Any) -> None:
    found, blocks, _ = both
    expected = maintenance_values(blocks)
    value = mean([value for values in expected.values() for _, value in values])
    assert found["performance_maintenance"]["value"] == pytest.approx(value)
    for task, values in expected.items():
        assert found["performance_maintenance"]["by"][task] == pytest.approx([value for _, value in values])
        assert found["performance_maintenance"]["at"][task] == [index for index, _ in values]


@pytest.mark.parametrize(("name", "backward"), [("forward_transfer", False), ("backward_transfer", True)])
def test_transfer_is_the_mean_of_each_pairs_first_contrast_and_later_ones_are_listed(
    both: Any, name: str, backward: bool
) -> None:
    found, blocks, _ = both
    expected = transfer_values(blocks, backward)
    assert found[name]["value"] == pytest.approx(mean([values[0][1] for values in expected.values()]))
    assert set(found[name]["by"]) == set(expected)
    for pair, values in expected.items():
        assert found[name]["by"][pair] == pytest.approx([value for _, value in values])
        assert found[name]["at"][pair] == [index for index, _ in values]
    assert backward == any(len(values) > 1 for values in expected.values()), "§3.4.3: only it has several for a pair"


def joined(blocks: list[tuple[str, str, Values]], task: str) -> Values:
    return [value for mode, of, values in blocks if (mode, of) == ("train", task) for value in values]


def test_relative_performance_is_the_ratio_of_areas_over_the_minimal_number_of_experiences(both: Any) -> None:
    found, blocks, experts = both
    ratios = []
    for task in EXPERTS:
        own = joined(blocks, task)
        task_experts = [values for of, values in experts if of == task]
        # A.4: "computing those metrics with respect to each Single Task Expert, then averaging the values".
        ratios.append(mean([sum(own[: len(expert)]) / sum(expert[: len(own)]) for expert in task_experts]))
    assert found["relative_performance"]["value"] == pytest.approx(mean(ratios))


def test_sample_efficiency_is_the_ratio_of_maxima_times_the_ratio_of_experiences_to_them(both: Any) -> None:
    found, blocks, experts = both
    scores = []
    for task in EXPERTS:
        own = recompute_exactly(joined(blocks, task))
        if slope(own) < 0:  # "only tasks which demonstrate a steady-state": falling curves are excluded with a note
            message = [*found["sample_efficiency"]["flags"], found["sample_efficiency"]["why"]]
            assert any("the learning curve falls" in item for item in message if item)
            continue
        task_experts = [values for of, values in experts if of == task]
        # Clamped values are equal at the top, so that saturation is achieved at the first of them.
        ratios = [
            max(own) / max(item) * ((item.index(max(item)) + 1) / (own.index(max(own)) + 1))
            for item in map(recompute_exactly, task_experts)
        ]
        scores.append(mean(ratios))
    assert found["sample_efficiency"]["value"] == (pytest.approx(mean(scores)) if scores else None)


def recompute_exactly(values: Values) -> Values:
    return [round(value, 9) for value in values]


def test_gain_is_the_mean_sign_of_the_trend_of_each_learning_block(both: Any) -> None:
    found, blocks, _ = both
    gains = [1 if slope(values) > 0 else -1 for mode, _, values in blocks if mode == "train"]
    assert found["cumulative_gain"]["value"] == pytest.approx(mean(gains))


def test_learn_burn_is_the_mean_slope_after_a_change_over_the_slope_of_the_whole_lifetime(tmp_path: Path) -> None:
    blocks = [block for block in draw_lifetime(7) if block[0] == "train"]
    metrics = perdure.score(
        write_log(tmp_path, "life", blocks), settings=perdure.Settings(window="none", scale="none")
    ).metrics["learn_burn"]
    # green follows green once, which is not a change
    rates = [slope(values) for before, (_, task, values) in pairwise(blocks) if before[1] != task]
    assert len(rates) == 4
    whole = [value for _, _, values in blocks for value in values]
    assert metrics.value == pytest.approx(mean(rates) / slope(whole))


@pytest.mark.parametrize("preset", ["standard", "new-2022"])
def test_efficiency_of_an_unsaturated_task_is_flagged_and_not_excluded(tmp_path: Path, preset: str) -> None:
    # §3.4.5: "Only tasks which demonstrate a steady-state/saturated performance are eligible for this metric".
    curves = {
        "rising": [float(index) for index in range(80)],
        "settled": [min(float(4 * index), 80.0) for index in range(80)],
    }
    flags = {}
    for own, curve in curves.items():
        lifetime = write_log(tmp_path, own, [("train", "a", curve)])
        expert = write_log(tmp_path, f"expert-of-{own}", [("train", "a", curves["settled"])], role="expert")
        result = run_json("score", lifetime, "--experts", expert, "--preset", preset)["lifetimes"][0]["metrics"]
        assert result["sample_efficiency"]["value"] is not None
        flags[own] = [item for item in result["sample_efficiency"]["flags"] if "not saturated" in item]
    assert (len(flags["rising"]), flags["settled"]) == (1, [])


def test_values_over_time_are_shown_with_their_blocks(tmp_path: Path) -> None:
    # §3.2: "It can also be informative to examine how these sub-metrics change over time".
    path = write_log(tmp_path, "life", draw_lifetime(3))
    scored = run_json("score", path)["lifetimes"][0]["metrics"]
    shown = run_json("figure", "over-time", path, "--to", tmp_path / "over-time.svg")["data"]
    lines = {panel["metric"]: panel["lines"] for panel in shown["panels"]}
    assert {"performance_maintenance", "forward_transfer", "backward_transfer", "recovery_time"} <= set(lines)
    for name, match in lines.items():
        for line in match:
            values, places = scored[name]["by"][line["key"]], scored[name]["at"][line["key"]]
            assert [cell["value"] for cell in line["moments"]] == pytest.approx(values)
            assert [cell["blocks"] for cell in line["moments"]] == places
            assert [cell["x"] for cell in line["moments"]] == sorted(cell["x"] for cell in line["moments"])
    messages = output_of("score", path, "--over-time", "--metrics", "performance_maintenance")
    assert "blue" in messages
    assert (tmp_path / "over-time.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("file", "blocks"),
    [
        ("s000-table1-carla", [("learn", 10000), ("learn", 5000), ("learn", 10000)]),
        ("s000-table1-splitmnist", [("learn", 1000), ("learn", 500), ("learn", 1000)]),
        ("s000-table2-carla", [*[("evaluate", 100)] * 2, ("learn", 5000), *[("evaluate", 100)] * 2, ("learn", 10000)]),
        (
            "s000-table2-splitmnist",
            [*[("evaluate", 10)] * 2, ("learn", 1000), *[("evaluate", 10)] * 2, ("learn", 2000)],
        ),
    ],
)
def test_the_scenarios_of_tables_1_and_2_have_the_printed_blocks(file: str, blocks: list[tuple[str, int]]) -> None:
    result = [(block.mode, block.length) for block in perdure.read_syllabus(SYLLABI / f"{file}.json").scenario.blocks]
    assert result == (blocks if "table1" in file else [*blocks, *blocks[:2]])
