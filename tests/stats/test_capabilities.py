"""Core Capabilities (S003 §2, App. A): a score per syllabus, then the mean over syllabi, recomputed by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import run_command

import perdure
from perdure import figure as draw
from perdure.gather.model import Survey
from perdure.gather.survey import survey
from perdure.metrics.presets import PRESETS
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
        assert (found[name].score, found[name].why) == (None, "no syllabus or metric measures it")


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


CUSTOM = '''
from perdure import Curve, metric
from perdure.scenario import sites


@metric(sites.each_learning_block, unit="share", capability="safety")
def safe_share(learned: Curve) -> float:
    """Measure the share of safe experiences."""
    return learned.mean / 10


@metric(sites.each_learning_block, unit="ratio", capability="continual learning")
def steadiness(learned: Curve) -> float:
    """Measure the end relative to twice the mean."""
    return learned.terminal / learned.mean / 2
'''


def with_custom(tmp_path: Path, declared: str = CUSTOM) -> Survey:
    surveyed(tmp_path)
    (tmp_path / "safety.py").write_text(declared)
    settings = Settings("framework-2019", metrics=[str(tmp_path / "safety.py")])
    return survey(tmp_path / "logs", [tmp_path / "info.json"], settings)


def test_a_custom_metric_gives_its_capability_a_score(tmp_path: Path) -> None:
    found = by_name(capabilities(with_custom(tmp_path)))
    life = (3 + 4) / 2 / 10
    each = {"ANT-A": (6 + 1) / 2 / 10, "ANT-B": (life + 2 * life) / 2, "CL": (2 + 4) / 2 / 10}
    safety = found["safety"]
    assert {one.name.partition(":")[0]: one.score for one in safety.syllabi} == pytest.approx(each)
    assert safety.score == pytest.approx(sum(each.values()) / 3)
    assert [(one.metric, one.syllabi) for one in safety.answers] == [("safe_share", 3)]
    assert safety.meaning == "mean of safe_share"


def test_a_custom_ratio_joins_the_ratios_to_experts(tmp_path: Path) -> None:
    continual = by_name(capabilities(with_custom(tmp_path)))["continual learning"]
    by_type = {one.name.partition(":")[0]: one.score for one in continual.syllabi}
    assert by_type == pytest.approx({"ANT-A": 0.5, "ANT-B": 0.5, "CL": (0.5 + (2 / 2 + 4 / 2) / 2) / 2})


def test_custom_metrics_of_different_units_are_shown_and_not_averaged(tmp_path: Path) -> None:
    mixed = CUSTOM.replace('unit="ratio", capability="continual learning"', 'unit="points", capability="safety"')
    safety = by_name(capabilities(with_custom(tmp_path, mixed)))["safety"]
    assert (safety.score, len(safety.answers)) == (None, 2)
    assert "safe_share, steadiness" in (safety.why or "")


def test_the_command_line_shows_the_score_of_a_custom_capability(tmp_path: Path) -> None:
    with_custom(tmp_path)
    shown = run_command("score", "logs", "--preset", "framework-2019", "--metrics", "safety.py", folder=tmp_path)
    assert "safety: mean of safe_share (3 syllabi)" in " ".join(shown.stdout.split())
    assert "safety: no syllabus" not in shown.stdout
