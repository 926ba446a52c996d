"""Intransigence and the omegas are relative to a joint learner, among the lifetimes or at a path."""

from __future__ import annotations

from pathlib import Path

import pytest

import perdure
from perdure.classic.matrix import save_matrix
from perdure.errors import PerdureError
from perdure.metrics.presets import PRESETS
from perdure.settings import Settings

Cells = list[list[float | None]]

NAIVE: list[Cells] = [
    [[90.0, 60.0, 50.0], [None, 80.0, 70.0], [None, None, 88.0]],
    [[92.0, 61.0, 50.0], [None, 84.0, 70.0], [None, None, 88.0]],
]
JOINT: list[Cells] = [
    [[95.0, 95.0, 94.0], [None, 96.0, 90.0], [None, None, 93.0]],
    [[95.0, 95.0, 96.0], [None, 96.0, 92.0], [None, None, 95.0]],
]
# A_i^joint is the accuracy on task i of the learner trained jointly; here the mean over two such runs.
TOGETHER = [95.0, 91.0, 94.0]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for learner, matrices in (("naive", NAIVE), ("joint", JOINT)):
        for seed, cells in enumerate(matrices):
            save_matrix(tmp_path / "runs" / f"{learner}{seed}.json", cells, learner=learner, seed=seed)
    return tmp_path / "runs"


def by_hand(cells: Cells) -> dict[str, float]:
    """Compute IM, and the omegas of Hayes et al., over the second to the last task."""
    a = [[cell or 0.0 for cell in row] for row in cells]
    count = len(a)
    later = range(1, count)
    seen = [sum(a[i][j] for i in range(j + 1)) / sum(TOGETHER[: j + 1]) for j in later]
    return {
        "intransigence": sum(TOGETHER[i] - a[i][i] for i in later) / (count - 1),
        "omega_base": sum(a[0][j] / TOGETHER[0] for j in later) / (count - 1),
        "omega_all": sum(seen) / (count - 1),
    }


def test_a_joint_learner_among_lifetimes_feeds_the_others(runs: Path) -> None:
    found = perdure.survey(runs)
    named = {who: [one for one in found.scores if one.learner == who] for who in ("naive", "joint")}
    for score, cells in zip(named["naive"], NAIVE, strict=True):
        for metric, value in by_hand(cells).items():
            assert score[metric] == pytest.approx(value), metric
        assert any("2 lifetimes of the joint learner" in note for note in score.notes)
    assert all("give --joint" in score.why["intransigence"] for score in named["joint"])
    assert found.settings["joint"] is None


def test_one_metric_asked_for_is_fed_too(runs: Path) -> None:
    found = perdure.survey(runs, settings=perdure.Settings(metrics=("IM",)))
    assert [one["IM"] for one in found.scores if one.learner == "naive"] == [
        pytest.approx(by_hand(cells)["intransigence"]) for cells in NAIVE
    ]
    assert set(found.scores[0].metrics) == {"intransigence"}


def test_a_folder_called_joint_stands_for_the_learner(tmp_path: Path) -> None:
    for name, cells in (("joint", "95,95\n,93\n"), ("ewc", "90,60\n,80\n")):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "seed0.csv").write_text(cells)
    found = {one.id: one["IM"] for one in perdure.survey(tmp_path / "runs").scores}
    assert found == {"runs/ewc/seed0.csv": 13.0, "runs/joint/seed0.csv": None}


def test_a_place_may_be_given_where_numbers_may(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "alone.csv").write_text("90,60,50\n,80,70\n,,88\n")
    for place in (runs, str(runs)):
        score = perdure.score(tmp_path / "alone.csv", settings=Settings(joint=place))
        for metric, value in by_hand(NAIVE[0]).items():
            assert score[metric] == pytest.approx(value), metric
    found = perdure.survey(tmp_path / "alone.csv", settings=perdure.Settings(joint=str(runs)))
    assert list(found.settings["joint"].values()) == TOGETHER
    assert f"2 lifetimes at {runs}" in found.notes[0]


def test_what_was_given_goes_before_what_was_found(runs: Path) -> None:
    found = perdure.survey(runs, settings=perdure.Settings(joint=99))
    assert found.scores[-1]["intransigence"] == pytest.approx(((99 - 84) + (99 - 88)) / 2)


def test_other_tasks_are_not_fed(runs: Path) -> None:
    save_matrix(runs / "other.json", [[90.0, 50.0], [float("nan"), 80.0]], learner="naive", tasks=["x", "y"])
    found = {one.id: one["IM"] for one in perdure.survey(runs).scores}
    assert found["runs/other.json"] is None
    assert found["runs/naive0.json"] is not None


def test_a_joint_life_that_is_not_evaluated_at_its_end_is_no_baseline(runs: Path) -> None:
    gap: Cells = [[95.0, 95.0, None], [None, 96.0, 90.0], [None, None, 93.0]]
    for seed in range(2):
        save_matrix(runs / f"joint{seed}.json", gap, learner="joint", seed=seed)
    assert perdure.survey(runs).scores[-1]["IM"] is None
    with pytest.raises(PerdureError, match="task 'task1' is not evaluated at the end of the joint learner's life"):
        perdure.score(runs / "naive0.json", settings=Settings(joint=str(runs)))


@pytest.mark.parametrize("lower", [False, True])
def test_a_log_is_fed_from_a_joint_run_and_from_its_own_first_evaluations(tmp_path: Path, lower: bool) -> None:
    """Evaluations of every task before any learning, `0.test`, measure an untrained learner."""
    sign = -1.0 if lower else 1.0
    levels = {
        "naive": {"a": (0.1, 0.9, 0.6), "b": (0.2, 0.3, 0.8)},
        "joint": {"a": (0.1, 0.9, 0.9), "b": (0.2, 0.5, 0.95)},
    }
    for learner, tasks in levels.items():
        with perdure.Journal(
            tmp_path, learner, measures={"accuracy": "lower" if lower else "higher"}, learner=learner, seed=1
        ) as journal:
            number = block = 0
            for stage in range(3):
                if stage:
                    for value in (0.3, 0.5, 0.7):
                        journal.log(
                            block_num=block,
                            exp_num=number,
                            block_type="train",
                            task_name="ab"[stage - 1],
                            accuracy=value,
                        )
                        number += 1
                    block += 1
                for task, at in tasks.items():
                    journal.log(block_num=block, exp_num=number, block_type="test", task_name=task, accuracy=at[stage])
                    number, block = number + 1, block + 1
    found = {one.learner: one for one in perdure.survey(tmp_path).scores}["naive"]
    assert found["IM"] == pytest.approx(sign * (0.95 - 0.8))
    assert found["FWT"] == pytest.approx(sign * (0.3 - 0.2))
    assert found["above_chance"] == pytest.approx(sign * (0.8 - 0.2))


def test_presets_without_matrices_ask_for_no_joint_learner(runs: Path) -> None:
    assert not {"intransigence", "omega_all"} & set(PRESETS.get("baker-2023").metrics)


def test_metrics_that_lack_a_joint_learner_are_those_declared_to_need_one(runs: Path) -> None:
    score = perdure.score(runs / "naive0.json")
    lacking = {name for name, why in score.why.items() if why and "give --joint" in why}
    assert lacking == {one.name for one in perdure.METRICS if one.joint}
