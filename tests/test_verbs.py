"""The verbs as functions: tables in memory in, results out that are tables too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import perdure

EVALUATED = [("test", "a"), ("test", "b")]
BLOCKS = [*EVALUATED, ("train", "a"), *EVALUATED, ("train", "b"), *EVALUATED]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Two methods, four seeds each; one of them drops what it learned."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for method, loss in (("keeps", 0.0), ("forgets", 0.4)):
        for seed in range(4):
            for at, (kind, task) in enumerate(BLOCKS):
                known = {"a": at > 2, "b": at > 5}[task]
                level = (0.8 if known else 0.2) - (loss if task == "a" and at > 5 else 0.0)
                values = rng.normal(level, 0.05, 12)
                rows += [
                    {
                        "method": method,
                        "seed": seed,
                        "block_num": at,
                        "block_type": kind,
                        "task_name": task,
                        "reward": x,
                    }
                    for x in values.tolist()
                ]
    return pl.DataFrame(rows)


def test_a_table_in_memory_is_surveyed_like_the_same_table_in_a_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_csv(tmp_path / "table.csv")
    here, there = perdure.survey(frame), perdure.survey(tmp_path / "table.csv")
    assert [one.values for one in here] == [one.values for one in there]
    assert [one.id for one in here] == [one.id.replace("table.csv#", "table#") for one in there]
    assert perdure.survey(frame.lazy()).table().equals(here.table())


def test_a_frame_of_pandas_is_one_of_polars(frame: pl.DataFrame) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not among what Perdure needs")
    given = pandas.DataFrame(frame.to_dict(as_series=False))
    assert perdure.survey(given).table().equals(perdure.survey(frame).table())
    assert list(perdure.survey(frame).to_pandas().columns) == perdure.survey(frame).table().columns


def test_every_result_is_a_table_json_and_a_short_word(frame: pl.DataFrame) -> None:
    found = perdure.survey(frame)
    one = perdure.score(frame.filter((pl.col("method") == "keeps") & (pl.col("seed") == 0)))
    planned = perdure.plan(pilot=frame.filter(pl.col("method") == "keeps"), detect={"PM": 5})
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    for result in (found, one, perdure.compare(found), perdure.correlate(found), planned, perdure.lint(syllabus)):
        assert result.table().height > 0
        assert json.loads(result.to_json()) == json.loads(json.dumps(result.as_json(), default=str))
        assert "<table" in result._repr_html_()
        assert len(repr(result)) < 120
        assert "\n" not in repr(result)


def test_methods_of_one_table_are_compared_with_each_other(frame: pl.DataFrame) -> None:
    found = perdure.compare(frame, baseline="forgets", settings=perdure.Settings(metrics=("PM",)))
    ((comparison,),) = [tuple(found)]
    assert (comparison.system, comparison.baseline, len(found)) == ("keeps", "forgets", 1)
    assert comparison.differences["performance_maintenance"].word == "better"
    assert [one.learner for one in perdure.groups(perdure.survey(frame))] == ["keeps", "forgets"]


def test_lint_takes_a_path_a_text_or_a_syllabus_and_answers_its_metrics(tmp_path: Path) -> None:
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    from perdure.scenario.syllabus import syllabus_text

    text = syllabus_text(syllabus)
    (tmp_path / "syllabus.json").write_text(text if isinstance(text, str) else text.decode())
    reports = [
        perdure.lint(one) for one in (syllabus, (tmp_path / "syllabus.json").read_text(), tmp_path / "syllabus.json")
    ]
    assert all(one.ok and one.metrics["performance_maintenance"].sites for one in reports)
    assert len({json.dumps(one.as_json()["metrics"]) for one in reports}) == 1


def test_a_plan_from_a_pilot_takes_no_second_word_on_its_spread(frame: pl.DataFrame) -> None:
    with pytest.raises(perdure.PerdureError, match="give the effect with `detect`"):
        perdure.plan(1.0, pilot=frame)


@pytest.mark.parametrize("name", perdure.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(perdure, name) is not None
