"""Variants: by name, by parameters or none, compared with the definition and with values computed by hand."""

from __future__ import annotations

import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.log.variant_lifetimes import Row, blocks, lifetime, tasks

from perdure.curves.model import Preparation
from perdure.errors import LogError, UnknownNameError
from perdure.gather.survey import score
from perdure.log.variants import sets_of, settle


def same(one: Any, other: Any) -> bool:
    """Return whether two parameter values are equal by the definition."""
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) or isinstance(other, str):
        return type(one) is type(other) and one == other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(name), other.get(name)) for name in {*one, *other})
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one) and math.isnan(other):
        return True
    return bool(one == other)


def split_blocks(rows: Sequence[Row]) -> list[list[list[Row]]]:
    """Return the blocks of experiences in these rows."""
    results: list[list[list[Row]]] = []
    for row in rows:
        if row["exp_status"] != "complete":
            continue
        last = results[-1][-1][-1] if results else None
        if last is None or any(last[name] != row[name] for name in ("block_num", "task_name")):
            results.append([[row]])
        elif last["exp_num"] != row["exp_num"]:
            results[-1].append([row])
        else:
            results[-1][-1].append(row)
    return results


def is_noise(block: list[list[Row]], name: str) -> bool:
    values = [[row["task_params"].get(name) for row in experience] for experience in block]
    if any(not same(value, item[0]) for item in values for value in item):
        return True
    runs: list[int] = []
    for index, item in enumerate(values):
        if index and same(item[0], values[index - 1][0]):
            runs[-1] += 1
        else:
            runs.append(1)
    return len(block) > 1 and 1 in runs


def expected_tasks(lifetimes: Mapping[str, Sequence[Row]]) -> dict[str, list[str]]:
    """Return the task name of every experience, lifetime by lifetime."""
    cuts = {name: split_blocks(lifetimes[name]) for name in sorted(lifetimes)}
    every = [block for match in cuts.values() for block in match]
    noise: dict[str, set[str]] = {}
    for block in every:
        dropped = noise.setdefault(block[0][0]["task_name"], set())
        names = {name for experience in block for row in experience for name in row["task_params"]}
        dropped |= {name for name in names if is_noise(block, name)}
    sets: dict[str, list[dict[str, Any]]] = {label: [] for label in noise}

    def number(row: Row) -> int:
        label = row["task_name"]
        stored = {name: value for name, value in row["task_params"].items() if name not in noise[label]}
        for index, known in enumerate(sets[label]):
            if same(known, stored):
                return index
        sets[label].append(stored)
        return len(sets[label]) - 1

    which = {
        name: [(e[0]["task_name"], number(e[0])) for block in match for e in block] for name, match in cuts.items()
    }
    alone = {label for label, match in sets.items() if len(match) == 1}

    def variant_name(label: str, index: int) -> str:
        free = [f"{label}_v{number}" for number in range(1, 100) if f"{label}_v{number}" not in alone]
        return label if label in alone else free[index]

    return {name: [variant_name(*item) for item in match] for name, match in which.items()}


VALUES: list[Any] = [
    1, 1.0, True, "1", None, 0, -0.0, False, math.nan, 2**53, float(2**53), 2**53 + 1, [1, 2], [1.0, 2], [True, 2],
    {"a": 1}, {"a": 1.0, "b": None}, {}, "NaN",
]  # fmt: skip


PARAMS = st.fixed_dictionaries(
    {}, optional={"w": st.sampled_from(VALUES), "s": st.sampled_from(VALUES[:5]), 'a "b" \\': st.just("x")}
)


@st.composite
def lifetimes(draw: st.DrawFn) -> dict[str, list[Row]]:
    """Draw a few lifetimes: blocks of runs of parameter sets, some experiences in several rows, some incomplete."""
    results: dict[str, list[Row]] = {}
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
        results[name] = rows
    return results


@given(lifetimes())
def test_every_experience_has_the_task_that_the_definition_gives_it(given_lifetimes: dict[str, list[Row]]) -> None:
    read = {name: lifetime(rows, name) for name, rows in given_lifetimes.items()}
    settled = settle([sets_of(lifetime) for lifetime in read.values()])
    with patch("perdure.log.variants._MANY", 0):  # use the shortcut for long lifetimes in short ones
        shorter = settle([sets_of(lifetime(rows, name)) for name, rows in given_lifetimes.items()])
    assert shorter == settled
    result = {name: lifetime.passage(None, "params", settled) for name, lifetime in read.items()}
    expected = expected_tasks(given_lifetimes)
    for name, passage in result.items():
        each = [block.task for block in passage.scenario.blocks for _ in range(block.length or 0)]
        assert each == expected[name]
        assert len(passage.values) == len(each)
    again = settle([sets_of(lifetime) for lifetime in reversed(read.values())])
    assert again == settled  # the order of files does not matter
    assert pickle.loads(pickle.dumps(settled)) == settled  # because it is sent to other processes


@given(lifetimes())
def test_a_single_lifetime_is_resolved_over_itself(given_lifetimes: dict[str, list[Row]]) -> None:
    for name, rows in given_lifetimes.items():
        passage = lifetime(rows, name).passage(None, "params")
        each = [block.task for block in passage.scenario.blocks for _ in range(block.length or 0)]
        assert each == expected_tasks({name: rows})[name]


