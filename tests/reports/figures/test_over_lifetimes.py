"""Figures of groups: means over lifetimes with their intervals, and the lifetimes that they leave out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats  # type: ignore[import-untyped]

from perdure import Block, Scenario
from perdure import figure as draw
from perdure.reports.data import gather
from perdure.reports.figures import Figure, FigureView
from perdure.reports.figures.curves import LifetimeCurves, group_curves, lifetime_curves, means_over_lifetimes
from perdure.reports.figures.matrices import mean_matrix
from perdure.reports.formats.pictures import opening_figures
from perdure.simulate import IdealLearner, lifetime, write_log
from perdure.stats.groups import GroupedSurvey

ONE_ORDER, OTHER_ORDER = ("a", "b", "c"), ("c", "a", "b")


def gather_lifetimes(
    into: Path, orders: Sequence[Sequence[str]], length: int = 40, growth: int = 0, learners: Sequence[str] = ("toy",)
) -> GroupedSurvey:
    """Write and gather a lifetime per order and learner; blocks of later lifetimes are `growth` longer."""
    for name in learners:
        learner = IdealLearner(name=name, forgetting=0.2, pace=12, noise=0.05, spread=0.3)
        for seed, tasks in enumerate(orders):
            evaluation = [Block("evaluate", task, 5) for task in (*ONE_ORDER, "other")]
            learned = [block for task in tasks for block in (Block("learn", task, length + growth * seed), *evaluation)]
            scenario = Scenario.of("toy", [*evaluation, *learned], info={"scenario_type": "toy"})
            write_log(lifetime(learner, scenario, seed, f"{name}-{seed}"), into)
    return gather([into])


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> GroupedSurvey:
    return gather_lifetimes(tmp_path_factory.mktemp("group"), [ONE_ORDER] * 5)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> GroupedSurvey:
    return gather_lifetimes(tmp_path_factory.mktemp("mixed"), [OTHER_ORDER, *[ONE_ORDER] * 3, OTHER_ORDER], growth=7)


def singles(data: GroupedSurvey) -> list[LifetimeCurves]:
    return [lifetime_curves(life) for life in data.lifetimes]


def texts(figure: Figure) -> str:
    return " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", figure.body))


def test_curves_of_a_group_are_means_with_t_intervals(group: GroupedSurvey) -> None:
    mean, each = group_curves(group, FigureView()), singles(group)
    for index, curve in enumerate(mean.learning):
        values = np.stack([single.learning[index].smoothed.y for single in each])
        np.testing.assert_allclose(curve.smoothed.x, each[0].learning[index].smoothed.x)
        np.testing.assert_allclose(curve.smoothed.y, values.mean(axis=0))
        low, high = stats.t.interval(0.95, 4, values.mean(axis=0), stats.sem(values, axis=0))
        assert curve.low is not None
        assert curve.high is not None
        np.testing.assert_allclose(curve.low, low)
        np.testing.assert_allclose(curve.high, high)
    for index, evaluation in enumerate(mean.evaluations):
        means = [single.evaluations[index].mean for single in each]
        assert evaluation.n == 5
        assert evaluation.mean == pytest.approx(np.mean(means))
        assert (evaluation.low, evaluation.high) == pytest.approx(
            stats.t.interval(0.95, 4, np.mean(means), stats.sem(means))
        )


def test_a_lifetime_that_is_asked_for_is_drawn_as_it_is(group: GroupedSurvey) -> None:
    life = group.lifetimes[2]
    view = FigureView(lifetime=life.id)
    assert group_curves(group, view).each == ()
    for kind in ("lifetime", "evaluations"):
        assert life.id in texts(draw(kind, group, view))
        assert "single lifetimes" not in texts(draw(kind, group, view))


@pytest.mark.parametrize("kind", ["lifetime", "evaluations", "trajectories"])
def test_single_lifetimes_are_faint_behind_the_mean(group: GroupedSurvey, kind: str) -> None:
    figure = draw(kind, group)
    assert "mean of 5 lifetimes" in texts(figure)
    assert "faint: single lifetimes" in texts(figure)
    assert len(re.findall(r'class="line"[^>]*opacity="0\.3"', figure.body)) >= 5 * 3  # tasks


@pytest.mark.parametrize("kind", ["lifetime", "evaluations"])
def test_the_most_frequent_order_of_blocks_is_averaged_and_the_rest_is_counted(mixed: GroupedSurvey, kind: str) -> None:
    words = texts(draw(kind, mixed))
    assert "mean of 3 of 5 lifetimes" in words
    assert "Left out: 2 lifetimes with another order of blocks." in words
    learned = [span.task for span in group_curves(mixed, FigureView()).spans if span.mode == "learn"]
    assert learned == list(ONE_ORDER)


def test_blocks_of_different_lengths_are_stretched_to_their_mean_length(mixed: GroupedSurvey) -> None:
    mean = group_curves(mixed, FigureView())
    assert "stretched to their mean length" in mean.note()
    lengths = [span.last - span.first for span in mean.spans if span.mode == "learn"]
    assert lengths == pytest.approx([40 + 7 * 2] * 3)  # seeds 1 to 3
    for curves in (mean, *mean.each):
        for curve, span in zip(curves.learning, (span for span in mean.spans if span.mode == "learn"), strict=True):
            assert span.first <= curve.smoothed.x[0] < curve.smoothed.x[-1] <= span.last


def test_lifetimes_that_each_have_their_own_order_are_not_averaged(tmp_path: Path) -> None:
    data = gather_lifetimes(tmp_path, [ONE_ORDER, OTHER_ORDER, ("b", "a", "c")])
    curves = group_curves(data, FigureView())
    assert curves.id == data.lifetimes[0].id
    assert curves.note() == "One lifetime; left out: 2 lifetimes with another order of blocks."
    (picture,) = opening_figures(data).figures
    assert "the median lifetime (of 3)" in picture.caption


def test_missing_values_count_for_no_mean_and_an_interval_needs_two() -> None:
    nan = np.nan
    means = means_over_lifetimes(np.array([[1.0, 2.0, nan], [3.0, nan, nan]]))
    np.testing.assert_array_equal(means.mean, [2.0, 2.0, nan])
    np.testing.assert_array_equal(means.counts, [2, 1, 0])
    np.testing.assert_array_equal(np.isnan(means.low), [False, True, True])
    assert means.high[0] - 2.0 == pytest.approx(2.0 - means.low[0]) == pytest.approx(12.7062, abs=1e-4)


def test_a_panel_of_a_task_has_an_axis_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text("0.9,0.8,0.7\n,0.02,0.01\n,,0.5\n")
    body = draw("evaluations", gather([tmp_path])).body
    ends = {tuple(frame.split()[6:8]) for frame in re.findall(r'data-frame="([^"]+)"', body)}
    assert len(ends) == 3


def test_the_matrix_has_every_measured_cell_with_the_same_decimals(group: GroupedSurvey) -> None:
    matrix, figure = mean_matrix(group, FigureView()), draw("accuracy", group)
    assert matrix.columns == ("before", *ONE_ORDER)
    assert matrix.rows == (*ONE_ORDER, "other")
    assert np.isfinite(matrix.cells).all()
    assert {"before", *matrix.rows} <= set(texts(figure).split())
    shown = re.findall(r'class="cell[^"]*"[^>]*>([^<]+)</text>', figure.body)
    assert [float(value) for value in shown] == pytest.approx(matrix.cells.ravel(), abs=0.0051)
    assert {len(value.partition(".")[2]) for value in shown} == {2}


def test_forgetting_has_a_bar_for_each_task_and_group_on_one_axis(tmp_path: Path) -> None:
    data = gather_lifetimes(tmp_path, [ONE_ORDER] * 3, learners=("x", "y"))
    figure = draw("forgetting", data)
    groups = figure.data["groups"]
    assert len(groups) == len(data.groups) == 2
    titles = re.findall(r"<title>([^<]*)</title>", figure.body)
    assert len(titles) == 2 * len(figure.data["tasks"]) == 4
    assert all("95 % interval" in title for title in titles)
    assert {"x", "y"} <= set(texts(figure).split())
    alone = draw("forgetting", data, FigureView(group=data.groups[1].group))
    np.testing.assert_allclose(alone.data["groups"][0]["lost"].mean, groups[1]["lost"].mean)


def test_every_group_has_its_name_in_the_figure_of_metrics(tmp_path: Path) -> None:
    names = ("er", "ewc", "mir", "a-gem")
    words = texts(draw("metrics", gather_lifetimes(tmp_path, [ONE_ORDER] * 2, learners=names)))
    assert set(names) <= set(words.split())


def test_matrices_show_all_their_headline_metrics(tmp_path: Path) -> None:
    for seed in range(3):
        (tmp_path / f"seed{seed}.csv").write_text(f"98.5,62.{seed},55.1\n,97.8,58.{seed}\n,,98.2\n")
    data = gather([tmp_path])
    shown = [panel["metric"] for panel in draw("metrics", data).data["panels"]]
    assert shown == [
        name for name, metric in data.survey.metrics.items() if metric.headline == "matrix" and name in shown
    ]
    assert {"average_accuracy", "learning_accuracy", "bwt", "forgetting"} <= set(shown)


def test_values_of_compared_evaluations_cover_no_other(group: GroupedSurvey) -> None:
    body = draw("annotated", group).body
    boxes = [
        tuple(map(float, box))
        for box in re.findall(
            r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="#ffffff"', body
        )
    ]
    assert len(boxes) > 5
    for index, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, deep in boxes[:index]:
            apart = (left + wide - 2.2 <= x, x + width - 2.2 <= left, top + deep - 0.2 <= y, y + height - 0.2 <= top)
            assert any(apart)


def test_the_legend_of_verdicts_has_their_markers(group: GroupedSurvey) -> None:
    legend = draw("metrics", group).body.rpartition("Ticks: lifetimes")[2]
    assert legend.count("<circle") == 1  # met
    assert legend.count("<polygon") == 2


def gather_matrices(into: Path, tasks: int = 3, seeds: int = 3) -> GroupedSurvey:
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        later = np.arange(tasks) - np.arange(tasks)[:, None]
        cells = np.where(later < 0, np.nan, 0.9 - 0.03 * later + rng.normal(0, 0.01, (tasks, tasks)))
        (into / "er").mkdir(parents=True, exist_ok=True)
        np.save(into / "er" / f"seed{seed}.npy", cells)
    return gather([into])


@pytest.mark.parametrize("tasks", [3, 10])
def test_accuracies_of_a_matrix_are_drawn_as_measured_over_the_tasks_learned(tmp_path: Path, tasks: int) -> None:
    data = gather_matrices(tmp_path, tasks)
    curves = group_curves(data, FigureView())
    assert (curves.x, curves.y) == ("tasks learned", "accuracy")
    assert [span.last for span in curves.spans if span.mode == "learn"] == list(range(1, tasks + 1))
    assert {item.x for item in curves.evaluations} == set(range(1, tasks + 1))
    assert not any(item.ahead for item in curves.evaluations)
    figure = draw("lifetime", data)
    assert "scaled" not in texts(figure)
    assert f", {len(data.lifetimes)} lifetimes</title>" in draw("evaluations", data).body
    assert "experiences" not in figure.body + draw("scenario", data).body
    shown = texts(figure)
    assert ("intervals" in shown, "faint" in shown) == (tasks < 9, False)
    assert "faint" in texts(draw("evaluations", data))


def test_a_profile_of_matrices_has_the_levels_of_accuracies(tmp_path: Path) -> None:
    data = gather_matrices(tmp_path)
    (profile,) = draw("profiles", data).data["profiles"]
    final = mean_matrix(data, FigureView()).each[:, :, -1]
    for level, share in zip(draw("profiles", data).data["levels"], profile["share"], strict=True):
        assert share == pytest.approx((final > level).mean(), abs=1e-9)


def test_probes_of_a_mean_are_inside_its_learning_blocks(tmp_path: Path) -> None:
    for seed, length in enumerate((10, 20)):
        piece = ["train,a,0.5"] * length
        rows = [*piece, "probe,a,0.4", *piece, "probe,a,0.6", "test,a,0.7"]
        (tmp_path / f"m_s{seed}.csv").write_text("\n".join(["block_type,task_name,accuracy", *rows, ""]))
    mean = group_curves(gather([tmp_path]), FigureView())
    (learning,) = (span for span in mean.spans if span.mode == "learn")
    assert (learning.first, learning.last) == (0, 30)
    assert [evaluation.x for evaluation in mean.evaluations][:2] == [15, 30]
    assert mean.evaluations[2].x > 30
