"""One set of options: the same on every verb that scores, and in what each of them says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.scoring import BLOCKS, write
from tests.cli.verbs import run_verb
from typer.main import get_command
from typer.testing import CliRunner

import perdure
from perdure.cli.app import application
from perdure.errors import PerdureError
from perdure.settings import OPTIONS

SOURCE = Path(perdure.__file__).parent
SCORING = ("score", "compare", "correlate", "plan", "figure", "report", "watch")

# What the options of every setting look like when given; the value that `settings` then holds.
GIVEN: dict[str, tuple[list[str], Any]] = {
    "preset": (["--preset", "l2metrics-3.1"], "l2metrics-3.1"),
    "measure": (["--measure", "a=reward,b=reward"], {"a": "reward", "b": "reward"}),
    "measure_for": (["--measure-for", "forward_transfer=reward"], {"forward_transfer": "reward"}),
    "metrics": (["--metrics", "performance_maintenance,saturation"], ["performance_maintenance", "saturation"]),
    "aggregate": (["--aggregate", "median"], "median"),
    "expert_average": (["--expert-average", "time"], "time"),
    "weights": (["--weight", "a=2,b=0.5"], {"a": 2.0, "b": 0.5}),
    "learned": (["--learned", "{folder}/learned.json"], {"a_1": 0.5}),
    "variants": (["--variants", "agnostic"], "agnostic"),
    "lower_is_better": (["--lower-is-better"], True),
    "scale": (["--scale", "none"], "none"),
    "bounds": (["--bounds", "{folder}/bounds.json"], {"a_1": {"min": 0, "max": 1}, "b_1": {"min": 0, "max": 2}}),
    "window": (["--window", "hanning"], "hanning"),
    "width": (["--width", "3"], 3),
    "smooth_evaluation": (["--smooth-evaluation"], True),
    "clamp": (["--clamp"], True),
    "noise": (["--noise", "0.5"], 0.5),
    "columns": (["--column", "exp_num=episode"], {"exp_num": "episode"}),
    "shape": (["--shape", "long"], "long"),
    "unverified": (["--unverified"], True),
    "max_unpacked": (["--max-unpacked", "100"], 100),
    "rows": (["--transposed"], "learned"),
    "unit": (["--unit", "fraction"], "fraction"),
    "as_given": (["--as-given"], True),
    "random_init": (["--random-init", "0.1"], 0.1),
    "joint": (["--joint", "0.9,0.8"], [0.9, 0.8]),
    "group": (["--group", "(life)"], "(life)"),
    "pool": (["--pool"], True),
    "level": (["--level", "0.9"], 0.9),
    "margins": (["--margin", "performance_maintenance=1"], {"performance_maintenance": 1.0}),
}


def options_of(verb: str) -> set[str]:
    command = get_command(application((verb,))).commands[verb]  # type: ignore[attr-defined]
    return {flag for one in command.params if one.param_type_name == "option" for flag in one.opts}


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three lives, and files that options name."""
    folder = tmp_path_factory.mktemp("lives")
    for name, more in (("life-1", 0.0), ("life-2", 0.05), ("life-3", 0.1)):
        blocks = [(mode, task, [value + more * at for at, value in enumerate(values)]) for mode, task, values in BLOCKS]
        write(folder, name, blocks)
    (folder / "learned.json").write_text('{"a_1": 0.5}')
    (folder / "bounds.json").write_text('{"a_1": {"min": 0, "max": 1}, "b_1": {"min": 0, "max": 2}}')
    return folder


CALLS: dict[str, Callable[[Path], list[object]]] = {
    "score": lambda folder: [folder],
    "compare": lambda folder: [folder / "life-1", folder / "life-2"],
    "correlate": lambda folder: [folder],
    "plan": lambda folder: ["--pilot", folder],
    "figure": lambda folder: ["lifetime", folder / "life-1", "--to", folder / "life.svg"],
    "report": lambda folder: [folder / "life-1", "--to", folder / "report.json"],
    "watch": lambda folder: [folder / "life-1", "--once"],
}


