"""Whose variants: by name, by parameters, or none; the same in every format, and the same set the same name."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perdure
from perdure.curves.build import curves
from perdure.curves.experts import Experts
from perdure.curves.model import Prep
from perdure.errors import LogError, UnknownName
from perdure.gather.survey import score
from perdure.log.blocks import in_order
from perdure.log.formats.learnkit import write_learnkit
from perdure.log.model import STANDARD_COLUMNS, Lifetime
from perdure.log.variants import sets_of, settle
from perdure.log.write.journal import Journal
from perdure.metrics.engine.presets import PRESETS
from perdure.metrics.engine.score import Score, Scorer
from perdure.scenario.model import Scenario
from perdure.scenario.syllabus import read_syllabus
from perdure.settings import Settings

SYLLABUS = Path(__file__).parents[2] / "examples" / "syllabi" / "s003-continual.json"
Row = Mapping[str, Any]


def life(rows: Sequence[Row], name: str = "life", **facts: Any) -> Lifetime:
    """A life in memory from rows that say only what matters to the test."""
    usual = {
        "block_num": 0,
        "worker_id": "w",
        "block_type": "train",
        "block_subtype": "wake",
        "task_name": "pong",
        "exp_status": "complete",
        "timestamp": None,
        "reward": 1.0,
    }
    full = [
        {"exp_num": at, **usual, **row, "task_params": json.dumps(row.get("task_params", {}))}
        for at, row in enumerate(rows)
    ]
    frame = pl.DataFrame(full, schema={**STANDARD_COLUMNS, "reward": pl.Float64()})
    return Lifetime(name, in_order(frame), {"reward": "higher"}, **facts)


def blocks(*runs: tuple[str, Mapping[str, Any], int]) -> list[Row]:
    """A block for each label, parameter set and length."""
    return [
        {"block_num": number, "task_name": label, "task_params": params}
        for number, (label, params, length) in enumerate(runs)
        for _ in range(length)
    ]


def tasks(lifetime: Lifetime, *others: Lifetime) -> list[str]:
    """The task of each block where parameters make tasks, settled over all of these."""
    settled = settle([sets_of(one) for one in (lifetime, *others)])
    return [block.task for block in lifetime.passage(None, "params", settled).scenario.blocks]


# --- the definition, slowly ------------------------------------------------------------------------


def same(one: Any, other: Any) -> bool:
    """Equality of two parameter values as the definition has it."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(name), other.get(name)) for name in {*one, *other})
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return bool(one == other)


def cut(rows: Sequence[Row]) -> list[list[list[Row]]]:
    """Blocks of experiences of rows."""
    found: list[list[list[Row]]] = []
    for row in rows:
        if row["exp_status"] != "complete":
            continue
        last = found[-1][-1][-1] if found else None
        if last is None or any(last[name] != row[name] for name in ("block_num", "task_name")):
            found.append([[row]])
        elif last["exp_num"] != row["exp_num"]:
            found[-1].append([row])
        else:
            found[-1][-1].append(row)
    return found


def is_noise(block: list[list[Row]], name: str) -> bool:
    values = [[row["task_params"].get(name) for row in experience] for experience in block]
    if any(not same(value, one[0]) for one in values for value in one):
        return True
    runs: list[int] = []
    for at, one in enumerate(values):
        if at and same(one[0], values[at - 1][0]):
            runs[-1] += 1
        else:
            runs.append(1)
    return len(block) > 1 and 1 in runs


