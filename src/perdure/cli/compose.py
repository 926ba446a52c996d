"""`perdure compose`: a syllabus from tasks, two lengths and a seed."""

from __future__ import annotations

from typing import Annotated

import typer

from perdure.cli.options import Quiet
from perdure.cli.terminal import echo
from perdure.errors import PerdureError, UnknownNameError
from perdure.scenario.layouts import LAYOUTS
from perdure.text import join_words

EXAMPLE = "perdure compose dispersed --task pong:narrow pong:wide breakout --learn 300 --evaluate 10"


_ROUNDS = join_words((layout.name for layout in LAYOUTS.values() if layout.in_rounds), "or")

Name = Annotated[
    str,
    typer.Argument(
        metavar="LAYOUT",
        help=f"{join_words([*LAYOUTS, 'join'], 'or')}; [bold]perdure list layouts[/bold] describes each.",
        show_default=False,
    ),
]
Tasks = Annotated[
    list[str] | None, typer.Option("--task", metavar="NAME[:VARIANT]...", help="Tasks, each with an optional variant.")
]
Of = Annotated[
    list[str] | None,
    typer.Option(
        "--of",
        metavar="FILE...",
        help="Take the tasks (and, for single, the length) from this syllabus; join puts several one after the other.",
    ),
]
Learn = Annotated[
    int | None, typer.Option("--learn", help="Total learning experiences per variant.", show_default=False)
]
Evaluate = Annotated[int, typer.Option("--evaluate", help="Experiences per variant in each evaluation.")]
EvaluateEvery = Annotated[
    int | None,
    typer.Option("--evaluate-every", help="Also evaluate inside learning blocks, after every so many experiences."),
]
Superblocks = Annotated[int, typer.Option("--superblocks", help=f"Number of rounds ({_ROUNDS} only).")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the task order.")]
Title = Annotated[str | None, typer.Option("--name", help="Name of the syllabus.", show_default=False)]
Out = Annotated[str, typer.Option("--json", metavar="FILE|-", help="Where to write the syllabus ('-' is stdout).")]


def compose(
    layout: Name,
    task: Tasks = None,
    of: Of = None,
    learn: Learn = None,
    evaluate: Evaluate = 10,
    evaluate_every: EvaluateEvery = None,
    superblocks: Superblocks = 3,
    seed: Seed = 0,
    name: Title = None,
    json: Out = "-",
    quiet: Quiet = False,
) -> None:
    """Write a syllabus with a standard layout, or join several. The same call gives the same syllabus."""
    from perdure.scenario import compose as composers
    from perdure.scenario.syllabus import join_syllabi, read_syllabus, syllabus_text, write_syllabus

    parts = [read_syllabus(file) for file in of or ()]
    source = join_syllabi(parts, name) if len(parts) > 1 or layout == "join" else next(iter(parts), None)
    tasks = composers.chosen_tasks(source, task or ())
    if layout == "join" and source:
        syllabus = source
    elif layout == "single" and source and learn is None:
        label = composers.only_task(tasks).label
        syllabus = composers.single_task_syllabus(source, label, evaluate=evaluate, name=name)
    else:
        if layout not in LAYOUTS:
            raise UnknownNameError("layout", layout, [*LAYOUTS, "join"])
        if learn is None:
            raise PerdureError("the number of learning experiences per variant is missing", "add --learn N")
        syllabus = composers.compose(
            layout,
            tasks,
            learn=learn,
            evaluate=evaluate,
            evaluate_every=evaluate_every,
            superblocks=superblocks,
            seed=seed,
            name=name,
        )
    if json == "-":
        echo(syllabus_text(syllabus), end="")
        return
    write_syllabus(syllabus, json)
    if not quiet:
        echo(f"{json}: {len(syllabus.scenario.blocks):,} blocks", err=True)
