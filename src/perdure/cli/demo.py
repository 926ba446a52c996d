"""`perdure demo`: run, score and compare two learners on each of two protocols."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.console import Console
from perdure.cli.options import Json, Quiet, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.evaluation import Evaluation
    from perdure.metrics.score import Score
    from perdure.stats.model import Group


EXAMPLE = "perdure demo --into demo --lifetimes 3"

_RIVALS: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "arcade": (("q-learning", {}), ("q-learning-per-task", {})),
    "digits": (("naive", {"rate": 0.2}), ("replay", {"rate": 0.2, "repeats": 2, "capacity": 3000, "recalled": 160})),
}
"""Protocol → a learner that forgets, and one that does not."""


def demo(
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Output folder.")] = Path("demo"),
    lifetimes: Annotated[int, typer.Option("--lifetimes", min=1, help="Lifetimes per learner and scenario.")] = 11,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=0, help="Number of processes (default: one per core).", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed; the same seed gives the same records.")] = 1,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Run four learners and their experts on two protocols, and report which of them keep what they learn.

    Two learners play games and two classify digits; one of each pair forgets. It takes about two minutes of
    processor time, or one with --lifetimes 3. If run again, it only completes what is missing.
    """
    from time import monotonic

    from perdure.api import prepare_protocol
    from perdure.cli.progress import cost_of, duration, run_with_progress

    console, started = Console(highlight=False, quiet=json == "-"), monotonic()
    prepared = [prepare_protocol(_content(name, lifetimes, seed), into / name, workers=workers) for name in _RIVALS]
    plans = [run.plan for protocol in prepared for run in protocol.runs]
    if not quiet:
        console.print(f"{len(plans)} learners, {cost_of(plans)}\n", soft_wrap=True)
    evaluations = []
    for protocol in prepared:
        results = [run_with_progress(console, run, quiet=quiet, brief=i > 0) for i, run in enumerate(protocol.runs)]
        evaluations.append(protocol.evaluated(results))
        _show(console, evaluations[-1])
    if json:
        facts = {done.prepared.name: [group.as_json() for group in done.groups] for done in evaluations if done.groups}
        emit_json(facts, json)
    if not quiet:
        console.print(
            f"\n{duration(monotonic() - started)}. Open {into / 'arcade' / 'report.html'} and "
            f"{into / 'digits' / 'report.html'}. Each learner's folder holds lives/ and experts/. "
            f"For all metrics: perdure score --all {into / 'arcade' / 'q-learning-per-task'}",
            soft_wrap=True,
        )
    raise SystemExit(0 if all(evaluation.whole for evaluation in evaluations) else 1)


def _content(name: str, lifetimes: int, seed: int) -> dict[str, Any]:
    """Return the content of an embedded protocol with both learners."""
    import tomllib
    from importlib.resources import files

    content = tomllib.loads((files("perdure.runner") / "embedded" / f"{name}.toml").read_text(encoding="utf-8"))
    del content["learner"]
    learners = [{"use": learner, "params": params} for learner, params in _RIVALS[name]]
    return {**content, "seed": seed, "lifetimes": lifetimes, "learners": learners}


def _show(console: Console, evaluated: Evaluation) -> None:
    """Print the answers and tables of one protocol, and the comparison of its learners."""
    from perdure.cli.answers import show_left_out
    from perdure.cli.progress import show_groups
    from perdure.metrics.presets import headline
    from perdure.stats.answer import answer
    from perdure.stats.systems import compare_systems, systems_of

    survey, groups, learners = evaluated.survey, evaluated.groups, evaluated.prepared.titles
    if survey is None:
        return
    for kind in dict.fromkeys(group.scenario_type for group in groups):
        of_kind = [group for group in groups if group.scenario_type == kind]
        console.print(f"\n{evaluated.prepared.name}, {kind}", style="bold")
        for group in of_kind:
            console.print(answer(group), soft_wrap=True)
        show_groups(console, of_kind, headline())
        for reason in _withheld(of_kind):
            console.print(reason, soft_wrap=True)
    if len({group.learner for group in groups}) > 1 and min(group.n for group in groups) >= 2:
        for comparison in compare_systems(systems_of(survey), learners[0]):
            console.print(comparison.answer, soft_wrap=True)
    show_left_out(survey, err=console.quiet)
    console.print(_transfer_text([score for score in survey.scores if score.learner == learners[-1]]), soft_wrap=True)


def _withheld(groups: Sequence[Group]) -> list[str]:
    """Return the reasons for which metrics have no verdict, each with its metrics."""
    from perdure.metrics.presets import headline

    reasons: dict[str, dict[str, None]] = {}
    for group in groups:
        for metric in headline():
            if why := group.estimates[metric].withheld:
                reasons.setdefault(why, {})[metric] = None
    return [f"{', '.join(metrics)}: {why}" for why, metrics in reasons.items()]


def _transfer_text(scores: Sequence[Score]) -> str:
    """Return the forward transfer of each pair of tasks as text, the largest first."""
    values: dict[str, list[float]] = {}
    for score in scores:
        for pair, transfers in score.metrics["forward_transfer"].by.items():
            values.setdefault(pair, []).extend(transfers[:1])
    means = {pair: sum(transfers) / len(transfers) for pair, transfers in values.items() if transfers}
    listed = ", ".join(f"{pair} {means[pair]:.2f}" for pair in sorted(means, key=lambda pair: -means[pair]))
    return f"forward transfer by pair (above 1: helps, below 1: harms): {listed or 'none'}"