def model(lives: Mapping[str, Sequence[Row]]) -> dict[str, list[str]]:
    """The name of the task of every experience, life by life."""
    cuts = {name: cut(lives[name]) for name in sorted(lives)}
    every = [block for found in cuts.values() for block in found]
    noise: dict[str, set[str]] = {}
    for block in every:
        dropped = noise.setdefault(block[0][0]["task_name"], set())
        names = {name for experience in block for row in experience for name in row["task_params"]}
        dropped |= {name for name in names if is_noise(block, name)}
    sets: dict[str, list[dict[str, Any]]] = {label: [] for label in noise}

    def number(row: Row) -> int:
        label = row["task_name"]
        kept = {name: value for name, value in row["task_params"].items() if name not in noise[label]}
        for at, known in enumerate(sets[label]):
            if same(known, kept):
                return at
        sets[label].append(kept)
        return len(sets[label]) - 1

    which = {
        name: [(e[0]["task_name"], number(e[0])) for block in found for e in block] for name, found in cuts.items()
    }
    alone = {label for label, found in sets.items() if len(found) == 1}

    def called(label: str, at: int) -> str:
        free = [f"{label}_v{one}" for one in range(1, 100) if f"{label}_v{one}" not in alone]
        return label if label in alone else free[at]

    return {name: [called(*one) for one in found] for name, found in which.items()}


VALUES: list[Any] = [
    1, 1.0, True, "1", None, 0, -0.0, False, math.nan, 2**53, float(2**53), 2**53 + 1, [1, 2], [1.0, 2], [True, 2],
    {"a": 1}, {"a": 1.0, "b": None}, {}, "NaN",
]  # fmt: skip
PARAMS = st.fixed_dictionaries(
    {}, optional={"w": st.sampled_from(VALUES), "s": st.sampled_from(VALUES[:5]), 'a "b" \\': st.just("x")}
)


@st.composite
def lives(draw: st.DrawFn) -> dict[str, list[Row]]:
    """A few lives: blocks of runs of parameter sets, some experiences in several rows, some incomplete."""
    made: dict[str, list[Row]] = {}
    pool = draw(st.lists(PARAMS, min_size=1, max_size=3))
    for name in draw(st.lists(st.sampled_from(["10", "9", "b"]), min_size=1, max_size=3, unique=True)):
        rows: list[Row] = []
        for block in range(draw(st.integers(1, 4))):
            label = draw(st.sampled_from(["a", "a_v1", "b"]))
            for _ in range(draw(st.integers(1, 3))):
                params = draw(st.sampled_from(pool) | PARAMS)
                for _ in range(draw(st.integers(1, 3))):
                    new = not rows or rows[-1]["block_num"] != block or draw(st.integers(0, 5)) > 0
                    number = len(rows) if new else rows[-1]["exp_num"]
                    status = draw(st.sampled_from(["complete"] * 5 + ["incomplete"]))
                    rows.append(
                        {
                            "block_num": block,
                            "exp_num": number,
                            "task_name": label,
                            "task_params": params,
                            "exp_status": status,
                        }
                    )
        made[name] = rows
    return made


@settings(max_examples=300, deadline=None)
@given(lives())
def test_every_experience_has_the_task_that_the_definition_gives_it(given_lives: dict[str, list[Row]]) -> None:
    read = {name: life(rows, name) for name, rows in given_lives.items()}
    settled = settle([sets_of(one) for one in read.values()])
    with patch("perdure.log.parameters._MANY", 0):  # a long lifetime's short cut, in short ones
        shorter = settle([sets_of(life(rows, name)) for name, rows in given_lives.items()])
    assert shorter == settled
    found = {name: one.passage(None, "params", settled) for name, one in read.items()}
    expected = model(given_lives)
    for name, passage in found.items():
        each = [block.task for block in passage.scenario.blocks for _ in range(block.length or 0)]
        assert each == expected[name]
        assert len(passage.values) == len(each)
    again = settle([sets_of(one) for one in reversed(read.values())])
    assert again == settled  # the order of files decides nothing
    assert pickle.loads(pickle.dumps(settled)) == settled  # for it goes to other processes


@settings(max_examples=100, deadline=None)
@given(lives())
def test_a_lifetime_alone_is_settled_over_itself(given_lives: dict[str, list[Row]]) -> None:
    for name, rows in given_lives.items():
        passage = life(rows, name).passage(None, "params")
        each = [block.task for block in passage.scenario.blocks for _ in range(block.length or 0)]
        assert each == model({name: rows})[name]


# --- by hand ----------------------------------------------------------------------------------------


