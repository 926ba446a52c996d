"""`perdure lint`: what a user types, and what they see."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perdure.scenario.compose import compose
from perdure.scenario.syllabus import write_syllabus

Run = Callable[..., subprocess.CompletedProcess[str]]
EXAMPLES = Path(__file__).parents[2] / "examples" / "syllabi"


@pytest.fixture
def syllabus(tmp_path: Path) -> Path:
    """A condensed life of three tasks."""
    write_syllabus(compose("condensed", ["a", "b", "c"], learn=100, evaluate=10), tmp_path / "life.json")
    return tmp_path / "life.json"


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_sound_syllabus_exits_0_and_says_what_it_answers(syllabus: Path, run_cli: Run) -> None:
    done = run_cli("lint", syllabus)
    assert done.returncode == 0, done.stderr
    assert "condensed-0: 15 blocks, 420 experiences (300 learning, 120 evaluation)" in done.stdout
    assert "forward_transfer" in done.stdout
    assert done.stdout.rstrip().endswith("ok: 0 errors, 0 warnings, 0 advice")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_json_has_the_facts_and_nothing_else_is_printed(syllabus: Path, run_cli: Run) -> None:
    found = facts(run_cli("lint", syllabus, "--json", "-"))
    assert (found["ok"], found["blocks"], found["experiences"]) == (True, 15, 420)
    assert found["metrics"]["forward_transfer"]["sites"] == 3
    assert found["metrics"]["recovery_time"] == {
        "sites": 0,
        "keys": [],
        "why": "needs a task learned at least twice while awake",
    }


def test_only_the_metrics_asked_for_are_shown(syllabus: Path, run_cli: Run) -> None:
    done = run_cli("lint", syllabus, "--metrics", "forward_transfer,performance_recovery", "--json", "-")
    assert set(facts(done)["metrics"]) == {"forward_transfer", "performance_recovery"}
    done = run_cli("lint", syllabus, "--metrics", "forward_tranfer")
    assert (done.returncode, "did you mean 'forward_transfer'" in done.stderr) == (2, True)


def test_a_metric_of_ones_own_is_linted_from_its_file(syllabus: Path, tmp_path: Path, run_cli: Run) -> None:
    (tmp_path / "mine.py").write_text(
        "from perdure.curves.model import Curve\n"
        "from perdure.metrics.declare import metric\n"
        "from perdure.scenario.sites import each_learning_block\n\n"
        "@metric(each_learning_block)\n"
        "def mine(learned: Curve) -> float:\n"
        '    """The mean of a learning block."""\n'
        "    return learned.mean\n"
    )
    done = run_cli("lint", syllabus, "--metrics", "mine.py", "--json", "-")
    assert facts(done)["metrics"]["mine"]["sites"] == 3


def test_errors_exit_1_and_name_their_path(tmp_path: Path, run_cli: Run) -> None:
    (tmp_path / "bad.json").write_text('{"instructions": [\n{"$phase": "1.train"},\n{"$epsiode": "Pong"}\n]}')
    done = run_cli("lint", "bad.json")
    assert done.returncode == 1
    assert "error  instructions[1]: unknown word '$epsiode'" in " ".join(done.stdout.split("\n"))
    done = run_cli("lint", "bad.json", "--json", "-")
    assert done.returncode == 1
    assert facts(done)["problems"] == [
        {
            "level": "error",
            "where": "instructions[1]",
            "what": "unknown word '$epsiode'",
            "fix": "did you mean '$episode'?",
        }
    ]


def test_the_rules_of_a_type_are_applied_on_demand(run_cli: Run) -> None:
    assert run_cli("lint", EXAMPLES / "s003-continual.json", "--type", "CL").returncode == 0
    done = run_cli("lint", EXAMPLES / "s003-annotated.json", "--type", "CL")
    assert (done.returncode, "a second task, 'breakout'" in done.stdout) == (1, True)
    done = run_cli("lint", EXAMPLES / "s003-annotated.json", "--type", "CLL")
    assert (done.returncode, "did you mean 'CL'" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"instructions": 3}', "[" * 10_000, '{"instructions": ' + "[" * 10_000]
)
def test_what_is_no_syllabus_exits_2_with_a_sentence(tmp_path: Path, run_cli: Run, content: str) -> None:
    (tmp_path / "no.json").write_text(content)
    done = run_cli("lint", "no.json")
    assert done.returncode == 2
    assert done.stderr.startswith(("perdure: no.json: ", "perdure: no.json:1: "))
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_a_missing_file_exits_2(run_cli: Run) -> None:
    done = run_cli("lint", "nowhere.json")
    assert (done.returncode, "nowhere.json: cannot be read" in done.stderr) == (2, True)


def test_quiet_leaves_out_all_but_problems_and_metrics(syllabus: Path, run_cli: Run) -> None:
    done = run_cli("lint", syllabus, "--quiet", "--metrics", "forward_transfer")
    assert len(done.stdout.splitlines()) == 2


def test_of_many_metrics_the_few_that_answer_a_question_are_listed_and_all_on_request(
    syllabus: Path, run_cli: Run
) -> None:
    few, every = (run_cli("lint", syllabus, "--quiet", *more).stdout.splitlines() for more in ((), ("--all",)))
    assert len(few) < 20
    assert few[1].startswith("performance_maintenance ")
    able, known = re.match(r"In all, (\d+) of (\d+) metrics can be measured; --all lists them.", few[-1]).groups()  # type: ignore[union-attr]
    rows = [line.split()[:2] for line in every[1:] if not line.startswith(" ")]
    assert (sum(count != "0" for _, count in rows), len(rows)) == (int(able), int(known))


def test_the_drawing_is_one_line_of_blocks(syllabus: Path, run_cli: Run) -> None:
    line = run_cli("lint", syllabus).stdout.splitlines()[2]
    assert len(line) <= 80
    assert sum(symbol in "ABC" for symbol in line) == 3
    assert sum(symbol in "abc" for symbol in line) == 12


def test_the_example_of_the_help_runs(tmp_path: Path) -> None:
    import os
    import sys

    from perdure.cli.lint import EXAMPLE

    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        EXAMPLE, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "performance_maintenance" in done.stdout


def test_a_preset_says_which_metrics_are_asked_about(syllabus: Path, run_cli: Run) -> None:
    found = facts(run_cli("lint", syllabus, "--preset", "framework-2019", "--json", "-"))
    assert "ste_relative" in found["metrics"]
    assert "forward_transfer" not in found["metrics"]


def test_without_variants_a_task_in_two_of_them_is_learned_twice(tmp_path: Path, run_cli: Run) -> None:
    write_syllabus(compose("condensed", ["pong:wide", "pong:narrow"], learn=100, evaluate=10), tmp_path / "life.json")
    sites = {
        variants: facts(run_cli("lint", tmp_path / "life.json", "--variants", variants, "--json", "-"))["metrics"]
        for variants in ("name", "aware", "params", "agnostic")
    }
    assert sites["name"] == sites["aware"] == sites["params"]
    assert sites["name"]["recovery_time"]["sites"] == 0
    assert sites["agnostic"]["recovery_time"]["keys"] == ["pong"]
    assert sites["agnostic"]["forward_transfer"]["sites"] == 0


@pytest.mark.parametrize(
    ("file", "answered"),
    [
        ("ant-b.json", {"ste_forward_transfer": ["pong→breakout"], "ste_reverse_transfer": ["breakout→pong"]}),
        ("s003-ant-c.json", {"transfer_of_continual_learning": ["pong→breakout_v3"]}),
    ],
)
def test_a_syllabus_of_2019_shows_what_it_was_made_for_unless_a_preset_is_named(
    run_cli: Run, file: str, answered: dict[str, list[str]]
) -> None:
    place = EXAMPLES / file
    metrics = facts(run_cli("lint", place, "--json", "-"))["metrics"]
    assert {name: metrics[name]["keys"] for name in answered} == answered
    assert "performance_maintenance" not in metrics
    today = facts(run_cli("lint", place, "--preset", "standard", "--json", "-"))["metrics"]
    assert "performance_maintenance" in today
    assert "ste_forward_transfer" not in today
    assert "Metrics of the 2019 framework" in run_cli("lint", place).stdout


def test_a_protocol_is_linted_scenario_by_scenario_with_its_experts(run_cli: Run, tmp_path: Path) -> None:
    file = tmp_path / "protocol.toml"
    file.write_text(
        'experts = 2\n[learner]\nuse = "q-learning-per-task"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["pong", "breakout"]\nlearn = 40\nevaluate = 5\n'
        '[[scenarios]]\nlayout = "dispersed"\ntasks = ["pong", "breakout"]\nlearn = 60\n'
    )
    done = run_cli("lint", file)
    assert done.returncode == 0
    assert done.stdout.count("ok: 0 errors") == 2
    said = " ".join(done.stdout.split())
    assert "advice experts: 2 experts per task: too few for a verdict on relative_performance" in said
    assert said.endswith("1 advice")
    assert "advice" not in said.partition("advice experts")[0].replace("0 advice", "")
    found = facts(run_cli("lint", file, "--json", "-"))
    assert list(found["scenarios"]) == ["condensed", "dispersed"]
    file.write_text(file.read_text().replace("experts = 2", ""))
    assert facts(run_cli("lint", file, "--json", "-"))["few_experts"] is None


@pytest.mark.parametrize(
    ("changed", "by", "reason"),
    [
        ("q-learning-per-task", "q-lerning", "unknown learner 'q-lerning'"),
        ("q-learning-per-task", "absent:Learner", "there is no module 'absent'"),
        ("q-learning-per-task", "raising:Learner", "NotImplementedError"),
        ("breakout", "brakeout", "unknown task or environment 'brakeout'"),
    ],
)
def test_lint_refuses_a_protocol_that_the_dry_run_refuses(
    run_cli: Run, tmp_path: Path, changed: str, by: str, reason: str
) -> None:
    (tmp_path / "raising.py").write_text("raise NotImplementedError('later')\n")
    file = tmp_path / "protocol.toml"
    file.write_text(
        (
            '[learner]\nuse = "q-learning-per-task"\n'
            '[[scenarios]]\nlayout = "condensed"\ntasks = ["pong", "breakout"]\nlearn = 40\nevaluate = 5\n'
        ).replace(changed, by)
    )
    dry, lint = run_cli("run", file, "--into", tmp_path / "run", "--dry-run"), run_cli("lint", file)
    assert (dry.returncode, lint.returncode) == (2, 2)
    assert dry.stderr.replace("nothing was run: ", "") == lint.stderr
    assert reason in lint.stderr


def test_a_protocol_of_the_batched_engine_is_linted(run_cli: Run, tmp_path: Path) -> None:
    file = tmp_path / "protocol.toml"
    file.write_text(
        '[learner]\nuse = "batched:softmax"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["zero-one", "two-three"]\nlearn = 40\nevaluate = 5\n'
    )
    assert run_cli("lint", file).returncode == 0