def facts_of(verb: str, folder: Path, *flags: str) -> dict[str, Any]:
    result = run_verb(verb, *CALLS[verb](folder), *flags, "--json", "-", "--quiet")
    assert result.exit_code in (0, 1), (result.output, result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_every_setting_has_an_example_here() -> None:
    assert list(GIVEN) == list(OPTIONS)


@pytest.mark.parametrize("verb", SCORING)
def test_every_setting_is_an_option_of_every_verb_that_scores(verb: str) -> None:
    assert {flag for one in OPTIONS.values() for flag in (one.flag, *one.further_flags)} <= options_of(verb)


def test_lint_takes_what_concerns_a_syllabus() -> None:
    assert {"--preset", "--variants", "--metrics"} <= options_of("lint")


@pytest.mark.parametrize("verb", SCORING)
def test_a_verb_says_what_was_set_and_from_where(verb: str, lives: Path) -> None:
    """Given together where they can be: each verb is then scored a few times, not once for every setting."""
    plain = facts_of(verb, lives)
    assert set(plain["settings"]) >= set(OPTIONS)
    assert set(plain["settings_from"].values()) <= {"log", "preset"}
    alone = {"preset", "columns"}  # they would change what the others mean
    together = [name for name in GIVEN if name not in alone | {"group"}]
    for names in (together, ["preset"], ["columns"], *([["group"]] if verb != "compare" else [])):
        flags = [word.format(folder=lives) for name in names for word in GIVEN[name][0]]
        facts = facts_of(verb, lives, *flags)
        for name in OPTIONS:
            given = name in names
            assert (facts["settings"][name] == GIVEN[name][1]) is given, name
            assert (facts["settings_from"][name] == "command line") is given, name


def test_a_file_beside_the_data_is_followed_and_said(lives: Path, tmp_path: Path) -> None:
    write(tmp_path, "life", BLOCKS)
    (tmp_path / "life" / "perdure.toml").write_text(
        'scale = "none"\n\n[bounds]\na_1 = {min = 0, max = 1}\nb_1 = {min = 0, max = 1}\n'
    )
    result = run_verb("score", tmp_path / "life", "--json", tmp_path / "out.json")
    facts = json.loads((tmp_path / "out.json").read_text())
    assert facts["settings"]["scale"] == "none"
    assert facts["settings_from"]["scale"] == facts["settings_from"]["bounds"] == "perdure.toml"
    assert "settings: scale = none (perdure.toml)" in result.stderr
    undone = run_verb("score", tmp_path / "life", "--scale", "task", "--json", "-")
    assert json.loads(undone.stdout)["settings_from"]["scale"] == "command line"


@pytest.mark.parametrize("text", ['measure = "a_1=reward,b_1=reward"\n', '[measure]\na_1 = "reward"\nb_1 = "reward"\n'])
def test_a_file_gives_each_task_its_measure_as_text_or_as_a_table_and_says_which(tmp_path: Path, text: str) -> None:
    write(tmp_path, "life", BLOCKS)
    (tmp_path / "life" / "perdure.toml").write_text(text)
    result = run_verb("score", tmp_path / "life", "--json", tmp_path / "out.json")
    facts = json.loads((tmp_path / "out.json").read_text())
    assert facts["settings"]["measure"] == {"a_1": "reward", "b_1": "reward"}
    assert "settings: measure = {'a_1': 'reward', 'b_1': 'reward'} (perdure.toml)" in result.stderr


def test_the_opposite_of_a_switch_undoes_what_a_file_says(tmp_path: Path) -> None:
    write(tmp_path, "life", BLOCKS)
    (tmp_path / "life" / "perdure.toml").write_text("lower_is_better = true\n")
    facts = json.loads(run_verb("score", tmp_path / "life", "--higher-is-better", "--json", "-").stdout)
    assert facts["settings"]["lower_is_better"] is False
    assert facts["settings_from"]["lower_is_better"] == "command line"


def test_a_preset_refuses_what_it_fixes_on_the_command_line(lives: Path) -> None:
    result = run_verb("score", lives, "--preset", "new-2022", "--no-clamp")
    assert isinstance(result.exception, PerdureError)
    assert "--clamp: preset 'new-2022' does not take it" in str(result.exception)


def test_contradicting_flags_are_refused(lives: Path) -> None:
    result = run_verb("score", lives, "--transposed", "--rows", "evaluated")
    assert result.exit_code == 2
    assert "contradict" in result.output


def test_plan_refuses_settings_without_a_pilot() -> None:
    result = run_verb("plan", "--scale", "none")
    assert result.exit_code == 2
    assert "add --pilot" in result.output.replace("\n", " ")


def test_options_that_contradict_each_other_are_refused_with_the_usage_and_files_are_read_once(tmp_path: Path) -> None:
    write(tmp_path, "life", BLOCKS)
    (tmp_path / "life" / "perdure.toml").write_text("level = 0.9\n")
    result = run_verb("plan", "--pilot", tmp_path / "life", "--k", "2")
    assert result.exit_code == 2
    assert "Usage: " in result.stderr
    assert "--k cannot be combined with --pilot" in " ".join(result.stderr.split())
    assert result.stderr.count("settings: ") == 1
    assert not result.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["condensed", "--task", "a", "b", "--learn", "3"],
        ["condensed", "--task", "a", "--learn", "3", "--task", "b"],
        ["condensed", "--learn", "3", "--task=a", "b"],
        ["--task", "a", "condensed", "--task", "b", "--learn", "3"],
        ["--task", "a", "--task", "b", "--learn", "3", "--", "condensed"],
    ],
)
def test_an_option_takes_several_values_after_the_first_argument(words: list[str]) -> None:
    tasks = json.loads(run_verb("compose", *words).stdout)["composed"]["order"]
    assert sorted(tasks) == ["a", "b"]


