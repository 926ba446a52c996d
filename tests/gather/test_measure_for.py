"""`--measure-for`: a metric with a measure of its own (Baker et al. 2023, Fig. 4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import run_command
from tests.gather.test_weights import write_lifetime

import perdure
from perdure.errors import MetricError, UnknownNameError

FOR = {"forward_transfer": "units", "relative_performance": "units"}
BOUNDS = dict.fromkeys(("pong_wide", "breakout", "battle"), (0.0, 1.0))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measures")
    for seed in range(3):
        write_lifetime(folder / "mine", f"life-{seed}", seed)
        write_lifetime(folder / "theirs", f"life-{seed}", 50 + seed)
        for task in BOUNDS:
            write_lifetime(folder / "experts", f"{task}-{seed}", 100 + seed + len(task), (task,))
    return folder


@pytest.mark.parametrize("how", [{}, {"scale": "none"}, {"clamp": True}, {"weights": {"pong": 2.0}}])
def test_each_metric_is_that_of_a_score_by_its_measure(runs: Path, how: dict[str, object]) -> None:
    mixed = perdure.survey(runs / "mine", runs / "experts", measure_for=FOR, **how)  # type: ignore[arg-type]
    reward = perdure.survey(runs / "mine", runs / "experts", measure="reward", **how)  # type: ignore[arg-type]
    units = perdure.survey(runs / "mine", runs / "experts", measure="units", **how)  # type: ignore[arg-type]
    for found, by_reward, by_units in zip(mixed, reward, units, strict=True):
        assert found.values == {
            name: by_units.value(name) if name in FOR else value for name, value in by_reward.values.items()
        }
        assert found.measure == "reward"


def test_bounds_are_those_of_the_other_metrics_measure(runs: Path) -> None:
    bounded = perdure.survey(runs / "mine", bounds=BOUNDS, measure_for={"FT": "units"})
    units, reward = perdure.survey(runs / "mine", measure="units"), perdure.survey(runs / "mine", bounds=BOUNDS)
    for found, by_units, by_reward in zip(bounded, units, reward, strict=True):
        assert found["forward_transfer"] == by_units["forward_transfer"]
        assert found["backward_transfer"] == by_reward["backward_transfer"]


def test_outputs_state_the_measure_of_the_metric(runs: Path) -> None:
    options = ("--measure", "reward", "--measure-for", "forward_transfer=units")
    shown = run_command("score", runs / "mine", *options, "--why").stdout
    assert "reward, forward_transfer by units" in " ".join(shown.split())
    assert "forward_transfer: measured by units" in " ".join(shown.split())
    found = json.loads(run_command("score", runs / "mine", *options, "--json", "-").stdout)
    assert found["settings"]["measure_for"] == {"forward_transfer": "units"}
    assert found["lifetimes"][0]["metrics"]["forward_transfer"]["flags"][-1] == "measured by units"
    report = json.loads(run_command("report", runs / "mine", *options, "--json", "-", folder=runs).stdout)
    assert "forward_transfer by units" in report["methods"]
    compared = json.loads(run_command("compare", runs / "mine", runs / "theirs", *options, "--json", "-").stdout)
    assert "forward_transfer by units" in compared["notes"]


def test_a_settings_file_and_a_protocol_may_name_it(runs: Path, tmp_path: Path) -> None:
    write_lifetime(tmp_path / "logs", "life-0", 0)
    (tmp_path / "logs/perdure.toml").write_text('[measure_for]\nFT = "units"\n')
    found = json.loads(run_command("score", tmp_path / "logs", "--json", "-").stdout)
    assert found["settings"]["measure_for"] == {"forward_transfer": "units"}


def test_scores_written_to_files_keep_it(runs: Path, tmp_path: Path) -> None:
    for name in ("mine", "theirs"):
        run_command("score", runs / name, "--measure-for", "FT=units", "--json", tmp_path / f"{name}.json")
    ended = run_command("compare", tmp_path / "mine.json", tmp_path / "theirs.json")
    assert ended.returncode == 2
    assert "scaled by different ranges" in ended.stderr
    again = json.loads(run_command("score", tmp_path / "mine.json", "--json", "-").stdout)
    assert again["groups"][0]["stated"] == ["forward_transfer by units"]


def test_one_lifetime_is_not_judged_by_the_spread_of_another_measure(runs: Path) -> None:
    found = json.loads(run_command("score", runs / "mine/life-0", "--measure-for", "PM=units", "--json", "-").stdout)
    [group] = found["groups"]
    assert "is known for reward only" in group["metrics"]["performance_maintenance"]["why"]


def test_unknown_metrics_measures_and_metrics_of_comparisons_are_refused(runs: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown metric in --measure-for 'forward_transfre'"):
        perdure.survey(runs / "mine", measure_for={"forward_transfre": "units"})
    with pytest.raises(UnknownNameError, match="did you mean 'units'"):
        perdure.score(runs / "mine/life-0", measure_for={"FT": "unit"})
    with pytest.raises(MetricError, match="computed when lifetimes are compared; give --measure"):
        perdure.survey(runs / "mine", measure_for={"learning_speed": "units"})
