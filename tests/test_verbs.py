"""Verbs as functions: they take tables in memory and return results that convert to tables."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import perdure

EVALUATED = [("test", "a"), ("test", "b")]
SMALL: dict[str, Any] = {
    "name": "x",
    "learner": {"use": "q-learning"},
    "scenarios": [{"layout": "condensed", "tasks": ["pong"], "learn": 2, "evaluate": 1}],
}
BLOCKS = [*EVALUATED, ("train", "a"), *EVALUATED, ("train", "b"), *EVALUATED]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Return the table of two methods with four seeds each; one method forgets."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for method, loss in (("keeps", 0.0), ("forgets", 0.4)):
        for seed in range(4):
            for index, (kind, task) in enumerate(BLOCKS):
                known = {"a": index > 2, "b": index > 5}[task]
                level = (0.8 if known else 0.2) - (loss if task == "a" and index > 5 else 0.0)
                values = rng.normal(level, 0.05, 12)
                rows += [
                    {
                        "method": method,
                        "seed": seed,
                        "block_num": index,
                        "block_type": kind,
                        "task_name": task,
                        "reward": x,
                    }
                    for x in values.tolist()
                ]
    return pl.DataFrame(rows)


def test_a_table_in_memory_is_surveyed_like_the_same_table_in_a_file(frame: pl.DataFrame, tmp_path: Path) -> None:
    frame.write_csv(tmp_path / "table.csv")
    from_memory, from_file = perdure.survey(frame), perdure.survey(tmp_path / "table.csv")
    assert [lifetime.values for lifetime in from_memory] == [lifetime.values for lifetime in from_file]
    assert [lifetime.id for lifetime in from_memory] == [
        lifetime.id.replace("table.csv#", "table#") for lifetime in from_file
    ]
    assert perdure.survey(frame.lazy()).table().equals(from_memory.table())


def test_a_pandas_frame_gives_the_results_of_a_polars_frame(frame: pl.DataFrame) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not among what Perdure needs")
    given = pandas.DataFrame(frame.to_dict(as_series=False))
    assert perdure.survey(given).table().equals(perdure.survey(frame).table())
    assert list(perdure.survey(frame).to_pandas().columns) == perdure.survey(frame).table().columns


def _results_of_a_log(folder: Path) -> Iterator[Any]:
    with perdure.Journal(folder, "life", measures=["reward"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a", reward=1.0)
    (folder / "life" / "worker-default" / "0-train" / "data-log.tsv").unlink()
    yield perdure.check(folder / "life")


def _results_of_a_protocol(folder: Path) -> Iterator[Any]:
    protocol = {**SMALL, "lifetimes": 1, "experts": 0}
    prepared = perdure.prepare_protocol(protocol, folder / "run")
    done = perdure.run(protocol, folder / "run", workers=0)
    yield from (prepared, *prepared, done, *done)
    file = folder / "protocol.toml"
    file.write_text(
        'name = "x"\n[learner]\nuse = "q-learning"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["pong"]\nlearn = 2\nevaluate = 1\n'
    )
    yield perdure.lint_protocol(file)


def test_every_result_has_a_table_json_and_a_short_repr(frame: pl.DataFrame, tmp_path: Path) -> None:
    survey = perdure.survey(frame)
    scores = perdure.score(frame.filter((pl.col("method") == "keeps") & (pl.col("seed") == 0)))
    planned = perdure.plan(pilot=frame.filter(pl.col("method") == "keeps"), detect={"PM": 5})
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    outcome = [survey, scores, perdure.compare(survey), perdure.correlate(survey), planned, perdure.plan()]
    outcome += [perdure.lint(syllabus), perdure.report(survey, tmp_path / "report.md")]
    outcome += [*perdure.groups(survey), *_results_of_a_log(tmp_path)]
    for result in (*outcome, *_results_of_a_protocol(tmp_path)):
        assert result.table().height > 0
        assert len(result) == len(list(result))
        assert result  # also if it is empty
        assert json.loads(result.to_json()) == json.loads(json.dumps(result.as_json(), default=str))
        assert "<table" in result._repr_html_()
        assert len(repr(result)) < 120
        assert "\n" not in repr(result)


def test_methods_of_one_table_are_compared_with_each_other(frame: pl.DataFrame) -> None:
    result = perdure.compare(frame, baseline="forgets", settings=perdure.Settings(metrics=("PM",)))
    ((comparison,),) = [tuple(result)]
    assert (comparison.system, comparison.baseline, len(result)) == ("keeps", "forgets", 1)
    assert comparison.differences["performance_maintenance"].word == "keeps more"
    assert [group.learner for group in perdure.groups(perdure.survey(frame))] == ["keeps", "forgets"]


def test_lint_takes_a_path_a_text_or_a_syllabus_and_returns_its_metrics(tmp_path: Path) -> None:
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    from perdure.scenario.syllabus import syllabus_text

    text = syllabus_text(syllabus)
    (tmp_path / "syllabus.json").write_text(text if isinstance(text, str) else text.decode())
    reports = [
        perdure.lint(item) for item in (syllabus, (tmp_path / "syllabus.json").read_text(), tmp_path / "syllabus.json")
    ]
    assert all(report.ok and report.metrics["performance_maintenance"].sites for report in reports)
    assert len({json.dumps(report.as_json()["metrics"]) for report in reports}) == 1


def test_a_dict_of_columns_is_accepted_as_a_table(frame: pl.DataFrame) -> None:
    columns = {name: frame[name].to_numpy() for name in frame.columns}
    assert perdure.survey(columns).table().equals(perdure.survey(frame).table())


WRONG: dict[str, tuple[Callable[[pl.DataFrame], object], str]] = {
    "None": (lambda _: perdure.survey(cast("Any", None)), "no logs can be read from None; give a path"),
    "nothing": (lambda _: perdure.survey([]), "no logs were given; give a path"),
    "tables in a list": (lambda frame: perdure.survey(cast("Any", [frame, "life"])), "a DataFrame in it; put tables"),
    "columns of two lengths": (lambda _: perdure.score({"a": [1], "b": [1, 2]}), "no table: .*; give each column"),
    "a level in percent": (lambda _: perdure.Settings(level=95), "level is 95; give a number from 0.5 to 0.999"),
    "a protocol for a syllabus": (lambda _: perdure.lint("mine.toml"), "mine.toml: a protocol, .*lint_protocol"),
    "no workers": (lambda _: perdure.run(SMALL, "nowhere", workers=-1), "-1 workers; give 1 or more"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_argument_is_named_with_the_expected_one(frame: pl.DataFrame, what: str) -> None:
    call, message = WRONG[what]
    with pytest.raises(perdure.PerdureError, match=message):
        call(frame)


def test_a_plan_from_a_pilot_refuses_a_spread(frame: pl.DataFrame) -> None:
    with pytest.raises(perdure.PerdureError, match="give the effect with `detect`"):
        perdure.plan(1.0, pilot=frame)


def test_a_clean_check_passes_and_a_record_has_a_short_repr(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", measures=["reward"]) as journal:
        journal.log(block_num=0, exp_num=0, block_type="train", task_name="a", reward=1.0)
    clean, lifetime = perdure.check(tmp_path / "life"), perdure.read(tmp_path / "life")
    assert clean
    assert list(clean) == []
    assert clean.table().height == 0
    assert repr(lifetime).startswith("Lifetime('life', life, 1 records")
    assert "<table" in lifetime._repr_html_()
    assert len(repr(perdure.figure("lifetime", lifetime))) < 160
    assert repr(perdure.METRICS).startswith("Registry('metric', ")


FUNCTIONS = [name for name in perdure.__all__ if inspect.isfunction(getattr(perdure, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_result_type_of_a_public_function_can_be_imported_from_perdure(name: str) -> None:
    message = str(getattr(perdure, name).__annotations__["return"])
    aliases = {"Array": "numpy's", "LifetimePlan": "Plan"}
    given = [aliases.get(word, word) for word in re.findall(r"\b[A-Z]\w+", message)]
    assert {item for item in given if item in _OURS} <= set(perdure.__all__)


_OURS = {
    name
    for file in Path(perdure.__file__).parent.rglob("*.py")
    for name in re.findall(r"^class (\w+)", file.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("name", perdure.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(perdure, name) is not None
