"""Variants are the same in every format, and with experts and bounds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from tests.log.variant_lifetimes import blocks, lifetime, rewarded

import perdure
from perdure.classic.learnkit_writer import write_learnkit
from perdure.curves.experts import Experts
from perdure.curves.model import Preparation
from perdure.curves.prepare import curves
from perdure.gather.survey import score
from perdure.log.model import Lifetime
from perdure.log.variants import settle
from perdure.log.write.journal import Journal
from perdure.metrics.presets import PRESETS
from perdure.metrics.score import Score, Scorer
from perdure.results import to_plain
from perdure.scenario.model import Scenario
from perdure.scenario.syllabus import read_syllabus
from perdure.settings import Settings

SYLLABUS = Path(__file__).parents[2] / "examples" / "syllabi" / "s003-continual.json"


def test_an_expert_is_assigned_to_the_task_with_its_set() -> None:
    learner = lifetime(rewarded(blocks(("pong", {"w": 1}, 30), ("pong", {"w": 2}, 30))), "z-life", variants="params")
    experts = [
        lifetime(rewarded(blocks(("pong", {"w": w}, 30))), f"expert-{index}", variants="params")
        for index, w in enumerate((2.0, 1, 3))
    ]
    scores = perdure.score(learner, experts)
    assert scores.tasks == ("pong_v2", "pong_v1")  # the experts' ids come first
    assert set(scores.metrics["relative_performance"].by) == set(scores.tasks)
    settled = settle([lifetime.sets for lifetime in (learner, *experts)])
    assert facts(scores) == facts(Scorer(experts=Experts(tuple(experts)), settled=settled).score(learner))
    alone = perdure.score(learner, experts[:1])
    assert list(alone.metrics["relative_performance"].by) == ["pong_v1"]
    named = perdure.score(learner, experts, Settings(prep=Preparation(variants="name")))
    assert named.tasks == ("pong",)
    assert len(named.metrics["relative_performance"].by["pong"]) == 3


def test_bounds_of_a_label_hold_for_its_sets_unless_a_set_has_bounds() -> None:
    logged = lifetime(rewarded(blocks(("pong", {"w": 1}, 30), ("pong", {"w": 2}, 30))), variants="params")
    curve = curves(logged, Preparation(bounds={"pong": (0, 10), "pong_v2": (0, 20)}))
    assert {task: bounds.high for task, bounds in curve.ranges.items()} == {"pong_v1": 10, "pong_v2": 20}


LENGTHS = {"learn": 110, "evaluate": 14}


LEVELS = ((0.2, 0.8), (0.3, 0.3), (0.8, 0.8), (0.3, 0.6), (0.5, 0.9), (0.9, 0.9), (0.55, 0.55), (0.5, 0.5))


LoggedRows = list[tuple[int, int, str, str, str, float, float]]


@pytest.fixture(scope="module")
def ste_rewards() -> tuple[Scenario, LoggedRows]:
    """Return four hundred rewards of the CL syllabus of New et al. 2022, one task in three widths."""
    syllabus = read_syllabus(SYLLABUS)
    rng = np.random.default_rng(3)
    rows: LoggedRows = []
    for index, block in enumerate(syllabus.scenario.blocks):
        for reward in np.linspace(*LEVELS[index], LENGTHS[block.mode]) + rng.normal(0, 0.01, LENGTHS[block.mode]):
            kind = "train" if block.mode == "learn" else "test"
            width = block.params["bot/paddle/width"]
            rows.append((index, len(rows), kind, block.task, syllabus.phases[index], width, float(reward)))
    assert len(rows) == 400
    return syllabus.scenario, rows


def write_own_log(folder: Path, scenario: Scenario | None, rows: LoggedRows, label: Callable[[str], str]) -> Path:
    with Journal(folder, "life", ("reward",), scenario=scenario) as journal:
        for block, number, kind, task, _, width, reward in rows:
            journal.log(
                block_num=block,
                exp_num=number,
                block_type=kind,
                task_name=label(task),
                task_params={"bot/paddle/width": width},
                reward=reward,
            )
    return folder / "life"


def write_tree(folder: Path, rows: LoggedRows, *, spaces: bool, reported: bool) -> Path:
    """Write the log as a tool of 2019: the task's bare name, a seed and a position per episode."""
    between = ["action_space", "observation_space"] if spaces else []
    header = ["timestamp", "class_name", "phase", "worker", "block", "task", "seed", "steps", "reward", *between]
    header += ["agent_pos"] if reported else ["agent_pos", "bot/paddle/width"]
    for block, number, _, _, phase, width, reward in rows:
        place = folder / "life" / "0" / phase / "Pong"
        place.mkdir(parents=True, exist_ok=True)
        for name, first in (
            ("data-log", header),
            ("block-report", ["phase", "worker", "class_name", "block", "params"]),
        ):
            if not (place / f"{name}.tsv").exists() and (reported or name == "data-log"):
                (place / f"{name}.tsv").write_text("\t".join(first) + "\n")
        cells = ["t", "Pong", phase, 0, block, number, number * 7, 3, reward, *between, f"[{number} 3]"]
        with (place / "data-log.tsv").open("a") as file:
            file.write("\t".join(map(str, cells if reported else [*cells, width])) + "\n")
        report = place / "block-report.tsv"
        if reported and f"\t{block}\t" not in report.read_text():
            with report.open("a") as file:
                file.write(f'{phase}\t0\tPong\t{block}\t{{"bot/paddle/width": {width}}}\n')
    return folder / "life"


