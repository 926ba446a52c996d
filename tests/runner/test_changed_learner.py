"""Learners whose code changed: no lifetime continues unnoticed, and lifetimes of both versions are not pooled."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest
from tests.cli.verbs import run_verb
from tests.command import run_process

import perdure
from perdure.errors import PerdureError
from perdure.log.rules import COST_COLUMNS
from perdure.runner.engines import Event

RunCli = Callable[..., subprocess.CompletedProcess[str]]
Evaluation = Any

LEARNER = '''
"""Acts as its ACTION says, and dies in its third block unless it is spared."""
import os
import signal
from pathlib import Path

ACTION = 0


class Mine:
    def __init__(self, seed=0, spared="", gently=False):
        self.count, self.spared, self.gently = 0, spared, gently

    def act(self, observation):
        return ACTION

    def learn(self, transition):
        self.count += 1

    def block_started(self, situation):
        if situation.block == 2 and not Path(self.spared).exists():
            if self.gently:
                raise RuntimeError("not spared")
            os.kill(os.getpid(), signal.SIGKILL)

    def save(self, folder):
        (folder / "count.txt").write_text(str(self.count))

    def restore(self, folder):
        self.count = int((folder / "count.txt").read_text())
'''
PROTOCOL = """
name = "small"
seed = 5
lifetimes = 2
experts = 0

[learner]
use = "{use}"
params = {{ spared = "{spared}", gently = {gently} }}

[[scenarios]]
layout = "condensed"
tasks = ["pong:wide", "pong:narrow"]
learn = 4
evaluate = 2

