"""Writing lifetimes as learnkit trees: they are read back complete, stay in their folder, or are refused."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.classic.learnkit.trees import CLASS, FIGURE, REPORT, line, put, read

from perdure.classic.learnkit import LEARNKIT
from perdure.classic.learnkit_writer import write_learnkit
from perdure.errors import LogError
from perdure.log import cells
from perdure.log.blocks import in_order
from perdure.log.model import Lifetime, Role
from perdure.log.rules import STANDARD_COLUMNS
from perdure.scenario.model import VariantMode

LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


NAMES = st.text(LETTERS, max_size=8).map(lambda name: pl.Series([name]).str.to_lowercase().item())


VALUES = st.none() | st.floats()


@st.composite
def lifetimes(draw: st.DrawFn) -> Lifetime:
    """Draw any lifetime: odd names, several workers and measures, missing values, tasks mixed within a block."""
    tasks = draw(st.lists(st.sampled_from(["pong_wide", "../up", "a/b", ""]) | NAMES, min_size=1, max_size=3))
    workers = draw(st.lists(st.sampled_from(["worker-default", "0", "..", "a/b"]), min_size=1, max_size=2))
    experience = st.fixed_dictionaries(
        {
            "exp_num": st.integers(0, 3),
            "worker_id": st.sampled_from(workers),
            "task_name": st.sampled_from(tasks),
            "task_params": st.sampled_from(["{}", '{"width": 0.5}', '{"text": "a\\tb"}']),
            "exp_status": st.sampled_from(["complete", "complete", "incomplete"]),
            "timestamp": st.none() | st.just("20260101T000000.000000"),
            "performance": VALUES,
            "loss": VALUES,
            "remark": st.none() | st.text(LETTERS, max_size=5),
        }
    )
    rows: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        mode, subtype = draw(st.sampled_from(["train", "test"])), draw(st.sampled_from(["wake", "wake", "sleep"]))
        block = {"block_num": 2 * number, "block_type": mode, "block_subtype": subtype}
        rows.extend(block | value for value in draw(st.lists(experience, min_size=1, max_size=4)))
    schema = dict(STANDARD_COLUMNS) | {"performance": pl.Float64(), "loss": pl.Float64(), "remark": pl.String()}
    frame = in_order(pl.DataFrame(rows, schema=schema))
    role = draw(st.sampled_from(get_args(Role)))
    return Lifetime("a life", frame, {"performance": "higher", "loss": "lower"}, learner="q", seed=5, role=role)


@given(lifetimes())
def test_reading_returns_the_written_lifetime(lifetime: Lifetime) -> None:
    with TemporaryDirectory() as folder:
        root = write_learnkit(lifetime, folder, "log")
        assert LEARNKIT.recognises(root)
        again = read(root)
    same = [*STANDARD_COLUMNS, "performance", "loss"]
    assert again.experiences.select(same).equals(lifetime.experiences.select(same))
    assert again.experiences["remark"].equals(cells.typed(lifetime.experiences["remark"]))
    assert (again.id, dict(again.measures), again.learner, again.seed, again.role, again.notes) == (
        "a life", dict(lifetime.measures), "q", 5, lifetime.role, ()
    )  # fmt: skip
    for measure, variants in product(lifetime.measures, get_args(VariantMode)):
        one, other = lifetime.passage(measure, variants), again.passage(measure, variants)
        assert one.scenario.blocks == other.scenario.blocks
        assert one.scenario.tasks == other.scenario.tasks
        np.testing.assert_array_equal(one.values, other.values)


def test_a_tree_is_rewritten_with_its_phases_and_parameters(tree: Path, tmp_path: Path) -> None:
    put(tree, "0/2-2.train/grid", [line(phase="2.train", block=2, task=5)])
    once = read(tree)
    again = read(write_learnkit(once, tmp_path / "copy"))
    assert set(again.experiences.columns) == set(once.experiences.columns)
    assert again.experiences.select(once.experiences.columns).equals(once.experiences)
    folder = tmp_path / "copy" / tree.name / "0/1.test" / CLASS.lower()
    assert (folder / "data-log.tsv").read_text().splitlines()[0].split("\t") == FIGURE
    assert (folder / "block-report.tsv").read_text().splitlines()[0].split("\t") == REPORT


def test_an_evaluation_before_any_learning_is_phase_zero(tree: Path, tmp_path: Path) -> None:
    lifetime = read(tree)
    tested = lifetime.experiences.drop("phase").with_columns(
        pl.Series("block_type", ["test", "train", "train", "test"], STANDARD_COLUMNS["block_type"])
    )
    root = write_learnkit(Lifetime("x", tested, lifetime.measures), tmp_path)
    assert sorted(os.listdir(root / "0")) == ["0.test", "1.test", "1.train"]


def test_nothing_is_written_outside_the_folder(tree: Path, tmp_path: Path) -> None:
    lifetime = read(tree)
    rows = lifetime.experiences.with_columns(
        pl.lit("../../../escaped").alias("task_name"), pl.lit("../..").alias("worker_id")
    )
    inside = tmp_path / "deep" / "inside"
    root = write_learnkit(Lifetime("../../x", rows, lifetime.measures), inside)
    assert root.parent == inside
    before = {tree.name, "deep"}
    assert set(os.listdir(tmp_path)) == before
    assert os.listdir(tmp_path / "deep") == ["inside"]
    assert read(root).experiences["task_name"].unique().to_list() == ["../../../escaped"]


def test_an_existing_folder_and_values_that_text_cannot_represent_are_refused(tree: Path, tmp_path: Path) -> None:
    lifetime = read(tree)
    write_learnkit(lifetime, tmp_path, "once")
    with pytest.raises(LogError, match="exists already"):
        write_learnkit(lifetime, tmp_path, "once")
    empty = Lifetime("none", lifetime.experiences.clear(), lifetime.measures)
    with pytest.raises(LogError, match="nothing to write"):
        write_learnkit(empty, tmp_path, "b")
    damaged = lifetime.experiences.with_columns(pl.lit("a\0b").alias("task_name"))
    with pytest.raises(LogError, match="'task_name' holds a NUL byte"):
        write_learnkit(Lifetime("n", damaged, lifetime.measures), tmp_path, "c")
    unclear = lifetime.experiences.with_columns(pl.lit("{width").alias("task_params"))
    with pytest.raises(LogError, match=r"task_params '\{width' is not a JSON object"):
        write_learnkit(Lifetime("p", unclear, lifetime.measures), tmp_path, "e")
    owned = lifetime.experiences.with_columns(pl.lit(1.0).alias("task"))
    with pytest.raises(LogError, match="the measure 'task' has the name of a learnkit column"):
        write_learnkit(Lifetime("t", owned, {"task": "higher"}), tmp_path, "d")
