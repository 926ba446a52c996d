"""`perdure plan`: what a user types, and what they see."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.verbs import fits, run_verb

from perdure.errors import PerdureError

PILOT = "lifetime\tdefinitions\tperformance_maintenance\tforward_transfer\n" + "".join(
    f"life-{at}\t3\t{2 + (at % 5) - 2}\t{1.5 + (at % 3)}\n" for at in range(12)
)


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    file = tmp_path / "pilot.tsv"
    file.write_text(PILOT)
    return file


def test_without_arguments_it_gives_the_papers_plan() -> None:
    done = run_verb("plan")
    assert done.exit_code == 0
    assert "11 lifetimes by the rule of Baker et al. 2023" in done.output
    assert "13 for the test behind the verdict" in done.output
    assert "11 lifetimes have power 84.8%" in done.output


def test_json_fits_its_schema() -> None:
    for options in ((), ("--compare", "paired"), ("--compare", "unpaired"), ("--expert-sd", "1", "--tasks", "2")):
        facts = json.loads(run_verb("plan", "--k", "0.5", *options, "--json", "-").stdout)
        fits("plan", facts)
        assert facts["rule"] == (85 if "unpaired" in options else 43)  # 42.03 and twice that, rounded up
        assert (facts["dial"] is None) == ("--expert-sd" not in options)
        assert (facts["after_holm"] is None) == ("--compare" not in options)


def test_two_learners_are_planned_for_each_and_for_holm() -> None:
    said = run_verb("plan", "--compare", "unpaired", "--quiet").output
    assert "23 for the test behind the verdict" in said
    assert "33 if it is the only one of 6 metrics that differs" in said


def test_lives_and_experts_are_two_dials() -> None:
    said = run_verb("plan", "--expert-sd", "1", "--experts-per-task", "4", "--quiet").output
    assert "With 3 or 4 experts per task, power stays below 90%: more lifetimes do not help" in " ".join(said.split())
    assert "never for the test behind the verdict" in " ".join(said.split())
    assert isinstance(run_verb("plan", "--expert-sd", "0").exception, PerdureError)
    assert run_verb("plan", "--expert-sd", "1", "--experts-per-task", "2").exit_code == 2


def test_a_pilot_speaks_per_metric(pilot: Path) -> None:
    asked = ("plan", "--pilot", pilot, "--detect", "forward_transfer=1.5")
    facts = json.loads(run_verb(*asked, "--json", "-").stdout)
    fits("plan", facts)
    kept = facts["pilot"]["performance_maintenance"]
    assert (kept["against"], kept["detect"]) == (-5, 5)  # that it keeps: a loss of 5 points is ruled out
    assert kept["k"] == pytest.approx(5 / kept["sd"])
    for one in facts["pilot"].values():
        assert one["plain"] <= one["lifetimes"] == max(one["upper"], one["redrawn"])
    assert json.loads(run_verb(*asked, "--json", "-").stdout) == facts
    said = " ".join(run_verb(*asked).output.split())
    assert "performance_maintenance: the effect to detect is its margin" in said
    assert "A pilot of 12 misses a group of 10 % of lifetimes in 28% of cases" in said
    assert "from 11 lifetimes two to three times what a known spread would need" in said


def test_scores_by_a_papers_rule_are_planned_for_its_test(tmp_path: Path) -> None:
    file = tmp_path / "paper.tsv"
    rows = "".join(f"life-{at}\tbaker-2023\t{at % 5}\n" for at in range(9))
    file.write_text(f"lifetime\tpreset\tperformance_maintenance\n{rows}")
    asked = ("plan", "--pilot", file, "--detect", "performance_maintenance=2")
    facts = json.loads(run_verb(*asked, "--json", "-").stdout)
    assert (facts["tails"], facts["pilot"]["performance_maintenance"]["against"]) == ("one", 0)
    assert "Planned for the test of baker-2023: one-tailed" in " ".join(run_verb(*asked).output.split())


def test_no_effect_is_taken_from_the_pilots_mean(pilot: Path) -> None:
    one = json.loads(run_verb("plan", "--pilot", pilot, "--json", "-").stdout)["pilot"]["forward_transfer"]
    assert (one["detect"], one["lifetimes"]) == (None, None)
    assert one["sees"] > 1
    assert "give one to get a number: --detect forward_transfer=1.2" in run_verb("plan", "--pilot", pilot).output


def test_a_pilot_of_matrices_plans_what_matrices_are_judged_by(tmp_path: Path) -> None:
    for seed, last in enumerate((0.5, 0.6, 0.7, 0.65)):
        cells = f"0.9,0.1,0.1\n0.7,0.8,0.1\n{last},0.7,0.9\n"
        (tmp_path / f"seed-{seed}.csv").write_text(cells)
    facts = json.loads(run_verb("plan", "--pilot", tmp_path, "--rows", "learned", "--json", "-").stdout)
    assert list(facts["pilot"]) == ["bwt"]
    assert facts["pilot"]["bwt"]["detect"] == pytest.approx(0.05)
    compared = run_verb("plan", "--pilot", tmp_path, "--rows", "learned", "--compare", "unpaired", "--json", "-")
    assert "average_accuracy" in json.loads(compared.stdout)["pilot"]


def test_scores_written_before_are_a_pilot_too(pilot: Path, tmp_path: Path) -> None:
    from tests.cli.verbs import run_verb as run_any

    written = tmp_path / "scores.json"
    assert run_any("score", pilot, "--json", written).exit_code == 0
    one, other = (
        json.loads(run_verb("plan", "--pilot", file, "--json", "-").stdout)["pilot"]["performance_maintenance"]
        for file in (pilot, written)
    )
    assert one == other


def test_the_power_curve_is_drawn(tmp_path: Path) -> None:
    assert run_verb("plan", "--beta", "0.2", "--picture", tmp_path / "power.svg").exit_code == 0
    said = [one for one in ET.parse(tmp_path / "power.svg").getroot().itertext() if one.strip()]
    assert {"Power to see 1 sd at α = 0.05", "80 %", "lifetimes"} <= set(said)
    done = run_verb("plan", "--picture", tmp_path / "power.bmp")
    assert "choose one of .svg, .png, .pdf" in str(done.exception)


def test_the_bars_of_the_power_curve_grow_with_it() -> None:
    lines = run_verb("plan").stdout.splitlines()
    bars = [line.split()[1] for line in lines[lines.index("lifetimes  power") + 1 :] if "█" in line]
    assert len(bars) > 3
    assert bars == sorted(bars, key=len)


def test_a_protocol_is_multiplied_out(tmp_path: Path) -> None:
    file = tmp_path / "protocol.toml"
    file.write_text(
        'name = "small"\nlifetimes = 5\nexperts = 2\n[learner]\nuse = "somewhere:Learner"\n'
        '[[scenarios]]\nlayout = "condensed"\ntasks = ["pong", "breakout"]\nlearn = 100\nevaluate = 10\n'
    )
    cost = json.loads(run_verb("plan", "--protocol", file, "--json", "-").stdout)["cost"]
    # A life: 2 × 100 learned, 3 evaluations of 2 × 10; an expert: 100 learned, and its evaluations if any.
    assert (cost["lives"], cost["experts"], cost["life_experiences"]) == (13, 4, 13 * 260)
    assert (cost["machines"], cost["wall_seconds"]) == (1, None)
    more = json.loads(run_verb("plan", "--protocol", file, "--lifetimes", "20", "--json", "-").stdout)["cost"]
    assert more["life_experiences"] == 20 * 260


def test_of_a_pilot_with_two_scenario_types_one_is_chosen(tmp_path: Path) -> None:
    file = tmp_path / "mixed.tsv"
    rows = [f"{kind}-{at}\t{kind}\t{at % 3 + 1}\n" for kind in ("condensed", "dispersed") for at in range(6)]
    file.write_text("lifetime\tscenario_type\tperformance_maintenance\n" + "".join(rows))
    done = run_verb("plan", "--pilot", file)
    assert isinstance(done.exception, PerdureError)
    assert "2 scenario types; choose one: --scenario condensed or dispersed" in str(done.exception)
    facts = json.loads(run_verb("plan", "--pilot", file, "--scenario", "condensed", "--json", "-").stdout)
    assert facts["pilot"]["performance_maintenance"]["n"] == 6
    assert "did you mean 'condensed'" in str(run_verb("plan", "--pilot", file, "--scenario", "condense").exception)


def test_a_pilot_of_two_learners_is_for_a_comparison(tmp_path: Path) -> None:
    file = tmp_path / "two.tsv"
    rows = [f"{who}-{at}\t{who}\t{at}\t{at % 4 + at * 0.1}\n" for who in ("ours", "theirs") for at in range(6)]
    file.write_text("lifetime\tlearner\tseed\tperformance_maintenance\n" + "".join(rows))
    assert "a pilot is one learner, in one scenario type" in str(run_verb("plan", "--pilot", file).exception)
    for compare in ("paired", "unpaired"):
        done = run_verb(
            "plan", "--pilot", file, "--compare", compare, "--detect", "performance_maintenance=3", "--json", "-"
        )
        facts = json.loads(done.stdout)
        fits("plan", facts)
        assert facts["question"] == compare


@pytest.mark.parametrize(
    "text", ["performance_maintenance", "=3", "performance_maintenance=-1", "performance_maintenance=x"]
)
def test_a_distance_that_is_none_is_refused(pilot: Path, text: str) -> None:
    assert run_verb("plan", "--pilot", pilot, "--detect", text).exit_code != 0


def test_nonsense_is_refused() -> None:
    assert isinstance(run_verb("plan", "--k", "0").exception, PerdureError)


def test_what_a_pilot_says_itself_is_refused_beside_it(pilot: Path) -> None:
    for option in (("--k", "1"), ("--expert-sd", "1")):
        done = run_verb("plan", "--pilot", pilot, *option)
        assert done.exit_code == 2
        assert "cannot be combined with --pilot" in " ".join(done.output.split())


def test_a_pilot_of_one_lifetime_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "one.tsv"
    file.write_text("lifetime\tperformance_maintenance\none\t1\n")
    assert "has no spread; give two or more" in str(run_verb("plan", "--pilot", file).exception)


def test_several_metrics_may_be_named_in_a_row(pilot: Path) -> None:
    done = run_verb("plan", "--metrics", "performance_maintenance", "forward_transfer", "--pilot", pilot)
    assert done.exit_code == 0, done.output


def at_80_columns(*arguments: object) -> str:
    return run_verb("plan", *arguments, columns=80).output


@pytest.mark.parametrize("options", [(), ("--detect", "forward_transfer=1.5")])
def test_at_80_columns_the_pilots_table_is_whole(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "pilot.tsv"
    file.write_text(PILOT)
    said = at_80_columns("--pilot", file, *options)
    row = next(line for line in said.splitlines() if line.startswith("performance_maintenance "))
    assert "5" in row.split()
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())


def test_without_a_pilot_an_effect_is_planned_by_the_spread_of_lives_studied() -> None:
    asked = ("plan", "--detect", "performance_maintenance=5", "relative_performance=1.1")
    facts = json.loads(run_verb(*asked, "--json", "-").stdout)
    fits("plan", facts)
    assert facts["pilot"] is None
    kept, beside = facts["prior"]["performance_maintenance"], facts["prior"]["relative_performance"]
    assert kept["against"] == -5
    assert kept["plain"] < kept["lifetimes"]
    assert beside["dial"]["tasks"] == 3
    said = " ".join(run_verb(*asked).output.split())
    assert "by the spread in a study" in said
    assert "A pilot of your own is more reliable" in said
    assert "the numbers are for 5 per task" in said


def test_without_experts_to_be_held_against_their_number_is_not_spoken_of() -> None:
    assert "per task" not in run_verb("plan", "--detect", "performance_maintenance=5").output


def test_an_effect_in_sd_and_one_in_the_metrics_unit_are_not_both_asked_for() -> None:
    done = run_verb("plan", "--k", "1", "--detect", "performance_maintenance=5")
    assert done.exit_code == 2
    assert "--k cannot be combined with --detect" in " ".join(done.output.split())


@pytest.mark.parametrize("option", [("--scenario", "x")])
def test_what_speaks_of_a_pilot_needs_one(option: tuple[str, ...]) -> None:
    done = run_verb("plan", *option)
    assert done.exit_code == 2
    assert "add --pilot" in " ".join(done.output.split())


def test_a_pilots_table_can_be_restricted_and_says_how_little_it_knows(pilot: Path) -> None:
    done = run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenance")
    assert "The true sd may be 1.7 times the one seen" in " ".join(done.output.split())
    facts = json.loads(run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenance", "--json", "-").stdout)
    assert list(facts["pilot"]) == ["performance_maintenance"]
    assert "did you mean" in str(run_verb("plan", "--pilot", pilot, "--metrics", "performance_maintenanc").exception)
