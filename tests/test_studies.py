"""Summaries of the study equal those of `perdure score`, and its page agrees with its results."""

from __future__ import annotations

import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.command import run_learner

from perdure.gather.model import Survey
from perdure.gather.survey import survey
from perdure.log.model import Lifetime
from perdure.log.read import lifetimes
from perdure.runner.protocol import parse_protocol
from perdure.settings import Settings
from perdure.stats.groups import groups
from perdure.stats.pilot import PRIORS

pytest.importorskip("jax")

STUDY = Path(__file__).parents[1] / "studies" / "ten-thousand-lives"
sys.path.insert(0, str(STUDY))
live_all = import_module("living").live_all
summaries = import_module("summaries").summaries
EXPERTS: tuple[int, ...] = import_module("summaries").EXPERTS
GROUP: int = import_module("summaries").GROUP
MOST: int = import_module("summaries").MOST
judging: Any = import_module("judging")
answers: Any = import_module("answers")
readings: Any = import_module("readings")

HEADLINE = {
    "pm": "performance_maintenance",
    "ft": "forward_transfer",
    "bt": "backward_transfer",
    "rp": "relative_performance",
    "se": "sample_efficiency",
}
MATRIX = ("average_accuracy", "learning_accuracy", "bwt", "forgetting", "fwt")
LIVES = 100  # of each of two layouts
SIZE = 64


def small() -> dict[str, Any]:
    """Return a shorter version of the study's Gaussian protocol."""
    document = tomllib.loads((STUDY / "gaussians.toml").read_text(encoding="utf-8"))
    document |= {"lifetimes": LIVES, "experts": MOST * -(-LIVES // GROUP), "limits": {"lives_at_once": SIZE}}
    for scenario in document["scenarios"]:
        scenario |= {"learn": 45, "evaluate": 6}
    document["learner"]["params"] |= {"method": "replay", "capacity": 64, "recalled": 8}
    return document


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, list[Lifetime]]]:
    """Return the summaries of 200 lifetimes by layout, and the lifetimes and experts of the batched engine."""
    protocol = parse_protocol(small())
    lifetimes_by_layout, experts, _ = live_all(protocol, SIZE)
    result = {
        name: summaries(item.order, item.learned, item.evaluated, experts, (0.0, 1.0))
        for name, item in lifetimes_by_layout.items()
    }
    folder = tmp_path_factory.mktemp("study") / "run"
    assert not run_learner(protocol, folder, engine="batched").missing
    held: dict[str, list[Lifetime]] = {"experts": list(lifetimes(folder / "experts" / "batch-000.parquet"))}
    for lifetime in lifetimes(folder / "lives" / "batch-000.parquet"):
        held.setdefault(str(lifetime.scenario_type), []).append(lifetime)
    for several in held.values():
        several.sort(key=lambda lifetime: int(lifetime.id.rsplit("-", 1)[1]))
    return result, held


def survey_group(held: dict[str, list[Lifetime]], layout: str, group: int, n: int, k: int, preset: str) -> Survey:
    """Survey a group's first n lifetimes with its first k experts of each task."""
    lifetimes = held[layout][group * GROUP : (group + 1) * GROUP][:n]
    first = group * MOST
    experts = [item for item in held["experts"] if first <= int(item.id.rsplit("-", 1)[1]) < first + k]
    return survey(lifetimes, experts, Settings(preset=preset), jobs=1)


def scores_of_group(
    held: dict[str, list[Lifetime]], layout: str, group: int, k: int, preset: str
) -> dict[str, np.ndarray]:
    """Return the metrics of `perdure score` for a group with its first k experts of each task, a row per lifetime."""
    values = [
        lifetime.score.values
        for lifetime in survey_group(held, layout, group, GROUP, k, preset).lifetimes
        if lifetime.score
    ]
    return {name: np.array([value.get(name) for value in values], dtype=np.float64) for name in values[0]}


def assert_agrees(ours: Any, theirs: Any) -> None:
    assert np.isfinite(theirs).any()
    np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)  # the batched engine returns 32-bit numbers


