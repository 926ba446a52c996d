"""Tables of many lifetimes are surveyed like folders of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import perdure

BLOCKS = [("a", "train"), ("a", "test"), ("b", "train"), ("a", "test"), ("b", "test")]


def study(rng: np.random.Generator) -> dict[tuple[str, int], list[str]]:
    return {
        (method, seed): [
            f"{method},{seed},{task},{mode},{step},{gain + rng.random():.6f}"
            for task, mode in BLOCKS
            for step in range(20)
        ]
        for method, gain in (("ewc", 1), ("der", 2))
        for seed in range(3)
    }


def test_one_file_and_a_folder_of_files_have_the_same_scores(tmp_path: Path) -> None:
    header = "method,seed,task_name,block_type,step,reward"
    rows = study(np.random.default_rng(1))
    whole = tmp_path / "study.csv"
    whole.write_text("\n".join([header, *(line for life in rows.values() for line in life)]) + "\n")
    for (method, seed), life in rows.items():
        (tmp_path / "runs" / method).mkdir(parents=True, exist_ok=True)
        (tmp_path / "runs" / method / f"{seed}.csv").write_text("\n".join([header, *life]) + "\n")
    one, several = perdure.survey(whole), perdure.survey(tmp_path / "runs")
    assert [life.id for life in one.lifetimes] == [f"study.csv#{method}/{seed}" for method, seed in rows]
    assert {life.id for life in several.lifetimes} == {f"runs/{method}/{seed}.csv" for method, seed in rows}

    def values(survey: perdure.Survey) -> dict[Any, dict[str, Any]]:
        return {
            (life.score.learner, life.score.seed): {name: one.value for name, one in life.score.metrics.items()}
            for life in survey.lifetimes
        }

    assert values(one) == values(several)
    assert set(values(one)) == set(rows)