@pytest.fixture(scope="module")
def formats(ste_rewards: tuple[Scenario, LoggedRows], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lifetime]:
    scenario, rows = ste_rewards
    place = tmp_path_factory.mktemp("formats")

    def bare(task: str) -> str:
        return task.partition("_")[0]

    paths = {
        "own": write_own_log(place / "own", scenario, rows, str),
        "l2logger": write_own_log(place / "l2logger", None, rows, bare),
        "l2logger by variant": write_own_log(place / "by-variant", None, rows, str),
        "tree": write_tree(place / "tree", rows, spaces=True, reported=False),
        "tree without spaces": write_tree(place / "without", rows, spaces=False, reported=False),
        "tree with a report": write_tree(place / "report", rows, spaces=True, reported=True),
    }
    for name in ("l2logger", "l2logger by variant"):
        for own_file in ("manifest.json", "blocks.jsonl"):  # the files that mark a log of Perdure
            (paths[name] / own_file).unlink()
    result = {name: perdure.read(path) for name, path in paths.items()}
    result["written from own"] = perdure.read(write_learnkit(result["own"], place, "written"))
    result["written from l2logger"] = perdure.read(write_learnkit(result["l2logger"], place, "again"))
    return result


def facts(scores: Score) -> dict[str, Any]:
    return {
        "tasks": scores.tasks,
        "values": {
            name: (metric.value, metric.by, metric.why, metric.flags) for name, metric in scores.metrics.items()
        },
        "blocks": [to_plain(block) for block in scores.blocks],
    }


@pytest.mark.parametrize("variants", ["params", "agnostic"])
@pytest.mark.parametrize("preset", ["standard", "framework-2019"])
def test_one_lifetime_has_the_same_scores_in_every_format(
    formats: dict[str, Lifetime], variants: Any, preset: str
) -> None:
    prep = replace(PRESETS.get(preset).prep, variants=variants)
    result = {
        name: facts(score(read_lifetime, settings=Settings(preset=preset, prep=prep)))
        for name, read_lifetime in formats.items()
    }
    assert result["own"]["tasks"] == (("pong_v1", "pong_v2", "pong_v3") if variants == "params" else ("pong",))
    for name, format_facts in result.items():
        assert format_facts == result["own"], name


def test_perdures_log_and_the_2019_tree_give_the_same_scores(formats: dict[str, Lifetime]) -> None:
    result = {name: facts(score(read_lifetime)) for name, read_lifetime in formats.items()}
    for name in ("tree", "tree without spaces", "tree with a report", "written from own"):
        assert result[name] == result["own"], name


def test_formats_differ_only_by_name_and_then_with_a_note(formats: dict[str, Lifetime]) -> None:
    by_set, as_one = score(formats["own"]), score(formats["l2logger"])
    assert (by_set["performance_maintenance"] or 0) > 0 > (as_one["performance_maintenance"] or 0)
    assert not any("--variants params" in note for note in by_set.notes)
    assert any("pong holds 3 parameter sets" in note and "--variants params" in note for note in as_one.notes)


def test_recovery_notes_sites_at_which_only_variants_differ(formats: dict[str, Lifetime]) -> None:
    metrics = score(formats["own"]).metrics
    for name in ("recovery_time", "droop", "recovery_rate", "performance_recovery"):
        often = "three times" if name == "performance_recovery" else "twice"
        assert metrics[name].why == (
            f"needs a task learned at least {often} while awake; "
            "only the variants of pong differ: --variants agnostic takes them for one task"
        )
    assert score(formats["own"], settings=Settings(prep=Preparation(variants="agnostic")))["recovery_time"] is not None
    different = lifetime(rewarded(blocks(("pong", {}, 30), ("breakout", {}, 30))))
    assert score(different).metrics["recovery_time"].why == "needs a task learned at least twice while awake"