@pytest.mark.parametrize("layout", ["condensed", "dispersed"])
def test_summaries_equal_the_scores_of_200_complete_lifetimes(layout: str, both: Any) -> None:
    summary_by_layout, held = both
    ours = summary_by_layout[layout]
    for group in range(-(-LIVES // GROUP)):
        rows = slice(group * GROUP, (group + 1) * GROUP)
        theirs = scores_of_group(held, layout, group, 5, "standard")
        assert_agrees(ours["pm"][rows], theirs[HEADLINE["pm"]])
        for name in ("ft", "bt"):
            assert_agrees(ours[name][rows], np.log(theirs[HEADLINE[name]]))
        assert_agrees(ours["se_5"][rows], np.log(theirs[HEADLINE["se"]]))
        experts = ours["experts"][:, group * MOST : group * MOST + 5]
        assert_agrees((ours["learned"][rows] - experts.mean(axis=1)).mean(axis=1), np.log(theirs[HEADLINE["rp"]]))
        for name in MATRIX:
            assert_agrees(ours[name][rows], theirs[name])


@pytest.mark.parametrize("k", EXPERTS)
@pytest.mark.parametrize("layout", ["condensed", "dispersed"])
@pytest.mark.parametrize("preset", ["baker-2023", "new-2022"])
def test_summaries_under_the_papers_presets_equal_those_of_score(preset: str, layout: str, k: int, both: Any) -> None:
    summary_by_layout, held = both
    theirs = scores_of_group(held, layout, 1, k, preset)
    for name in HEADLINE:
        column = f"{preset.partition('-')[0]}_{k}_{name}" if name != "rp" else f"baker_{k}_rp"
        assert_agrees(summary_by_layout[layout][column][GROUP : 2 * GROUP], theirs[HEADLINE[name]])


@pytest.mark.parametrize("k", EXPERTS)
def test_summaries_of_efficiency_hold_for_any_number_of_experts(k: int, both: Any) -> None:
    summary_by_layout, held = both
    for layout in ("condensed", "dispersed"):
        theirs = scores_of_group(held, layout, 2, k, "standard")
        assert_agrees(summary_by_layout[layout][f"se_{k}"][2 * GROUP : 3 * GROUP], np.log(theirs[HEADLINE["se"]]))


@pytest.mark.parametrize("k", EXPERTS)
@pytest.mark.parametrize("n", [3, 11])
@pytest.mark.parametrize("preset", ["standard", "baker-2023", "new-2022"])
def test_the_study_gives_the_verdicts_of_the_decision_layer(preset: str, n: int, k: int, both: Any) -> None:
    summary_by_layout, held = both
    (group,) = groups(survey_group(held, "dispersed", 1, n, k, preset))
    for name, metric in HEADLINE.items():
        estimate = group.estimates[metric]
        ours = judging.verdicts_on(summary_by_layout["dispersed"], preset, name, n, k)
        verdict = {1: "met", -1: "not met", 0: "undecided"}[int(ours.verdict[1])]
        assert verdict == estimate.verdict, (name, estimate)
        back = np.exp if preset == "standard" and name != "pm" else float
        assert_agrees(back(ours.mean[1]), estimate.mean)
        if np.isfinite(ours.low[1]):
            assert_agrees([back(ours.low[1]), back(ours.high[1])], [estimate.low, estimate.high])


@pytest.fixture(scope="module")
def results() -> Any:
    return readings.Results()


@pytest.fixture(scope="module")
def cells(results: Any) -> dict[tuple[str, str, str], dict[str, np.ndarray]]:
    """Return the metrics of every stored lifetime in their own units, by cell."""
    steps = import_module("condense").STEPS
    cells_by_group = results.lives.group_by("family", "learner", "layout", maintain_order=True)
    return {cell: {name: some[name].to_numpy() * step for name, step in steps.items()} for cell, some in cells_by_group}


def test_the_page_and_its_figures_match_the_results(results: Any) -> None:
    for file, text in answers.pages(results).items():
        assert file.read_text(encoding="utf-8") == text
    for name, drawn in answers.figures(results):
        assert (answers.DOCS / answers.PAGE / f"{name}.svg").read_text(encoding="utf-8") == drawn


def test_every_learner_has_ten_thousand_lifetimes_of_each_layout_in_each_family(cells: Any) -> None:
    assert len(cells) == 3 * 6 * 2
    assert {len(cell["pm"]) for cell in cells.values()} == {10_000}


def test_the_true_value_is_the_mean_of_the_stored_lifetimes(results: Any, cells: Any) -> None:
    message = results.truth.filter(preset="standard", k=5)
    for row in message.iter_rows(named=True):
        values = cells[row["family"], row["learner"], row["layout"]][row["metric"]]
        # The true RP counts all experts; a stored lifetime counts the first five of its group's ten.
        allowed = 0.1 * row["sd"] if row["metric"] == "rp" else 1e-4
        assert abs(values.mean() - row["mean"]) < allowed
        assert abs(values.std(ddof=1) / row["sd"] - 1) < 0.005


def test_the_rates_equal_those_of_the_stored_lifetimes(results: Any, cells: Any) -> None:
    for row in results.rates.filter(preset="standard", learner="separate").iter_rows(named=True):
        if row["metric"] in ("rp", "se"):
            continue
        verdicts = judging.verdicts_on(
            cells[row["family"], row["learner"], row["layout"]], "standard", row["metric"], row["n"], 5
        )
        # Stored lifetimes are rounded, so that a borderline group may change sides.
        assert abs(int((verdicts.verdict == 1).sum()) - row["met"]) <= 2
        assert abs(int((verdicts.verdict == -1).sum()) - row["not_met"]) <= 2


def test_metrics_correlate_in_the_stored_lifetimes_as_on_the_page(results: Any, cells: Any) -> None:
    for first, second in (("pm", "bt"), ("rp", "se")):
        ranks = [
            np.concatenate([cell[name] for cell in cells.values()]).argsort().argsort() for name in (first, second)
        ]
        assert abs(np.corrcoef(ranks[0], ranks[1])[0, 1] - readings.correlations(results, first, second)[1]) < 0.002


def test_metrics_correlate_in_the_48_published_lifetimes_as_on_the_page(shared: Path) -> None:
    columns = (
        "perf_maintenance_mrlep",
        "forward_transfer_ratio",
        "backward_transfer_ratio",
        "ste_rel_perf",
        "sample_efficiency",
    )
    file = shared / "data" / "l2metrics-examples" / "evaluation" / "ll_metrics.tsv"
    frame = pl.read_csv(file, separator="\t")
    ranks = np.corrcoef([frame[name].rank().to_numpy() for name in columns])
    names = list(HEADLINE)
    for (first, second), held in readings.PUBLISHED_48.items():
        assert abs(ranks[names.index(first), names.index(second)] - held) < 0.0051


def test_the_separate_learner_is_a_null_in_every_family(cells: Any) -> None:
    for (_, learner, _), values in cells.items():
        if learner == "separate":
            for name in ("pm", "ft", "bt"):
                assert abs(values[name].mean()) < 4 * values[name].std() / 100


@pytest.mark.parametrize("metric", ["rp", "se"])
def test_at_the_balance_one_more_expert_and_one_more_lifetime_gain_the_same(metric: str, results: Any) -> None:
    many = 1_000_000
    bought = readings.next_expert(results, metric, many, readings.balance(results, metric) * many)
    np.testing.assert_allclose(bought, 1.0, rtol=1e-4)


def test_the_priors_of_plans_equal_those_of_the_study(results: Any) -> None:
    prior_by_metric = readings.priors(results)
    for name, metric in HEADLINE.items():
        prior = PRIORS[metric]
        held = {"lives": prior.lives, "pairs": prior.pairs, "experts": prior.experts or (0.0, 0.0)}
        assert held == prior_by_metric[name]
