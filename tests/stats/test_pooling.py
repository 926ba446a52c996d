"""Who is with whom: nothing unlike is pooled unless it is asked for, and what is not said is stood for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.metrics.written import LIFE, written
from tests.stats.lives import life

from perdure.errors import PerdureError
from perdure.gather.survey import survey
from perdure.log.manifest import rewrite
from perdure.settings import Settings
from perdure.stats.groups import groups, not_pooled, split


def grouped(*logs: Path, **settings: object) -> dict[str, int]:
    return {one.group: one.n for one in groups(survey(logs, settings=Settings(**settings)))}  # type: ignore[arg-type]


def anonymous(folder: Path, name: str, blocks: object = LIFE) -> Path:
    """A log whose learner nobody noted."""
    path = written(folder, name, blocks)  # type: ignore[arg-type]
    facts = json.loads((path / "manifest.json").read_text())
    rewrite(path, {"manifest.json": {**facts, "learner": None, "id": f"{folder.name}-{name}"}})
    return path


def test_folders_stand_for_learners_that_nobody_named(tmp_path: Path) -> None:
    for method in ("ewc", "der"):
        for seed in range(2):
            anonymous(tmp_path / "runs" / method, f"seed{seed}")
    assert grouped(tmp_path / "runs") == {"der": 2, "ewc": 2}
    assert grouped(tmp_path / "runs" / "ewc", tmp_path / "runs" / "der") == {"ewc": 2, "der": 2}


def test_lives_and_logs_are_passed_by_when_a_folder_stands_for_a_learner(tmp_path: Path) -> None:
    for method in ("ewc", "der"):
        anonymous(tmp_path / "runs" / method / "lives", "life-000")
    assert grouped(tmp_path / "runs") == {"der": 1, "ewc": 1}


def test_methods_under_seeds_are_not_pooled_by_seed_and_a_note_names_the_way(tmp_path: Path) -> None:
    for seed in range(2):
        for method in ("ewc", "der"):
            anonymous(tmp_path / "runs" / f"seed{seed}", method)
    found = survey(tmp_path / "runs")
    assert [one.n for one in groups(found)] == [1, 1, 1, 1]
    assert "--group" in not_pooled(found.scores)[0]
    assert grouped(tmp_path / "runs", group="([^/]+)$") == {"der": 2, "ewc": 2}


def test_two_arguments_that_hold_lifetimes_are_two_groups_unless_pooled(tmp_path: Path) -> None:
    for place in ("a", "b"):
        for seed in range(2):
            written(tmp_path / place, f"{place}{seed}", LIFE, learner="ppo", seed=seed)
    assert list(grouped(tmp_path / "a", tmp_path / "b").values()) == [2, 2]
    assert grouped(tmp_path / "a", tmp_path / "b", pool=True) == {"ppo": 4}


def test_arguments_that_are_lifetimes_count_as_one(tmp_path: Path) -> None:
    paths = [written(tmp_path, f"life{seed}", LIFE, learner="ppo", seed=seed) for seed in range(3)]
    assert grouped(*paths) == {"ppo": 3}


def test_recorded_learners_are_never_pooled(tmp_path: Path) -> None:
    for learner in ("ppo", "dqn"):
        written(tmp_path / learner, learner, LIFE, learner=learner)
    assert grouped(tmp_path / "ppo", tmp_path / "dqn", pool=True) == {"ppo": 1, "dqn": 1}


def test_task_sets_are_told_apart_and_pooled_on_the_tasks_they_share(tmp_path: Path) -> None:
    short = [block for block in LIFE if block[1] == "a_1"]
    written(tmp_path / "x", "whole", LIFE, learner="ppo", seed=1)
    written(tmp_path / "x", "part", short, learner="ppo", seed=2)
    assert list(grouped(tmp_path / "x").values()) == [1, 1]
    found = survey(tmp_path / "x", settings=Settings(pool=True))
    (group,) = groups(found)
    assert group.n == 2
    assert group.notes[0] == "pooled on the tasks that all its lifetimes have: a_1"
    alone = [one.metrics["mean_learning_performance"].by["a_1"] for one in found.scores]
    expected = sum(sum(values) / len(values) for values in alone) / 2
    assert group.estimates["mean_learning_performance"].mean == pytest.approx(expected)


def test_no_task_in_common_is_refused(tmp_path: Path) -> None:
    for task in ("a_1", "b_1"):
        written(tmp_path / "x", task, [block for block in LIFE if block[1] == task], learner="ppo")
    with pytest.raises(PerdureError, match="no task in common"):
        grouped(tmp_path / "x", pool=True)


def test_scores_that_name_another_edition_of_the_definitions_are_refused(tmp_path: Path) -> None:
    facts = survey(written(tmp_path, "one", LIFE)).as_json()
    file = tmp_path / "scores.json"
    del facts["checksum"]
    file.write_text(json.dumps({**facts, "definitions": 1}))
    with pytest.raises(PerdureError, match=r"scores.json: these .* edition of the definitions \(1; .* again$"):
        survey(file)
    file = tmp_path / "scores.tsv"
    file.write_text("lifetime\tdefinitions\tperformance_maintenance\none\t99\t1\n")
    with pytest.raises(PerdureError, match=r"scores.tsv:2: these .* edition of the definitions \(99; .* again$"):
        survey(file)
    file.write_text("lifetime\tperformance_maintenance\none\t1\n")
    assert survey(file).scores[0].preset == "standard"


def test_the_group_advised_is_the_part_of_an_id_that_differs() -> None:
    lives = [
        life(f"runs/mnist/seed{seed}/{method}", holder=f"runs/mnist/seed{seed}")
        for seed in range(2)
        for method in ("ewc", "der")
    ]
    (said,) = not_pooled(lives)
    pattern = said.partition("--group '")[2].removesuffix("'")
    assert set(split(lives, pattern)) == {"ewc", "der"}
