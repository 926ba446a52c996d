"""Figures of the values behind metrics: over time, at evaluations (New et al. 2022, Fig. 3a), and against cost."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.metrics.written import written

import perdure
from perdure import figure as draw
from perdure.gather.score_files import read_score_file
from perdure.reports.data import gather
from perdure.reports.figures import FigureView, NothingToDrawError
from perdure.settings import Settings
from perdure.stats.groups import GroupedSurvey

# Two tasks as in Fig. 3a: B0 R0 | blue | B1 R1 | red | B2 R2 | blue | B3 R3
FIG_3A = [
    ("test", "blue", [0.2]),
    ("test", "red", [0.1]),
    ("train", "blue", [0.2, 0.8]),
    ("test", "blue", [0.8]),
    ("test", "red", [0.3]),
    ("train", "red", [0.3, 0.9]),
    ("test", "blue", [0.6]),
    ("test", "red", [0.9]),
    ("train", "blue", [0.6, 0.9]),
    ("test", "blue", [0.9]),
    ("test", "red", [0.7]),
]


@pytest.fixture
def told_fig(tmp_path: Path) -> GroupedSurvey:
    return gather([written(tmp_path, "life", FIG_3A)], settings=Settings(scale="none", window="none"))


def test_the_places_of_fig_3a_are_marked_with_the_values_of_its_formulas(told_fig: GroupedSurvey) -> None:
    figure = draw("annotated", told_fig)
    marks = {(item.metric, item.key, item.blocks): item for item in figure.data["marks"]}
    assert marks["forward_transfer", "blue→red", (1, 4)].value == pytest.approx(0.3 / 0.1)  # R1 / R0
    assert marks["backward_transfer", "red→blue", (3, 6)].value == pytest.approx(0.6 / 0.8)  # B2 / B1
    assert marks["performance_maintenance", "blue", (3, 6)].value == pytest.approx(0.6 - 0.8)  # B2 − B1
    assert marks["performance_maintenance", "red", (7, 10)].value == pytest.approx(0.7 - 0.9)  # R3 − R2
    for item in marks.values():
        assert item.before[0] < item.after[0]
    forward = marks["forward_transfer", "blue→red", (1, 4)]
    assert (forward.before[1], forward.after[1]) == pytest.approx((0.1, 0.3)), "the line lies at what is compared with"
    assert all(f">{text}</text>" in figure.body for text in ("PM −0.2", "BT 0.75", "FT 3"))


def test_values_over_time_stand_where_their_last_block_ends(told_fig: GroupedSurvey) -> None:
    shown = draw("over-time", told_fig).as_json()["panels"]
    panels = {item["metric"]: {line["key"]: line["moments"] for line in item["lines"]} for item in shown}
    assert [(item["blocks"], item["x"]) for item in panels["performance_maintenance"]["red"]] == [([7, 10], 14)]
    assert [item["value"] for item in panels["backward_transfer"]["blue→red"]] == pytest.approx([0.7 / 0.9])
    assert shown[0]["lines"][0]["moments"][0]["blocks"] == [3, 6]
    asked = draw("over-time", told_fig, FigureView(metrics=("terminal_performance",)))
    assert [item["metric"] for item in asked.data["panels"]] == ["terminal_performance"]


def test_a_number_of_the_whole_lifetime_has_no_place_in_it(told_fig: GroupedSurvey) -> None:
    with pytest.raises(NothingToDrawError, match="learn_burn"):
        draw("over-time", told_fig, FigureView(metrics=("learn_burn",)))


def test_scores_written_to_a_file_keep_the_blocks_of_their_values(tmp_path: Path) -> None:
    import json

    result = perdure.survey(written(tmp_path, "life", FIG_3A))
    (tmp_path / "scores.json").write_text(json.dumps(result.as_json()))
    (read,) = read_score_file(tmp_path / "scores.json").scores
    for name, item in result.scores[0].metrics.items():
        assert read.metrics[name].at == item.at, name
        for key, places in item.at.items():
            assert len(places) == len(item.by[key])


def test_performance_against_cost_is_a_point_per_lifetime(tmp_path: Path) -> None:
    for seed in range(2):
        written(tmp_path / "lives", f"life-{seed}", FIG_3A, seed=seed)
    for task in ("blue", "red"):
        written(tmp_path / "experts", task, [("train", task, [0.2, 0.5, 0.7, 0.8])], role="expert")
    material = gather([tmp_path])
    shown = draw("performance-cost", material).data
    assert (shown["x"], shown["y"], shown["y_threshold"]) == ("cost_overhead", "relative_performance", 1)
    (cloud,) = shown["clouds"]
    assert len(cloud["points"]) == 2
    by_id = {item.id: item.score for item in material.lifetimes}
    for point in cloud["points"]:
        score = by_id[point["id"]]
        assert (point["x"], point["y"]) == (score["cost_overhead"], score["relative_performance"])
