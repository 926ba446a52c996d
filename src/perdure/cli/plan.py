"""`perdure plan`: how many lifetimes an evaluation needs, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.options import Json, Quiet, emit_json, with_settings
from perdure.cli.scoring import Experts, leave, settings_facts, surveyed

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.stats.plan import Plan


EXAMPLE = "perdure plan --pilot runs/first --detect performance_maintenance=5 forward_transfer=1.2"


@with_settings("pilot")
def plan(
    settings: Settings,
    k: Annotated[float | None, typer.Option("--k", help="Effect size to detect, in sd (default: 1).")] = None,
    alpha: Annotated[
        float | None,
        typer.Option("--alpha", help="Significance level of the test (default: 1 − level).", show_default=False),
    ] = None,
    beta: Annotated[float, typer.Option("--beta", help="Probability of missing the effect (1 − power).")] = 0.1,
    lifetimes: Annotated[
        int | None,
        typer.Option("--lifetimes", min=2, help="Show the power of this many (default: the paper's number)."),
    ] = None,
    compare: Annotated[
        Literal["paired", "unpaired"] | None,
        typer.Option("--compare", help="Plan a comparison of two learners; numbers are per learner."),
    ] = None,
    pilot: Annotated[
        list[Path] | None,
        typer.Option("--pilot", metavar="LOG...", help="Logs or scores of lifetimes that were already run."),
    ] = None,
    detect: Annotated[
        list[str] | None,
        typer.Option(
            "--detect",
            metavar="ID=X...",
            help="Effect to detect, as the distance from the threshold minus its margin; for a ratio, as a factor. "
            "Without a --pilot, the spread is that of 360 000 lives in a study.",
        ),
    ] = None,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="TYPE", help="Use only this scenario type of the pilot.")
    ] = None,
    experts: Experts = None,
    experts_per_task: Annotated[
        int | None,
        typer.Option(
            "--experts-per-task", min=3, help="Experts per task (default: the protocol's, or 5).", show_default=False
        ),
    ] = None,
    expert_sd: Annotated[
        float | None,
        typer.Option("--expert-sd", help="Spread between experts, in sd of lifetimes (known with --pilot)."),
    ] = None,
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, help="Number of tasks with experts; used with --expert-sd.")
    ] = 3,
    protocol: Annotated[
        Path | None,
        typer.Option("--protocol", metavar="FILE", help="Also show what this many lifetimes of a protocol cost."),
    ] = None,
    machines: Annotated[
        int, typer.Option("--machines", min=1, help="Number of machines that run at the same time.")
    ] = 1,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw the power curve to this .svg, .png or .pdf file."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of resampling the pilot.")] = 0,
    json: Json = None,
    quiet: Quiet = False,
) -> None:
    """Plan how many lifetimes are needed, by the paper's rule and for the test behind the verdict.

    Only the spread of a --pilot is used; choose the effect to detect yourself. The options below `Options`
    say how the pilot is scored.
    """
    from perdure.cli.plan_table import show_plan
    from perdure.verbs.plan import estimate_cost, experts_in
    from perdure.verbs.plan import plan as planned

    _refuse_idle(pilot, settings, detect=bool(detect), scenario=bool(scenario), k=k, expert_sd=expert_sd)
    in_protocol = experts_in(protocol) if protocol else None  # which so is looked at before the pilot
    each = experts_per_task or in_protocol
    pool = surveyed(pilot, experts, settings.replace(metrics=settings.files), quiet) if pilot else None
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
    if protocol:
        made = estimate_cost(made, protocol, lifetimes=lifetimes, experts=each, pilot=pilot or (), machines=machines)
    if picture:
        _draw(made, picture)
    if json:
        emit_json({**made.as_json(), **(settings_facts(pool, settings) if pool else {})}, json)
    if json != "-":
        show_plan(made, quiet, picture)
    leave(pool.left_out if pool else ())


def _draw(made: Plan, file: Path) -> None:
    """Draw the power curve as `perdure figure power` draws one."""
    from perdure.reports.figures import canvas_of, save_figure
    from perdure.reports.figures.groups import draw_power

    effect = f"{made.k:g} sd"
    lifetimes, reached = zip(*((at.lifetimes, at.power) for at in made.curve), strict=True)
    curve = {
        "metric": effect,
        "effect": made.k,
        "power": reached,
        "n": made.power_at.lifetimes,
        "now": made.power_at.power,
    }
    panels = [{"group": "", "curves": [curve]}]
    data = {"metrics": [effect], "lifetimes": lifetimes, "panels": panels, "wanted": 1 - made.beta}
    save_figure(draw_power(data, canvas_of("page", f"Power to see {effect} at α = {made.alpha:g}")), file)


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
    idle = ["--scenario"] * scenario + asked
    if idle and not pilot:
        raise typer.BadParameter(f"{idle[0]} needs a pilot; add --pilot")
    known = ["--k"] * (k is not None) + ["--expert-sd"] * (expert_sd is not None)
    if known and pilot:
        other = "use --detect, in the metric's unit" if known[0] == "--k" else "its own experts are used"
        raise typer.BadParameter(f"{known[0]} cannot be combined with --pilot: {other}")
    if known and detect:
        raise typer.BadParameter(f"{known[0]} cannot be combined with --detect, which comes with a spread of its own")


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
            raise typer.BadParameter(f"--detect {pair!r}: an effect is a positive number, for a ratio a factor above 1")
    return found
