"""Scoring one lifetime: what is said, counted, left out, and written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace
from scripts.schemas import document, document_of
from tests.metrics.written import LIFE, written

import perdure
from perdure.curves.model import Preparation
from perdure.errors import UnknownNameError
from perdure.gather.output_files import FILES, block_table, lifetime_table, write_outputs
from perdure.gather.survey import score, survey
from perdure.log.model import Lifetime
from perdure.log.places import DATA_FILE
from perdure.metrics.contract import expert_of, lifetime_of, random_blocks
from perdure.metrics.measure import Measured
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score, Scorer, prepared_table
from perdure.results import with_checksum
from perdure.scenario.model import Block, Scenario, Task
from perdure.settings import Settings
from perdure.stats.groups import group_survey


@pytest.mark.parametrize("preset", PRESETS.names())
def test_each_preset_scores_and_its_json_fits_the_schema(preset: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for number in range(4):
        life = lifetime_of(random_blocks(rng), rng, name=f"life{number}")
        experts = [expert_of(task.label, rng) for task in life.scenario.tasks]
        made = score(life, experts, Settings(preset=preset))
        msgspec.convert(made.as_json(), document_of(Score))
        assert json.loads(json.dumps(made.as_json(), allow_nan=False)) == made.as_json()
    scores = survey([written(tmp_path, "one", LIFE)], settings=Settings(preset))
    msgspec.convert(group_survey(scores).as_json(), document("score"))


def test_a_struct_that_allowed_anything_would_be_noticed() -> None:
    whole = {"value": 1.0, "by": {}, "why": None, "flags": [], "experts": {}, "at": {}, "over_items": None}
    assert msgspec.structs.asdict(msgspec.convert(whole, document_of(Measured)))["value"] == 1
    for wrong in (whole | {"value": "1"}, whole | {"more": 1}, {key: whole[key] for key in whole if key != "why"}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, document_of(Measured))


def test_the_numbers_of_a_small_life_by_hand(tmp_path: Path) -> None:
    made = score(written(tmp_path, "one", LIFE), settings=Settings(prep=Preparation(scale="none")))
    assert made["performance_maintenance"] == pytest.approx(-0.5)
    assert made["forward_transfer"] == pytest.approx(1.5)
    assert made["backward_transfer"] == pytest.approx(3.5 / 4)
    assert (made.tasks, made.learning_experiences, made.evaluation_experiences) == (("a_1", "b_1"), 6, 12)
    assert [block.block.mode for block in made.blocks].count("learn") == 2


def test_dropped_rows_are_counted_in_every_output(tmp_path: Path) -> None:
    path = written(tmp_path, "one", [("train", "a_1", [1.0, None, 3.0]), ("test", "a_1", [2.0])])
    scores = survey([path])
    assert scores.as_json()["lifetimes"][0]["dropped_rows"] == 1
    assert lifetime_table(scores)["dropped_rows"].to_list() == [1]
    assert scores.scores[0].dropped == {"missing": 1}


def test_an_infinite_value_is_dropped_and_counted() -> None:
    life = lifetime_of([Block("learn", "a", 4)], values=[[1.0, float("inf"), 2.0, 3.0]])
    made = score(life)
    assert (made.dropped_rows, made.learning_experiences) == (1, 3)


def test_a_first_measure_is_scored_unless_another_is_named() -> None:
    life = lifetime_of([Block("learn", "a", 4)])
    frame = life.experiences.with_columns(error=pl.col("reward") * 2)
    two = Lifetime("two", frame, {"reward": "higher", "error": "lower"})
    assert score(two).measure == "reward"
    assert score(two, settings=Settings(measure="error")).measure == "error"
    with pytest.raises(UnknownNameError, match="did you mean 'error'"):
        score(two, settings=Settings(measure="eror"))


def test_lower_is_better_turns_gain_into_loss() -> None:
    life = lifetime_of([Block("learn", "a", 5)], values=[[5, 4, 3, 2, 1]])
    assert score(life)["cumulative_gain"] == -1.0
    assert score(life, settings=Settings(lower_is_better=True))["cumulative_gain"] == 1.0


def test_the_learned_guard_marks_what_was_never_learned() -> None:
    life = lifetime_of([Block("learn", "a", 10), Block("learn", "b", 10)], values=[[0.0] * 9 + [9.0], [1.0] * 10])
    assert score(life, settings=Settings(learned={"A": 8.0, "b": 2.0, "absent": 1.0})).not_learned == ("b",)
    assert score(life, settings=Settings(learned={"a": 8.0}, lower_is_better=True)).not_learned == ("a",)
    assert score(life, settings=Settings(learned={"a": 10.0, "b": 2.0}, lower_is_better=True)).not_learned == ()


def test_noise_changes_values_a_little_and_the_same_each_time() -> None:
    blocks = [Block("learn", "a", None), Block("evaluate", "a", None, group=1), Block("evaluate", "a", None, group=2)]
    life = lifetime_of(blocks, values=[np.linspace(0, 1, 200).tolist(), [0.9] * 20, [0.8] * 20])
    quiet, noisy, again = (
        score(life),
        score(life, settings=Settings(prep=Preparation(noise=0.5))),
        score(life, settings=Settings(prep=Preparation(noise=0.5))),
    )
    assert noisy["performance_maintenance"] == again["performance_maintenance"]
    assert noisy["performance_maintenance"] != quiet["performance_maintenance"]
    assert noisy["performance_maintenance"] == pytest.approx(quiet["performance_maintenance"], abs=2.0)


def test_new_2022_clamps_and_contrasts_and_takes_maintenance_flat() -> None:
    blocks = [
        Block("learn", "a", 20),
        *(Block("evaluate", "a", 1, group=g) for g in (1, 2, 3)),
        Block("learn", "b", 20, group=4),
    ]
    blocks += [Block("evaluate", "b", 1, group=g) for g in (5, 6)]
    values = [list(np.linspace(0, 1, 20)), [1.0], [0.8], [0.6], list(np.linspace(0, 1, 20)), [0.5], [0.9]]
    life = lifetime_of(blocks, values=values)
    made = score(life, settings=Settings(preset="new-2022", prep=Preparation(scale="none", window="none")))
    assert made["performance_maintenance"] == pytest.approx((-0.2 - 0.4 + 0.4) / 3)
    assert score(life, settings=Settings(prep=Preparation(scale="none", window="none")))[
        "performance_maintenance"
    ] == pytest.approx((-0.3 + 0.4) / 2)
    scorer = Scorer(Settings("new-2022"))
    assert scorer.prep.clamp
    assert scorer.metrics["forward_transfer"].unit == "contrast"


@pytest.mark.parametrize("preset", ["new-2022", "baker-2023"])
def test_the_papers_do_not_cut_sample_efficiency(preset: str) -> None:
    life = lifetime_of([Block("learn", "a", 4)], values=[[1, 2, 3, 4]])
    expert = lifetime_of([Block("learn", "a", 8)], values=[[1, 2, 3, 4, 5, 6, 7, 8]], name="e")
    prep = Preparation(scale="none", window="none")
    assert score(life, [expert], Settings(prep=prep))["sample_efficiency"] == pytest.approx(1.0)
    assert score(life, [expert], Settings(preset=preset, prep=prep))["sample_efficiency"] == pytest.approx(
        4 / 8 * 8 / 4
    )


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([[0.0] * 5, [0.0] * 5, [0.0] * 5], id="zero"),
        pytest.param([[3.0] * 5, [3.0] * 5, [3.0] * 5], id="constant"),
        pytest.param([[-3.0, -1.0, -2.0], [-5.0], [-4.0]], id="negative"),
        pytest.param([[1.0], [2.0], [3.0]], id="one experience each"),
        pytest.param([[1e300, -1e300], [0.0], [1e-300]], id="huge"),
    ],
)
@pytest.mark.parametrize("scale", ["task", "run", "none"])
@pytest.mark.parametrize("preset", PRESETS.names())
def test_odd_performance_gives_values_or_reasons_and_never_fails(
    values: list[list[float]], scale: Any, preset: str
) -> None:
    blocks = [Block("learn", "a", None), Block("evaluate", "a", None, group=1), Block("evaluate", "b", None, group=2)]
    life = lifetime_of(blocks, values=values)
    scorer = Scorer(Settings(preset))
    made = Scorer(Settings(preset, prep=replace(scorer.prep, scale=scale))).score(life)
    msgspec.convert(made.as_json(), document_of(Score))
    assert all((one.value is None) != (one.why is None) for one in made.metrics.values())
    assert not [one.why for one in made.metrics.values() if one.why and " raised " in one.why]


def test_non_alternating_blocks_and_25_tasks_are_scored() -> None:
    rng = np.random.default_rng(5)
    tasks = [f"task{number}_1" for number in range(25)]
    blocks = [Block("learn", task, 20, group=at) for at, task in enumerate(tasks)]
    blocks += [Block("evaluate", task, 5, group=25) for task in tasks] + [
        Block("evaluate", task, 5, group=26) for task in tasks
    ]
    made = score(lifetime_of(blocks, rng), [expert_of(task, rng) for task in tasks])
    assert len(made.metrics["performance_maintenance"].by) == 25
    assert "another task was learned before the reference evaluation (24 of 25 values)" in (
        made.metrics["performance_maintenance"].flags
    )


def test_parameters_that_differ_in_every_row_do_not_split_a_block() -> None:
    life = lifetime_of([Block("learn", "a", 40), Block("evaluate", "a", 5, group=1)])
    seeds = [json.dumps({"seed": number}) for number in range(45)]
    seeded = life.experiences.with_columns(task_params=pl.Series(seeds))
    made = score(replace(life, experiences=seeded))
    assert [block.block.length for block in made.blocks] == [40, 5]


def test_the_order_of_files_never_changes_a_value(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rewards = {worker: rng.normal(size=(4, 30)) for worker in ("w1", "w2")}

    def log(folder: Path, workers: tuple[str, str]) -> Path:
        for at, worker in enumerate(workers):
            with perdure.Journal(folder, "life", measures=["reward"], join=at > 0) as journal:
                for block in range(4):
                    for number in range(30):
                        journal.log(
                            block_num=block,
                            exp_num=block * 30 + number,
                            worker_id=worker,
                            block_type="train" if block % 2 else "test",
                            task_name="a_1",
                            task_params={},
                            reward=float(rewards[worker][block, number]),
                        )
        return folder / "life"

    paths = log(tmp_path / "a", ("w1", "w2")), log(tmp_path / "b", ("w2", "w1"))
    # The readers see the folders in another order, and the names of the folders say nothing.
    (paths[1] / "w1").rename(paths[1] / "z")
    for path in paths:
        (path / "blocks.jsonl").unlink()  # which knows the folders by their names
    for preset in PRESETS.names():
        first, second = (score(path, settings=Settings(preset=preset)).as_json() for path in paths)
        assert first["blocks"][0]["length"] == 30
        for facts in (first, second):
            facts["notes"] = [note for note in facts["notes"] if DATA_FILE not in note]  # notes name files
        assert first == second


def test_integer_rewards_are_numbers_like_others(tmp_path: Path) -> None:
    path = written(tmp_path, "one", [("train", "a_1", [0, 1, 2, 3, 4]), ("test", "a_1", [3]), ("test", "a_1", [4])])
    for preset in PRESETS.names():
        json.dumps(score(path, settings=Settings(preset=preset)).as_json(), allow_nan=False)
    assert score(path, settings=Settings(prep=Preparation(scale="none")))["performance_maintenance"] == 1.0


def test_experts_for_some_tasks_are_used_and_the_others_named() -> None:
    rng = np.random.default_rng(1)
    life = lifetime_of([Block("learn", "a", 20), Block("learn", "ab", 20)], rng)
    found = score(life, [expert_of("ab", rng)]).metrics["relative_performance"]
    assert list(found.by) == ["ab"]
    assert found.flags == ("no expert for a",)


def test_an_expert_that_cannot_serve_is_noted_by_the_function_too() -> None:
    life = lifetime_of([Block("learn", "a", 4)])
    expert = lifetime_of([Block("learn", "a", 4)], measure="accuracy", name="e")
    assert any("e: this expert has no measure 'reward'" in note for note in score(life, expert).notes)


def test_a_life_that_did_not_reach_its_end_is_noted() -> None:
    life = replace(lifetime_of([Block("learn", "a", 4)]), complete=False)
    assert "this lifetime is incomplete" in score(life).notes


def test_bounds_in_the_manifest_scale_a_lifetime_except_as_old_tools_did(tmp_path: Path) -> None:
    task = replace(Task.parse("a_1"), bounds=(0.0, 10.0))
    scenario = Scenario("one", (task,), (Block("learn", "a_1", 3),))
    path = written(tmp_path, "one", [("train", "a_1", [5.0, 5.0, 10.0])], scenario=scenario)
    made = {name: survey([path], settings=Settings(name)) for name in PRESETS.names()}
    # Three experiences are not smoothed: on 0 … 10 their mean is 66.7 of 100, on 5 … 10 it is 33.3.
    assert made["standard"].scores[0]["mean_learning_performance"] == pytest.approx(1 + 200 / 3)
    assert score(path, settings=Settings(prep=Preparation(recorded_bounds=False)))[
        "mean_learning_performance"
    ] == pytest.approx(1 + 100 / 3)
    told = {name: one.settings["recorded_bounds"] for name, one in made.items()}
    assert [name for name, used in told.items() if not used] == [
        "new-2022",
        "baker-2023",
        "l2metrics-3.1",
        "framework-2019",
    ]
    msgspec.convert(group_survey(made["standard"]).as_json(), document("score"))


def test_an_accuracy_matrix_is_a_lifetime_with_the_matrix_metrics(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("90,80\n,70\n")
    (tmp_path / "two.csv").write_text("90,90\n,50\n")
    scores = survey([tmp_path / "one.csv", tmp_path / "two.csv"], settings=Settings(joint=95.0))
    assert [one["average_accuracy"] for one in scores.scores] == [75.0, 70.0]
    assert [one["bwt"] for one in scores.scores] == [-10.0, 0.0]
    assert scores.scores[0]["intransigence"] == 25.0
    assert "performance_maintenance" not in scores.scores[0].metrics
    msgspec.convert(group_survey(scores).as_json(), document("score"))


# --- files ----------------------------------------------------------------------------------------


def test_five_files_hold_the_same_facts(tmp_path: Path) -> None:
    written(tmp_path / "logs", "one", LIFE)
    written(tmp_path / "logs", "two", LIFE)
    scores = survey([tmp_path / "logs"], look=prepared_table)
    paths = write_outputs(scores, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(FILES)
    metrics, blocks, settings, data, lifetimes = paths
    assert json.loads(metrics.read_text()) == scores.as_json()
    assert json.loads(settings.read_text()) == with_checksum({"preset": "standard", **scores.settings})
    assert pl.read_csv(blocks, separator="\t").height == block_table(scores).height == 16
    table = pl.read_ipc(data)
    assert table.height == 2 * 18
    one = table.filter((pl.col("lifetime") == scores.scores[0].id) & (pl.col("block") == 2))
    assert one["measured"].to_list() == [1.0, 2.0, 3.0, 4.0]
    assert one["experience"].to_list() == [0, 1, 2, 3]
    row = pl.read_csv(lifetimes, separator="\t").row(0, named=True)
    assert row["forward_transfer"] == pytest.approx(scores.scores[0]["forward_transfer"])


def test_scoring_one_lifetime_never_imports_scipy_stats(tmp_path: Path) -> None:
    path = written(tmp_path, "one", LIFE)
    code = (
        "import sys, perdure.gather.survey as many; many.survey([sys.argv[1]]); "
        "print([name for name in sys.modules if name.startswith('scipy.stats')])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_final_performance_is_the_mean_last_evaluation_of_the_learned_tasks_in_points(tmp_path: Path) -> None:
    blocks = [*LIFE, ("test", "never_learned", [100.0])]
    bounds = {"a_1": (0.0, 10.0), "b_1": (0.0, 10.0), "never_learned": (0.0, 100.0)}
    made = score(written(tmp_path, "one", blocks), settings=Settings(bounds=bounds))
    assert made["final_performance"] == pytest.approx((35 + 50) / 2)
    plain = score(tmp_path / "one", settings=Settings(scale="none"))
    assert plain["final_performance"] == pytest.approx((3.5 + 5) / 2)


def test_final_performance_needs_an_evaluation_of_every_learned_task_after_its_last_learning(tmp_path: Path) -> None:
    made = score(written(tmp_path, "one", [*LIFE, ("train", "b_1", [1.0])]))
    assert made["final_performance"] is None
    assert made.why["final_performance"] == "needs an evaluation of b_1 after the last learning"


def test_metrics_of_comparisons_have_a_reason_in_a_score(tmp_path: Path) -> None:
    log = written(tmp_path, "one", LIFE)
    assert not {"learning_performance", "learning_speed"} & score(log).metrics.keys()
    made = score(log, settings=Settings(metrics=("learning_performance", "learning_speed")))
    assert set(made.why.values()) == {"it is computed when lifetimes are compared"}


def test_the_rise_of_a_learning_curve_is_taken_from_unsmoothed_values_of_all_its_blocks(tmp_path: Path) -> None:
    blocks = [
        ("train", "b", [0.0, 4.0]),
        ("test", "a", [2.0, 3.0]),
        ("train", "a", [float(value) for value in range(15)]),
        ("test", "a", [9.0]),
        ("train", "a", [10.0, 0.0, 5.0, 20.0, 10.0]),
    ]
    made = score(written(tmp_path, "one", blocks), settings=Settings(bounds={"a": (0, 20), "b": (0, 4)}))
    gains = made.learning_gains
    assert (gains["a"].from_start, gains["a"].from_evaluation) == pytest.approx((75 - 2.5, 75 - 12.5))
    assert (gains["b"].from_start, gains["b"].from_evaluation) == (100, None)
    assert not score(tmp_path / "one", settings=Settings("baker-2023")).learning_gains


def test_a_score_file_keeps_ranges_and_rises_whatever_the_direction(tmp_path: Path) -> None:
    made = survey(written(tmp_path, "one", LIFE), settings=Settings(lower_is_better=True))
    (tmp_path / "scores.json").write_text(json.dumps(made.as_json()))
    write_outputs(made, tmp_path / "out")
    entry = made.as_json()["lifetimes"][0]
    assert entry["ranges"]["a_1"] == {"min": 1.0, "max": 4.0, "given": False}
    for file in (tmp_path / "scores.json", tmp_path / "out" / FILES[4]):
        assert survey(file).scores[0].ranges == made.scores[0].ranges
    assert survey(tmp_path / "scores.json").scores[0].learning_gains == made.scores[0].learning_gains
