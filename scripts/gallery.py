"""The gallery: every kind of figure, drawn from one small study when the documentation is built, with its command."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["gallery", "study"]

_HEAD = """# Gallery

Every kind of figure with the command that draws it, from one study: two methods over three tasks, four lifetimes each,
with experts ([how to make it](../how-to/make-figures.md)). The suffix of `--to` chooses the form, `--of` the lifetime
or the group.
"""


def study(folder: Path) -> None:
    """Two idealised learners, one of which forgets, with their experts, as a run folder."""
    from perdure import Block, Scenario
    from perdure.simulate import IdealLearner, experts, lifetimes, write_log

    tasks = ("pong", "breakout", "freeway")
    evaluation = [Block("evaluate", task, 10) for task in tasks]
    learned = [block for task in tasks for block in (Block("learn", task, 80), *evaluation)]
    scenario = Scenario.of("condensed", [*evaluation, *learned], info={"scenario_type": "condensed"})
    for name, forgetting in (("replay", 0.05), ("naive", 0.4)):
        learner = IdealLearner(name=name, forgetting=forgetting, pace=30, noise=0.05, spread=0.2)
        for life in lifetimes(learner, scenario, 4):
            write_log(life, folder / "lives" / name)
        for expert in experts(learner, scenario):
            write_log(expert, folder / "experts" / name)


def gallery() -> tuple[str, dict[str, bytes]]:
    """The page, and its pictures by file name. A kind of which this study shows nothing says why."""
    import perdure
    from perdure.report.material import gather

    parts, pictures = [_HEAD], {}
    with TemporaryDirectory() as temporary:
        run, drawn = Path(temporary, "run"), Path(temporary, "figure.svg")
        study(run)
        material = gather(run)
        for name, kind in perdure.FIGURES.items():
            try:
                perdure.save_figure(perdure.draw(name, material), drawn)
            except perdure.PerdureError as problem:
                shown = f"*Of this study there is nothing to draw: {str(problem).replace(temporary, '…')}*"
            else:
                pictures[f"{name}.svg"] = drawn.read_bytes()
                shown = f"![{kind.summary}](gallery/{name}.svg)"
            command = f"perdure figure {name} run --to {name}.svg"
            parts.append(f"\n## {name}\n\n{kind.summary}\n\n{shown}\n\n```console\n$ {command}\n```\n")
    return "".join(parts), pictures
