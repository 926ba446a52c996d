"""Core Capabilities (S003 §2, App. A): a score per syllabus, then the mean over syllabi, recomputed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perdure
from perdure.gather.model import Survey
from perdure.gather.survey import survey
from perdure.metrics.presets import PRESETS
from perdure.reports.figures import draw
from perdure.reports.tables import capabilities as table
from perdure.settings import Settings
from perdure.stats.capabilities import CAPABILITIES, Capability, capabilities
from perdure.stats.groups import group_survey

Blocks = list[tuple[str, str, float]]
ANT_B: Blocks = [("train", "pong", 3.0), ("test", "breakout", 1.0), ("train", "breakout", 4.0), ("test", "pong", 2.0)]
CL: Blocks = [("train", "pong_v1", 2.0), ("test", "pong_v1", 1.0), ("train", "pong_v2", 4.0)]


def logged(folder: Path, name: str, kind: str, blocks: Blocks) -> None:
    """Blocks of eleven equal values, so that every saturation is that value."""
    with perdure.Journal(
        folder, name, measures=["reward"], learner="mine", info={"scenario_type": kind}, scenario=kind
    ) as journal:
        for number, (mode, task, value) in enumerate(blocks):
            for each in range(11):
                journal.log(
                    block_num=number,
                    exp_num=11 * number + each,
                    block_type=mode,
                    task_name=task,
                    task_params={},
                    reward=value,
                )


def surveyed(tmp_path: Path, experts: bool = True, preset: str = "framework-2019") -> Survey:
    logged(tmp_path / "logs", "b", "ANT-B", ANT_B)
    logged(tmp_path / "logs", "b-again", "ANT-B", [(mode, task, 2 * value) for mode, task, value in ANT_B])
    logged(tmp_path / "logs", "a", "ANT-A", [("train", "pong", 6.0), ("train", "freeway", 1.0)])
    logged(tmp_path / "logs", "cl", "CL", CL)
    (tmp_path / "info.json").write_text(json.dumps({"pong": 2.0, "breakout": 4.0}))
    return survey(tmp_path / "logs", [tmp_path / "info.json"] if experts else (), Settings(preset))


def by_name(found: tuple[Capability, ...]) -> dict[str, Capability]:
    return {one.name: one for one in found}


@pytest.fixture(autouse=True)
def _no_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("L2DATA", str(tmp_path / "none"))


def test_a_capability_is_the_mean_over_its_syllabi_of_their_means(tmp_path: Path) -> None:
    found = by_name(capabilities(surveyed(tmp_path)))
    # ANT-B, first life: learned 3/2 and 4/4, forward 1/4, reverse 2/2; its second life has twice of each.
    life = ((3 / 2 + 4 / 4) / 2 + 1 / 4 + 2 / 2) / 3
    ant_b = (life + 2 * life) / 2
    ant_a = 6 / 2  # freeway has no expert
    adapting = found["adapting to new tasks"]
    assert {one.name.partition(":")[0]: one.score for one in adapting.syllabi} == pytest.approx(
        {"ANT-A": ant_a, "ANT-B": ant_b}
    )
    assert adapting.score == pytest.approx((ant_a + ant_b) / 2)
    assert found["continual learning"].score == pytest.approx((2 / 2 + 4 / 2) / 2)


def test_every_question_is_answered_by_the_mean_over_the_syllabi_that_can(tmp_path: Path) -> None:
    found = by_name(capabilities(surveyed(tmp_path)))
    answers = {one.metric: (one.value, one.syllabi) for one in found["adapting to new tasks"].answers}
    assert answers["saturation"] == pytest.approx(((1.5 * (3 + 4) / 2 + (6 + 1) / 2) / 2, 2))
    assert answers["ste_forward_transfer"] == pytest.approx((1.5 / 4, 1))
    continual = {one.metric: one.value for one in found["continual learning"].answers}
    assert continual["maintenance_on_test"] == pytest.approx(1.0 - 2.0)
    assert all(one.question.endswith("?") for each in found.values() for one in each.answers)


def test_a_metric_of_two_capabilities_asks_of_each_its_own_question(tmp_path: Path) -> None:
    found = capabilities(surveyed(tmp_path))
    said = {(one.name, answer.metric): answer.question for one in found for answer in one.answers}
    declared = PRESETS.get("framework-2019").metrics
    assert said == {(name, metric): declared[metric].answers[name] for name, metric in said}
    assert len({question for (_, metric), question in said.items() if metric == "maintenance_on_test"}) == 2


def test_what_no_syllabus_asks_about_has_no_score_and_says_so(tmp_path: Path) -> None:
    found = by_name(capabilities(surveyed(tmp_path)))
    assert list(found) == list(CAPABILITIES)
    for name in ("goal-driven perception", "selective plasticity", "safety"):
        assert (found[name].score, found[name].why) == (None, "no syllabus measures it")


def test_without_experts_there_are_answers_and_no_score(tmp_path: Path) -> None:
    found = surveyed(tmp_path, experts=False)
    one = by_name(capabilities(found))["continual learning"]
    assert (one.score, bool(one.answers)) == (None, True)
    assert "ratios to experts" in (one.why or "")


def test_only_the_preset_of_2019_scores_capabilities(tmp_path: Path) -> None:
    found = surveyed(tmp_path, preset="standard")
    assert capabilities(found) == ()
    assert table(group_survey(found)).rows == ()


def test_table_and_figure_say_the_same(tmp_path: Path) -> None:
    found = group_survey(surveyed(tmp_path))
    heads = {row[1]: row[4] for row in table(found).rows if row[1]}
    assert {one.name: one.score for one in draw("capabilities", found).data["found"]} == heads


def test_a_syllabus_may_name_the_capability_it_asks_about(tmp_path: Path) -> None:
    logged(tmp_path / "logs", "guarded", "safety", [("train", "pong", 3.0)])
    found = by_name(capabilities(survey(tmp_path / "logs", settings=Settings("framework-2019"))))
    assert [one.lifetimes for one in found["safety"].syllabi] == [1]


def test_what_metrics_answer_are_core_capabilities() -> None:
    assert {name for one in PRESETS.get("framework-2019").metrics.values() for name in one.answers} <= set(CAPABILITIES)
