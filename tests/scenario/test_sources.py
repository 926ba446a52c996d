"""Sources of a syllabus: a file, a log's scenario_info.json, or standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import ScenarioError
from perdure.scenario.document import read_source
from perdure.scenario.lint import lint
from perdure.scenario.syllabus import parse_syllabus, read_syllabus

REGIMES = {
    "logging_base_dir": "logs",
    "scenario": [
        {"type": "test", "regimes": [{"task": "A", "count": 5}]},
        {
            "type": "train",
            "regimes": [{"task": "A", "params": {"size": 5}, "count": 100}, {"task": "B_wide", "count": 50}],
        },
        {"type": "test", "regimes": [{"task": "A", "params": {"size": 5}, "count": 10}]},
        {"type": "train", "regimes": [{"task": "B_wide", "count": 25}]},
    ],
}
SYLLABUS = {"instructions": [{"$phase": "1.train"}, {"$repeat": {"$episode": "Pong"}, "count": 20}]}


def rows(text: str) -> list[tuple[str, str, int | None]]:
    syllabus, _ = parse_syllabus(text)
    blocks = zip(syllabus.phases, syllabus.scenario.blocks, strict=True)
    return [(phase, block.task, block.length) for phase, block in blocks]


@pytest.mark.parametrize("value", [{"author": "me", "input_file": REGIMES}, REGIMES])
def test_l2loggers_blocks_and_regimes_are_read_as_phases_and_blocks(value: dict[str, Any]) -> None:
    assert rows(json.dumps(value)) == [
        ("0.test", "a_v1", 5),
        ("1.train", "a_v2", 100),
        ("1.train", "b_wide", 50),
        ("1.test", "a_v2", 10),
        ("2.train", "b_wide", 25),
    ]


def test_a_syllabus_inside_scenario_info_is_read() -> None:
    report = lint(json.dumps({"author": "me", "input_file": SYLLABUS}))
    assert report.ok
    assert report.syllabus.scenario.info["author"] == "me"
    assert report.as_json()["experiences"] == 20


def test_problems_of_l2loggers_regimes_name_their_place() -> None:
    value = {
        "input_file": {
            "scenario": [{"type": "train", "regimes": [{"task": "A", "count": 50}, {"task": "B", "count": 0}]}]
        }
    }
    problem = lint(json.dumps(value, indent=1)).problems[0]
    assert (problem.level, problem.where) == ("error", "input_file.scenario[0].regimes[1]")


@pytest.mark.parametrize(
    "scenario",
    [
        [3],
        [{"type": "nap", "regimes": [{"task": "A", "count": 1}]}],
        [{"type": "train"}],
        [{"type": "train", "regimes": [3]}],
    ],
)
def test_odd_regimes_are_errors(scenario: list[Any]) -> None:
    assert not lint(json.dumps({"scenario": scenario})).ok


def test_an_input_file_named_by_its_path_is_followed(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(SYLLABUS))
    (tmp_path / "scenario_info.json").write_text(json.dumps({"input_file": "mine.json"}))
    assert read_syllabus(tmp_path / "scenario_info.json").scenario.learning_experiences == 20
    assert read_syllabus(tmp_path).scenario.name == tmp_path.name
    assert read_syllabus(tmp_path).scenario.learning_experiences == 20


def test_a_missing_input_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "scenario_info.json").write_text(json.dumps({"input_file": "gone.json"}))
    with pytest.raises(ScenarioError, match=r"names 'gone\.json', and there is no such file"):
        read_source(tmp_path)


def test_a_folder_without_scenario_info_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"a folder without scenario_info\.json"):
        read_source(tmp_path)


def test_a_syllabus_without_a_name_takes_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text(json.dumps(SYLLABUS))
    assert read_syllabus(tmp_path / "mine.json").scenario.name == "mine"


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(json.dumps(SYLLABUS).encode())

    monkeypatch.setattr("sys.stdin", Stdin())
    assert json.loads(read_source("-")[0]) == SYLLABUS


def test_a_closed_standard_input_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(ScenarioError, match="standard input is closed; give the path of a syllabus, or pipe one in"):
        read_source("-")
