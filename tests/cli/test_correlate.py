"""`perdure correlate`: what a user types, and what they see."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb

from perdure.errors import PerdureError


def table(path: Path, rows: int = 12, measure: str = "reward", first: int = 0) -> Path:
    head = "lifetime\tmeasure\tperformance_maintenance\tforward_transfer\tbackward_transfer\n"
    body = "".join(f"life-{at}\t{measure}\t{at}\t{(at * 7) % 12}\t{-at}\n" for at in range(first, first + rows))
    path.write_text(head + body)
    return path


def test_the_table_has_the_layout_of_table_15(tmp_path: Path) -> None:
    done = run_verb("correlate", table(tmp_path / "scores.tsv"))
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert lines[2][:2] == ["performance_maintenance", "forward_transfer"]
    assert lines[3][:2] == ["backward_transfer", "−1.00"]  # the first metric is not repeated
    assert lines[4][:2] == ["forward_transfer", "backward_transfer"]


def test_json_says_the_same(tmp_path: Path) -> None:
    facts = json.loads(run_verb("correlate", table(tmp_path / "scores.tsv"), "--json", "-").stdout)
    assert facts["n"] == 12
    assert (facts["schema"], facts["definitions"], facts["left_out"]) == (2, 3, [])
    assert [(one["first"], one["second"]) for one in facts["correlations"]] == [
        ("performance_maintenance", "forward_transfer"),
        ("performance_maintenance", "backward_transfer"),
        ("forward_transfer", "backward_transfer"),
    ]
    assert facts["correlations"][1]["rho"] == -1.0


def test_several_places_are_pooled_unless_their_measures_differ(tmp_path: Path) -> None:
    first, second = table(tmp_path / "a.tsv"), table(tmp_path / "b.tsv", first=12)
    assert json.loads(run_verb("correlate", first, second, "--json", "-").stdout)["n"] == 24
    other = table(tmp_path / "c.tsv", measure="steps", first=30)
    done = run_verb("correlate", first, other)
    assert isinstance(done.exception, PerdureError)
    assert "different measures are never pooled" in str(done.exception)
    assert json.loads(run_verb("correlate", first, other, "--across", "--json", "-").stdout)["n"] == 24


def test_the_same_place_given_twice_counts_once(tmp_path: Path) -> None:
    first = table(tmp_path / "a.tsv")
    counts = [json.loads(run_verb("correlate", *given, "--json", "-").stdout)["n"] for given in ([first], [first] * 2)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(("metrics", "said"), [("forward_transfe", "did you mean"), ("forward_transfer", "needs two")])
def test_metrics_are_chosen_by_name(tmp_path: Path, metrics: str, said: str) -> None:
    done = run_verb("correlate", table(tmp_path / "a.tsv"), "--metrics", metrics)
    assert isinstance(done.exception, PerdureError)
    assert said in str(done.exception)


def at_80_columns(*arguments: object) -> str:
    return run_verb("correlate", *arguments, columns=80).output


def test_at_80_columns_both_ids_and_the_result_are_whole(tmp_path: Path) -> None:
    file = table(tmp_path / "scores.tsv")
    names = ("performance_maintenance_terminal", "performance_maintenance", "backward_transfer_contrast")
    rows = file.read_text().splitlines()
    file.write_text("\n".join(["\t".join(("lifetime", "measure", *names)), *rows[1:]]))
    said = at_80_columns(file)
    row = next(line for line in said.splitlines() if line.startswith("performance_maintenance_terminal "))
    assert row.split()[1] == "backward_transfer_contrast"
    assert all(name in said for name in names)
    assert "< .001" in said
    assert "…" not in said
    assert all(len(line.rstrip()) <= 80 for line in said.splitlines())
