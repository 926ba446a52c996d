"""`perdure plan`: how many lifetimes an evaluation needs, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Variadic, settings_facts, surveyed

if TYPE_CHECKING:
    from perdure.log.model import Lifetime
    from perdure.run.plan import Plan as Jobs
    from perdure.settings import Settings
    from perdure.stats.plan import Cost, Plan

__all__ = ["COMMAND", "EXAMPLE", "plan"]

EXAMPLE = "perdure plan --pilot runs/first --detect performance_maintenance=5 forward_transfer=1.2"
COMMAND = Variadic


@with_settings("pilot")
def plan(
    settings: Settings,
    k: Annotated[float | None, typer.Option("--k", help="The effect to be seen, in sd (1 if not given).")] = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="How often the test may err (1 − level).", show_default=False)
    ] = None,
    beta: Annotated[float, typer.Option("--beta", help="How often it may miss the effect.")] = 0.1,
    lifetimes: Annotated[
        int | None, typer.Option("--lifetimes", min=2, help="What could so many see? (the paper's number if not given)")
    ] = None,
    compare: Annotated[
        Literal["paired", "unpaired"] | None,
        typer.Option("--compare", help="Plan for two learners, whose lifetimes are pairs or not; numbers are of each."),
    ] = None,
    pilot: Annotated[
        list[Path] | None,
        typer.Option("--pilot", metavar="LOG...", help="Lifetimes that were run already, or their scores."),
    ] = None,
    detect: Annotated[
        list[str] | None,
        typer.Option(
            "--detect",
            metavar="ID=X...",
            help="The effect to be seen: so far beyond the threshold less its margin; of a ratio, such a factor.",
        ),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="TYPE", help="Of a pilot with several: this scenario type.")
    ] = None,
    experts: Experts = None,
    experts_per_task: Annotated[
        int | None,
        typer.Option(
            "--experts-per-task", min=3, help="How many will be run (the protocol's, or 5).", show_default=False
        ),
    ] = None,
    expert_sd: Annotated[
        float | None,
        typer.Option("--expert-sd", help="Beside experts that differ by so many sd of lifetimes (a pilot knows)."),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Tasks that have experts; with --expert-sd.")] = 3,
    protocol: Annotated[
        Path | None,
        typer.Option("--protocol", metavar="FILE", help="What so many lifetimes of a protocol.toml cost."),
    ] = None,
    machines: Annotated[int, typer.Option("--machines", min=1, help="How many work at once.")] = 1,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw the power curve there.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of redrawing a pilot.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """How many lifetimes are needed: the paper's rule, and the number for the test that decides.

    Of a --pilot only the spread is used; the effect to be seen is yours to say. The options below `Options`
    are those of scoring a pilot.
    """
    from perdure.cli.plan_table import show_plan
    from perdure.verbs import plan as planned

    _refuse_idle(pilot, settings, detect=bool(detect), scenario=bool(scenario), k=k, expert_sd=expert_sd)
    jobs = _jobs(protocol) if protocol else None
    each = experts_per_task or (jobs.protocol.experts if jobs else None)
    pool = surveyed(pilot, experts, replace(settings, metrics=settings.files), quiet) if pilot else None
    made = planned(
        k,
        alpha=alpha,
        beta=beta,
        lifetimes=lifetimes,
        compare=compare,
        pilot=pool,
        detect=_effects(detect),
        scenario=scenario,
        settings=settings,
        experts_per_task=each,
        expert_sd=expert_sd,
        tasks=tasks,
        seed=seed,
    )
    how = settings_facts(pool, settings) if pool else {}
    left_out = pool.left_out if pool else ()
    if jobs:
        at = lifetimes or max((one.lifetimes or 0 for one in made.pilot.values()), default=0) or made.exact or made.rule
        speed = _seconds_per_experience(pilot) if pilot else None
        made = replace(made, cost=_cost(jobs, at, jobs.protocol.experts if each is None else each, speed, machines))
    if picture:
        _draw(made, picture)
    if json:
        emit_json({**made.as_json(), **how}, json)
    if json != "-":
        show_plan(made, quiet)
        if picture:
            typer.echo(f"drawn: {picture}")
    for name, why in left_out:
        typer.echo(f"left out: {name}: {why}", err=True)
    raise typer.Exit(1 if left_out else 0)


def _refuse_idle(
    pilot: Sequence[Path] | None,
    settings: Settings,
    *,
    detect: bool,
    scenario: bool,
    k: float | None,
    expert_sd: float | None,
) -> None:
    """Refuse what speaks of a pilot where there is none, and what a pilot says itself."""
    from perdure.settings import OPTIONS

    asked = [OPTIONS[name].flag for name in settings.origins if name != "level"]
    idle = ["--detect"] * detect + ["--scenario"] * scenario + asked
    if idle and not pilot:
        raise typer.BadParameter(f"{idle[0]} speaks of a pilot's values; give --pilot too")
    known = ["--k"] * (k is not None) + ["--expert-sd"] * (expert_sd is not None)
    if known and pilot:
        other = "--detect says the effect in a metric's own unit" if known[0] == "--k" else "its own experts tell"
        raise typer.BadParameter(f"{known[0]} is not for a --pilot: {other}")


def _effects(pairs: list[str] | None) -> dict[str, float]:
    """`["performance_maintenance=5"]` as a mapping."""
    found: dict[str, float] = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        try:
            found[name] = float(text)
        except ValueError:
            raise typer.BadParameter(f"--detect {pair!r}: expected ID=X, as in performance_maintenance=5") from None
        if not 0 < found[name] < float("inf"):
            raise typer.BadParameter(f"--detect {pair!r}: an effect is a positive number, of a ratio a factor above 1")
    return found


def _seconds_per_experience(pilot: list[Path]) -> float | None:
    """How long the pilot's experiences took, by their timestamps; None where there are none."""
    from contextlib import suppress

    from perdure.errors import PerdureError
    from perdure.log.read import find, read
    from perdure.stats.pace import seconds_per_experience

    def readable() -> Iterator[Lifetime]:
        for one in (one for path in pilot if path.is_dir() for one in find(path)):
            with suppress(PerdureError):  # what cannot be read was left out, and said so
                yield read(one)

    return seconds_per_experience(readable())


def _jobs(protocol: Path) -> Jobs:
    from perdure.run.plan import Plan as Jobs
    from perdure.run.protocol import read_protocol

    return Jobs(read_protocol(protocol))


def _cost(plan: Jobs, lifetimes: int, each: int, speed: float | None, machines: int) -> Cost:
    from perdure.stats.plan import Cost

    jobs = replace(plan, protocol=plan.protocol.with_lifetimes(lifetimes).with_experts(each))
    lives, experts = [one.experiences for one in jobs.lives], [one.experiences for one in jobs.experts]
    return Cost(len(lives), len(experts), sum(lives), sum(experts), speed, machines, max([*lives, *experts], default=0))


def _draw(made: Plan, picture: Path) -> None:
    from perdure import files
    from perdure.errors import PerdureError
    from perdure.stats.power_picture import power_svg

    if picture.suffix != ".svg":
        raise PerdureError(f"--picture {picture}: the power curve is drawn as SVG; end the name in .svg")
    try:
        files.deliver(picture, power_svg(made).encode())
    except OSError as problem:
        raise PerdureError(f"{picture}: cannot write there: {problem.strerror}") from problem
