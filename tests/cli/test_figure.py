"""`perdure figure`: what a user types, and what they get."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb

from perdure.cli.figure import EXAMPLE
from perdure.errors import PerdureError, UnknownNameError
from perdure.reports.figures import FIGURES


def test_a_figure_is_written_where_asked(life: Path, tmp_path: Path) -> None:
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".pdf", b"%PDF")):
        target = tmp_path / f"life{suffix}"
        done = run_verb("figure", "lifetime", life, "--to", target)
        assert done.exit_code == 0, done.output
        assert done.stdout.strip() == str(target)
        assert target.read_bytes().startswith(magic)


def test_nothing_to_draw_writes_no_file(life: Path, tmp_path: Path) -> None:
    done = run_verb("figure", "capabilities", life, "--to", tmp_path / "none.pdf")
    assert isinstance(done.exception, PerdureError)  # which the command line ends with status 2
    assert "nothing to draw as capabilities: " in str(done.exception)
    assert list(tmp_path.glob("none*")) == []


def test_size_title_and_style_are_those_asked_for(life: Path, tmp_path: Path) -> None:
    (tmp_path / "own.css").write_text("text{font-family:serif}")
    target = tmp_path / "life.svg"
    options = ("--size", "4.5", "--title", "My <own> title", "--style", tmp_path / "own.css")
    assert run_verb("figure", "lifetime", life, "--to", target, *options).exit_code == 0
    written = target.read_text()
    assert f'width="{4.5 * 96:.2f}"' in written
    assert "My &lt;own&gt; title" in written
    assert "text{font-family:serif}" in written
    wrong = run_verb("figure", "lifetime", life, "--to", target, "--size", "A4")
    assert "cannot be as wide as 'A4'; say column, page, or 2 to 40 inches" in str(wrong.exception)
    absent = run_verb("figure", "lifetime", life, "--to", target, "--style", tmp_path / "none.css")
    assert "none.css: no style sheet" in str(absent.exception)


def test_the_example_of_the_help_names_a_kind_that_exists() -> None:
    assert EXAMPLE.split()[2] in FIGURES


def test_every_kind_is_listed_with_what_it_shows() -> None:
    done = run_verb("figure", "list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(FIGURES)
    assert all(kind.summary in done.stdout for kind in FIGURES.values())


def test_the_kinds_are_listed_as_json_too() -> None:
    facts = json.loads(run_verb("figure", "list", "--json", "-").stdout)
    assert facts == {"figures": [{"name": one.name, "summary": one.summary} for one in FIGURES.values()]}


def test_an_unknown_kind_offers_the_nearest_and_no_log_says_what_is_missing(life: Path) -> None:
    wrong = run_verb("figure", "lifetimes", life)
    assert isinstance(wrong.exception, UnknownNameError)
    assert "did you mean 'lifetime'" in str(wrong.exception)
    nothing = run_verb("figure", "lifetime")
    assert isinstance(nothing.exception, PerdureError)
    assert "needs a log" in str(nothing.exception)


def test_the_same_facts_as_json(life: Path, tmp_path: Path) -> None:
    target = tmp_path / "life.svg"
    done = run_verb("figure", "lifetime", life, "--to", target, "--json", "-")
    facts = json.loads(done.stdout)
    data = facts.pop("data")
    assert facts["settings"]["preset"] == "standard"
    said = {name: facts[name] for name in facts if not name.startswith("settings")}
    assert said == {"figure": "lifetime", "to": str(target), "lifetimes": ["small"], "left_out": []}
    assert data["id"] == "small"


def test_a_bad_lifetime_among_good_ones_is_named_and_the_exit_says_so(life: Path, tmp_path: Path) -> None:
    other = life.parent / "broken"
    other.mkdir()
    (other / "logger_info.json").write_text("{")
    done = run_verb("figure", "lifetime", life.parent, "--to", tmp_path / "life.svg")
    assert done.exit_code == 1
    assert "left out" in done.stderr
    assert (tmp_path / "life.svg").exists()


@pytest.mark.parametrize("name", ["small", "toy"])
def test_of_takes_the_name_of_a_lifetime_or_of_a_group(life: Path, tmp_path: Path, name: str) -> None:
    assert run_verb("figure", "accuracy", life, "--of", name, "--to", tmp_path / "x.svg").exit_code == 0


def test_of_a_name_that_is_neither_offers_the_nearest(life: Path, tmp_path: Path) -> None:
    done = run_verb("figure", "accuracy", life, "--of", "smal", "--to", tmp_path / "x.svg")
    assert isinstance(done.exception, UnknownNameError)