[tasks.pong]
params = {{ points = 1, steps = 30 }}
variants = {{ wide = {{ "bot/paddle/width" = 0.4 }}, narrow = {{ "bot/paddle/width" = 0.2 }} }}
{more}
"""
PRE_DEPLOYMENT = '[pre_deployment]\nlayout = "single"\ntasks = ["pong:wide"]\nlearn = 3\nevaluate = 0'
SPARED = "/"  # a folder that exists


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(LEARNER)
    return file


def write_protocol(
    folder: Path, *, use: str = "mine:Mine", spared: str = SPARED, gently: bool = False, more: str = ""
) -> Path:
    file = folder / "protocol.toml"
    file.write_text(PROTOCOL.format(use=use, spared=spared, gently=str(gently).lower(), more=more))
    return file


def change(file: Path, before: str = "ACTION = 0", after: str = "ACTION = 1") -> None:
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after))


def run(file: Path, into: Path, **how: Any) -> Evaluation:
    """Run a protocol in a worker process, which imports the learner again."""
    return perdure.run(file, into, workers=1, **{"score": False, **how})


def rows(lifetime: Path) -> pl.DataFrame:
    return perdure.read(lifetime).experiences.drop("timestamp", *COST_COLUMNS)


def digests(folder: Path) -> dict[str, str]:
    """Return the digest in each manifest of a run folder."""
    result = {file.parent.name: json.loads(file.read_text()) for file in sorted(folder.glob("*/*/manifest.json"))}
    return {name: manifest["protocol"]["learner_digest"] for name, manifest in result.items()}


def stopped_run(folder: Path, more: str = "") -> Path:
    """Return the protocol of a run whose lifetimes all ended with an error in their third block."""
    file = write_protocol(folder, spared=str(folder / "spared"), gently=True, more=more)
    assert len(run(file, folder / "run").failed) >= 2
    (folder / "spared").touch()
    return file


@pytest.mark.parametrize("workers", [0, 2])
def test_a_lifetime_killed_before_its_learner_changed_starts_again_with_a_note(
    tmp_path: Path, mine: Path, run_cli: RunCli, workers: int
) -> None:
    file = write_protocol(tmp_path, spared=str(tmp_path / "spared"))
    command = ("run", file, "--into", tmp_path / "run", "--workers", workers)
    assert run_process(*command).returncode == (1 if workers else -9)
    (tmp_path / "spared").touch()
    change(mine)
    again = run_cli(*command, "--json", "out.json")
    assert again.returncode == 0, again.stderr
    begun = "life-000 started again from its seed: its learner changed after 2 blocks (from mine@"
    assert begun in again.stderr
    assert f"note {begun}" in again.stdout
    notes = json.loads((tmp_path / "out.json").read_text())["notes"]
    assert all("--accept-changed-learner continues instead" in note for note in notes)
    assert len(notes) == (2 if workers else 1)  # in process, only the first lifetime was started
    run(file, tmp_path / "whole")
    for lifetime in ("life-000", "life-001"):
        assert rows(tmp_path / "run" / "lives" / lifetime).equals(rows(tmp_path / "whole" / "lives" / lifetime))
    assert digests(tmp_path / "run") == digests(tmp_path / "whole")


def test_a_changed_learner_continues_on_request_and_the_manifest_records_it(
    tmp_path: Path, mine: Path, run_cli: RunCli
) -> None:
    file = stopped_run(tmp_path)
    before = digests(tmp_path / "run")["life-000"]
    change(mine)
    done = run_cli("run", file, "--into", tmp_path / "run", "--workers", 1, "--accept-changed-learner")
    assert done.returncode == 0, done.stderr
    run(file, tmp_path / "whole")
    after = digests(tmp_path / "whole")["life-000"]
    assert f"life-000 continued although its learner changed after 2 blocks (from {before} to {after})" in done.stderr
    assert digests(tmp_path / "run") == dict.fromkeys(("life-000", "life-001"), f"{before} then {after}")
    actions = rows(tmp_path / "run" / "lives" / "life-000")
    assert actions.height == rows(tmp_path / "whole" / "lives" / "life-000").height
    assert not perdure.check(tmp_path / "run" / "lives" / "life-000").problems


def test_an_accepted_change_needs_no_second_request(tmp_path: Path, mine: Path) -> None:
    file = stopped_run(tmp_path)
    change(mine, "situation.block == 2", "situation.block == 4")
    (tmp_path / "spared").unlink()
    later = run(file, tmp_path / "run", accept_changed_learner=True)
    assert len(later.failed) == 2
    (tmp_path / "spared").touch()
    result = run(file, tmp_path / "run")
    assert (result.failed, result.runs[0].notes) == ({}, ())
    assert all(" then " in digest for digest in digests(tmp_path / "run").values())


def test_unchanged_code_continues_without_a_note(tmp_path: Path, mine: Path) -> None:
    file = stopped_run(tmp_path)
    mine.write_text(LEARNER)  # newer, with the same code
    begun: list[Event] = []
    result = run(file, tmp_path / "run", tell=begun.append)
    assert (result.failed, result.runs[0].notes) == ({}, ())
    assert not [event for event in begun if event.kind == "note"]
    run(file, tmp_path / "whole")
    assert rows(tmp_path / "run" / "lives" / "life-000").equals(rows(tmp_path / "whole" / "lives" / "life-000"))


@pytest.fixture(scope="module")
def changed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run folder with two lifetimes of each of two versions of a learner, with experts and twins of both."""
    folder = tmp_path_factory.mktemp("changed")
    (folder / "mine.py").write_text(LEARNER)
    file = write_protocol(folder)
    file.write_text(file.read_text().replace("experts = 0", "experts = 1\ntwin = true"))
    assert not run(file, folder / "run").failed
    change(folder / "mine.py")
    file.write_text(file.read_text().replace("lifetimes = 2", "lifetimes = 4"))
    result = run(file, folder / "run")
    assert result.lived == ("life-002", "life-003", "life-002-twin", "life-003-twin")
    return folder


