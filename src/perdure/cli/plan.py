"""`perdure plan`: how many lifetimes an evaluation needs, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, Variadic, settings_facts, surveyed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from perdure.gather.model import Survey
    from perdure.log.model import Lifetime
    from perdure.settings import Settings
    from perdure.stats.plan import Cost, PilotMetric, Plan

__all__ = ["COMMAND", "EXAMPLE", "plan"]

EXAMPLE = "perdure plan --k 1 --alpha 0.05 --beta 0.1"
COMMAND = Variadic


@with_settings("pilot")
def plan(
    settings: Settings,
    k: Annotated[float, typer.Option("--k", help="The effect to be seen, in standard deviations.")] = 1.0,
    alpha: Annotated[float, typer.Option("--alpha", help="How often the test may err by luck.")] = 0.05,
    beta: Annotated[float, typer.Option("--beta", help="How often it may miss the effect.")] = 0.1,
    lifetimes: Annotated[
        int | None, typer.Option("--lifetimes", min=2, help="What could so many see? (the paper's number if not given)")
    ] = None,
    pilot: Annotated[
        list[Path] | None,
        typer.Option("--pilot", metavar="LOG...", help="Lifetimes that were run already, or their scores."),
    ] = None,
    detect: Annotated[
        list[str] | None,
        typer.Option(
            "--detect", metavar="ID=X", help="The distance to be seen in a metric's own unit. Repeatable; of a pilot."
        ),
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Redraw the pilot for every metric: real power and error.")
    ] = False,
    experts: Experts = None,
    protocol: Annotated[
        Path | None,
        typer.Option("--protocol", metavar="FILE", help="What so many lifetimes of a protocol.toml cost."),
    ] = None,
    machines: Annotated[int, typer.Option("--machines", min=1, help="How many work at once.")] = 1,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.svg", help="Draw the power curve there.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the simulation.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """How many lifetimes are needed: the paper's rule, the exact answer, and the power really reached.

    The options below `Options` say how a --pilot is scored.
    """
    from perdure.stats.plan import make_plan

    _refuse_idle(pilot, settings, simulate=simulate, detect=bool(detect))
    at = make_plan(k, alpha, beta, lifetimes=lifetimes).power_at.lifetimes
    found, note, how = {}, "", {}
    left_out: tuple[tuple[str, str], ...] = ()
    if pilot:
        pool = _restricted(_pool(pilot, experts, settings, quiet), settings.ids)
        found = _said(pool, at, alpha, beta, _distances(detect), simulate, seed)
        note, how = _note(pool, settings.level), settings_facts(pool, settings)
        left_out = pool.left_out
    speed = _seconds_per_experience(pilot) if pilot else None
    cost = _cost(protocol, at, speed, machines) if protocol else None
    made = make_plan(k, alpha, beta, lifetimes=lifetimes, pilot=found, cost=cost, notes=[note] if note else ())
    if picture:
        _draw(made, picture)
    if json:
        emit_json({**made.as_json(), **how}, json)
    if json != "-":
        _show(made, quiet)
        if picture:
            typer.echo(f"drawn: {picture}")
    for name, why in left_out:
        typer.echo(f"left out: {name}: {why}", err=True)
    raise typer.Exit(1 if left_out else 0)


def _refuse_idle(pilot: Sequence[Path] | None, settings: Settings, *, simulate: bool, detect: bool) -> None:
    """Refuse what speaks of a pilot where there is none."""
    from perdure.settings import OPTIONS

    idle = ["--simulate"] * simulate + ["--detect"] * detect + [OPTIONS[name].flag for name in settings.origins]
    if idle and not pilot:
        raise typer.BadParameter(f"{idle[0]} speaks of a pilot's values; give --pilot too")


def _pool(pilot: Sequence[Path], experts: Sequence[Path] | None, settings: Settings, quiet: bool) -> Survey:
    """The pilot's whole lifetimes, which are of one learner in one scenario, under the name of their group."""
    from dataclasses import replace

    from perdure.errors import PerdureError
    from perdure.stats.groups import check_poolable, split, usable

    found = surveyed(pilot, experts, replace(settings, metrics=settings.files), quiet)
    lives, partial = usable(found.scores)
    parts = split(lives, settings.group, pool=settings.pool)
    if len(parts) != 1:
        raise PerdureError(
            f"--pilot: {len(parts)} groups ({'; '.join(parts)}); a pilot is one learner in one scenario type"
        )
    ((name, lives),) = parts.items()
    check_poolable(lives, "--pilot")
    counted = {life.id for life in lives}
    return replace(
        found,
        name=name,
        lives=tuple(one for one in found.lives if one.id in counted),
        left_out=(*found.left_out, *partial),
    )


def _note(pool: Survey, level: float) -> str:
    from perdure.stats.words import counted

    said = f"pilot: {pool.name}, {counted(len(pool.lives), 'lifetime')}, {len(pool.left_out)} left out"
    return said + _caveat(len(pool.lives), level)


def _restricted(pool: Survey, metrics: Sequence[str]) -> Survey:
    """The pool with these metrics alone, where any are named; a score file may hold more."""
    from dataclasses import replace

    from perdure.errors import UnknownName

    for name in metrics:
        if name not in pool.bars:
            raise UnknownName("metric of the pilot", name, pool.bars)
    if not metrics:
        return pool
    kept = {name: pool.bars[name] for name in metrics}
    return replace(pool, metrics={}, written=kept)


def _said(
    pool: Survey, lifetimes: int, alpha: float, beta: float, detect: dict[str, float], simulate: bool, seed: int
) -> dict[str, PilotMetric]:
    import numpy as np

    from perdure.stats.plan import pilot_metrics

    rng = np.random.default_rng(seed)
    return pilot_metrics(
        pool.scores, pool.bars, lifetimes, alpha=alpha, beta=beta, detect=detect, simulate=simulate, rng=rng
    )


