"""Files next to the records: manifest, logger_info and scenario_info are trusted only as their writer left them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.verbs import outcome, scored
from tests.metrics.written import LIFE, written

import perdure
from perdure.scenario.model import Scenario, Task

NO_LEDGER = "not verified: there is no blocks.jsonl to compare the records with"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three different lifetimes whose manifests give the bounds of each task."""
    folder = tmp_path_factory.mktemp("pristine") / "logs"
    scenario = Scenario("two", (Task("a", "1", bounds=(0.0, 5.0)), Task("b", "1", bounds=(0.0, 7.0))), ())
    for seed in range(3):
        blocks = [(mode, task, [value + 0.1 * seed for value in values]) for mode, task, values in LIFE]
        info = {"scenario_type": "condensed", "complexity": 3}
        written(folder, f"l{seed}", blocks, learner="q", seed=seed, scenario=scenario, info=info)
    return folder


@pytest.fixture
def logs(pristine: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pristine, tmp_path / "logs"))


Change = Callable[[dict[str, Any]], object]


def alter(file: Path, change: Change) -> None:
    """Change the JSON object in a file."""
    facts = json.loads(file.read_text())
    change(facts)
    file.write_text(json.dumps(facts, indent=2) + "\n")


def rename_key(old: str, new: str) -> Change:
    return lambda facts: facts.update({new: facts.pop(old)})


def change_bounds(manifest: dict[str, Any]) -> None:
    manifest["scenario"]["tasks"][0]["bounds"] = [0.0, 50.0]


ALTERED: dict[str, tuple[str, Change]] = {
    "another direction": ("manifest.json", lambda facts: facts["measures"].update(reward="lower")),
    "another bound": ("manifest.json", change_bounds),
    "another learner": ("manifest.json", lambda facts: facts.update(learner="p")),
    "another seed": ("manifest.json", lambda facts: facts.update(seed=7)),
    "another role": ("manifest.json", lambda facts: facts.update(role="expert")),
    "a misspelt key": ("manifest.json", rename_key("learner", "lerner")),
    "an unknown key": ("manifest.json", lambda facts: facts.update(remark="mine")),
    "another scenario type": ("scenario_info.json", lambda facts: facts.update(scenario_type="dispersed")),
    "a missing key": ("scenario_info.json", lambda facts: facts.pop("complexity")),
    "another version": ("logger_info.json", lambda facts: facts.update(log_format_version="1.0")),
    "a further key": ("logger_info.json", lambda facts: facts.update(author="me")),
}


def assert_refused(logs: Path, name: str) -> None:
    """Assert that `score` leaves out the second of three logs, that `check` fails, and that both name the file."""
    status, facts = scored(logs)
    assert [lifetime["id"] for lifetime in facts["lifetimes"]] == ["logs/l0", "logs/l2"]
    assert status == 1
    (left_out,) = facts["left_out"]
    assert left_out["path"] == str(logs / "l1")
    assert name in left_out["why"]
    check = outcome("check", logs / "l1")
    assert check.status == 1, check.said
    assert f"{name}  error: " in check.said


@pytest.mark.parametrize("what", ALTERED)
def test_a_journal_with_an_altered_file_is_refused_and_the_file_is_named(logs: Path, what: str) -> None:
    name, change = ALTERED[what]
    alter(logs / "l1" / name, change)
    assert_refused(logs, name)


@pytest.mark.parametrize(
    "name",
    [
        "logger_info.json",
        "manifest.json",
        "scenario_info.json",
    ],
)
def test_a_journal_with_a_missing_file_is_refused_and_the_file_is_named(logs: Path, name: str) -> None:
    (logs / "l1" / name).unlink()
    assert_refused(logs, name)


def test_an_altered_manifest_can_be_accepted_explicitly_with_a_note(logs: Path) -> None:
    alter(logs / "l1" / "manifest.json", lambda facts: facts.update(learner="p"))
    assert outcome("score", logs / "l1").status == 2
    status, facts = scored(logs / "l1", "--unverified")
    assert (status, facts["lifetimes"][0]["learner"]) == (0, "p")
    assert any(note.startswith("unverified: manifest.json") for note in facts["lifetimes"][0]["notes"])


def test_unaltered_files_are_accepted_without_a_note(logs: Path) -> None:
    status, facts = scored(logs)
    assert (status, len(facts["lifetimes"]), facts["left_out"]) == (0, 3, [])
    assert not any("verified" in note for lifetime in facts["lifetimes"] for note in lifetime["notes"])
    assert outcome("check", logs / "l0") == (0, "18 records, no errors, no warnings\n")


def test_files_of_several_workers_of_one_lifetime_are_accepted(tmp_path: Path) -> None:
    for worker in range(2):
        with perdure.Journal(tmp_path, "log", join=worker > 0) as journal:
            for number in range(4):
                journal.log(
                    block_num=number // 2,
                    exp_num=2 * number + worker,
                    block_type="train" if number < 2 else "test",
                    task_name="a",
                    worker_id=f"worker-{worker}",
                    reward=number,
                )
    assert outcome("check", tmp_path / "log") == (0, "8 records, no errors, no warnings\n")
    assert scored(tmp_path / "log")[0] == 0


# --- logs that have no ledger --------------------------------------------------------------------


@pytest.mark.parametrize("form", ["l2logger", "learnkit"])
def test_unknown_keys_are_refused_in_a_manifest_without_a_ledger(logs: Path, form: str) -> None:
    log = logs / "l1" if form == "l2logger" else perdure.write_learnkit(perdure.read(logs / "l1"), logs, "tree")
    (logs / "l1" / "blocks.jsonl").unlink()
    alter(log / "manifest.json", rename_key("learner", "lerner"))
    for verb, status in (("score", 2), ("check", 1)):
        done = outcome(verb, log)
        assert done.status == status, done.said
        assert "manifest.json" in done.said
        assert "'lerner'" in done.said
        assert "'learner'" in done.said  # the nearest key


@pytest.fixture
def foreign(logs: Path) -> Path:
    """Write a log as another tool leaves it: without ledger and manifest, and with keys of its own."""
    for name in ("blocks.jsonl", "manifest.json"):
        (logs / "l1" / name).unlink()
    for name in ("scenario_info.json", "logger_info.json"):
        alter(logs / "l1" / name, lambda facts: facts.update(author="me", input_version="2"))
    return logs / "l1"


def test_a_log_of_another_writer_is_read_with_a_note_despite_unknown_keys(foreign: Path) -> None:
    status, facts = scored(foreign)
    (lifetime,) = facts["lifetimes"]
    assert (status, lifetime["scenario_type"]) == (0, "condensed")
    assert NO_LEDGER in lifetime["notes"]


def test_check_and_score_report_a_missing_ledger_the_same_way(foreign: Path) -> None:
    check = outcome("check", foreign)
    assert check.status == 0
    assert NO_LEDGER in check.said
