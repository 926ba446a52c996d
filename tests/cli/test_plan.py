"""`perdure plan`: what a user types, and what they see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from tests.cli.verbs import fits, run_verb
from typer.testing import CliRunner

from perdure.cli.plan import COMMAND, plan
from perdure.errors import PerdureError

PILOT = "lifetime\tperformance_maintenance\tforward_transfer\n" + "".join(
    f"life-{at}\t{2 + (at % 5) - 2}\t{1.5 + (at % 3)}\n" for at in range(12)
)


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    file = tmp_path / "pilot.tsv"
    file.write_text(PILOT)
    return file


def test_without_arguments_it_gives_the_papers_plan() -> None:
    done = run_verb("plan")
    assert done.exit_code == 0
    assert "11 lifetimes by the rule" in done.output
    assert "13 exactly, two-sided" in done.output
    assert "0.848 two-sided, 0.924 one-sided" in done.output


def test_json_fits_its_schema() -> None:
    facts = json.loads(run_verb("plan", "--k", "0.5", "--json", "-").stdout)
    fits("plan", facts)
    assert (facts["lifetimes"], facts["exact_two_sided"]) == (43, 44)


def test_a_pilot_speaks_per_metric(pilot: Path) -> None:
    facts = json.loads(run_verb("plan", "--pilot", pilot, "--simulate", "--json", "-").stdout)
    fits("plan", facts)
    one = facts["pilot"]["performance_maintenance"]
    assert one["mean"] == pytest.approx(21 / 12)
    assert one["k"] == pytest.approx((one["mean"] + 5) / one["sd"])  # maintenance is held against a loss of 5 points
    assert 0 < one["simulated_power"] <= 1
    again = json.loads(run_verb("plan", "--pilot", pilot, "--simulate", "--json", "-").stdout)
    assert again == facts
    done = run_verb("plan", "--pilot", pilot, "--detect", "performance_maintenance=0.5")
    assert "what the pilot says, for 11 lifetimes" in done.output


def test_the_power_curve_is_drawn(tmp_path: Path) -> None:
    assert run_verb("plan", "--picture", tmp_path / "power.svg").exit_code == 0
    assert (tmp_path / "power.svg").read_text().startswith("<svg")
    done = run_verb("plan", "--picture", tmp_path / "power.bmp")
    assert "end the name in .svg" in str(done.exception)


def test_a_protocol_is_multiplied_out(tmp_path: Path) -> None:
    file = tmp_path / "protocol.toml"
    file.write_text(
        'name = "small"\nlifetimes = 5\nexperts = 2\n[learner]\nuse = "somewhere:Learner"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["pong", "breakout"]\nlearn = 100\nevaluate = 10\n'
    )
    cost = json.loads(run_verb("plan", "--protocol", file, "--json", "-").stdout)["cost"]
    # A life: 2 × 100 learned, 3 evaluations of 2 × 10; an expert: 100 learned, and its evaluations if any.
    assert (cost["lives"], cost["experts"], cost["life_experiences"]) == (11, 4, 11 * 260)
    assert cost["wall_seconds"] is None
    more = json.loads(run_verb("plan", "--protocol", file, "--lifetimes", "20", "--json", "-").stdout)["cost"]
    assert more["life_experiences"] == 20 * 260


def test_a_pilot_of_two_groups_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mixed.tsv"
    file.write_text("lifetime\tscenario_type\tforward_transfer\none\tcondensed\t1\ntwo\tdispersed\t2\n")
    done = run_verb("plan", "--pilot", file)
    assert isinstance(done.exception, PerdureError)
    assert "2 groups (mixed · condensed; mixed · dispersed)" in str(done.exception)


@pytest.mark.parametrize(
    "text", ["performance_maintenance", "=3", "performance_maintenance=-1", "performance_maintenance=x"]
)
def test_a_distance_that_is_none_is_refused(pilot: Path, text: str) -> None:
    assert run_verb("plan", "--pilot", pilot, "--detect", text).exit_code != 0


def test_nonsense_is_refused() -> None:
    assert isinstance(run_verb("plan", "--k", "0").exception, PerdureError)


def test_several_metrics_may_be_named_in_a_row(pilot: Path) -> None:
    done = run_verb("plan", "--metrics", "performance_maintenance", "forward_transfer", "--pilot", pilot)
    assert done.exit_code == 0, done.output


def at_80_columns(*arguments: object) -> str:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(cls=COMMAND)(plan)
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "80"}).output


@pytest.mark.parametrize("options", [(), ("--simulate",)])
def test_at_80_columns_the_pilots_table_is_whole(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "pilot.tsv"
    file.write_text(PILOT.replace("performance_maintenance", "performance_maintenance_terminal"))
    said = at_80_columns("--pilot", file, *options)
    row = next(line for line in said.splitlines() if line.startswith("performance_maintenance_terminal "))
    assert row.rstrip().endswith("%")
    assert "…" not in said
    assert ("real error" in said) == bool(options)
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())


@pytest.mark.parametrize("option", [("--simulate",), ("--detect", "forward_transfer=1")])
def test_what_speaks_of_a_pilot_needs_one(option: tuple[str, ...]) -> None:
    done = run_verb("plan", *option)
    assert done.exit_code == 2
    assert "give --pilot too" in " ".join(done.output.split())


def test_a_pilots_table_can_be_restricted_and_says_how_little_it_knows(pilot: Path) -> None:
    done = run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenance")
    assert "each true sd may be" in " ".join(done.output.split())
    facts = json.loads(run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenance", "--json", "-").stdout)
    assert list(facts["pilot"]) == ["performance_maintenance"]
    assert "did you mean" in str(run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenanc").exception)
