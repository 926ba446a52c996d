"""Sequences of language-model evaluations, in files that the tests write in their documented form."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import perdure
from perdure import LogError
from perdure.log.formats.evaluations import EVALUATIONS
from perdure.testing import check_reader

ROUNDS = {
    "0-base": {"gsm8k": 0.2, "mbpp": 0.3, "mmlu": 0.60, "arc": 0.5},
    "1-gsm8k": {"gsm8k": 0.7, "mbpp": 0.3, "mmlu": 0.58, "arc": 0.5},
    "2-mbpp": {"gsm8k": 0.6, "mbpp": 0.8, "mmlu": 0.55, "arc": 0.4},
}


def write_harness(folder: Path, scores: dict[str, float]) -> None:
    """Write the results as documented by lm-evaluation-harness 0.4, in a folder named after the model."""
    (folder / "meta__Llama").mkdir(parents=True)
    results: dict[str, Any] = {
        task: {"alias": task, "acc,none": score, "acc_stderr,none": 0.01, "f1,none": 0.0}
        for task, score in scores.items()
    }
    results["all of them"] = {"acc,none": 0.4}
    message = {"results": results, "groups": {"all of them": {"acc,none": 0.4}}, "model_name": "meta/Llama"}
    (folder / "meta__Llama" / "results_2026-01-01T00-00-00.json").write_text(json.dumps(message))


def write_inspect(folder: Path, scores: dict[str, float], packed: bool) -> None:
    """Write the logs as documented by inspect_ai, one per task, as JSON or in a zip."""
    folder.mkdir(parents=True)
    for task, score in scores.items():
        message = {
            "version": 2,
            "status": "success",
            "eval": {"task": f"inspect_evals/{task}", "model": "meta/Llama"},
            "results": {
                "scores": [{"name": "match", "metrics": {"accuracy": {"value": score}, "stderr": {"value": 0.1}}}]
            },
        }
        if packed:
            with zipfile.ZipFile(folder / f"2026_{task}.eval", "w") as file:
                file.writestr("header.json", json.dumps(message))
        else:
            (folder / f"2026_{task}.json").write_text(json.dumps(message))


def sequence(place: Path, tool: str) -> Path:
    for name, scores in ROUNDS.items():
        if tool == "lm-eval":
            write_harness(place / name, scores)
        else:
            write_inspect(place / name, scores, packed=tool == "packed")
    return place


@pytest.mark.parametrize("tool", ["lm-eval", "inspect", "packed"])
def test_a_sequence_is_a_matrix_of_learned_tasks_and_other_abilities(tmp_path: Path, tool: str) -> None:
    place = sequence(tmp_path / "llama", tool)
    check_reader(EVALUATIONS, place)
    score = perdure.score(place)
    assert score.tasks[:2] == ("gsm8k", "mbpp")
    assert score.values["bwt"] == pytest.approx(0.6 - 0.7)
    assert score.values["average_accuracy"] == pytest.approx((0.6 + 0.8) / 2)
    assert score.values["general_ability_change"] == pytest.approx(((0.55 - 0.6) + (0.4 - 0.5)) / 2)
    assert "meta/Llama" in " ".join(score.notes)


def test_a_named_measure_is_used_and_a_missing_one_is_refused(tmp_path: Path) -> None:
    place = sequence(tmp_path / "llama", "lm-eval")
    scores = perdure.score(place, settings=perdure.Settings(measure="f1"))
    assert scores.values["average_accuracy"] == 0.0
    with pytest.raises(LogError, match="gsm8k has no score 'bleu'; it has acc; f1"):
        perdure.score(place, settings=perdure.Settings(measure="bleu"))


def test_a_failed_evaluation_is_named(tmp_path: Path) -> None:
    place = sequence(tmp_path / "llama", "inspect")
    file = place / "1-gsm8k" / "2026_arc.json"
    file.write_text(file.read_text().replace("success", "error"))
    with pytest.raises(LogError, match=r"2026_arc.json: the evaluation of arc ended with 'error'"):
        perdure.score(place)


def test_a_folder_without_a_task_name_is_refused(tmp_path: Path) -> None:
    place = sequence(tmp_path / "llama", "lm-eval")
    (place / "2-mbpp").rename(place / "2")
    with pytest.raises(LogError, match="call it NUMBER-TASK"):
        perdure.score(place)


def test_tokens_and_costs_are_measures_only_by_name(tmp_path: Path) -> None:
    file = tmp_path / "agent.csv"
    file.write_text("task_name,block_type,solved,tokens,cost_usd\nmail,train,0,900,0.1\nmail,test,1,400,0.05\n")
    assert list(perdure.read(file).measures) == ["solved"]
    assert {"tokens", "cost_usd"} <= set(perdure.read(file).experiences.columns)
    assert perdure.score(file, measure="tokens").measure == "tokens"


def test_the_spread_of_a_row_is_no_measure_and_is_named_as_unused(tmp_path: Path) -> None:
    file = tmp_path / "agent.csv"
    file.write_text("task_name,block_type,reward,reward_stderr,sd,n\nmail,train,0,1,2,20\nmail,test,1,1,2,20\n")
    lifetime = perdure.read(file)
    assert list(lifetime.measures) == ["reward"]
    note = "reward_stderr, sd, n: not used, which only a table of task, stage and value allows"
    assert any(str(item).endswith(note) for item in lifetime.notes)