def _caveat(lives: int, level: float) -> str:
    """How well so few lifetimes know their spread; what is foretold from it is no surer."""
    from perdure.stats.plan import spread_known

    if lives < 2:
        return ""
    low, high = spread_known(lives, level)
    return f"; each true sd may be {low:.1f} to {high:.1f} times the one seen ({100 * level:g} %), and k as much off"


def _distances(pairs: list[str] | None) -> dict[str, float]:
    """`["performance_maintenance=5"]` as a mapping."""
    found: dict[str, float] = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        try:
            found[name] = float(text)
        except ValueError:
            raise typer.BadParameter(f"--detect {pair!r}: expected ID=X, as in performance_maintenance=5") from None
        if not 0 < found[name] < float("inf"):
            raise typer.BadParameter(f"--detect {pair!r}: a distance is a positive number")
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


def _cost(protocol: Path, lifetimes: int, speed: float | None, machines: int) -> Cost:
    from perdure.run.plan import Plan as Jobs
    from perdure.run.protocol import read_protocol
    from perdure.stats.plan import Cost

    jobs = Jobs(read_protocol(protocol).with_lifetimes(lifetimes))
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


def _show(made: Plan, quiet: bool) -> None:
    from rich.console import Console

    from perdure.stats.power_picture import bars

    console = Console(highlight=False)
    console.print(
        f"To see an effect of {made.k:g} sd at α = {made.alpha:g} with power {1 - made.beta:.0%}:\n"
        f"  {made.lifetimes:>4} lifetimes by the rule of Baker et al. 2023 (the sd taken as known)\n"
        f"  {made.exact_two_sided:>4} exactly, two-sided\n"
        f"  {made.exact_one_sided:>4} exactly, one-sided, as verdicts are",
        markup=False,
    )
    at = made.power_at
    console.print(
        f"{at.lifetimes} lifetimes reach power {at.two_sided:.3f} two-sided, {at.one_sided:.3f} one-sided.\n",
        markup=False,
    )
    if not quiet:
        console.print("lifetimes  two-sided                   one-sided", markup=False, style="bright_black")
        step = max(1, len(made.curve) // 12)
        for point in made.curve[::step]:
            console.print(
                f"{point.lifetimes:>9}  {bars(point.two_sided)} {point.two_sided:>5.1%}  "
                f"{bars(point.one_sided)} {point.one_sided:>5.1%}",
                markup=False,
            )
        if not made.pilot:
            said = "All this of normal values; what it is for a skewed metric, a --pilot tells."
            console.print(said, markup=False, style="bright_black")
    _show_pilot(console, made)
    if made.cost:
        _show_cost(console, made.cost)
    for note in made.notes:
        console.print(note, markup=False, style="bright_black")


def _show_pilot(console: Console, made: Plan) -> None:
    from perdure.cli.score_table import widest

    if not made.pilot:
        return
    real = ["real power", "real error"] if any(one.simulated_power is not None for one in made.pilot.values()) else []
    layouts = (
        ["mean", "sd", "distance", "k", "rule", "two-sided", "one-sided", "± interval", "power", *real],
        ["k", "two-sided", "one-sided", "power", *real],
        ["k", "one-sided", "power", *real],
        real or ["one-sided", "power"],
    )
    console.print(widest(console, (_pilot_table(made, layout) for layout in layouts)))
    for name, one in made.pilot.items():
        if one.why:
            console.print(f"{name}: {one.why}", markup=False, style="bright_black")
    skewed = [
        f"{name} {one.skewness:.2g} ({one.simulated_error or 0.0:.1%} by luck)"
        for name, one in made.pilot.items()
        if one.power_by == "redrawn"
    ]
    if skewed:
        console.print(
            f"skewed: {', '.join(skewed)}. Their power is that of the pilot redrawn, not of normal values; by luck: "
            "how often it passes at the threshold. Their numbers of lifetimes are still those of normal values.",
            markup=False,
            style="bright_black",
        )


def _pilot_table(made: Plan, layout: Sequence[str]) -> Table:
    from rich.markup import escape

    from perdure.cli.score_table import columns
    from perdure.stats.words import number

    def count(value: int | None) -> str:
        return "–" if value is None else str(value)

    def share(value: float | None) -> str:
        return "–" if value is None else f"{value:.1%}"

    table = columns(f"what the pilot says, for {made.power_at.lifetimes} lifetimes", [""], layout)
    for name, one in made.pilot.items():
        cells = {
            "mean": number(one.mean),
            "sd": number(one.sd),
            "distance": number(one.detect),
            "k": number(one.k),
            "rule": count(one.lifetimes),
            "two-sided": count(one.exact_two_sided),
            "one-sided": count(one.exact_one_sided),
            "± interval": number(one.half_width),
            "power": share(one.power),
            "real power": share(one.simulated_power),
            "real error": share(one.simulated_error),
        }
        table.add_row(escape(name), *(cells[heading] for heading in layout))
    return table


def _show_cost(console: Console, cost: Cost) -> None:
    text = (
        f"{cost.lives} lives and {cost.experts} experts: {cost.life_experiences:,} + {cost.expert_experiences:,} = "
        f"{cost.experiences:,} experiences"
    )
    if cost.seconds is not None and cost.wall_seconds is not None:
        text += f", {_time(cost.seconds)} of machine time, {_time(cost.wall_seconds)} on {cost.machines} machine(s)"
    else:
        text += "; how long they take is not known without the timestamps of a --pilot"
    console.print(text, markup=False)


def _time(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
