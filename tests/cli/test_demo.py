"""`perdure demo`: real lives, whose numbers make sense, the same for any number of workers."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.cli.verbs import run_verb
from typer.testing import Result

import perdure
from perdure.log.rules import COST_COLUMNS

PAIRS = {"arcade": ("q-learning", "q-learning-per-task"), "digits": ("naive", "replay")}

pytestmark = pytest.mark.slow  # it runs the demo, which takes a minute of processor time


def called(*arguments: object) -> Result:
    return run_verb("demo", *arguments)


def records(folder: Path) -> dict[str, pl.DataFrame]:
    places = sorted(one.parent for one in folder.rglob("manifest.json"))
    return {
        str(place.relative_to(folder)): perdure.read(place).experiences.drop("timestamp", *COST_COLUMNS)
        for place in places
    }


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("demo")
    result = called("--into", folder / "demo", "--lifetimes", 3, "--json", folder / "demo.json")
    assert result.exit_code == 0, result.output
    return folder / "demo", json.loads((folder / "demo.json").read_text()), result.output


def maintained(facts: dict[str, Any], name: str, learner: str) -> list[dict[str, float]]:
    """The performance maintenance of a learner, in each kind of scenario."""
    return [one["metrics"]["performance_maintenance"] for one in facts[name] if one["learner"] == learner]


def transfers(said: str) -> list[dict[str, float]]:
    """The forward transfer of each pair, as printed for each protocol."""
    lines = [line.split("): ")[1] for line in said.splitlines() if line.startswith("forward transfer by pair")]
    return [{pair.rpartition(" ")[0]: float(pair.rpartition(" ")[2]) for pair in line.split(", ")} for line in lines]


def split(pairs: dict[str, float], word: str) -> tuple[list[float], list[float]]:
    """The values of pairs without `word` in them, and of those with it."""
    return [v for pair, v in pairs.items() if word not in pair], [v for pair, v in pairs.items() if word in pair]


def test_a_forgetful_learner_forgets_more_than_the_one_that_keeps(lived: tuple[Path, dict[str, Any], str]) -> None:
    _, facts, said = lived
    for name, (forgetful, keeping) in PAIRS.items():
        for worse, better in zip(maintained(facts, name, forgetful), maintained(facts, name, keeping), strict=True):
            assert worse["mean"] < -5
            assert worse["mean"] < better["mean"] - 10
            assert better["high"] > 0
        assert f"{keeping} forgets" not in said


def test_the_cost_is_said_first_and_experts_suffice_for_a_verdict(lived: tuple[Path, dict[str, Any], str]) -> None:
    _, facts, said = lived
    assert said.startswith("4 learners, 24 lifetimes and 60 experts (5 per task): ")
    beside = [
        one["metrics"][name]
        for groups in facts.values()
        for one in groups
        for name in ("relative_performance", "sample_efficiency")
    ]
    assert len(beside) == 16
    assert not any("few experts" in f"{one['why']} {one['flags']}" for one in beside)
    assert any(one["verdict"] != "undecided" for one in beside)


def test_transfer_follows_similarity(lived: tuple[Path, dict[str, Any], str]) -> None:
    for pairs, word in zip(transfers(lived[2]), ("inverted", "scrambled"), strict=True):
        alike, unlike = split(pairs, word)
        assert sum(alike) / len(alike) > 1.3 * sum(unlike) / len(unlike)


def test_eleven_lives_tell_who_forgets_and_what_helps(tmp_path: Path) -> None:
    result = called("--into", tmp_path / "demo", "--json", tmp_path / "demo.json")
    assert result.exit_code == 0, result.output
    facts = json.loads((tmp_path / "demo.json").read_text())
    for name, (forgetful, keeping) in PAIRS.items():
        assert all(one["high"] < 0 for one in maintained(facts, name, forgetful))
        assert all(one["high"] > 0 for one in maintained(facts, name, keeping))
        assert f"{forgetful} forgets" in result.output
    games, digits = transfers(result.output)
    alike, unlike = split(games, "inverted")
    assert min(alike) > 1 > max(unlike)
    alike, unlike = split(digits, "scrambled")
    assert min(alike) > max(unlike)
    root = Path(__file__).parents[2]
    made = runpy.run_path(str(root / "scripts" / "readme.py"))["table"](tmp_path / "demo")
    assert made in (root / "README.md").read_text(encoding="utf-8")  # else: python scripts/readme.py demo


def test_experts_learn_their_tasks(lived: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = lived
    experts = sorted(folder.glob("*/*/experts/*"))
    assert len(experts) == 2 * 2 * 3 * 5
    for place in experts:
        values = perdure.read(place).passage().values
        part = len(values) // 4
        assert values[-part:].mean() > values[:part].mean(), place


def test_each_pair_has_a_report_that_compares_it(lived: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = lived
    for name, learners in PAIRS.items():
        page = (folder / name / "report.html").read_text(encoding="utf-8")
        assert re.search(r"ends (up better|[\d.]+ points better)", page)
        assert all(learner in page for learner in learners)


def test_one_worker_lives_the_same_lives(lived: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    folder, _, _ = lived
    result = called("--into", tmp_path, "--lifetimes", 1, "--workers", 1, "--quiet")
    assert result.exit_code == 0, result.output
    whole = records(folder)
    for place, found in records(tmp_path).items():
        assert found.equals(whole[place]), place


def test_a_finished_demo_lives_nothing(lived: tuple[Path, dict[str, Any], str]) -> None:
    folder, _, _ = lived
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("data-log.tsv")}
    result = called("--into", folder, "--lifetimes", 3)
    assert result.exit_code == 0
    assert "0 of 21 to run" in result.output
    assert before == {file: file.stat().st_mtime_ns for file in folder.rglob("data-log.tsv")}


def test_a_demo_as_json_is_json_alone(lived: tuple[Path, dict[str, Any], str]) -> None:
    folder, facts, _ = lived
    assert json.loads(called("--into", folder, "--lifetimes", 3, "--json", "-").stdout) == facts
