"""Grid of the first screen: one axis per question, and every cell from one decision."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from perdure.reports import gather, report_of
from perdure.reports.figures import FIGURES
from perdure.reports.formats.pictures import opening_figures
from perdure.reports.grid import Grid, grids
from perdure.reports.thinned import thinned_lifetime
from perdure.stats.groups import GroupedSurvey
from perdure.text import number

GatherRun = Callable[..., GroupedSurvey]


def of(material: GroupedSurvey) -> Grid:
    (result,) = grids(material.groups, material.survey.metrics)
    return result


def test_a_cell_says_the_word_the_value_and_the_test_of_its_decision(gather_run: GatherRun) -> None:
    material = gather_run(3, 4)
    result = of(material)
    rows = {row.name: row for _, rows in result.sections for row in rows}
    assert list(rows) == [group.learner for group in material.groups]
    for group in material.groups:
        for axis, cell in zip(result.axes, rows[str(group.learner)].cells, strict=True):
            item = group.estimates[axis.metric]
            assert cell.word == item.word
            assert item.low is not None or "interval" not in cell.description
            assert number(item.mean, None if item.low is None else (item.high or 0) - item.low) in cell.value
            assert ("interval" in cell.description) == (item.low is not None)
            assert (" against " in cell.description) == (item.p is not None)


def test_learners_are_compared_on_common_references(gather_run: GatherRun) -> None:
    report = report_of(gather_run(3, 4))
    (comparison,) = report.comparisons
    (result,) = grids(report.data.groups, report.data.survey.metrics, report.comparisons)
    metrics = [axis.metric for axis in result.axes]
    kept, transferred = "performance_maintenance", ("forward_transfer", "backward_transfer")
    assert metrics == ["final_performance", kept, *transferred, "learning_performance", "learning_speed"]
    rows = {row.name: dict(zip(metrics, row.cells, strict=True)) for _, rows in result.sections for row in rows}
    assert rows["forgetter"]["final_performance"].word == comparison.tested["final_performance"].word == "worse"
    assert rows["forgetter"]["final_performance"].description == comparison.tested["final_performance"].sentence
    assert rows["keeper"]["final_performance"].word == "baseline"
    assert rows["forgetter"][kept].word == "forgets"
    assert "worse experts raise them" in result.common


def test_without_experts_nothing_is_said_of_gains_over_them(gather_run: GatherRun) -> None:
    report = report_of(gather_run(3, 3, experts=False))
    (result,) = grids(report.data.groups, report.data.survey.metrics, report.comparisons)
    assert "compared with keeper" in result.common
    assert "expert" not in result.common


def test_all_answers_to_a_question_share_one_axis(gather_run: GatherRun) -> None:
    result = of(gather_run(3, 4))
    for index in range(len(result.axes)):
        places = [
            re.findall(r'<line x1="([\d.]+)"[^>]*class="axis"', row.cells[index].svg)
            for _, rows in result.sections
            for row in rows
        ]
        assert len({tuple(item) for item in places}) == 1
        assert places[0]


def test_the_margin_is_shaded_only_where_there_is_one(gather_run: GatherRun) -> None:
    result = of(gather_run(3, 4))
    assert result.margin == "shaded: a loss of up to 5 counts as kept"
    shaded = {
        axis.metric: "<rect" in result.sections[0][1][0].cells[index].svg for index, axis in enumerate(result.axes)
    }
    assert [name for name, has in shaded.items() if has] == ["performance_maintenance"]


def test_without_experts_nothing_is_asked_beside_them(gather_run: GatherRun) -> None:
    result = of(gather_run(3, 3, experts=False))
    assert [axis.metric for axis in result.axes] == ["performance_maintenance", "forward_transfer", "backward_transfer"]


def test_matrices_are_asked_what_a_matrix_can_answer(tmp_path: Path) -> None:
    for index in range(3):
        (tmp_path / f"seed{index}.csv").write_text(f"9{index}.5,62.3,55.1\n,9{index}.8,58.6\n,,98.2\n")
    result = of(gather([tmp_path]))
    assert {axis.metric for axis in result.axes} >= {"bwt", "average_accuracy", "learning_accuracy"}


@pytest.mark.parametrize(("learners", "figures"), [(1, 1), (2, 2), (3, 3), (7, 2)])
def test_one_figure_stands_for_each_learner_and_two_for_many(
    gather_run: GatherRun, learners: int, figures: int
) -> None:
    material = gather_run(2, 3, tuple(f"method-{index}" for index in range(learners)), experts=False, learn=30)
    assert len(opening_figures(material).figures) == figures


def test_figures_of_one_screen_have_one_scale(gather_run: GatherRun) -> None:
    shown = opening_figures(gather_run(3, 3)).figures
    axes = {" ".join(item.split()[4:8]) for each in shown for item in re.findall(r'data-frame="([^"]+)"', each.svg)}
    assert len(shown) == 2
    assert len(axes) == 1


def test_the_lifetime_shown_is_in_the_middle_of_a_group_without_a_common_order(gather_run: GatherRun) -> None:
    material = gather_run(3, 5, ("forgetter",))
    lives = []
    for count, life in enumerate(material.lifetimes):  # each lifetime ends with another number of evaluations
        thinned = thinned_lifetime(life)
        lives.append(replace(life, seen=replace(thinned, blocks=thinned.blocks[: len(thinned.blocks) - count])))
    data = GroupedSurvey(replace(material.survey, lifetimes=tuple(lives)), material.groups)
    values = sorted((float(life.score.metrics["performance_maintenance"].value or 0), life.id) for life in lives)
    (shown,) = opening_figures(data).figures
    assert f"{values[2][1]}, the median lifetime (of 5) by performance maintenance" in shown.caption


def test_every_kind_is_known_by_what_it_shows() -> None:
    assert all(item.summary.endswith((".", ")")) and len(item.summary) < 125 for item in FIGURES.values())