def test_a_seed_per_episode_is_noise_and_a_width_per_block_is_not() -> None:
    rows = [
        {"block_num": block, "task_params": {"seed": 100 * block + at, "width": width}}
        for block, width in enumerate((0.1, 0.2, 0.1))
        for at in range(50)
    ]
    lived = life(rows)
    assert tasks(lived) == ["pong_v1", "pong_v2", "pong_v1"]
    assert [dict(block.params) for block in lived.passage(None, "params").scenario.blocks] == [
        {"width": 0.1}, {"width": 0.2}, {"width": 0.1}
    ]  # fmt: skip
    assert sets_of(lived).labels["pong"].noise == {"seed"}


def test_a_run_of_two_or_more_inside_a_block_is_a_block_of_its_own() -> None:
    rows = [{"task_params": {"w": w}} for w in (1, 1, 2, 2, 2, 1, 1)]
    assert tasks(life(rows)) == ["pong_v1", "pong_v2", "pong_v1"]
    rows[3:4] = [{"task_params": {"w": 9}}]
    assert tasks(life(rows)) == ["pong"]


def test_noise_in_one_lifetime_is_noise_in_all() -> None:
    steady = life(blocks(("pong", {"w": 1}, 3), ("pong", {"w": 2}, 3)), "a")
    noisy = life([{"task_params": {"w": w}} for w in (1, 2, 1)], "b")
    assert tasks(steady) == ["pong_v1", "pong_v2"]
    assert tasks(steady, noisy) == ["pong", "pong"]


def test_a_name_that_another_label_keeps_is_not_given_again() -> None:
    lived = life(blocks(("pong", {"w": 1}, 2), ("pong_v1", {}, 2), ("pong", {"w": 2}, 2)))
    assert tasks(lived) == ["pong_v2", "pong_v1", "pong_v3"]


def test_a_set_that_was_not_settled_is_refused() -> None:
    one, other = (life(blocks(("pong", {"w": w}, 2), ("pong", {"w": 0}, 2))) for w in (1, 2))
    with pytest.raises(LogError, match=r'pong has the parameter set \{"w":2\}, which was not there'):
        other.passage(None, "params", settle([sets_of(one)]))


def described(*parts: tuple[str, str]) -> dict[str, Any]:
    entries = [{"label": f"{name}_{variant}".strip("_"), "name": name, "variant": variant} for name, variant in parts]
    return {"scenario": {"tasks": entries}}


def test_agnostic_takes_the_manifests_task_the_trees_label_or_what_precedes_the_last_underscore() -> None:
    rows = blocks(("big_pong", {}, 2), ("big_pong_wide", {}, 2))

    def found(**facts: Any) -> list[str]:
        return [block.task for block in life(rows, **facts).passage(None, "agnostic").scenario.blocks]

    assert found() == ["big", "big_pong"]
    assert found(variants="params") == ["big_pong", "big_pong_wide"]
    manifest = described(("big_pong", ""), ("big_pong", "wide"))
    assert found(manifest=manifest) == found(manifest=manifest, variants="params") == ["big_pong", "big_pong"]
    assert found(manifest={"scenario": {"tasks": [{"label": "big_pong_wide"}]}}) == ["big", "big_pong"]


def test_a_set_has_one_name_whichever_number_a_syllabus_gave_it() -> None:
    manifest = described(("pong", "v1"), ("pong", "v2"))
    one = life(blocks(("pong_v1", {"w": 1}, 2), ("pong_v2", {"w": 2}, 2)), "a", manifest=manifest)
    turned = life(blocks(("pong_v1", {"w": 2}, 2), ("pong_v2", {"w": 1}, 2)), "b", manifest=manifest)
    tree = life(blocks(("pong", {"w": 2}, 2), ("pong", {"w": 1}, 2), ("pong", {"w": 3}, 2)), "c", variants="params")
    assert tasks(one) == ["pong_v1", "pong_v2"]
    assert tasks(tree, one) == ["pong_v2", "pong_v1", "pong_v3"]
    assert tasks(one, turned) == list(reversed(tasks(turned, one)))


