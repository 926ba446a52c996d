"""Metrics are found by the short names that papers use, in any capitals, wherever an id is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.verbs import run_verb

import perdure
from perdure.log.formats.matrix import matrix_lifetime
from perdure.metrics.declare import METRICS
from perdure.metrics.settings import settings_for
from perdure.reports.data import gather
from perdure.reports.figures import FigureView
from perdure.reports.figures.declare import figure_metrics
from perdure.settings import Settings

# As the documents abbreviate them: S002 the first seven, S000 and S001 the others.
SHORT = {
    "AA": "average_accuracy",
    "LA": "learning_accuracy",
    "BWT": "bwt",
    "FWT": "fwt",
    "FM": "forgetting",
    "IM": "intransigence",
    "MS": "memory_stability",
    "PM": "performance_maintenance",
    "FT": "forward_transfer",
    "BT": "backward_transfer",
    "RP": "relative_performance",
    "SE": "sample_efficiency",
}


@pytest.fixture
def matrices(tmp_path: Path) -> Path:
    for learner, lost in (("naive", 40), ("replay", 5)):
        (tmp_path / "runs" / learner).mkdir(parents=True)
        for seed in range(4):
            at_the_end = 90 - lost - seed
            (tmp_path / "runs" / learner / f"seed{seed}.csv").write_text(
                f"90,{at_the_end + 5},{at_the_end}\n,85,80\n,,88\n"
            )
    return tmp_path / "runs"


@pytest.mark.parametrize("short", SHORT)
def test_a_short_name_is_the_metric_in_any_capitals(short: str) -> None:
    for typed in (short, short.lower(), short.capitalize()):
        assert METRICS.get(typed) is METRICS.get(SHORT[short])


def test_a_short_name_of_two_metrics_is_nowhere() -> None:
    named = [alias.lower() for one in METRICS for alias in (one.name, *one.aliases)]
    assert len(named) == len(set(named))


def test_every_verb_takes_them(matrices: Path, tmp_path: Path) -> None:
    for verb, arguments in {
        "score": (matrices,),
        "compare": (matrices / "replay", matrices / "naive"),
        "correlate": (matrices / "naive",),
        "plan": ("--pilot", matrices / "naive", "--detect", "BWT=5"),
        "report": (matrices, "--to", tmp_path / "report.md"),
        "figure": ("metrics", matrices, "--to", tmp_path / "metrics.png"),
    }.items():
        result = run_verb(verb, *arguments, "--metrics", "aa,BWT", "--margin", "Bwt=2", "--json", "-")
        assert result.exit_code == 0, (verb, result.output, result.exception)
        assert "average_accuracy" in result.output, verb
        assert '"AA"' not in result.output.upper().replace('"AA,', ""), verb


def test_files_of_settings_take_them(matrices: Path) -> None:
    (matrices / "perdure.toml").write_text('metrics = ["AA", "la"]\n[margins]\nBWT = 1\n')
    found = settings_for([matrices])
    assert found.metrics == ("average_accuracy", "learning_accuracy")
    assert found.margins == {"bwt": 1}


def test_functions_take_them(matrices: Path) -> None:
    found = perdure.survey(matrices, settings=perdure.Settings(metrics=("AA", "Fm")))
    assert set(found.scores[0].metrics) == {"average_accuracy", "forgetting"}
    assert found.scores[0]["AA"] == found.scores[0]["average_accuracy"]
    assert set(found.by_task("aa")) == {"task1", "task2", "task3"}
    assert figure_metrics(gather(matrices), FigureView(metrics=("AA",))) == ("average_accuracy",)


def test_scores_made_before_are_found_by_them(matrices: Path, tmp_path: Path) -> None:
    run_verb("score", matrices, "--json", tmp_path / "scores.json")
    made = perdure.survey(tmp_path / "scores.json", settings=perdure.Settings(metrics=("AA",)))
    assert {name for one in made.scores for name in one.metrics} == {"average_accuracy"}


@pytest.mark.parametrize(
    ("asked", "instead"), [("backward_transfer", "bwt"), ("BT", "bwt"), ("PM", "bwt"), ("forward_transfer", "fwt")]
)
def test_what_only_a_log_has_points_to_what_a_matrix_has(asked: str, instead: str) -> None:
    found = perdure.score(matrix_lifetime([[90.0, 60.0], [float("nan"), 80.0]]), settings=Settings(metrics=[asked]))
    ((_, why),) = found.why.items()
    assert why.endswith(f"for a matrix, use {instead}")


def test_the_list_shows_them() -> None:
    listed = json.loads(run_verb("list", "metrics", "--json", "-").output)
    short = {alias: one["name"] for one in listed for alias in one["aliases"]}
    assert {SHORT[name] for name in SHORT if name not in ("BWT", "FWT")} <= set(short.values())
    assert "average_accuracy (AA)" in run_verb("list", "metrics").output
