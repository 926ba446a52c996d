"""`perdure run`: the plan is shown, lives are lived and scored, and the exit status says what came of it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.verbs import run_verb
from typer.testing import Result

from perdure.cli import progress as progress_module
from perdure.cli.run import EXAMPLE
from perdure.errors import ProtocolError
from perdure.metrics.settings import settings_for
from perdure.runner.engines import Event
from perdure.runner.plan import RunPlan
from perdure.runner.protocol import read_protocol, read_protocols

PROTOCOL = """
name = "small"
seed = 5
lifetimes = 2
experts = 1

[learner]
use = "{use}"

[[scenarios]]
layout = "condensed"
tasks = ["pong:wide", "pong:narrow"]
learn = {learn}
evaluate = 4

[tasks.pong]
params = {{ points = 1, steps = 30 }}
variants = {{ wide = {{ "bot/paddle/width" = 0.4 }}, narrow = {{ "bot/paddle/width" = 0.2 }} }}
"""


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    file = tmp_path / "protocol.toml"
    file.write_text(PROTOCOL.format(use="q-learning", learn=8))
    return file


def called(*arguments: object) -> Result:
    return run_verb("run", *arguments, columns=80)


def test_a_dry_run_shows_the_plan_and_lives_nothing(protocol: Path, tmp_path: Path) -> None:
    result = called(protocol, "--into", tmp_path / "run", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "q-learning, 2 lifetimes and 2 experts (1 per task): 96 experiences, 16 of them by experts" in result.output
    assert "condensed: 2 lifetimes of 8 blocks, 40 experiences" in result.output
    assert "4 of 4 to run, 96 experiences, with " in result.output
    assert "condensed cannot measure performance_recovery" in " ".join(result.output.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("experts", "said"),
    [(0, "will have no value"), (2, "too few for a verdict"), (4, "flagged 'few experts'"), (5, None)],
)
def test_a_dry_run_says_when_experts_are_too_few(
    protocol: Path, tmp_path: Path, experts: int, said: str | None
) -> None:
    protocol.write_text(protocol.read_text().replace("experts = 1", f"experts = {experts}"))
    shown = called(protocol, "--into", tmp_path / "run", "--dry-run").output
    assert (said or "5 per task") in shown
    facts = json.loads(called(protocol, "--into", tmp_path / "run", "--dry-run", "--json", "-").output)
    assert facts["experts_per_task"] == experts
    assert (facts["few_experts"] is None) == (said is None)
    papers = protocol.read_text() + '\n[score]\npreset = "baker-2023"\n'
    protocol.write_text(papers)
    assert "verdict" not in called(protocol, "--into", tmp_path / "run", "--dry-run").output


def test_a_folder_keeps_the_number_of_experts_that_it_was_planned_with(protocol: Path, tmp_path: Path) -> None:
    unnamed = protocol.read_text().replace("experts = 1\n", "")
    protocol.write_text(unnamed)
    kept = tmp_path / "run" / "protocol.json"
    assert called(protocol, "--into", tmp_path / "run", "--workers", 0, "--only", "life-000").exit_code == 0
    document = json.loads(kept.read_text())
    assert document.pop("experts") == 5
    # As version 0.1 wrote it, which planned one expert where none was named.
    kept.write_text(json.dumps(document))
    assert "2 experts (1 per task)" in called(protocol, "--into", tmp_path / "run", "--dry-run").output
    kept.write_text(json.dumps({**document, "experts": 3}))
    assert "6 experts (3 per task)" in called(protocol, "--into", tmp_path / "run", "--dry-run").output
    protocol.write_text("experts = 4\n" + unnamed)
    assert "8 experts (4 per task)" in called(protocol, "--into", tmp_path / "run", "--dry-run").output


def test_a_dry_run_refuses_what_the_run_would_refuse_before_it_shows_a_plan(protocol: Path, tmp_path: Path) -> None:
    assert called(protocol, "--into", tmp_path / "run", "--workers", 0, "--only", "life-000").exit_code == 0
    protocol.write_text(PROTOCOL.format(use="q-learning-per-task", learn=8))
    other = called(protocol, "--into", tmp_path / "run", "--dry-run")
    assert isinstance(other.exception, ProtocolError)
    assert "holds the lifetimes of another protocol" in str(other.exception)
    assert other.stdout == ""
    protocol.write_text(PROTOCOL.format(use="q-learner", learn=8).replace("bot/paddle", "bot/padle"))
    wrong = called(protocol, "--into", tmp_path / "new", "--dry-run")
    assert isinstance(wrong.exception, ProtocolError)
    assert "did you mean 'q-learning'?" in str(wrong.exception)
    assert "did you mean 'bot/paddle/width'?" in str(wrong.exception)
    assert wrong.stdout == ""
    assert not (tmp_path / "new").exists()


def test_episodes_that_were_all_cut_are_noted_once_per_task(protocol: Path, tmp_path: Path) -> None:
    protocol.write_text(PROTOCOL.format(use="q-learning", learn=8) + "\n[limits]\nsteps_per_episode = 2\n")
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0, "--only", "life-*")
    said = " ".join(result.output.split())
    for task in ("pong_wide", "pong_narrow"):
        assert said.count(f"note the task '{task}' never ended an episode") == 1


def test_the_plan_as_json_holds_every_seed(protocol: Path, tmp_path: Path) -> None:
    result = called(protocol, "--into", tmp_path / "run", "--dry-run", "--json", "-")
    facts = json.loads(result.output)
    assert facts["lives"] == 2
    assert facts["missing"] == ["life-000", "life-001", *[one for one in facts["seeds"] if one.startswith("pong")]]
    assert len({tuple(one.values()) for one in facts["seeds"].values()}) == 4


def test_a_run_is_lived_scored_and_reported_and_then_there_is_nothing_to_do(protocol: Path, tmp_path: Path) -> None:
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0)
    assert result.exit_code == 0, result.output
    assert "performance maintenance" in result.output
    assert (tmp_path / "run" / "report.html").stat().st_size > 10_000
    again = called(protocol, "--into", tmp_path / "run", "--workers", 0)
    assert again.exit_code == 0
    assert "everything is already finished; nothing was run" in " ".join(again.output.split())
    assert "0 of 4 to run" in again.output


def test_only_chosen_lives_are_lived(protocol: Path, tmp_path: Path) -> None:
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0, "--only", "life-001")
    assert result.exit_code == 0, result.output
    assert [one.name for one in (tmp_path / "run" / "lives").iterdir()] == ["life-001"]


def test_the_result_as_json_has_the_scores(protocol: Path, tmp_path: Path) -> None:
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0, "--json", tmp_path / "out.json", "--quiet")
    assert result.exit_code == 0
    facts: dict[str, Any] = json.loads((tmp_path / "out.json").read_text())
    assert facts["failed"] == {}
    assert len(facts["lived"]) == 4
    assert len(facts["score"]["lifetimes"]) == 2
    assert facts["score"]["groups"][0]["n"] == 2


def test_a_failure_is_shown_with_its_traceback_and_the_status_is_one(protocol: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n"
        "    def __init__(self, seed): pass\n"
        "    def act(self, observation): raise RuntimeError('no idea')\n"
    )
    protocol.write_text(PROTOCOL.format(use="mine:Mine", learn=8))
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0)
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    assert "failed life-000: RuntimeError: no idea (mine.py:3)" in said
    assert "traceback.txt" in said


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(protocol: Path, tmp_path: Path) -> None:
    protocol.write_text(PROTOCOL.format(use="q-learning", learn=3000))
    process = subprocess.Popen(
        [sys.executable, "-m", "perdure", "run", str(protocol), "--into", str(tmp_path / "run"), "--workers", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not list((tmp_path / "run").glob("lives/*/*/*/data-log.tsv")):
        assert time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, complained = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "run the same command again to continue" in complained
    assert "Traceback" not in complained


def test_the_example_is_a_call_that_the_verb_takes(protocol: Path, tmp_path: Path) -> None:
    words = EXAMPLE.split()
    assert words[:3] == ["perdure", "run", "protocol.toml"]
    result = called(protocol, *words[3:4], tmp_path / "mine", *words[5:], "--dry-run")
    assert result.exit_code == 0, result.output


def test_the_closing_score_is_the_protocols_own(protocol: Path, tmp_path: Path) -> None:
    plain = protocol.read_text()
    protocol.write_text(plain + '\n[score]\nscale = "none"\nlevel = 0.9\n')
    facts = json.loads(called(protocol, "--into", tmp_path / "run", "--workers", 0, "--json", "-").stdout)
    assert facts["score"]["settings"]["scale"] == "none"
    assert facts["score"]["settings_from"]["level"] == "protocol"
    protocol.write_text(plain)  # the folder is still this protocol's
    again = json.loads(called(protocol, "--into", tmp_path / "run", "--workers", 0, "--json", "-").stdout)
    assert again["lived"] == []
    assert again["score"]["settings"]["scale"] == "task"


def test_a_way_to_score_that_the_preset_refuses_is_said_before_anything_is_lived(
    protocol: Path, tmp_path: Path
) -> None:
    protocol.write_text(protocol.read_text() + '\n[score]\npreset = "new-2022"\nclamp = false\n')
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0)
    assert "[score]: --clamp: preset 'new-2022' does not take it" in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_a_run_is_written_as_the_2019_tools_read_it(protocol: Path, tmp_path: Path) -> None:
    with protocol.open("a") as file:
        file.write('\n[score]\npreset = "framework-2019"\n')
    result = called(protocol, "--into", tmp_path / "run", "--workers", 0, "--l2data", tmp_path / "data")
    assert result.exit_code == 0, result.output
    trees = [one.name for one in (tmp_path / "data" / "logs").iterdir()]
    assert len(trees) == 2
    assert all(re.fullmatch(r"condensed-\d{13}", one) for one in trees)  # <syllabus>-<timestamp>
    assert set(json.loads((tmp_path / "data" / "taskinfo" / "info.json").read_text())) == {"pong_wide", "pong_narrow"}
    # Its experts lie beside the lives, and are no second way to score them.
    assert settings_for([tmp_path / "run"]).preset == "framework-2019"


def test_progress_in_a_file_has_totals_and_the_time_left(
    protocol: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = RunPlan(read_protocol(protocol)).lives
    clock = iter(range(0, 1000, 10))  # ten seconds between any two events
    monkeypatch.setattr(progress_module, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    with progress_module.progress_of(jobs, 1, quiet=False) as tell:
        tell(Event("progress", jobs[0].id, done=0))
        tell(Event("progress", jobs[0].id, done=jobs[0].experiences // 2))
        for job in jobs:
            tell(Event("done", job.id))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "0 of 2 finished, 25 %, about 30 s left"
    assert said[-1].startswith("2 of 2 finished, ")


SEVERAL = """
[[learners]]
use = "q-learning"

