"""Build the gallery page: every kind of figure, drawn from one small study, with its command."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl
from msgspec.structs import replace

if TYPE_CHECKING:
    import perdure

__all__ = ["gallery", "study"]

_HEAD = """# Gallery

Every kind of figure with the command that draws it, from one study: two methods over three tasks, four lifetimes each,
with experts ([how to make it](../how-to/make-figures.md)). The suffix of `--to` chooses the form, `--of` the lifetime
or the group.
"""
_OLD = "framework-2019"
"""The preset of which Core Capabilities are."""


def study(folder: Path) -> None:
    """Write a run folder of two idealised learners with experts: one forgets, one learns more slowly."""
    import perdure
    from perdure import Block, Scenario
    from perdure.simulate import IdealLearner, experts, lifetimes

    tasks = ("pong", "breakout", "freeway")
    evaluation = [Block("evaluate", task, 10) for task in tasks]
    learned = [block for task in tasks for block in (Block("learn", task, 80), *evaluation)]
    scenario = Scenario.of("condensed", [*evaluation, *learned], info={"scenario_type": "condensed"})
    (folder / "lives").mkdir(parents=True)
    (folder / "experts").mkdir()
    for name, forgetting, seconds in (("replay", 0.05, 2.6), ("naive", 0.4, 1.1)):
        learner = IdealLearner(name=name, forgetting=forgetting, pace=30, noise=0.05, spread=0.2)
        lives = lifetimes(learner, scenario, 4, seed=100 * (name == "naive"))
        timed = [_timed(life, seconds * (1 + index / 20)) for index, life in enumerate(lives)]
        perdure.write_lifetimes(folder / "lives" / name, timed)
        perdure.write_lifetimes(
            folder / "experts" / name, [_timed(expert, 1.0) for expert in experts(learner, scenario)]
        )


def _timed(life: perdure.Lifetime, seconds: float) -> perdure.Lifetime:
    """Return the lifetime with timestamps, as if each experience took `seconds`."""
    start = datetime(2026, 1, 1)
    times = [
        f"{start + timedelta(seconds=index * seconds):%Y%m%dT%H%M%S.%f}" for index in range(life.experiences.height)
    ]
    return replace(life, experiences=life.experiences.with_columns(timestamp=pl.Series(times)))


def gallery() -> tuple[str, dict[str, bytes]]:
    """Return the page and its pictures by file name."""
    import perdure
    from perdure.reports.data import gather

    parts, pictures = [_HEAD], {}
    with TemporaryDirectory() as temporary:
        run, target = Path(temporary, "run"), Path(temporary, "figure.svg")
        study(run)
        material, old = gather(run), gather(run, settings=perdure.Settings(preset=_OLD))
        for name, kind in perdure.FIGURES.items():
            capable = name == "capabilities"
            perdure.save_figure(perdure.figure(name, old if capable else material), target)
            pictures[f"{name}.svg"] = target.read_bytes()
            command = f"perdure figure {name} run{f' --preset {_OLD}' if capable else ''} --to {name}.svg"
            image = f"![{kind.summary}](gallery/{name}.svg)"
            parts.append(f"\n## {name}\n\n{kind.summary}\n\n{image}\n\n```console\n$ {command}\n```\n")
    return "".join(parts), pictures
