"""`perdure plan`: compute how many lifetimes an evaluation needs, and their cost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from perdure.cli.console import Console, print_table
from perdure.cli.options import Experts, Json, Quiet, emit_json, settings_facts, survey_logs, with_settings
from perdure.cli.terminal import echo, leave
from perdure.tables import Column, Table
from perdure.text import join_words, number, percent, plural

if TYPE_CHECKING:
    from perdure.settings import Settings
    from perdure.stats.pilot import PilotMetric
    from perdure.stats.plan import Cost, Plan
    from perdure.stats.power import PowerGrid


EXAMPLE = "perdure plan --pilot runs/first --detect performance_maintenance=5 forward_transfer=1.2"

_QUESTIONS = {
    "threshold": "of one learner against the threshold minus its margin",
    "paired": "between two learners with paired lifetimes, in sd of the differences",
    "unpaired": "between two learners (numbers are per learner)",
}


@with_settings(
    "pilot", advanced=("beta", "scenario", "experts_per_task", "expert_sd", "tasks", "machines", "picture", "seed")
)
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
        typer.Option("--lifetimes", min=2, help="Lifetimes whose power is shown (default: the rule's)."),
    ] = None,
    compare: Annotated[
        Literal["paired", "unpaired"] | None,
        typer.Option("--compare", help="Compare two learners; numbers are per learner."),
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
            "Without a --pilot, the spread is that of 360 000 lifetimes in a study.",
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

    Only the spread of a --pilot is used; choose the effect to detect yourself. The settings say how the
    pilot is scored.
    """
    from perdure import api
    from perdure.runner.protocol import read_protocols
    from perdure.stats.groups import why_not_pooled

    _refuse_unused(pilot, settings, detect=bool(detect), scenario=bool(scenario), k=k, expert_sd=expert_sd)
    if protocol and not experts_per_task:  # a wrong protocol is refused before the pilot is read
        experts_per_task = read_protocols(str(protocol))[0].experts
    pool = survey_logs(pilot, experts, settings.replace(metrics=settings.files), quiet) if pilot else None
    plan = api.plan(
        k,
        alpha=alpha,
        beta=beta,
        lifetimes=lifetimes,
        compare=compare,
        pilot=pool,
        detect=_effects(detect),
        scenario=scenario,
        settings=settings,
        experts_per_task=experts_per_task,
        expert_sd=expert_sd,
        tasks=tasks,
        seed=seed,
    )
    if protocol:
        plan = api.estimate_cost(
            plan, protocol, lifetimes=lifetimes, experts=experts_per_task, pilot=pilot or (), machines=machines
        )
    if picture:
        _draw(plan, picture)
    if json:
        emit_json({**plan.as_json(), **(settings_facts(pool, settings) if pool else {})}, json)
    if json != "-":
        _show(plan, quiet)
        if picture:
            echo(f"power curve: {picture}")
    leave(*((pool.left_out, pool.faults, why_not_pooled(pool)) if pool else ((),)))


def _draw(plan: Plan, file: Path) -> None:
    """Draw the power curve in the style of `perdure figure power`."""
    from perdure.reports.figures import canvas_of, save_figure
    from perdure.reports.figures.groups import draw_power

    effect = f"{plan.k:g} sd"
    lifetimes, power = zip(*((point.lifetimes, point.power) for point in plan.curve), strict=True)
    curve = {
        "metric": effect,
        "effect": plan.k,
        "power": power,
        "n": plan.power_at.lifetimes,
        "now": plan.power_at.power,
    }
    panels = [{"group": "", "curves": [curve]}]
    data = {"metrics": [effect], "lifetimes": lifetimes, "panels": panels, "wanted": 1 - plan.beta}
    save_figure(draw_power(data, canvas_of("page", f"Power to see {effect} at α = {plan.alpha:g}")), file)


def _refuse_unused(
    pilot: Sequence[Path] | None,
    settings: Settings,
    *,
    detect: bool,
    scenario: bool,
    k: float | None,
    expert_sd: float | None,
) -> None:
    """Refuse options that need a pilot without one, and options that a pilot replaces."""
    from perdure.settings import OPTIONS

    of_pilot = ["--scenario"] * scenario + [OPTIONS[name].flag for name in settings.origins if name != "level"]
    if of_pilot and not pilot:
        raise typer.BadParameter(f"{of_pilot[0]} needs a pilot; add --pilot")
    spread = ["--k"] * (k is not None) + ["--expert-sd"] * (expert_sd is not None)
    if spread and pilot:
        instead = "use --detect, in the metric's unit" if spread[0] == "--k" else "its own experts are used"
        raise typer.BadParameter(f"{spread[0]} cannot be combined with --pilot: {instead}")
    if spread and detect:
        raise typer.BadParameter(f"{spread[0]} cannot be combined with --detect, which brings its own spread")