def test_finished_lifetimes_of_changed_code_are_separate_groups(changed_run: Path, tmp_path: Path) -> None:
    logs = changed_run / "run"
    output = run_verb("score", logs, "--json", tmp_path / "score.json").output
    assert "the code of Mine changed between lifetimes, so they are not pooled" in " ".join(output.split())
    run_verb("score", logs, "--out", tmp_path / "tables")
    for source in (logs, tmp_path / "score.json", tmp_path / "tables" / "lifetimes.tsv"):
        groups = perdure.groups(perdure.survey(source))
        assert [group.n for group in groups] == [2, 2]
        assert all(any("changed between lifetimes" in note for note in group.notes) for group in groups)
        assert len({group.group for group in groups}) == 2
        pooled = perdure.groups(perdure.survey(source), pool=True)
        assert [group.n for group in pooled] == [2, 2]
    with pytest.raises(PerdureError, match="results of different learner code are never pooled"):
        perdure.groups(perdure.survey(logs), "(life)")
    run_verb("report", logs, "--to", tmp_path / "report.md")
    assert "changed between lifetimes" in (tmp_path / "report.md").read_text()


def test_experts_and_twins_of_other_code_are_named(changed_run: Path) -> None:
    hashes = digests(changed_run / "run")
    assert hashes["life-000"] == hashes["life-000-twin"] == hashes["pong_wide-00"] != hashes["life-002"]
    assert hashes["life-002"] == hashes["life-003-twin"]
    message = "its experts or its twin were run by another version of its learner's code"
    expected = f"{message} ({hashes['life-000']}; the lifetime by {hashes['life-002']})"
    scores = perdure.survey(changed_run / "run").scores
    assert {score.id.rpartition("/")[2]: [note for note in score.notes if message in note] for score in scores} == {
        "life-000": [],
        "life-001": [],
        "life-002": [expected],
        "life-003": [expected],
    }
    assert "another version" in " ".join(run_verb("score", changed_run / "run").output.split())


def test_the_digest_covers_the_whole_package_of_a_learner_and_nothing_else(tmp_path: Path) -> None:
    package = tmp_path / "agents"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "deep" / "core.py").write_text(LEARNER)
    (package / "net.py").write_text("LAYERS = 1\n")
    file = write_protocol(tmp_path, use="agents.deep.core:Mine")

    def digest() -> str:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        assert not run(file, tmp_path / "run", only="life-000").failed
        return digests(tmp_path / "run")["life-000"]

    first = digest()
    (package / "notes.txt").write_text("no code")
    (tmp_path / "beside.py").write_text("")
    assert digest() == first
    change(package / "net.py", "1", "2")
    assert digest() != first
    assert first.startswith("agents@")


class Typed:
    __module__ = "typed_here"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def act(self, observation: object) -> int:
        return 0


def test_installed_code_has_its_version_as_digest_and_code_without_a_file_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("typed_here")  # without a file, like code typed into a notebook
    vars(module)["Typed"] = Typed
    monkeypatch.setitem(sys.modules, "typed_here", module)
    for use, expected in {
        "typed_here:Typed": "unknown",
        "q-learning": f"perdure=={perdure.__version__}",
        "perdure.learners.q_learning:QLearning": f"perdure=={perdure.__version__}",
    }.items():
        file = write_protocol(tmp_path, use=use)
        file.write_text(file.read_text().replace("params = { sp", "#"))
        into = tmp_path / use.partition(":")[0]
        result = perdure.run(file, into, workers=0)
        assert digests(into) == dict.fromkeys(("life-000", "life-001"), expected)
        assert [group.n for group in result.groups] == [2]


def test_pre_deployment_by_changed_code_continues_only_on_request(tmp_path: Path, mine: Path) -> None:
    file = write_protocol(tmp_path, more=PRE_DEPLOYMENT)
    assert not run(file, tmp_path / "run", only="life-000").failed
    change(mine)
    refused = run(file, tmp_path / "run")
    assert "pre-deployment was run by a learner that changed since" in refused.failed["life-001"]
    assert "--accept-changed-learner" in refused.failed["life-001"]
    result = run(file, tmp_path / "run", accept_changed_learner=True)
    assert result.failed == {}
    (note,) = result.runs[0].notes
    assert note.startswith("life-001 was run although pre-deployment was run by a learner that changed since")
    hashes = digests(tmp_path / "run")
    assert hashes["life-001"].startswith(f"{hashes['life-000']} then mine@")


