"""Numbers of figures over random lifetimes: missing values stay missing, and every mean has its count."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.cli.verbs import run_verb

from perdure import figure as draw
from perdure.errors import PerdureError
from perdure.gather.model import ScoredLifetime
from perdure.metrics.measure import Flag, Measured
from perdure.reports import tables
from perdure.reports.data import gather
from perdure.reports.figures import FIGURES, Canvas, Figure, FigureView, NothingToDrawError
from perdure.reports.figures.curves import lifetime_curves
from perdure.reports.figures.declare import figure_metrics, flags_of
from perdure.reports.figures.matrices import mean_matrix
from perdure.reports.figures.transfer import transfer_matrices
from perdure.reports.formats import html
from perdure.reports.model import report_of
from perdure.reports.thinned import thin_lifetime, thinned_lifetime
from perdure.results import to_plain
from perdure.scenario.model import Block, Scenario
from perdure.scenario.sites import key_text
from perdure.simulate import IdealLearner, experts, lifetime, write_log
from perdure.stats.decide import flags_in
from perdure.stats.groups import GroupedSurvey
from perdure.stats.model import Flagged

GatherRun = Callable[..., GroupedSurvey]
SEEDS = range(4)


def write_random_run(into: Path, seed: int) -> Path:
    """Write lifetimes of two learners with the same tasks, and random orders, rounds and evaluations."""
    rng = np.random.default_rng(seed)
    tasks = [f"task{number}" for number in range(rng.integers(2, 5))]

    def blocks() -> list[Block]:
        result = [Block("evaluate", tasks[0], 3)] if rng.random() < 0.5 else []
        for _ in range(rng.integers(1, 4)):
            for task in rng.permutation(tasks):
                result.append(Block("learn", str(task), 20))
                result += [Block("evaluate", item, int(rng.integers(1, 6))) for item in tasks if rng.random() < 0.7]
        return result

    for name, forgetting in (("keeper", 0.05), ("forgetter", 0.4)):
        learner = IdealLearner(name=name, forgetting=forgetting, pace=8, noise=0.05, spread=0.2)
        for number in range(4):
            scenario = Scenario.of("random", blocks(), info={"scenario_type": "random"})
            write_log(lifetime(learner, scenario, number, f"{name}-{number}"), into / "lives" / name)
    for expert in experts(learner, scenario)[: rng.integers(0, 3)]:
        write_log(expert, into / "experts")
    return into


@pytest.fixture(scope="module", params=SEEDS)
def material(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> GroupedSurvey:
    """Gather a random run."""
    return gather([write_random_run(tmp_path_factory.mktemp("random"), request.param)])


def valued(material: GroupedSurvey, group: str, metric: str) -> dict[str, float]:
    """Return the lifetimes of a group that have a value of a metric."""
    (chosen,) = (item for item in material.groups if item.group == group)
    result = {item.id: item.score.metrics[metric].value for item in material.of_group(chosen)}
    return {name: value for name, value in result.items() if value is not None}


def with_lives(material: GroupedSurvey, lives: Sequence[ScoredLifetime]) -> GroupedSurvey:
    return GroupedSurvey(replace(material.survey, lifetimes=tuple(lives)), material.groups, material.apart)


def drawn_if_any(kind: str, material: GroupedSurvey, view: FigureView | None = None) -> Figure | None:
    try:
        return draw(kind, material, view)
    except NothingToDrawError:
        return None


def numbers(caption: str) -> set[int]:
    """Return the numbers of lifetimes in a caption."""
    result = re.search(r"means? of (\d+)(?: to (\d+))?(?: of \d+)? lifetimes", caption)
    return {int(item) for item in result.groups() if item} if result else {1}


def ends(counts: Any) -> set[int]:
    known = [int(item) for item in np.ravel(counts) if item]
    return {min(known), max(known)}


# --- missing values stay missing, and n is right ----------------------------------------------------------


def test_random_runs_have_values_that_are_absent(material: GroupedSurvey) -> None:
    result = [item.value for life in material.lifetimes for item in life.score.metrics.values()]
    assert any(value is None for value in result)
    assert any(value is not None for value in result)


def test_a_metric_is_drawn_of_the_lifetimes_that_have_it(material: GroupedSurvey) -> None:
    for panel in draw("metrics", material).data["panels"]:
        for item in panel["values"]:
            known = valued(material, item["group"], panel["metric"])
            assert dict(item["lives"]) == known
            assert item["n"] == len(known)
            assert (item["mean"] is None) == (not known)
            assert item["mean"] == material.group(item["group"]).estimates[panel["metric"]].mean
            if item["mean"] is None:
                assert (item["low"], item["high"], item["verdict"], item["flags"]) == (None, None, None, ())


def test_a_share_without_a_value_is_absent_and_not_0(material: GroupedSurvey) -> None:
    result, declared = drawn_if_any("shares", material), material.survey.metrics
    if result is None:
        return
    for item in result.data["outlines"]:
        for shared, share, count in zip(result.data["metrics"], item["shares"], item["counts"], strict=True):
            known = valued(material, item["group"], shared["metric"])
            assert count == len(known)
            assert (share is None) == (not known)
            if share is not None:
                bar = declared[shared["metric"]]
                assert bar.threshold is not None
                sign = 1 if bar.better == "higher" else -1
                ahead = [sign * (value - bar.threshold) + bar.margin for value in known.values()]
                beyond = [item > 0 or (bar.inclusive and item == 0) for item in ahead]
                assert share == pytest.approx(np.mean(beyond))


def test_a_point_is_a_lifetime_that_has_both_values(material: GroupedSurvey) -> None:
    for kind in ("stability-plasticity", "efficiency-maintenance"):
        drawing = drawn_if_any(kind, material)
        result = drawing.data if drawing else {}
        for cloud in result.get("clouds", ()):
            across, up = (valued(material, cloud["group"], result[axis]) for axis in ("x", "y"))
            assert {item["id"]: (item["x"], item["y"]) for item in cloud["points"]} == {
                name: (across[name], up[name]) for name in across if name in up
            }


def test_a_cell_of_transfer_is_the_mean_of_one_metric_alone(material: GroupedSurvey) -> None:
    for group in material.groups:
        for item in transfer_matrices(material, FigureView(group=group.group)):
            assert numbers(item.caption) == ends(item.counts)
            for row, learned in enumerate(item.tasks):
                for column, other in enumerate(item.tasks):
                    values = [
                        by[key_text((learned, other))][0]
                        for life in material.of_group(group)
                        if (by := life.score.metrics[item.metric].by).get(key_text((learned, other)))
                    ]
                    assert item.counts[row, column] == len(values)
                    expected = np.mean(values) if values else np.nan
                    assert item.cells[row, column] == pytest.approx(expected, nan_ok=True)


def test_what_backward_transfer_shows_does_not_depend_on_forward_transfer(material: GroupedSurvey) -> None:
    gone = tuple(
        replace(
            item,
            score=replace(item.score, metrics={**item.score.metrics, "forward_transfer": Measured(None, why="gone")}),
        )
        for item in material.lifetimes
    )
    (backward,) = (item for item in transfer_matrices(material, FigureView()) if item.metric == "backward_transfer")
    (left,) = transfer_matrices(with_lives(material, gone), FigureView())
    assert (left.metric, left.tasks) == (backward.metric, backward.tasks)
    np.testing.assert_array_equal(left.cells, backward.cells)
    np.testing.assert_array_equal(left.counts, backward.counts)


def test_the_accuracy_matrix_counts_the_lifetimes_of_its_order(material: GroupedSurvey) -> None:
    for group in material.groups:
        result = mean_matrix(material, FigureView(group=group.group))
        known = [matrix for life in material.of_group(group) if (matrix := thinned_lifetime(life).matrix) is not None]
        same = [matrix.values for matrix in known if matrix.tasks == result.tasks]
        same = [values[:, -len(result.columns) :] for values in same]
        np.testing.assert_array_equal(result.counts, (~np.isnan(same)).sum(axis=0))
        np.testing.assert_array_equal(np.isnan(result.cells), result.counts == 0)
        assert numbers(result.caption) == ends(result.counts)


def test_what_a_task_lost_is_what_bwt_says_it_lost(material: GroupedSurvey) -> None:
    for group in material.groups:
        drawing = drawn_if_any("forgetting", material, FigureView(group=group.group))
        if drawing is None:
            continue
        result = drawing.data
        (means,) = (item["lost"] for item in result["groups"])
        assert numbers(result["caption"]) == ends(means.counts)
        for task, lost, count in zip(result["tasks"], means.mean, means.counts, strict=True):
            measured = [item.score.metrics["bwt"].by.get(task, ()) for item in material.of_group(group)]
            known = [values[0] for values in measured if values]
            assert count >= len(known)
            if count == len(known):
                assert lost == pytest.approx(-np.mean(known))


def test_just_learned_and_at_the_end_are_counted_task_by_task(material: GroupedSurvey) -> None:
    result = draw("learning-final", material).data
    assert numbers(result["caption"]) == ends((*result["learned"].counts, *result["final"].counts))
    for name in ("learned", "final"):
        assert (np.isnan(result[name].mean) == (result[name].counts == 0)).all()


def test_one_experience_has_no_interval(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",), evaluate=1)
    result = lifetime_curves(material.lifetimes[0])
    assert {(item.low, item.high) for item in result.evaluations} == {(None, None)}
    assert "95 % interval" not in draw("lifetime", material).body


def test_a_task_that_never_changes_has_no_level_to_end_at(gather_run: GatherRun) -> None:
    material = gather_run(2, 2, ("keeper",))
    constant = []
    for life in material.lifetimes:
        drawing = thinned_lifetime(life)
        span = drawing.ranges["task00"]
        ranges = {**drawing.ranges, "task00": replace(span, high=span.low)}
        constant.append(replace(life, seen=msgspec.structs.replace(drawing, ranges=ranges)))
    for lives, tasks in ((material.lifetimes, 2), (constant, 1)):
        (profile,) = draw("profiles", with_lives(material, lives)).data["profiles"]
        assert (profile["n"], profile["tasks"]) == (2, tasks)


def test_crosses_mark_the_best_also_where_lower_is_better(gather_run: GatherRun) -> None:
    material = gather_run(2, 1, ("keeper",))
    item = material.lifetimes[0]
    turned = msgspec.structs.replace(thinned_lifetime(item), lower=frozenset(item.score.tasks))
    lower = with_lives(material, [replace(item, seen=turned)])
    for given_, choose in ((material, max), (lower, min)):
        for panel in draw("experts", given_).data["panels"]:
            assert panel["best"][1] == choose(panel["learner"].y)
            assert all(expert["best"][1] == choose(expert["line"].y) for expert in panel["experts"])


# --- names do not hide tasks -----------------------------------------------------------------


def with_metric(material: GroupedSurvey, name: str) -> GroupedSurvey:
    declared = material.survey.metrics
    more = {**declared, name: replace(declared["forward_transfer"], name=name)}
    return GroupedSurvey(replace(material.survey, metrics=more), material.groups, material.apart)


def test_a_metric_whose_name_begins_another_hides_nothing(material: GroupedSurvey) -> None:
    before = figure_metrics(material, FigureView())
    for name in material.survey.metrics:
        for end in range(1, len(name)):
            if name[:end] not in material.survey.metrics:
                assert figure_metrics(with_metric(material, name[:end]), FigureView()) == (*before, name[:end])


@pytest.mark.parametrize("name", ["forward_transfer_mine", "performance_maintenance_2", "sample_efficiency_"])
def test_a_metric_whose_name_begins_like_another_is_shown(material: GroupedSurvey, name: str) -> None:
    more = with_metric(material, name)
    assert name in figure_metrics(more, FigureView())
    assert name in [column.name for column in tables.lifetimes(more).columns]


def test_a_metric_that_only_a_file_of_scores_knows_is_in_the_tables(material: GroupedSurvey, tmp_path: Path) -> None:
    facts = json.loads(json.dumps(to_plain(material.survey)))
    for item in facts["lifetimes"]:
        item["metrics"]["mystery"] = item["metrics"]["mean_learning_performance"]
    (tmp_path / "scores.json").write_text(json.dumps(facts))
    result = gather([tmp_path / "scores.json"])
    page, _ = html.body(report_of(result))
    assert "mystery" in page
    for kind in FIGURES:
        drawing = drawn_if_any(kind, result)
        assert drawing is None or drawing.body


def test_a_second_reading_is_left_to_tables_unless_it_is_asked_for(material: GroupedSurvey) -> None:
    shown = figure_metrics(material, FigureView())
    assert "forward_transfer" in shown
    assert "forward_transfer_contrast" not in shown
    assert figure_metrics(material, FigureView(metrics=("forward_transfer_contrast",))) == (
        "forward_transfer_contrast",
    )


# --- flags reach captions ----------------------------------------------------------------------------------


LATE = [Flag("late"), Flag.of_some("late", 1, 3), Flag.of_some("late", 2, 3)]


@given(st.lists(st.lists(st.sampled_from([*LATE, "again"]))))
def test_a_flag_counts_each_lifetime_once(each: list[list[str]]) -> None:
    result = {item.flag: item.n for item in flags_in(each)}
    assert result.get("late", 0) == sum(any(flag in LATE for flag in flags) for flags in each)
    assert result.get("again", 0) == sum("again" in flags for flags in each)


def test_many_reasons_for_leaving_values_out_are_counted_as_one() -> None:
    each = [[Flag.of_missing(f"task{number}: it never recovered", number, 9)] for number in range(1, 5)]
    assert flags_in(each[:2]) == tuple(Flagged(f"left out: task{n}: it never recovered", 1) for n in (1, 2))
    assert flags_in(each) == (Flagged("left out for several reasons", 4),)


def test_a_flag_is_in_the_table_of_the_group_and_in_its_figure(material: GroupedSurvey) -> None:
    panels = draw("metrics", material).data["panels"]
    for index, group in enumerate(material.groups):
        judged = tables.metrics(material, group)
        note = judged.note + tables.metrics(material, group, judged=False).note
        for name, item in group.estimates.items():
            for flag in flags_of(material.of_group(group), name):
                assert item.mean is None or f"{flag.flag} ({flag.n})" in note
        for panel in panels:
            assert panel["values"][index]["flags"] == flags_of(material.of_group(group), panel["metric"])


# --- the same numbers in every output -----------------------------------------------------------------


def test_the_page_draws_what_the_files_draw(material: GroupedSurvey) -> None:
    main, _ = html.body(report_of(material))
    for kind in ("metrics", "stability-plasticity", "profiles"):
        try:
            drawing = FIGURES[kind].draw(material, None, Canvas(width=600, size=12, title="", spread=1.5))
        except NothingToDrawError:
            continue
        assert drawing.body in main, kind


def test_a_share_that_is_absent_has_no_bar(material: GroupedSurvey) -> None:
    drawing = drawn_if_any("shares", material)
    if drawing is None:
        return
    every = [share for item in drawing.data["outlines"] for share in item["shares"]]
    assert drawing.body.count("not measured") == every.count(None)
    assert drawing.body.count("<title>") == len(every) - every.count(None)


def test_the_transfer_of_a_pair_forwards_and_backwards_is_two_pictures(material: GroupedSurvey) -> None:
    drawing = draw("transfer", material, size=12)
    result = drawing.data["matrices"]
    for item in result:
        assert f"{item.metric.partition('_')[0].capitalize()}: {item.meaning}" in drawing.body
    assert drawing.body.count("<title>") == sum(np.isfinite(item.cells).sum() for item in result)


@pytest.mark.parametrize("kind", FIGURES)
def test_json_gives_the_data_that_was_drawn(run_folder: Callable[..., Path], tmp_path: Path, kind: str) -> None:
    run = run_folder(3, 2)
    target = tmp_path / "x.svg"
    done = run_verb("figure", kind, run, "--to", target, "--json", tmp_path / "x.json")
    if kind in ("capabilities", "performance-cost"):  # the run is neither scored by framework-2019 nor timed
        assert isinstance(done.exception, PerdureError)
        assert not target.exists()
        return
    assert done.exit_code == 0, done.output

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = json.loads((tmp_path / "x.json").read_text(), parse_constant=refuse)
    drawing = draw(kind, gather([run], look=partial(thin_lifetime, columns=1500)))
    assert text["data"] == json.loads(json.dumps(drawing.as_json()))
    assert drawing.body in target.read_text()
