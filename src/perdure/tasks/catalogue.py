"""The embedded tasks, registered; what is heavy is imported when a task is made."""

from __future__ import annotations

from perdure.tasks.arcade.kinds import GAMES, ArcadeTask
from perdure.tasks.interface import TASKS
from perdure.tasks.minigrid import EmptyRoom
from perdure.tasks.streams import drawn_digits, sklearn_digits

__all__ = ["PAIRS"]

PAIRS = ("zero-one", "two-three", "four-five", "six-seven", "eight-nine")
"""The five tasks of a split by classes, each also under the name that S000 gives it (`task-1-zero-one`)."""

for _game in GAMES.values():
    TASKS.add(_game.name, ArcadeTask(_game))
TASKS.add("minigrid5x5", EmptyRoom("minigrid5x5", 5))
TASKS.add("digits", drawn_digits())
for _place, _pair in enumerate(PAIRS):
    for _name in (_pair, f"task-{_place + 1}-{_pair}"):
        TASKS.add(_name, drawn_digits(_name, (2 * _place, 2 * _place + 1)))
TASKS.add("sklearn-digits", sklearn_digits())
