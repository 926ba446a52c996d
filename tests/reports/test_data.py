"""Several run folders in one report: lifetimes, experts and groups stay separate."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from perdure.gather.survey import survey
from perdure.reports import gather, report_of
from perdure.reports.formats.pictures import opening_figures
from perdure.stats.groups import GroupedSurvey
from perdure.watch.monitor import Monitor

Runs = tuple[Path, Path]
GROUPS = ("keeper · condensed", "keeper · dispersed", "forgetter · condensed", "forgetter · dispersed")


def _values(material: GroupedSurvey, metric: str) -> dict[str, float | None]:
    return {item.score.identity.source: item.score.metrics[metric].value for item in material.lifetimes}


def test_lifetimes_that_share_an_id_are_called_by_where_they_lie(two_runs: Runs) -> None:
    material = gather(two_runs)
    assert [item.id for item in material.lifetimes] == [
        f"{run.name}/lives/life-{number}" for run in two_runs for number in range(4)
    ]
    below = gather([two_runs[0].parent])
    assert {item.id for item in below.lifetimes} == {
        f"{two_runs[0].parent.name}/{run.name}/lives/life-{number}" for run in two_runs for number in range(4)
    }


def test_what_is_given_as_an_expert_is_no_life_of_the_report(two_runs: Runs) -> None:
    expert = two_runs[0] / "lives" / "life-1"
    material = gather([two_runs[0] / "lives"], [expert])
    scored = survey([two_runs[0] / "lives"], [expert])
    assert (
        [item.score.id for item in material.lifetimes]
        == [item.id for item in scored.scores]
        == [f"lives/life-{index}" for index in (0, 2, 3)]
    )


def test_a_group_holds_the_lifetimes_of_its_own_learner(two_runs: Runs) -> None:
    material = gather(two_runs)
    assert {item.group for item in material.groups} == set(GROUPS)
    for group in material.groups:
        lives = material.of_group(group)
        assert [item.score.learner for item in lives] == [group.learner] * 2
        values = [item.score.metrics["performance_maintenance"].value or 0.0 for item in lives]
        assert group.estimates["performance_maintenance"].mean == pytest.approx(sum(values) / 2)


def test_learners_of_two_run_folders_are_compared_by_their_own_values(two_runs: Runs) -> None:
    report = report_of(gather(two_runs))
    assert {(item.section, item.system, item.baseline) for item in report.comparisons} == {
        ("condensed", "keeper", "forgetter"),
        ("dispersed", "keeper", "forgetter"),
    }
    means = {item.group: item.estimates["performance_maintenance"].mean or 0.0 for item in report.data.groups}
    for item in report.comparisons:
        result = item.differences["performance_maintenance"].difference
        assert result == pytest.approx(
            means[f"{item.system} · {item.section}"] - means[f"{item.baseline} · {item.section}"]
        )
        assert result is not None
        assert result > 10


def test_groups_keep_their_protocols_where_only_these_tell_them_apart(two_runs: Runs) -> None:
    import json

    from perdure.log.manifest import rewrite

    for number in range(2, 4):
        log = two_runs[0] / "lives" / f"life-{number}"
        manifest, info = (json.loads((log / name).read_text()) for name in ("manifest.json", "scenario_info.json"))
        contents = {
            "manifest.json": {**manifest, "protocol": "another"},
            "scenario_info.json": {**info, "scenario_type": "condensed"},
        }
        rewrite(log, contents)
    names = {item.group for item in gather([two_runs[0]]).groups}
    assert names == {"keeper · condensed · digest-of-keeper", "keeper · condensed · another"}


def test_the_page_opens_with_two_learners_in_one_type_of_scenario(two_runs: Runs) -> None:
    captions = [item.caption for item in opening_figures(gather(two_runs)).figures]
    assert captions == [f"{name} · condensed, mean of 2 lifetimes." for name in ("keeper", "forgetter")]


def test_a_figure_is_that_of_the_group_in_its_caption(two_runs: Runs) -> None:
    for item in opening_figures(gather(two_runs)).figures:
        assert f"Learning curves and evaluations of {item.caption.removesuffix('.')}:" in item.svg


def test_experts_serve_the_lifetimes_of_their_own_run_folder_alone(two_runs: Runs) -> None:
    settings = perdure.Settings(bounds=dict.fromkeys("ab", (-0.5, 2.0)))  # else each set of logs has its own range
    apart = [_values(gather([run], settings=settings), "relative_performance") for run in two_runs]
    scored = {
        item.identity.source: item.metrics["relative_performance"].value
        for item in survey(two_runs, (), settings).scores
    }
    assert _values(gather(two_runs, settings=settings), "relative_performance") == {**apart[0], **apart[1]} == scored
    monitor = Monitor(two_runs, settings=settings)
    monitor.settle()
    material = monitor.data()
    assert material is not None
    assert _values(material, "relative_performance") == scored


def test_watching_tells_lifetimes_that_share_an_id_apart(two_runs: Runs) -> None:
    from perdure.watch.page import Page

    monitor = Monitor([two_runs[0].parent])
    monitor.settle()
    progress = monitor.progress()
    assert len({item.id for item in progress}) == 8
    for item in progress:
        assert f"/{item.learner}/lives/" in item.id
    last = progress[-1]
    chosen = next(life for life in monitor.lifetimes if life.id == last.id)
    assert chosen.manifest["learner"] == last.learner
    page = Page(monitor)
    assert page.state(of=last.id)["figure"] != page.state(of=progress[0].id)["figure"]
    material = monitor.data()
    assert material is not None
    assert {item.id for item in material.lifetimes} == {item.id for item in progress}
