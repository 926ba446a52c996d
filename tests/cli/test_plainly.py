"""A command line read without Typer gives a verb what Typer gives it, or is left to Typer."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.main import get_command
from typer.testing import CliRunner

from perdure.cli import VERBS, command
from perdure.cli.parameters import Parameter, parameters_of
from perdure.cli.plainly import read_plainly

ODD = ("-3", "--", "-q", "--nothing", "--quiet=1")


@cache
def taken(verb: str) -> tuple[Parameter, ...]:
    return tuple(parameters_of(getattr(import_module(f"perdure.cli.{verb}"), verb)))


def by_typer(verb: str, words: list[str]) -> dict[str, Any] | None:
    """What Typer gives the verb; None where it refuses, or helps."""
    received: list[dict[str, Any]] = []
    original = command._called

    def recorded(_verb: Any, parameters: Any, refused: Any) -> Any:
        return original(lambda **arguments: received.append(arguments), parameters, refused)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_called", recorded)
        result = CliRunner().invoke(command.application((verb,)), [verb, *words])
    assert bool(received) == (result.exit_code == 0 and "Usage" not in result.output)
    return received[0] if received else None


def values(one: Parameter) -> st.SearchStrategy[str]:
    """Words for a parameter, most of them such as it takes."""
    fitting = {int: ("3", "0", "07"), float: ("0.5", "2", "1e3", "nan")}.get(one.kind, ("a", "logs/b", "-", "ä b", ""))
    return st.sampled_from((one.choices or fitting) * 5 + ODD)


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A verb and words."""
    verb = draw(st.sampled_from(VERBS))
    flags = [one for one in taken(verb) if one.declared.flags]
    chosen = [one for one in flags if one.required and draw(st.sampled_from((True, True, True, False)))]
    chosen += draw(st.lists(st.sampled_from(flags), max_size=4, unique_by=lambda one: one.name))
    parts: list[list[str]] = []
    for one in (*chosen, *(one for one in taken(verb) if not one.declared.flags)):
        most = 3 if one.several else 1
        words = draw(st.lists(values(one), min_size=1, max_size=most)) if one.kind is not bool else []
        parts.append([draw(st.sampled_from(one.declared.flags)), *words] if one.declared.flags else words)
    in_order = parts[-1:] + parts[:-1] if draw(st.booleans()) else parts
    return verb, [word for part in in_order for word in part]


@given(lines())
@settings(max_examples=300, deadline=None)
def test_what_is_read_plainly_is_what_typer_reads(line: tuple[str, list[str]]) -> None:
    verb, words = line
    found = read_plainly(words, taken(verb))
    if found is None:
        return
    expected = by_typer(verb, words)
    assert expected is not None
    assert {name: (type(one), repr(one)) for name, one in found.items()} == {
        name: (type(one), repr(one)) for name, one in expected.items()
    }  # of which some may be no number, which equals nothing


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("score", ["logs/a", "logs/b", "--experts", "x", "y", "--level", "0.9", "--all", "-q", "--json", "-"]),
        ("score", ["--experts", "x", "logs/a", "--scale", "run", "--jobs", "2", "--metrics", "a", "b"]),
        ("compare", ["a", "b", "--paired", "no", "--seed", "3"]),
        ("plan", ["--pilot", "a", "b", "--detect", "x=1", "y=2"]),
        ("report", ["a", "--to", "out.html", "--higher-is-better"]),
        ("compose", ["condensed", "--task", "a", "b", "--learn", "5"]),
        ("run", ["p.toml", "--into", "runs", "--workers", "0", "--only", "life-1", "--only", "life-2"]),
        ("figure", ["lifetime", "a", "b", "--axis", "steps"]),
        ("lint", ["-"]),
        ("list", []),
        ("demo", []),
        ("new", ["metric", "mine"]),
        ("info", ["--get", "logdir"]),
    ],
)
def test_what_people_type_is_read_plainly(verb: str, words: list[str]) -> None:
    found = read_plainly(words, taken(verb))
    assert found is not None
    assert found == by_typer(verb, words)


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("score", []),
        ("score", ["--help"]),
        ("score", ["a", "-h"]),
        ("score", ["a", "--levl", "0.9"]),
        ("score", ["a", "--level"]),
        ("score", ["a", "--level", "much"]),
        ("score", ["a", "--scale", "runs"]),
        ("score", ["a", "--jobs", "0"]),
        ("score", ["a", "--level=0.9"]),
        ("score", ["a", "--level", "0.9", "--level", "0.8"]),
        ("score", ["a", "--", "b"]),
        ("score", ["a", "--json", "--all"]),
        ("watch", ["a", "--port", "65536"]),
        ("list", ["metrics", "presets"]),
        ("new", ["metric"]),
    ],
)
def test_what_is_wrong_or_rare_is_left_to_typer(verb: str, words: list[str]) -> None:
    assert read_plainly(words, taken(verb)) is None


def called(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    code = (
        "import sys; from perdure.__main__ import main\n"
        "try: main()\n"
        "finally: print('typer' in sys.modules, file=sys.stderr)"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_typer_is_loaded_for_what_is_not_plain_and_for_nothing_else(life: Path, tmp_path: Path) -> None:
    for words, loaded in (
        (("score", life), False),
        (("report", life, "--to", tmp_path / "r.json"), False),
        (("check", life), False),
        (("lint", "nowhere.json"), False),
        (("score", life, "--level=0.9"), True),
        (("score", "--help"), True),
    ):
        done = called(*words)
        assert done.stderr.splitlines()[-1] == str(loaded), (words, done.stderr)


def test_what_contradicts_itself_is_refused_with_the_usage_and_done_once(life: Path) -> None:
    (life / "perdure.toml").write_text("level = 0.9\n")
    done = called("plan", "--pilot", life, "--k", "2")
    assert done.returncode == 2
    assert "Usage: " in done.stderr
    assert "--k cannot be combined with --pilot" in " ".join(done.stderr.split())
    assert done.stderr.count("settings: ") == 1
    assert not done.stdout


def test_every_flag_that_typer_knows_is_declared() -> None:
    for verb in VERBS:
        known = get_command(command.application((verb, "list"))).commands[verb].params  # type: ignore[attr-defined]
        flags = {flag for one in known if one.param_type_name == "option" for flag in (*one.opts, *one.secondary_opts)}
        assert flags == {flag for one in taken(verb) for flag in one.declared.flags}
