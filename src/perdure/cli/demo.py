"""`perdure demo`: two evaluation protocols, two learners each, lived, scored and compared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from perdure.cli.options import Json, Quiet, emit_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perdure.cli.console import Console
    from perdure.gather.model import Survey
    from perdure.metrics.engine.score import Score
    from perdure.run.plan import Plan
    from perdure.run.protocol import Protocol
    from perdure.run.runner import RunResult
    from perdure.stats.model import Group

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "perdure demo --into demo --lifetimes 3"

_RIVALS: dict[str, tuple[tuple[str, dict[str, Any]], tuple[str, dict[str, Any]]]] = {
    "arcade": (("forgetful-q", {}), ("keeping-q", {})),
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

    from perdure.cli.console import Console
    from perdure.cli.running import cost_of, duration
    from perdure.gather.survey import survey
    from perdure.report import sketched, write_report
    from perdure.run.folder import RunFolder
    from perdure.run.plan import Plan
    from perdure.stats.groups import groups

    console, started = Console(highlight=False), monotonic()
    plans = {
        (name, learner): Plan(
            RunFolder(into / name / learner).planned(_protocol(name, learner, params, lifetimes, seed))
        )
        for name, rivals in _RIVALS.items()
        for learner, params in rivals
    }
    if not quiet:
        console.print(f"{len(plans)} learners, {cost_of(tuple(plans.values()))}\n", soft_wrap=True)
    failed, facts = False, {}
    for name, rivals in _RIVALS.items():
        page, new, any_lived = into / name / "report.html", False, False
        for at, (learner, _) in enumerate(rivals):
            folder, plan = into / name / learner, plans[name, learner]
            result = _lived(console, plan, folder, workers, quiet=quiet, brief=at > 0)
            failed = failed or bool(result.failed)
            new, any_lived = new or bool(result.lived), any_lived or bool(result.finished_lives)
        if not any_lived:
            continue
        learners = [learner for learner, _ in rivals]
        surveyed = survey([into / name / learner for learner in learners], look=sketched)
        found = groups(surveyed)
        facts[name] = [group.as_json() for group in found]
        if new or not page.exists():
            write_report(surveyed, page, title=f"{name}: {' and '.join(learners)}")
        if json != "-":
            _show(console, name, surveyed, found, learners)
    if json:
        emit_json(facts, json)
    if not quiet and json != "-":
        console.print(
            f"\n{duration(monotonic() - started)}. Open {into / 'arcade' / 'report.html'} and "
            f"{into / 'digits' / 'report.html'}. Each learner's folder holds lives/ and experts/. "
            f"For all metrics: perdure score --all {into / 'arcade' / 'keeping-q'}",
            soft_wrap=True,
        )
    raise typer.Exit(1 if failed else 0)


def _protocol(name: str, learner: str, params: dict[str, Any], lifetimes: int, seed: int) -> Protocol:
    import tomllib
    from importlib.resources import files

    from perdure.run.protocol import parse_protocol

    content = tomllib.loads((files("perdure.run") / "embedded" / f"{name}.toml").read_text(encoding="utf-8"))
    content |= {"seed": seed, "lifetimes": lifetimes, "learner": {"use": learner, "params": params}}
    return parse_protocol(content, where=name)


def _lived(console: Console, plan: Plan, folder: Path, workers: int | None, *, quiet: bool, brief: bool) -> RunResult:
    from perdure.cli.running import progress_of, resumable, show_failures, show_plan
    from perdure.run.folder import RunFolder
    from perdure.run.runner import cores, run_protocol

    missing = [job for job in plan.jobs if not RunFolder(folder).is_finished(job)]
    count = cores() if workers is None else workers
    if not quiet:
        show_plan(console, plan, missing, count, brief=brief)
    with resumable(folder, RunFolder(folder), plan), progress_of(missing, count, quiet=quiet) as tell:
        result = run_protocol(plan.protocol, folder, workers=count, tell=tell)
    show_failures(console, result)
    return result


def _show(console: Console, name: str, surveyed: Survey, found: Sequence[Group], learners: Sequence[str]) -> None:
    """The tables of one protocol, and what they say, in words."""
    from perdure.cli.running import show_beside
    from perdure.metrics.engine.presets import headline
    from perdure.stats.answer import answer
    from perdure.stats.sentences import sentence
    from perdure.stats.systems import compare_systems, systems_of

    for kind in dict.fromkeys(group.scenario_type for group in found):
        here = [group for group in found if group.scenario_type == kind]
        console.print(f"\n{name}, {kind}", style="bold")
        for group in here:
            console.print(answer(group), soft_wrap=True)
        show_beside(console, here, headline())
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
    console.print(_carried_over([one for one in surveyed.scores if one.learner == learners[-1]]), soft_wrap=True)


def _withheld(groups: Sequence[Group]) -> list[str]:
    """Why metrics got no verdict whatever their intervals, each reason once."""
    from perdure.metrics.engine.presets import headline

    reasons: dict[str, dict[str, None]] = {}
    for group in groups:
        for metric in headline():
            if why := group.estimates[metric].decision.withheld:
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