[[learners]]
use = "q-learning"
name = "{second}"
"""


def of_several(protocol: Path, second: str) -> Path:
    text = protocol.read_text().replace('[learner]\nuse = "q-learning"\n', SEVERAL.format(second=second))
    protocol.write_text(text)
    return protocol


def test_several_learners_each_have_a_folder_and_are_shown_beside_each_other(protocol: Path, tmp_path: Path) -> None:
    file = of_several(protocol, "again")
    into = tmp_path / "run"
    facts = json.loads(called(file, "--into", into, "--workers", 0, "--json", "-", "--quiet").output)
    assert list(facts["learners"]) == ["q-learning", "again"]
    assert {group["learner"] for group in facts["score"]} == {"q-learning", "again"}
    assert (into / "report.html").exists()
    assert (into / "again" / "lives" / "life-001").is_dir()
    shown = called(file, "--into", into, "--workers", 0)
    assert shown.exit_code == 0, shown.output
    assert "small, condensed" in shown.output
    assert "Means over 2 lifetimes, with 95 % intervals (✓ met, ✗ not met, ? undecided)" in " ".join(
        shown.output.split()
    )
    assert f"perdure compare {into}" in " ".join(shown.output.split())


def test_two_learners_of_one_name_or_one_learner_beside_several_are_refused(protocol: Path, tmp_path: Path) -> None:
    file = of_several(protocol, "q-learning")
    with pytest.raises(ProtocolError, match="two learners are called 'q-learning'; give one of them another name"):
        read_protocols(file)
    with pytest.raises(ProtocolError, match=r"several learners, and one protocol has one; perdure run takes each"):
        read_protocol(file)
    file.write_text(file.read_text() + '\n[learner]\nuse = "naive"\n')
    with pytest.raises(ProtocolError, match=r"\[learner\] and \[\[learners\]\]; remove one of the two"):
        read_protocols(file)


@pytest.mark.parametrize("several", [False, True])
def test_a_learner_that_is_named_takes_the_place_of_the_protocols(
    protocol: Path, tmp_path: Path, several: bool
) -> None:
    file = of_several(protocol, "again") if several else protocol
    options = ("--learner", "q-learning-per-task", "--workers", 0, "--json", "-", "-q")
    facts = json.loads(called(file, "--into", tmp_path / "run", *options).output)
    assert {group["learner"] for group in facts["score"]["groups"]} == {"q-learning-per-task"}
    refused = called(file, "--into", tmp_path / "other", "--learner", "keeping", "--dry-run")
    assert refused.exit_code != 0


REMOVES = '''
"""A learner that removes a finished lifetime while another one runs."""
import shutil
from pathlib import Path


class Removes:
    def __init__(self, seed=0, place=""):
        if place and (Path(place) / "blocks.jsonl").exists():
            shutil.rmtree(place)

    def act(self, observation):
        return 0
'''


@pytest.fixture
def removing(protocol: Path, tmp_path: Path) -> Path:
    (tmp_path / "removes_lives.py").write_text(REMOVES)
    place = tmp_path / "run" / "lives" / "life-000"
    learner = f'use = "removes_lives:Removes"\nparams = {{ place = "{place}" }}'
    protocol.write_text(protocol.read_text().replace('use = "q-learning"', learner))
    return protocol


@pytest.mark.parametrize("more", [(), ("--quiet",), ("--only", "life-*")], ids=["all", "quiet", "a part"])
def test_a_finished_lifetime_that_is_removed_during_the_run_is_named(
    removing: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    result = called(removing, "--into", tmp_path / "run", "--workers", 0, "--json", tmp_path / "out.json", *more)
    assert result.exit_code == 1
    place = tmp_path / "run" / "lives" / "life-000"
    why = f"{place}: was removed or changed after it was finished; make sure that nothing removes it, and run again"
    assert f"failed life-000: {why}" in result.output
    facts = json.loads((tmp_path / "out.json").read_text())
    assert facts["failed"] == {"life-000": why}
    assert "life-000" not in facts["lived"]


def test_a_lifetime_that_was_finished_by_an_earlier_run_and_is_removed_during_this_one_is_named(
    removing: Path, tmp_path: Path
) -> None:
    assert called(removing, "--into", tmp_path / "run", "--workers", 0, "--only", "life-000").exit_code == 0
    result = called(removing, "--into", tmp_path / "run", "--workers", 0)
    assert result.exit_code == 1
    assert "life-000: was removed or changed after it was finished" in result.output


def test_a_lifetime_that_is_removed_while_the_next_learner_runs_is_named(removing: Path, tmp_path: Path) -> None:
    place = tmp_path / "run" / "first" / "lives" / "life-000"
    _, _, rest = removing.read_text().partition("[learner]")
    _, _, rest = rest.partition("\n\n")
    learners = f"""
[[learners]]
name = "first"
use = "removes_lives:Removes"
[[learners]]
name = "second"
use = "removes_lives:Removes"
params = {{ place = "{place}" }}
"""
    removing.write_text(f'name = "small"\nlifetimes = 1\nexperts = 0\n{learners}\n{rest}')
    result = called(removing, "--into", tmp_path / "run", "--workers", 0)
    assert result.exit_code == 1
    assert f"perdure: {place}: was removed or changed after it was finished; make sure" in result.stderr