def test_a_seed_per_episode_is_noise_and_a_width_per_block_is_not() -> None:
    rows = [
        {"block_num": block, "task_params": {"seed": 100 * block + index, "width": width}}
        for block, width in enumerate((0.1, 0.2, 0.1))
        for index in range(50)
    ]
    logged = lifetime(rows)
    assert tasks(logged) == ["pong_v1", "pong_v2", "pong_v1"]
    assert [dict(block.params) for block in logged.passage(None, "params").scenario.blocks] == [
        {"width": 0.1}, {"width": 0.2}, {"width": 0.1}
    ]  # fmt: skip
    assert sets_of(logged).labels["pong"].noise == {"seed"}


def test_a_run_of_two_or_more_inside_a_block_is_a_separate_block() -> None:
    rows = [{"task_params": {"w": w}} for w in (1, 1, 2, 2, 2, 1, 1)]
    assert tasks(lifetime(rows)) == ["pong_v1", "pong_v2", "pong_v1"]
    rows[3:4] = [{"task_params": {"w": 9}}]
    assert tasks(lifetime(rows)) == ["pong"]


def test_noise_in_one_lifetime_is_noise_in_all() -> None:
    steady = lifetime(blocks(("pong", {"w": 1}, 3), ("pong", {"w": 2}, 3)), "a")
    noisy = lifetime([{"task_params": {"w": w}} for w in (1, 2, 1)], "b")
    assert tasks(steady) == ["pong_v1", "pong_v2"]
    assert tasks(steady, noisy) == ["pong", "pong"]


def test_a_name_in_use_by_another_label_is_not_given_again() -> None:
    logged = lifetime(blocks(("pong", {"w": 1}, 2), ("pong_v1", {}, 2), ("pong", {"w": 2}, 2)))
    assert tasks(logged) == ["pong_v2", "pong_v1", "pong_v3"]


def test_an_unresolved_set_is_refused() -> None:
    one, other = (lifetime(blocks(("pong", {"w": w}, 2), ("pong", {"w": 0}, 2))) for w in (1, 2))
    with pytest.raises(LogError, match=r'pong has the parameter set \{"w":2\}, which was not there'):
        other.passage(None, "params", settle([sets_of(one)]))


def described(*parts: tuple[str, str]) -> dict[str, Any]:
    entries = [{"label": f"{name}_{variant}".strip("_"), "name": name, "variant": variant} for name, variant in parts]
    return {"scenario": {"tasks": entries}}


def test_agnostic_uses_the_manifests_task_the_trees_label_or_the_name_before_the_last_underscore() -> None:
    rows = blocks(("big_pong", {}, 2), ("big_pong_wide", {}, 2))

    def tasks_of(**facts: Any) -> list[str]:
        return [block.task for block in lifetime(rows, **facts).passage(None, "agnostic").scenario.blocks]

    assert tasks_of() == ["big", "big_pong"]
    assert tasks_of(variants="params") == ["big_pong", "big_pong_wide"]
    manifest = described(("big_pong", ""), ("big_pong", "wide"))
    assert tasks_of(manifest=manifest) == tasks_of(manifest=manifest, variants="params") == ["big_pong", "big_pong"]
    assert tasks_of(manifest={"scenario": {"tasks": [{"label": "big_pong_wide"}]}}) == ["big", "big_pong"]


def test_a_set_has_one_name_independent_of_its_number_in_a_syllabus() -> None:
    manifest = described(("pong", "v1"), ("pong", "v2"))
    item = lifetime(blocks(("pong_v1", {"w": 1}, 2), ("pong_v2", {"w": 2}, 2)), "a", manifest=manifest)
    turned = lifetime(blocks(("pong_v1", {"w": 2}, 2), ("pong_v2", {"w": 1}, 2)), "b", manifest=manifest)
    tree = lifetime(blocks(("pong", {"w": 2}, 2), ("pong", {"w": 1}, 2), ("pong", {"w": 3}, 2)), "c", variants="params")
    assert tasks(item) == ["pong_v1", "pong_v2"]
    assert tasks(tree, item) == ["pong_v2", "pong_v1", "pong_v3"]
    assert tasks(item, turned) == list(reversed(tasks(turned, item)))


def test_named_variants_stay_separate_even_if_their_sets_are_equal() -> None:
    manifest = described(("pong", "wide"), ("pong", "slim"))
    together = lifetime(blocks(("pong_wide", {"w": 1}, 2), ("pong_slim", {"w": 1}, 2)), manifest=manifest)
    assert tasks(together) == ["pong_wide", "pong_slim"]
    one, other = (
        lifetime(blocks((label, {"w": 1}, 2)), label, manifest=manifest) for label in ("pong_wide", "pong_slim")
    )
    assert (tasks(one, other), tasks(other, one)) == (["pong_wide"], ["pong_slim"])


def test_an_unknown_mode_is_refused_and_aware_means_name() -> None:
    assert Preparation(variants="aware") == Preparation(variants="name")
    with pytest.raises(UnknownNameError, match=r"variants 'parms'.*did you mean 'params'"):
        Preparation(variants="parms")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="variants"):
        lifetime(blocks(("a", {}, 2))).passage(None, "nome")  # type: ignore[arg-type]


def test_a_label_with_several_sets_is_noted_if_names_decide() -> None:
    several = lifetime(blocks(("pong", {"w": 1}, 3), ("pong", {"w": 2}, 3)))
    [note] = several.passage().notes
    assert note.startswith("pong holds 2 parameter sets")
    assert "--variants params" in note
    assert note in score(several).notes
    assert not several.passage(None, "params").notes
    assert not several.passage(None, "agnostic").notes
    seeds = lifetime([{"block_num": index // 3, "task_params": {"seed": index}} for index in range(9)])
    assert not seeds.passage().notes
