"""The folders that tools for language-model evaluations write: their stages, scores, standard errors and items."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.log.formats.language_models import (
    BASE,
    NUMBERED,
    STAGES,
    standard_error,
    write_harness,
    write_inspect,
    write_models,
    write_numbered,
)

import perdure
from perdure import LogError
from perdure.log.accuracy_matrix import MatrixLifetime
from perdure.log.formats.evaluations import EVALUATIONS
from perdure.log.read import Options
from perdure.testing import check_reader


def read(place: Path, options: Options | None = None) -> MatrixLifetime:
    return EVALUATIONS.read(place, options or Options())


def inspect_flat(place: Path) -> Path:
    for day, (model, tasks) in enumerate(STAGES.items(), start=1):
        write_inspect(place, model, day, tasks, packed=day == 2)
    return place


LAYOUTS = pytest.mark.parametrize("write", [write_models, write_numbered, inspect_flat])


@LAYOUTS
def test_each_tools_own_layout_is_the_same_matrix(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    place = write(tmp_path / "results")
    check_reader(EVALUATIONS, place)
    matrix = read(place).matrix
    assert matrix.tasks == ("gsm8k", "mbpp")
    np.testing.assert_allclose(matrix.values, [[0.25, 0.75, 0.5], [0.25, 0.25, 0.75]])
    np.testing.assert_allclose(matrix.others["hellaswag"], [0.75, 0.5, 0.25])


@LAYOUTS
def test_items_are_paired_in_every_layout(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    errors = read(write(tmp_path / "results")).matrix.errors
    assert errors.keys() == {"gsm8k", "mbpp", "hellaswag"}
    each = [tasks["gsm8k"] for tasks in STAGES.values()]
    np.testing.assert_allclose(np.sqrt(np.diag(errors["gsm8k"].covariance)), [standard_error(one) for one in each])
    changed = [after - before for before, after in zip(each[1], each[2], strict=True)]
    covariance = errors["gsm8k"].covariance
    variance = covariance[1, 1] + covariance[2, 2] - 2 * covariance[1, 2]
    assert np.sqrt(variance) == pytest.approx(standard_error(changed))
    assert errors["gsm8k"].paired
    assert errors["gsm8k"].items == 40


def test_without_samples_standard_errors_are_read_and_not_paired(tmp_path: Path) -> None:
    paired = read(write_numbered(tmp_path / "with")).matrix.errors["gsm8k"]
    errors = read(write_numbered(tmp_path / "without", samples=False)).matrix.errors["gsm8k"]
    np.testing.assert_allclose(np.diag(errors.covariance), np.diag(paired.covariance))
    assert np.count_nonzero(errors.covariance) == 3
    assert not errors.paired
    assert errors.items == 40


def test_samples_with_another_mean_are_not_used(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs")
    file = next(place.glob("2-mbpp/*/samples_gsm8k_*"))
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:7]))
    lifetime = read(place)
    assert not lifetime.matrix.errors["gsm8k"].paired
    assert lifetime.matrix.errors["mbpp"].paired
    assert "not compared item by item, for lack of item scores with the mean stated: gsm8k" in lifetime.notes


def test_the_learner_is_the_folder_of_its_seeds_or_the_model(tmp_path: Path) -> None:
    place = write_models(tmp_path / "results")
    assert (read(place).learner, read(place).seed) == ("Llama-3.2-1B", None)
    seeded = write_numbered(tmp_path / "runs" / "seed-3")
    assert (read(seeded).learner, read(seeded).seed) == ("Llama-3.2-1B", 3)
    method = write_numbered(tmp_path / "replay" / "seed-4")
    assert (read(method).learner, read(method).seed) == ("replay", 4)


def test_methods_with_one_base_model_are_separate_groups(tmp_path: Path) -> None:
    for method in ("ewc", "replay"):
        for seed in range(3):
            write_numbered(tmp_path / method / f"seed-{seed}", samples=False)
    groups = perdure.groups(perdure.survey([tmp_path]))
    assert {(one.learner, one.n) for one in groups} == {("ewc", 3), ("replay", 3)}


def test_dates_order_stages_and_a_base_model_comes_first(tmp_path: Path) -> None:
    place = tmp_path / "results"
    days = {BASE: 9, "ckpt/llama-gsm8k": 2, "ckpt/llama-gsm8k-mbpp": 3}
    for (model, day), tasks in zip(days.items(), STAGES.values(), strict=True):
        write_harness(place, model, day, tasks)
    lifetime = read(place)
    assert lifetime.matrix.tasks == ("gsm8k", "mbpp")
    np.testing.assert_allclose(lifetime.matrix.values[0], [0.25, 0.75, 0.5])
    assert any("base (2026-01-09), gsm8k (2026-01-02), mbpp (2026-01-03)" in note for note in lifetime.notes)


@pytest.mark.parametrize(
    "models",
    [
        ("./out/gsm8k", "./out/mbpp"),
        ("../out/gsm8k", "../out/mbpp"),
        ("/data/ewc/0/gsm8k", "/data/ewc/0/mbpp"),
        ("out/gsm8k/checkpoint-934", "out/mbpp/checkpoint-120"),
        ("out/gsm8k/checkpoint-500", "out/mbpp/checkpoint-500"),
    ],
)
def test_models_are_stages_by_the_tasks_in_their_paths(tmp_path: Path, models: tuple[str, ...]) -> None:
    place = tmp_path / "results"
    for day, (model, tasks) in enumerate(zip((BASE, *models), STAGES.values(), strict=True), start=1):
        write_harness(place, model, day, tasks)
    (score,) = perdure.survey([place]).scores
    assert score.tasks[:2] == ("gsm8k", "mbpp")
    assert score.values["bwt"] == pytest.approx(-0.25)


@pytest.mark.parametrize(("path", "learner"), [("/data/ewc", "ewc"), ("/data/checkpoints", "model")])
def test_the_learner_is_never_called_after_a_stage(tmp_path: Path, path: str, learner: str) -> None:
    place = tmp_path / "results"
    for day, (name, tasks) in enumerate(zip(NUMBERED, STAGES.values(), strict=True), start=1):
        write_harness(place, f"{path}/{name}", day, tasks)
    assert read(place).learner == learner


def test_folders_of_results_beside_numbered_stages_are_named(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs")
    write_harness(place / "joint", BASE, 9, STAGES[BASE])
    assert "not a stage: joint; call it NUMBER-TASK if it is one" in read(place).notes


def test_a_failed_evaluation_that_was_made_again_is_passed_by(tmp_path: Path) -> None:
    place = inspect_flat(tmp_path / "results")
    log = place / "2026-01-03T10-00-00+00-00_gsm8k_x.json"
    content = json.loads(log.read_text())
    content.pop("results")
    (place / "2026-01-03T09-00-00+00-00_gsm8k_x.json").write_text(json.dumps({**content, "status": "error"}))
    with zipfile.ZipFile(place / "2026-01-03T08-00-00+00-00_gsm8k_x.eval", "w") as file:
        file.writestr("_journal/start.json", json.dumps({"version": 2, "eval": content["eval"]}))
    assert read(place).matrix.tasks == ("gsm8k", "mbpp")
    log.unlink()
    with pytest.raises(LogError, match="the evaluation of gsm8k ended with 'started'; evaluate it again"):
        read(place)


def test_a_model_that_is_no_stage_is_named_with_commands_that_repeat_no_task(tmp_path: Path) -> None:
    place = write_models(tmp_path / "results")
    write_harness(place, BASE, 8, STAGES[BASE])  # evaluated again after the others
    write_harness(place, "ckpt/joint", 9, STAGES["ckpt/llama-mbpp"])
    with pytest.raises(LogError, match=r"ckpt__joint names no task .* or move it elsewhere if it") as caught:
        perdure.score(place)
    names = re.findall(r"results/(\d-\w+)", caught.value.fix)
    assert names == ["0-base", "1-gsm8k", "2-mbpp", "3-hellaswag"]
    shutil.rmtree(place / "ckpt__joint")
    again = "gsm8k, mbpp, hellaswag at meta-llama__Llama-3.2-1B evaluated more than once; the last counts"
    assert again in read(place).notes


def same_model(place: Path) -> Path:
    for day, tasks in enumerate(STAGES.values(), start=1):
        write_harness(place, "my model", day, tasks)
    return place


def same_hidden_model(place: Path) -> Path:
    for day, tasks in enumerate(STAGES.values(), start=1):
        write_harness(place, "./out", day, tasks)
    return place


def called_files(place: Path, names: Sequence[str] = ("a", "b", "c")) -> Path:
    """Write what `--output_path PLACE/NAME.json` writes."""
    for day, (name, tasks) in enumerate(zip(names, STAGES.values(), strict=True), start=1):
        folder = write_harness(place, "./out", day, tasks)
        for file in folder.iterdir():
            file.rename(place / file.name.replace("results", name))
        folder.rmdir()
    return place


def test_files_may_be_called_after_the_tasks_that_were_learned(tmp_path: Path) -> None:
    matrix = read(called_files(tmp_path / "results", ("base", "llama-gsm8k", "llama-mbpp"))).matrix
    assert matrix.tasks == ("gsm8k", "mbpp")
    assert matrix.errors["gsm8k"].paired


def numbered_models(place: Path) -> Path:
    for number, tasks in enumerate(STAGES.values(), start=1):
        write_harness(place, f"out it's/v{number}", number, tasks)
    return place


def logs_of_one_model(place: Path) -> Path:
    for day, tasks in enumerate(STAGES.values(), start=1):
        write_inspect(place, "vllm/mine", day, tasks)
    return place


@pytest.mark.parametrize("write", [same_model, same_hidden_model, called_files, numbered_models, logs_of_one_model])
def test_the_commands_of_the_message_make_unnamed_stages_readable(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    place = write(tmp_path / "results")
    with pytest.raises(LogError, match="no task that was learned; call it NUMBER-TASK") as caught:
        perdure.score(place)
    subprocess.run(["sh", "-ec", caught.value.fix.rpartition("rose most: ")[2]], check=True)
    (score,) = perdure.survey([place]).scores
    assert score.tasks[:2] == ("gsm8k", "mbpp")
    assert score.values["bwt"] == pytest.approx(-0.25)
    assert score.metrics["bwt"].over_items is not None
    assert score.metrics["bwt"].over_items.paired


def test_a_numbered_folder_without_a_task_gets_a_command_too(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs")
    (place / "2-mbpp").rename(place / "2")
    with pytest.raises(LogError) as caught:
        perdure.score(place)
    assert caught.value.fix.endswith(f"mv {place}/2 {place}/2-mbpp")


def test_the_score_of_a_task_can_be_chosen_with_its_filter(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs")
    file = next(place.glob("2-mbpp/*/results_*"))
    message = json.loads(file.read_text())
    message["results"]["gsm8k"]["exact_match,flexible-extract"] = 0.9
    file.write_text(json.dumps(message))
    strict = read(place)
    others = "mbpp by pass_at_1,create_test; hellaswag by acc_norm"
    assert f"scores: gsm8k by exact_match,strict-match; {others}" in strict.notes
    assert "for another: --measure gsm8k=exact_match,flexible-extract" in strict.notes
    chosen = perdure.score(place, measure={"gsm8k": "exact_match,flexible-extract", "mbpp": "pass_at_1"})
    assert chosen.values["average_accuracy"] == pytest.approx((0.9 + 0.75) / 2)
    assert f"scores: gsm8k by exact_match,flexible-extract; {others}" in chosen.notes


def test_a_measure_of_a_task_that_was_not_evaluated_is_refused(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs")
    with pytest.raises(LogError, match="--measure: no task 'gsm9k' was evaluated; did you mean 'gsm8k'"):
        perdure.score(place, measure={"gsm9k": "exact_match"})


def test_a_group_replaces_its_tasks_unless_one_of_them_was_learned(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs", samples=False)
    for file in place.glob("*/*/results_*"):
        message = json.loads(file.read_text())
        message["results"] |= {
            "mmlu": {"acc,none": 0.6, "acc_stderr,none": 0.01},
            "mmlu_law": {"acc,none": 0.5, "acc_stderr,none": 0.02},
            "mmlu_art": {"acc,none": 0.7, "acc_stderr,none": 0.02},
            "code": {"pass_at_1,create_test": 0.3},
        }
        message["group_subtasks"] |= {"mmlu": ["mmlu_law", "mmlu_art"], "code": ["mbpp"]}
        file.write_text(json.dumps(message))
    assert set(read(place).matrix.others) == {"hellaswag", "mmlu"}


def test_scores_of_another_kind_are_left_out_with_a_note(tmp_path: Path) -> None:
    place = write_numbered(tmp_path / "runs", samples=False)
    for file in place.glob("*/*/results_*"):
        message = json.loads(file.read_text())
        message["results"]["wikitext"] = {"word_perplexity,none": 11.2, "word_perplexity_stderr,none": "N/A"}
        message["higher_is_better"]["wikitext"] = {"word_perplexity": False}
        file.write_text(json.dumps(message))
    lifetime = read(place)
    assert set(lifetime.matrix.others) == {"hellaswag"}
    left_out = (
        "left out: wikitext by word_perplexity is above 1, lower is better, the others at most 1, higher is better"
    )
    assert left_out in lifetime.notes


def test_folders_of_other_models_are_no_stages_and_say_how_to_become_them(tmp_path: Path) -> None:
    for day, model in enumerate(("google/gemma", "mistral/small"), start=1):
        write_harness(tmp_path / "results", model, day, STAGES[BASE])
    with pytest.raises(LogError, match="mistral__small names no task that was learned"):
        perdure.score(tmp_path / "results")


def test_one_result_of_one_model_is_no_lifetime(tmp_path: Path) -> None:
    folder = write_harness(tmp_path / "results", BASE, 1, STAGES[BASE])
    assert not EVALUATIONS.recognises(folder)
    assert not EVALUATIONS.recognises(tmp_path / "results")


def test_check_accepts_what_score_reads(tmp_path: Path) -> None:
    write_models(tmp_path / "results")
    for seed in range(2):
        write_numbered(tmp_path / "runs" / f"seed-{seed}", samples=False)
    assert perdure.check(tmp_path / "results").ok
    both = perdure.check(tmp_path / "runs")
    assert (both.ok, both.rows, both.what) == (True, 18, "2 logs, 18 records")
    shutil.rmtree(tmp_path / "runs" / "seed-1" / "2-mbpp")
    (tmp_path / "runs" / "seed-1" / "2").mkdir()
    (problem,) = perdure.check(tmp_path / "runs").problems
    assert re.search(r"runs/seed-1/2$", problem.file)
