"""`perdure demo`: a small life from beginning to end, to see what Perdure does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from perdure.cli.options import Quiet

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from perdure.log.model import Passage

__all__ = ["EXAMPLE", "demo"]

EXAMPLE = "perdure demo --into demo"

TASKS = ("pong_slim", "pong_wide", "breakout_slim")
_LEARN, _EVALUATE = 200, 20


def demo(
    into: Annotated[Path, typer.Option("--into", metavar="DIR", help="Where everything goes.")] = Path("demo"),
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same records.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Log two small lives, one that forgets and one that keeps; check them; export them as tables.

    The learners are formulas, not programs that learn: learning and evaluation are not run yet,
    only logged, checked and exported.
    """
    from perdure.log.check import check_l2logger
    from perdure.log.export import export
    from perdure.log.read import read

    def say(text: str) -> None:
        if not quiet:
            typer.echo(text)

    say("Two idealised learners go through three tasks, one after the other. Both learn; one forgets.\n")
    for name, keeps in (("forgetful", 0.15), ("keeping", 0.97)):
        life = into / "lives" / name
        if not life.exists():
            _live(into / "lives", name, keeps, seed)
        lifetime = read(life)
        found = check_l2logger(life)
        table = into / f"{name}.parquet"
        export(lifetime, table)
        blocks = len(lifetime.scenario.blocks)
        verdict = "clean" if found.ok else f"{len(found.problems)} problems"
        say(f"{life}: {lifetime.experiences.height} experiences in {blocks} blocks; check: {verdict}; table: {table}")
        say(f"  evaluations of {TASKS[0]} over life: {_sparkline(lifetime.passage(), TASKS[0])}\n")
    say("Scoring, statistics and the report come with the next stages of Perdure; this is the log stage.")


def _live(into: Path, name: str, keeps: float, seed: int) -> None:
    """Log one life: every task is evaluated before, between and after, and learned in its turn."""
    import numpy as np

    from perdure.log.journal import Journal

    rng = np.random.default_rng([seed, len(name)])
    skill = dict.fromkeys(TASKS, 0.05)
    at = block = 0
    info = {"scenario_type": "condensed"}
    with Journal(into, name, ["reward"], learner=f"idealised-{name}", seed=seed, info=info) as journal:

        def log(kind: str, task: str, values: npt.NDArray[np.float64]) -> None:
            nonlocal at
            noisy = np.clip(values + rng.normal(0, 0.03, values.size), 0, 1).round(4)
            numbers = np.arange(at, at + noisy.size)
            journal.log_many(block_num=block, exp_num=numbers, block_type=kind, task_name=task, reward=noisy)
            at += noisy.size

        for learned in (None, *TASKS):
            if learned:
                progress = 1 - np.exp(-np.arange(_LEARN) / 40)
                log("train", learned, skill[learned] + (0.95 - skill[learned]) * progress)
                skill = {task: value * (keeps if task != learned else 1) for task, value in skill.items()}
                skill[learned] = 0.95
                block += 1
            for task in TASKS:
                log("test", task, np.full(_EVALUATE, skill[task]))
            block += 1


def _sparkline(passage: Passage, task: str) -> str:
    """One bar per evaluation of `task`."""
    means = [
        float(passage.values[passage.starts[index] : passage.starts[index + 1]].mean())
        for index in passage.scenario.where("evaluate", task)
    ]
    bars = "▁▂▃▄▅▆▇█"
    return "".join(bars[min(7, int(value * 8))] for value in means) + "  " + " ".join(f"{value:.2f}" for value in means)