def test_a_shard_starts_its_own_lifetimes_again(tmp_path: Path, mine: Path) -> None:
    file = stopped_run(tmp_path)
    change(mine)
    result = run(file, tmp_path / "run", shard="2/2")
    assert result.lived == ("life-001",)
    assert [note[:8] for note in result.runs[0].notes] == ["life-001"]
    assert run(file, tmp_path / "run", shard="1/2", accept_changed_learner=True).lived == ("life-000",)
    hashes = digests(tmp_path / "run")
    assert (" then " in hashes["life-000"], " then " in hashes["life-001"]) == (True, False)


BATCHED = """
from perdure.batched.learners.cores import q


def make(setting, *, rate=0.1):
    return q(setting, rate=rate)
"""


@pytest.fixture
def batched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Evaluation]:
    """Return a function that runs a protocol as one program, each time as if in a new process."""
    pytest.importorskip("jax")
    (tmp_path / "many.py").write_text(BATCHED)
    content: Mapping[str, Any] = {
        "name": "many",
        "seed": 1,
        "lifetimes": 2,
        "experts": 0,
        "learner": {"use": "many:make"},
        "limits": {"lives_at_once": 8},
        "scenarios": [{"layout": "condensed", "tasks": ["pong"], "learn": 4, "evaluate": 2}],
        "tasks": {"pong": {"params": {"points": 1, "steps": 20}}},
    }

    def run_batched(into: str, **how: Any) -> Evaluation:
        monkeypatch.delitem(sys.modules, "many", raising=False)
        how = {"score": False, **how}
        return perdure.run(content, tmp_path / into, engine="batched", paths=tmp_path, **how)

    return run_batched


def batched_rows(folder: Path) -> list[pl.DataFrame]:
    survey = perdure.survey(folder)
    assert survey.lifetimes
    return [
        pl.read_parquet(file).drop("timestamp", *COST_COLUMNS, strict=False)
        for file in sorted(folder.glob("lives/*.parquet"))
    ]


def stop_after(blocks: int) -> Callable[[Event], None]:
    """Return a callback that raises KeyboardInterrupt after this number of blocks."""
    seen: list[int] = []

    def tell(event: Event) -> None:
        if event.kind == "progress" and event.id == "life-000":
            seen.append(event.done)
            if len(seen) == blocks:
                raise KeyboardInterrupt

    return tell


def test_batched_lifetimes_of_changed_code_start_again_or_continue_on_request(
    tmp_path: Path, batched: Callable[..., Evaluation]
) -> None:
    with pytest.raises(KeyboardInterrupt):
        batched("again", tell=stop_after(2))
    shutil.copytree(tmp_path / "again", tmp_path / "accepted")
    change(tmp_path / "many.py", "rate=rate", "rate=rate * 3")
    events: list[Event] = []
    again, accepted = batched("again", tell=events.append), batched("accepted", accept_changed_learner=True)
    assert again.lived == accepted.lived == ("life-000", "life-001")
    (remark,) = again.runs[0].notes
    assert remark.startswith("life-000 to life-001 started again from their seeds: the learner changed after ")
    assert [event.notes for event in events if event.kind == "note"] == [(remark,)]
    assert "continued although the learner changed" in accepted.runs[0].notes[0]
    batched("whole")
    assert batched_rows(tmp_path / "again")[0].equals(batched_rows(tmp_path / "whole")[0])
    (one,) = {score.protocol["learner_digest"] for score in perdure.survey(tmp_path / "whole")}
    (other,) = {score.protocol["learner_digest"] for score in perdure.survey(tmp_path / "accepted")}
    assert other.endswith(f" then {one}")
