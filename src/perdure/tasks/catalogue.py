"""Register the embedded tasks, and list tasks and parameters. Heavy libraries are imported when a task is made."""

from __future__ import annotations

from perdure.tasks.arcade.kinds import GAMES, ArcadeTask
from perdure.tasks.digits import PAIRS
from perdure.tasks.gaussians import Gaussians
from perdure.tasks.interface import TASKS
from perdure.tasks.minigrid import EmptyRoom
from perdure.tasks.resolve import kind_named
from perdure.tasks.streams import drawn_digits, sklearn_digits

__all__ = ["PAIRS", "parameter_table", "task_table"]

for _game in GAMES.values():
    TASKS.add(_game.name, ArcadeTask(_game))
TASKS.add("minigrid5x5", EmptyRoom("minigrid5x5", 5))
TASKS.add("digits", drawn_digits())
for _place, _pair in enumerate(PAIRS):
    for _name in (_pair, f"task-{_place + 1}-{_pair}"):
        TASKS.add(_name, drawn_digits(_name, (2 * _place, 2 * _place + 1)))
TASKS.add("gaussians", Gaussians())
TASKS.add("sklearn-digits", sklearn_digits())


def task_table() -> str:
    """Return a Markdown table of all registered tasks."""
    rows = (f"| `{name}` | {TASKS.get(name).summary} |" for name in TASKS.names())
    return "\n".join(("| task | what is to be learned |", "|---|---|", *rows))


def parameter_table(name: str) -> str:
    """Return a Markdown table of the parameters of a task."""
    parameters = kind_named(name).parameters
    if parameters is None:
        return f"What `{name}` takes, its environment decides."
    rows = (f"| `{one.name}` | {one.default!r} | {one.form} | {one.meaning} |" for one in parameters)
    return "\n".join(("| parameter | default | may be | meaning |", "|---|---|---|---|", *rows))
