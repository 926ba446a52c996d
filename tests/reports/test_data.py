"""Several run folders told together: whose lifetime, whose experts, whose group."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.gather.survey import survey
from perdure.reports import gather, report_of
from perdure.reports.formats.pictures import opening_figures
from perdure.stats.groups import GroupedSurvey
from perdure.watch.monitor import Monitor

Runs = tuple[Path, Path]
GROUPS = ("keeper · condensed", "keeper · dispersed", "forgetter · condensed", "forgetter · dispersed")


def _values(material: GroupedSurvey, metric: str) -> dict[str, float | None]:
    return {one.score.identity.source: one.score.metrics[metric].value for one in material.lifetimes}


def test_lifetimes_that_share_an_id_are_called_by_where_they_lie(two_runs: Runs) -> None:
    material = gather(two_runs)
    assert [one.id for one in material.lifetimes] == [
        f"{run.name}/lives/life-{number}" for run in two_runs for number in range(4)
    ]
    below = gather([two_runs[0].parent])
    assert {one.id for one in below.lifetimes} == {
        f"{two_runs[0].parent.name}/{run.name}/lives/life-{number}" for run in two_runs for number in range(4)
    }


def test_what_is_given_as_an_expert_is_no_life_of_the_report(two_runs: Runs) -> None:
    expert = two_runs[0] / "lives" / "life-1"
    told = gather([two_runs[0] / "lives"], [expert])
    scored = survey([two_runs[0] / "lives"], [expert])
    assert (
        [one.score.id for one in told.lifetimes]
        == [one.id for one in scored.scores]
        == [f"lives/life-{at}" for at in (0, 2, 3)]
    )


def test_a_group_holds_the_lifetimes_of_its_own_learner(two_runs: Runs) -> None:
    material = gather(two_runs)
    assert {one.group for one in material.groups} == set(GROUPS)
    for group in material.groups:
        lives = material.of_group(group)
        assert [one.score.learner for one in lives] == [group.learner] * 2
        values = [one.score.metrics["performance_maintenance"].value or 0.0 for one in lives]
        assert group.estimates["performance_maintenance"].mean == pytest.approx(sum(values) / 2)


def test_learners_of_two_run_folders_are_compared_by_their_own_values(two_runs: Runs) -> None:
    report = report_of(gather(two_runs))
    assert {(one.system, one.baseline) for one in report.comparisons} == {
        ("keeper · condensed", "forgetter · condensed"),
        ("keeper · dispersed", "forgetter · dispersed"),
    }
    means = {one.group: one.estimates["performance_maintenance"].mean or 0.0 for one in report.data.groups}
    for one in report.comparisons:
        found = one.differences["performance_maintenance"].difference
        assert found == pytest.approx(means[one.system] - means[one.baseline])
        assert found is not None
        assert found > 10


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
    names = {one.group for one in gather([two_runs[0]]).groups}
    assert names == {"keeper · condensed · digest-of-keeper", "keeper · condensed · another"}


def test_the_page_opens_with_two_learners_in_one_type_of_scenario(two_runs: Runs) -> None:
    captions = [one.caption for one in opening_figures(gather(two_runs))]
    assert [one.partition(":")[0] for one in captions] == ["keeper · condensed", "forgetter · condensed"]


def test_a_figure_is_that_of_the_lifetime_in_its_caption(two_runs: Runs) -> None:
    material = gather(two_runs)
    for one in opening_figures(material):
        (life,) = (life for life in material.lifetimes if f": {life.id}," in one.caption)
        assert f"Learning curves and evaluations of {life.id}:" in one.svg
        assert str(life.score.learner) in one.caption


def test_experts_serve_the_lifetimes_of_their_own_run_folder_alone(two_runs: Runs) -> None:
    apart = [_values(gather([run]), "relative_performance") for run in two_runs]
    scored = {one.identity.source: one.metrics["relative_performance"].value for one in survey(two_runs).scores}
    assert _values(gather(two_runs), "relative_performance") == {**apart[0], **apart[1]} == scored
    monitor = Monitor(two_runs)
    monitor.settle()
    material = monitor.data()
    assert material is not None
    assert _values(material, "relative_performance") == scored


def test_watching_tells_lifetimes_that_share_an_id_apart(two_runs: Runs) -> None:
    from perdure.watch.page import Page

    monitor = Monitor([two_runs[0].parent])
    monitor.settle()
    progress = monitor.progress()
    assert len({one.id for one in progress}) == 8
    for one in progress:
        assert f"/{one.learner}/lives/" in one.id
    last = progress[-1]
    chosen = next(life for life in monitor.lifetimes if life.id == last.id)
    assert chosen.manifest["learner"] == last.learner
    page = Page(monitor)
    assert page.state(of=last.id)["figure"] != page.state(of=progress[0].id)["figure"]
    material = monitor.data()
    assert material is not None
    assert {one.id for one in material.lifetimes} == {one.id for one in progress}