def test_an_option_takes_several_values_at_once_if_the_verb_has_no_arguments(lives: Path) -> None:
    rest = ("--pool", "--detect", "performance_maintenance=5", "--json", "-")
    in_a_row = run_verb("plan", "--pilot", lives / "life-1", lives / "life-2", *rest)
    repeated = run_verb("plan", "--pilot", lives / "life-1", "--pilot", lives / "life-2", *rest)
    assert json.loads(in_a_row.stdout) == json.loads(repeated.stdout)


def test_a_value_of_another_option_is_not_a_further_value(lives: Path) -> None:
    result = run_verb("run", "protocol.toml", "--into", lives / "run", "--only", "life-1", "life-2")
    assert result.exit_code == 2
    assert "unexpected extra argument" in result.stderr


# --- advice --------------------------------------------------------------------------------------

# Flags in messages that not every verb that scores has, and why that is no matter.
ELSEWHERE = {
    "--out": "of `perdure score`, which the message names",
    "--json": "every verb has it",
    "--paired": "only compare pairs",
    "--across": "only correlate pools so widely",
    "--host": "only watch serves",
    "--token": "only watch serves",
    "--port": "only watch serves",
    "--pilot": "only plan has a pilot",
    "--alpha": "only plan has it",
    "--scenario": "only plan has it",
    "--experts-per-task": "only plan has it",
    "--to": "of `perdure export`, which the message names",
    "--fail-if": "only score and compare have gates",
    "--unless": "only score and compare have gates",
    "--if-undecided": "only score and compare have gates",
    "--evaluate-every": "of `perdure compose`, for metrics of probes",
}
NOT_OURS = {"--porcelain", "--branch", "--untracked-files"}  # of git


def flags_in_messages() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for stage in ("log", "curves", "metrics", "gather", "stats", "report", "watch", "settings"):
        for file in sorted((SOURCE / stage).rglob("*.py")):
            for flag in re.findall(r"(?<![-\w])--[a-z][a-z-]+(?![\w-])", file.read_text(encoding="utf-8")):
                found.setdefault(flag, []).append(f"{stage}/{file.name}")
    return {flag: places for flag, places in found.items() if flag not in NOT_OURS}


@pytest.mark.parametrize("verb", SCORING)
def test_advice_names_options_that_the_verb_has(verb: str) -> None:
    missing = {flag: places for flag, places in flags_in_messages().items() if flag not in options_of(verb)}
    assert set(missing) <= set(ELSEWHERE), missing


def test_an_exception_is_needed() -> None:
    assert set(ELSEWHERE) - set(flags_in_messages()) <= {"--pilot", "--json"}


# --- help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", SCORING)
def test_help_shows_the_everyday_options_and_help_all_shows_every_setting_in_80_columns(verb: str) -> None:
    short, full = (
        CliRunner().invoke(application((verb, "list")), [verb, flag], env={"COLUMNS": "80"}).output
        for flag in ("--help", "--help-all")
    )
    assert max(map(len, full.splitlines())) <= 80
    assert all(f" {OPTIONS[name].flag} " in short for name in OPTIONS if OPTIONS[name].panel is None)
    assert "--noise" not in short
    assert all(f" {option.flag} " in full for option in OPTIONS.values())
    panels = dict.fromkeys(option.panel or "Options" for option in OPTIONS.values())
    starts = [full.index(f"─ {panel} ") for panel in panels]
    assert starts == sorted(starts)


@pytest.mark.parametrize("verb", SCORING)
def test_help_fits_one_screen(verb: str) -> None:
    done = CliRunner().invoke(application((verb, "list")), [verb, "--help"], env={"COLUMNS": "100"})
    assert len(done.output.strip().splitlines()) <= 40


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("score", "--lower", "logs"), "--lower-is-better"),
        (("score", "--level", "95", "logs"), "(did you mean 0.95?)"),
        (("compose", "foo", "--task", "a"), "unknown layout 'foo'"),
    ],
)
def test_a_wrong_option_gets_the_likely_one(words: tuple[str, ...], advice: str) -> None:
    done = CliRunner().invoke(application(("compose", "score")), words, env={"COLUMNS": "200"})
    assert done.exit_code != 0
    assert advice in f"{done.output}{done.exception}"
