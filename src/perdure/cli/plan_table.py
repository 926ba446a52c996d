"""How a plan is shown: the numbers, the power curve, lives × experts, what a pilot says, the cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table

    from perdure.cli.console import Console
    from perdure.stats.pilot import PilotMetric
    from perdure.stats.plan import Cost, Plan
    from perdure.stats.power import PowerGrid


_ASKED = {
    "threshold": "of one learner against the threshold minus its margin",
    "paired": "between two learners with paired lifetimes, in sd of the differences",
    "unpaired": "between two learners (numbers are per learner)",
}


def show_plan(made: Plan, quiet: bool, picture: Path | None = None) -> None:
    """The plan on the terminal: a pilot's numbers where there is one, else those for k standard deviations.

    `picture` is where its power curve was drawn.
    """
    from perdure.cli.console import Console

    console = Console(highlight=False)
    if made.metrics:
        _show_pilot(console, made)
    else:
        _show_numbers(console, made, quiet)
    if made.cost:
        _show_cost(console, made.cost)
    for note in made.notes:
        console.print(note, markup=False, style="bright_black")
    if picture:
        console.print(f"power curve: {picture}", markup=False, soft_wrap=True)


def _show_numbers(console: Console, made: Plan, quiet: bool) -> None:
    from perdure.stats.plan import family

    rule = "the rule of Baker et al. 2023" + (", twice" if made.question == "unpaired" else "")
    exact = "never" if made.exact is None else str(made.exact)
    with_experts = f", relative to experts of {made.grid.tasks} tasks (see below)" if made.grid else ""
    certain = f"at α = {made.alpha:g} with power {1 - made.beta:.0%}"
    lines = [
        f"To detect an effect of {made.k:g} sd {_ASKED[made.question]}, {certain}:",
        f"  {made.rule:>5} lifetimes by {rule}, which assumes a known sd",
        f"  {exact:>5} for the test behind the verdict (noncentral t){with_experts}",
    ]
    if made.question != "threshold":
        holm = "never" if made.after_holm is None else str(made.after_holm)
        among = f"{family()} headline metrics that differs (Holm: α / {family()})"
        lines.append(f"  {holm:>5} if it is the only one of {among}")
    lines.append(f"{made.power_at.lifetimes} lifetimes have power {made.power_at.power:.1%}.")
    console.print("\n".join(lines), markup=False)
    if not quiet:
        console.print("\nlifetimes  power", markup=False, style="bright_black")
        for at in made.curve[:: max(1, len(made.curve) // 12)]:
            console.print(f"{at.lifetimes:>9}  {_bar(at.power)} {at.power:>5.1%}", markup=False)
    if made.grid:
        _show_grid(console, made.grid, 1 - made.beta)
    if not quiet:
        said = (
            "These numbers assume normally distributed values. For a skewed metric, plan from a --pilot; "
            "for an effect in a metric's unit, add --detect."
        )
        console.print(said, markup=False, style="bright_black")


def _show_grid(console: Console, grid: PowerGrid, wanted: float, title: str = "") -> None:
    from perdure.cli.tables import columns
    from perdure.text import listed

    said = f"{title or 'power'} by experts per task; in {grid.tasks} tasks, experts differ by {grid.spread:.2g} sd"
    console.print(f"\n{said}:", markup=False)
    table = columns("", ["lifetimes"], [str(one) for one in grid.experts])
    for count, row in zip(grid.lives, grid.power, strict=True):
        table.add_row(str(count), *(f"{one:.0%}" for one in row))
    table.add_row("any number", *(f"{one:.0%}" for one in grid.ceiling))
    table.add_row(f"for {wanted:.0%}", *("never" if one is None else str(one) for one in grid.needed))
    console.print(table)
    stuck = [each for each, one in zip(grid.experts, grid.needed, strict=True) if one is None]
    if stuck:
        console.print(
            f"With {listed(stuck, 'or')} experts per task, power stays below {wanted:.0%}: "
            "more lifetimes do not help; more experts do.",
            markup=False,
        )


def _show_pilot(console: Console, made: Plan) -> None:
    from perdure.cli.tables import widest

    seen_by, power = f"{made.power_at.lifetimes} can see", f"power of {made.power_at.lifetimes}"
    layouts: Sequence[list[str]] = (
        ["sd", "upper sd", "to see", "by sd", "by upper sd", "resampled", "needed", power, seen_by],
        ["sd", "upper sd", "to see", "needed", power, seen_by],
        ["to see", "needed", power, seen_by],
        ["to see", "needed", seen_by],
        ["to see", "needed"],
    )
    if made.prior:  # nothing was redrawn
        layouts = tuple([heading for heading in layout if heading != "resampled"] for layout in layouts)
    console.print(widest(console, (_pilot_table(made, layout, seen_by, power) for layout in layouts)))
    for name, one in made.metrics.items():
        if one.why:
            console.print(f"{name}: {one.why}", markup=False, style="bright_black")
    if unnamed := [name for name, one in made.metrics.items() if one.detect is None and one.sees is not None]:
        example = next((name for name in unnamed if made.metrics[name].scale == "log"), unnamed[0])
        factor = "=1.2" if made.metrics[example].scale == "log" else "=5"
        console.print(
            f"No effect is given for {', '.join(unnamed)}; give one to get a number: --detect {example}{factor}. "
            "Do not take it from the pilot's own mean: only half to four fifths of such plans reach their power.",
            markup=False,
        )
    for name, one in made.metrics.items():
        if one.grid and set(one.grid.needed) != {one.lifetimes}:  # else any number of experts does
            bounds = "upper bounds" if made.pilot else "upper sd"
            _show_grid(console, one.grid, 1 - made.beta, f"{name}, {bounds}: power")


def _pilot_table(made: Plan, layout: Sequence[str], seen_by: str, power: str) -> Table:
    from rich.markup import escape

    from perdure.cli.tables import columns
    from perdure.text import number

    def count(value: int | None) -> str:
        return "–" if value is None else str(value)

    what = {"threshold": "lifetimes", "paired": "pairs of lifetimes", "unpaired": "lifetimes of each learner"}
    whose = "the pilot's spread" if made.pilot else "the spread in a study"
    title = f"{what[made.question]} needed for power {1 - made.beta:.0%} at α = {made.alpha:g}, by {whose}"
    table = columns(title, [""], layout)
    for name, one in made.metrics.items():
        times = "×" if one.scale == "log" else ""
        cells = {
            "sd": number(one.sd),
            "upper sd": number(one.sd_upper),
            "to see": "–" if one.detect is None else f"{times}{number(one.detect)}",
            "by sd": count(one.plain),
            "by upper sd": count(one.upper),
            "resampled": count(one.redrawn),
            "needed": _between(one),
            power: _powers(one),
            seen_by: "–" if one.sees is None else f"{times}{number(one.sees)}",
        }
        table.add_row(escape(name), *(cells[heading] for heading in layout))
    return table


def _between(one: PilotMetric) -> str:
    """From the number at the sd as seen to the plan's."""
    if one.detect is None or one.plain is None:
        return "–" if one.detect is None or one.k is None or one.experts is None else "never"
    return f"{one.plain} … {one.lifetimes if one.lifetimes is not None else 'never'}"


def _powers(one: PilotMetric) -> str:
    if one.power_upper is None or one.power_plain is None:
        return "–"
    return f"{one.power_upper:.0%} … {one.power_plain:.0%}"


def _show_cost(console: Console, cost: Cost) -> None:
    from perdure.text import plural

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
    whole, eighths = divmod(round(power * 160), 8)
    return ("█" * whole + " ▏▎▍▌▋▊▉"[eighths] * (eighths > 0)).ljust(20)
