"""The embedded tasks, registered; what is heavy is imported when a task is made."""

from __future__ import annotations

from perdure.tasks.arcade.kinds import GAMES, ArcadeTask
from perdure.tasks.digits import PAIRS
from perdure.tasks.gaussians import Gaussians
from perdure.tasks.interface import TASKS
from perdure.tasks.minigrid import EmptyRoom
from perdure.tasks.streams import drawn_digits, sklearn_digits

__all__ = ["PAIRS"]

for _game in GAMES.values():
    TASKS.add(_game.name, ArcadeTask(_game))
TASKS.add("minigrid5x5", EmptyRoom("minigrid5x5", 5))
TASKS.add("digits", drawn_digits())
for _place, _pair in enumerate(PAIRS):
    for _name in (_pair, f"task-{_place + 1}-{_pair}"):
        TASKS.add(_name, drawn_digits(_name, (2 * _place, 2 * _place + 1)))
TASKS.add("gaussians", Gaussians())
TASKS.add("sklearn-digits", sklearn_digits())