def test_variants_that_somebody_named_stay_apart_though_their_sets_are_equal() -> None:
    manifest = described(("pong", "wide"), ("pong", "slim"))
    together = life(blocks(("pong_wide", {"w": 1}, 2), ("pong_slim", {"w": 1}, 2)), manifest=manifest)
    assert tasks(together) == ["pong_wide", "pong_slim"]
    one, other = (life(blocks((label, {"w": 1}, 2)), label, manifest=manifest) for label in ("pong_wide", "pong_slim"))
    assert (tasks(one, other), tasks(other, one)) == (["pong_wide"], ["pong_slim"])


def test_an_unknown_word_is_refused_and_aware_is_another_word_for_name() -> None:
    assert Prep(variants="aware") == Prep(variants="name")
    with pytest.raises(UnknownName, match=r"variants 'parms'.*did you mean 'params'"):
        Prep(variants="parms")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="variants"):
        life(blocks(("a", {}, 2))).passage(None, "nome")  # type: ignore[arg-type]


def test_a_label_with_several_sets_that_fill_blocks_is_noted_where_names_decide() -> None:
    several = life(blocks(("pong", {"w": 1}, 3), ("pong", {"w": 2}, 3)))
    [note] = several.passage().notes
    assert note.startswith("pong holds 2 parameter sets")
    assert "--variants params" in note
    assert note in score(several).notes
    assert not several.passage(None, "params").notes
    assert not several.passage(None, "agnostic").notes
    seeds = life([{"block_num": at // 3, "task_params": {"seed": at}} for at in range(9)])
    assert not seeds.passage().notes


# --- experts ----------------------------------------------------------------------------------------


def rewarded(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "reward": float(at % 7)} for at, row in enumerate(rows)]


def test_an_expert_serves_the_task_that_has_its_set() -> None:
    learner = life(rewarded(blocks(("pong", {"w": 1}, 30), ("pong", {"w": 2}, 30))), "z-life", variants="params")
    experts = [
        life(rewarded(blocks(("pong", {"w": w}, 30))), f"expert-{at}", variants="params")
        for at, w in enumerate((2.0, 1, 3))
    ]
    made = perdure.score(learner, experts)
    assert made.tasks == ("pong_v2", "pong_v1")  # the experts' ids come first
    assert set(made.metrics["relative_performance"].by) == set(made.tasks)
    settled = settle([one.sets for one in (learner, *experts)])
    assert facts(made) == facts(Scorer(experts=Experts(tuple(experts)), settled=settled).score(learner))
    alone = perdure.score(learner, experts[:1])
    assert list(alone.metrics["relative_performance"].by) == ["pong_v1"]
    named = perdure.score(learner, experts, Settings(prep=Prep(variants="name")))
    assert named.tasks == ("pong",)
    assert len(named.metrics["relative_performance"].by["pong"]) == 3


def test_bounds_of_a_label_hold_for_its_sets_and_bounds_of_a_set_go_before() -> None:
    lived = life(rewarded(blocks(("pong", {"w": 1}, 30), ("pong", {"w": 2}, 30))), variants="params")
    made = curves(lived, Prep(bounds={"pong": (0, 10), "pong_v2": (0, 20)}))
    assert {task: one.high for task, one in made.ranges.items()} == {"pong_v1": 10, "pong_v2": 20}


# --- one life in every format ------------------------------------------------------------------------

LENGTHS = {"learn": 110, "evaluate": 14}
LEVELS = ((0.2, 0.8), (0.3, 0.3), (0.8, 0.8), (0.3, 0.6), (0.5, 0.9), (0.9, 0.9), (0.55, 0.55), (0.5, 0.5))
Lived = list[tuple[int, int, str, str, str, float, float]]


@pytest.fixture(scope="module")
def s003() -> tuple[Scenario, Lived]:
    """Four hundred rewards of a life through the CL syllabus of S003, one task in three widths."""
    syllabus = read_syllabus(SYLLABUS)
    rng = np.random.default_rng(3)
    rows: Lived = []
    for index, block in enumerate(syllabus.scenario.blocks):
        for reward in np.linspace(*LEVELS[index], LENGTHS[block.mode]) + rng.normal(0, 0.01, LENGTHS[block.mode]):
            kind = "train" if block.mode == "learn" else "test"
            width = block.params["bot/paddle/width"]
            rows.append((index, len(rows), kind, block.task, syllabus.phases[index], width, float(reward)))
    assert len(rows) == 400
    return syllabus.scenario, rows


def own(folder: Path, scenario: Scenario | None, rows: Lived, label: Callable[[str], str]) -> Path:
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


def tree(folder: Path, rows: Lived, *, spaces: bool, reported: bool) -> Path:
    """As a tool of 2019 writes it: the task's bare name, a seed and a position per episode."""
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
def formats(s003: tuple[Scenario, Lived], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Lifetime]:
    scenario, rows = s003
    place = tmp_path_factory.mktemp("formats")

    def bare(task: str) -> str:
        return task.partition("_")[0]

    paths = {
        "own": own(place / "own", scenario, rows, str),
        "l2logger": own(place / "l2logger", None, rows, bare),
        "l2logger by variant": own(place / "by-variant", None, rows, str),
        "tree": tree(place / "tree", rows, spaces=True, reported=False),
        "tree without spaces": tree(place / "without", rows, spaces=False, reported=False),
        "tree with a report": tree(place / "report", rows, spaces=True, reported=True),
    }
    for name in ("l2logger", "l2logger by variant"):
        (paths[name] / "manifest.json").unlink()  # what makes a log Perdure's own
    found = {name: perdure.read(path) for name, path in paths.items()}
    found["written from own"] = perdure.read(write_learnkit(found["own"], place, "written"))
    found["written from l2logger"] = perdure.read(write_learnkit(found["l2logger"], place, "again"))
    return found


def facts(made: Score) -> dict[str, Any]:
    return {
        "tasks": made.tasks,
        "values": {name: (one.value, one.by, one.why, one.flags) for name, one in made.metrics.items()},
        "blocks": [one.as_json() for one in made.blocks],
    }


@pytest.mark.parametrize("variants", ["params", "agnostic"])
@pytest.mark.parametrize("preset", ["standard", "framework-2019"])
def test_one_life_has_the_same_scores_in_every_format(formats: dict[str, Lifetime], variants: Any, preset: str) -> None:
    prep = replace(PRESETS.get(preset).prep, variants=variants)
    made = {name: facts(score(one, settings=Settings(preset=preset, prep=prep))) for name, one in formats.items()}
    assert made["own"]["tasks"] == (("pong_v1", "pong_v2", "pong_v3") if variants == "params" else ("pong",))
    for name, one in made.items():
        assert one == made["own"], name


def test_perdures_log_and_the_2019_tree_agree_each_in_its_own_way(formats: dict[str, Lifetime]) -> None:
    made = {name: facts(score(one)) for name, one in formats.items()}
    for name in ("tree", "tree without spaces", "tree with a report", "written from own"):
        assert made[name] == made["own"], name


def test_only_by_name_has_one_life_two_verdicts_and_then_it_is_noted(formats: dict[str, Lifetime]) -> None:
    by_set, as_one = score(formats["own"]), score(formats["l2logger"])
    assert (by_set["performance_maintenance"] or 0) > 0 > (as_one["performance_maintenance"] or 0)
    assert not any("--variants params" in note for note in by_set.notes)
    assert any("pong holds 3 parameter sets" in note and "--variants params" in note for note in as_one.notes)


def test_recovery_says_where_only_variants_differ(formats: dict[str, Lifetime]) -> None:
    made = score(formats["own"]).metrics
    for name in ("recovery_time", "droop", "recovery_rate", "performance_recovery"):
        often = "three times" if name == "performance_recovery" else "twice"
        assert made[name].why == (
            f"needs a task learned at least {often} while awake; "
            "only the variants of pong differ: --variants agnostic takes them for one task"
        )
    assert score(formats["own"], settings=Settings(prep=Prep(variants="agnostic")))["recovery_time"] is not None
    different = life(rewarded(blocks(("pong", {}, 30), ("breakout", {}, 30))))
    assert score(different).metrics["recovery_time"].why == "needs a task learned at least twice while awake"
