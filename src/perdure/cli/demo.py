"""`perdure demo`: two evaluation protocols, two learners each, lived, scored and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.options import Json, Quiet, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.cli.console import Console
    from perdure.evaluation import Evaluation
    from perdure.metrics.score import Score
    from perdure.stats.model import Group


EXAMPLE = "perdure demo --into demo --lifetimes 3"

_RIVALS: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "arcade": (("q-learning", {}), ("q-learning-per-task", {})),
    "digits": (("naive", {"rate": 0.2}), ("replay", {"rate": 0.2, "repeats": 2, "capacity": 3000, "recalled": 160})),
}
"""For each protocol the learner that forgets, and the one that keeps."""


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
    from perdure.cli.console import Console
    from perdure.cli.progress import cost_of, duration, run_with_progress

    console, started = Console(highlight=False, quiet=json == "-"), monotonic()
    prepared = [prepare_protocol(_content(name, lifetimes, seed), into / name, workers=workers) for name in _RIVALS]
    plans = [run.plan for one in prepared for run in one.runs]
    if not quiet:
        console.print(f"{len(plans)} learners, {cost_of(plans)}\n", soft_wrap=True)
    found = []
    for one in prepared:
        results = [run_with_progress(console, run, quiet=quiet, brief=at > 0) for at, run in enumerate(one.runs)]
        found.append(one.evaluated(results))
        _show(console, found[-1])
    if json:
        emit_json({one.prepared.name: [group.as_json() for group in one.groups] for one in found if one.groups}, json)
    if not quiet:
        console.print(
            f"\n{duration(monotonic() - started)}. Open {into / 'arcade' / 'report.html'} and "
            f"{into / 'digits' / 'report.html'}. Each learner's folder holds lives/ and experts/. "
            f"For all metrics: perdure score --all {into / 'arcade' / 'q-learning-per-task'}",
            soft_wrap=True,
        )
    raise SystemExit(0 if all(one.whole for one in found) else 1)


def _content(name: str, lifetimes: int, seed: int) -> dict[str, Any]:
    """An embedded protocol, of both rivals."""
    import tomllib
    from importlib.resources import files

    content = tomllib.loads((files("perdure.runner") / "embedded" / f"{name}.toml").read_text(encoding="utf-8"))
    del content["learner"]
    learners = [{"use": learner, "params": params} for learner, params in _RIVALS[name]]
    return {**content, "seed": seed, "lifetimes": lifetimes, "learners": learners}


def _show(console: Console, evaluated: Evaluation) -> None:
    """The tables of one protocol, and what they say, in words."""
    from perdure.cli.answers import show_left_out
    from perdure.cli.progress import show_groups
    from perdure.metrics.presets import headline
    from perdure.stats.answer import answer
    from perdure.stats.sentences import sentence
    from perdure.stats.systems import compare_systems, systems_of

    surveyed, found, learners = evaluated.survey, evaluated.groups, evaluated.prepared.titles
    if surveyed is None:
        return
    for kind in dict.fromkeys(group.scenario_type for group in found):
        here = [group for group in found if group.scenario_type == kind]
        console.print(f"\n{evaluated.prepared.name}, {kind}", style="bold")
        for group in here:
            console.print(answer(group), soft_wrap=True)
        show_groups(console, here, headline())
        for said in _withheld(here):
            console.print(said, soft_wrap=True)
    if len({group.learner for group in found}) > 1 and min(group.n for group in found) >= 2:
        # The family is tested whole, whatever of it is said here, so that every verb gives one p.
        compared = compare_systems(systems_of(surveyed), learners[0], metrics=headline()[:1])
        for one in compared.comparisons:
            for difference in one.differences.values():
                console.print(
                    f"{one.scenario_type}, {sentence(difference, one.system, one.baseline)}",
                    soft_wrap=True,
                )
    show_left_out(surveyed, err=console.quiet)
    console.print(_carried_over([one for one in surveyed.scores if one.learner == learners[-1]]), soft_wrap=True)


def _withheld(groups: Sequence[Group]) -> list[str]:
    """Why metrics got no verdict whatever their intervals, each reason once."""
    from perdure.metrics.presets import headline

    reasons: dict[str, dict[str, None]] = {}
    for group in groups:
        for metric in headline():
            if why := group.estimates[metric].withheld:
                reasons.setdefault(why, {})[metric] = None
    return [f"{', '.join(metrics)}: {why}" for why, metrics in reasons.items()]


def _carried_over(scores: Sequence[Score]) -> str:
    """Which task helps which: the forward transfer of each pair, the most helpful first."""
    values: dict[str, list[float]] = {}
    for life in scores:
        for pair, found in life.metrics["forward_transfer"].by.items():
            values.setdefault(pair, []).extend(found[:1])
    means = {pair: sum(found) / len(found) for pair, found in values.items() if found}
    said = ", ".join(f"{pair} {means[pair]:.2f}" for pair in sorted(means, key=lambda pair: -means[pair]))
    return f"forward transfer by pair (above 1: helps, below 1: harms): {said or 'none'}"