def _effects(pairs: list[str] | None) -> dict[str, float]:
    """Return `["performance_maintenance=5"]` as a dict."""
    effects: dict[str, float] = {}
    for pair in pairs or ():
        name, _, text = pair.partition("=")
        try:
            effects[name] = float(text)
        except ValueError:
            raise typer.BadParameter(f"--detect {pair!r}: expected ID=X, as in performance_maintenance=5") from None
        if not 0 < effects[name] < float("inf"):
            raise typer.BadParameter(f"--detect {pair!r}: an effect is a positive number, for a ratio a factor above 1")
    return effects


def _show(plan: Plan, quiet: bool) -> None:
    """Print the numbers of a pilot or a study if there are any, else those for k standard deviations."""
    console = Console()
    if plan.metrics:
        _show_metrics(console, plan)
    else:
        _show_numbers(console, plan, quiet)
    if plan.cost:
        _show_cost(console, plan.cost)
    for note in plan.notes:
        console.print(note, markup=False, style="dim")


def _show_numbers(console: Console, plan: Plan, quiet: bool) -> None:
    from perdure.stats.plan import family

    rule = "the rule of Baker et al. 2023" + (", twice" if plan.question == "unpaired" else "")
    with_experts = f", relative to experts of {plan.grid.tasks} tasks (see below)" if plan.grid else ""
    certain = f"at α = {plan.alpha:g} with power {1 - plan.beta:.0%}"
    lines = [
        f"To detect an effect of {plan.k:g} sd {_QUESTIONS[plan.question]}, {certain}:",
        f"  {plan.rule:>5} lifetimes by {rule}, which assumes a known sd",
        f"  {_or_never(plan.exact):>5} for the test behind the verdict (noncentral t){with_experts}",
    ]
    if plan.question != "threshold":
        among = f"{family()} metrics that differs (Holm: α / {family()})"
        lines.append(f"  {_or_never(plan.after_holm):>5} if it is the only one of {among}")
    lines.append(f"{plan.power_at.lifetimes} lifetimes have power {plan.power_at.power:.1%}.")
    console.print("\n".join(lines), markup=False)
    if not quiet:
        console.print("\nlifetimes  power", markup=False, style="dim")
        for point in plan.curve[:: max(1, len(plan.curve) // 12)]:
            console.print(f"{point.lifetimes:>9}  {_bar(point.power)} {point.power:>5.1%}", markup=False)
    if plan.grid:
        _show_grid(console, plan.grid, 1 - plan.beta)
    if not quiet:
        console.print(
            "These numbers assume normally distributed values. For a skewed metric, plan from a --pilot; "
            "for an effect in a metric's unit, add --detect.",
            markup=False,
            style="dim",
        )


def _show_grid(console: Console, grid: PowerGrid, wanted: float, title: str = "power") -> None:
    """Print the power by number of lifetimes and of experts."""
    heading = f"{title} by experts per task; in {grid.tasks} tasks, experts differ by {grid.spread:.2g} sd"
    console.print(f"\n{heading}:", markup=False)
    rows = [(str(count), *(f"{power:.0%}" for power in row)) for count, row in zip(grid.lives, grid.power, strict=True)]
    rows.append(("any number", *(f"{power:.0%}" for power in grid.ceiling)))
    rows.append((f"for {wanted:.0%}", *map(_or_never, grid.needed)))
    columns = (Column("lifetimes"), *(Column(str(count), "number") for count in grid.experts))
    print_table(console, Table("", columns, tuple(rows)))
    never = [count for count, needed in zip(grid.experts, grid.needed, strict=True) if needed is None]
    if never:
        console.print(
            f"With {join_words(never, 'or')} experts per task, power stays below {wanted:.0%}: "
            "more lifetimes do not help; more experts do.",
            markup=False,
        )


def _show_metrics(console: Console, plan: Plan) -> None:
    def count(value: int | None) -> str:
        return "–" if value is None else str(value)

    rows = []
    for name, metric in plan.metrics.items():
        times = "×" if metric.scale == "log" else ""
        row = (
            name,
            f"{number(metric.sd)}{' (ln)' if times else ''}",
            f"{number(metric.sd_upper)}{' (ln)' if times else ''}",
            "–" if metric.detect is None else f"{times}{number(metric.detect)}",
            count(metric.plain),
            count(metric.upper),
            count(metric.redrawn),
            _range_needed(metric),
            _range_of_power(metric),
            "–" if metric.sees is None else f"{times}{number(metric.sees)}",
        )
        rows.append(row)
    units = {"threshold": "lifetimes", "paired": "pairs of lifetimes", "unpaired": "lifetimes of each learner"}
    source = "the pilot's spread" if plan.pilot else "the spread in a study"
    title = f"{units[plan.question]} needed for power {1 - plan.beta:.0%} at α = {plan.alpha:g}, by {source}"
    n = plan.power_at.lifetimes
    heads = ("sd", "upper sd", "to see", "by sd", "by upper sd", "resampled", "needed", f"power of {n}", f"{n} can see")
    table = Table(title, (Column(""), *(Column(head, "number") for head in heads)), tuple(rows))
    every = [index for index in range(len(heads) + 1) if not (plan.prior and index == 6)]  # a study is not resampled
    layouts = (every, [0, 1, 2, 3, 7, 8, 9], [0, 3, 7, 8, 9], [0, 3, 7, 9], [0, 3, 7])
    print_table(console, *map(table.select, layouts))
    for name, metric in plan.metrics.items():
        if metric.why:
            console.print(f"{name}: {metric.why}", markup=False, style="dim")
    if without := [name for name, result in plan.metrics.items() if result.detect is None and result.sees is not None]:
        example = next((name for name in without if plan.metrics[name].scale == "log"), without[0])
        factor = "=1.2" if plan.metrics[example].scale == "log" else "=5"
        console.print(
            f"No effect is given for {', '.join(without)}; give one to get a number: --detect {example}{factor}. "
            "Do not take it from the pilot's own mean: only half to four fifths of such plans reach their power.",
            markup=False,
        )
    _show_narrower(console, plan)
    for name, metric in plan.metrics.items():
        if metric.grid and set(metric.grid.needed) != {metric.lifetimes}:  # else any number of experts suffices
            bounds = "upper bounds" if plan.pilot else "upper sd"
            _show_grid(console, metric.grid, 1 - plan.beta, f"{name}, {bounds}: power")


def _show_narrower(console: Console, plan: Plan) -> None:
    """Print the gain from more lifetimes, evaluations or experts for the interval of each metric, and the largest."""
    gains = {name: metric.narrower for name, metric in plan.metrics.items() if metric.narrower}
    if not gains:
        return
    rows = []
    for name, gain in gains.items():
        shares = {"lifetimes": gain.lifetimes, "evaluations": gain.evaluations, "experts": gain.experts}
        known = {kind: share for kind, share in shares.items() if share is not None}
        shown = ("–" if share is None else percent(share) for share in shares.values())
        rows.append((name, *shown, max(known, key=known.__getitem__)))
    experts = {metric.experts for metric in plan.metrics.values() if metric.experts}
    each = f" and {join_words(sorted(experts))} experts per task" if experts else ""
    title = f"how much narrower an interval of {plan.power_at.lifetimes} lifetimes{each} gets with twice the number of"
    columns = (*(Column(head, "number") for head in ("lifetimes", "evaluations", "experts")), Column("helps most"))
    print_table(console, Table(title, (Column(""), *columns), tuple(rows)))
    compared = {name: gain for name, gain in gains.items() if gain.evaluations and gain.same_cost is not None}
    cheaper = [
        f"{name} ({percent(gain.evaluations or 0.0)}, with lifetimes of the same cost {percent(gain.same_cost or 0.0)})"
        for name, gain in compared.items()
        if (gain.evaluations or 0.0) > (gain.same_cost or 0.0)
    ]
    if cheaper:
        console.print(f"For their cost, more evaluations help more: {', '.join(cheaper)}.", markup=False)
    elif compared:
        console.print("For their cost, more lifetimes help more than more evaluations.", markup=False)


def _range_needed(metric: PilotMetric) -> str:
    """Return the numbers of lifetimes from the sd that was seen to its upper bound."""
    if metric.detect is None or metric.plain is None:
        return "–" if metric.detect is None or metric.k is None or metric.experts is None else "never"
    return f"{metric.plain} … {_or_never(metric.lifetimes)}"


def _range_of_power(metric: PilotMetric) -> str:
    if metric.power_upper is None or metric.power_plain is None:
        return "–"
    return f"{metric.power_upper:.0%} … {metric.power_plain:.0%}"


def _or_never(count: int | None) -> str:
    return "never" if count is None else str(count)


def _show_cost(console: Console, cost: Cost) -> None:
    text = (
        f"{plural(cost.lives, 'lifetime')} and {plural(cost.experts, 'expert')}: "
        f"{cost.life_experiences:,} + {cost.expert_experiences:,} = {cost.experiences:,} experiences"
    )
    if cost.seconds is not None and cost.wall_seconds is not None:
        wall = f"{_time(cost.wall_seconds)} on {plural(cost.machines, 'machine')}"
        text += f", {_time(cost.seconds)} of machine time, {wall}"
    else:
        text += "; add a --pilot with timestamps for an estimate of the time"
    console.print(text, markup=False)


def _time(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _bar(power: float) -> str:
    """Return a power as a bar of 20 characters."""
    full, eighths = divmod(round(power * 160), 8)
    return ("█" * full + " ▏▎▍▌▋▊▉"[eighths] * (eighths > 0)).ljust(20)
