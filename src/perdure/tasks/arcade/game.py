"""The rules of a game, written once for one game and for many, and the arithmetic they use.

`batched/tasks/arcade.py` has the arithmetic a third time, for games that are compiled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from perdure.errors import TaskError
from perdure.tasks.interface import Parameter, settled


class Arithmetic:
    """The operations of the rules besides + − × ÷ and comparison, for one game in plain numbers.

    `c ^ True` negates a condition here and in arrays.
    """

    def each(self, chances: Any, value: Any) -> Any:  # noqa: ARG002
        """Return `value` for each of the games with these random numbers."""
        return value

    def ones(self, chances: Any, number: Any) -> Any:  # noqa: ARG002
        """Return a table of `number` ones for each of the games with these random numbers."""
        return (1,) * number

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """Return `yes` if the condition holds, else `no`."""
        return yes if condition else no

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        """Return `value`, limited to `low` and `high`."""
        return low if value < low else high if value > high else value

    def any(self, condition: Any) -> Any:
        """Return whether the condition holds in any game, so that rare events cost nothing if they do not occur."""
        return condition

    def whole(self, value: Any) -> Any:
        """Return `value`, which is not negative, without its fraction."""
        return int(value)

    def take(self, table: Any, index: Any) -> Any:
        """Return for each game the entry of its table at its index."""
        return table[index]

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        """Return the tables with 0 at the index of each game for which the condition holds."""
        return (*table[:index], 0, *table[index + 1 :]) if condition else table


class _ArrayArithmetic(Arithmetic):
    def each(self, chances: Any, value: Any) -> Any:
        return np.full(len(chances), value)

    def ones(self, chances: Any, number: Any) -> Any:
        return np.ones((len(chances), number), dtype=np.int64)

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        return np.where(condition, yes, no)

    def clip(self, value: Any, low: Any, high: Any) -> Any:
        return np.minimum(np.maximum(value, low), high)

    def any(self, condition: Any) -> Any:
        return condition.any()

    def whole(self, value: Any) -> Any:
        return np.asarray(value).astype(np.int64)

    def take(self, table: Any, index: Any) -> Any:
        return table[np.arange(len(table)), index]

    def without(self, table: Any, index: Any, condition: Any) -> Any:
        rows = np.flatnonzero(condition)
        if not len(rows):
            return table
        changed = table.copy()
        changed[rows, np.asarray(index)[rows]] = 0
        return changed


ONE = Arithmetic()
MANY = _ArrayArithmetic()


FEATURES = 7
"""Numbers in a feature observation of any game, each from −1 to 1."""

SIDE = 16
"""A pixel observation is SIDE × SIDE grey values."""

ACTIONS = ("stay", "back", "forward")
"""In every game: back is left, up, or away; forward the other way."""

COMMON = (
    Parameter("controls/inverted", False, "whether back and forward change places", choices=(False, True)),
    Parameter("mirrored", False, "whether the court is seen mirrored while the controls stay", choices=(False, True)),
    Parameter("observation", "features", "what the learner sees", choices=("features", "pixels")),
    Parameter("background", 0.0, "grey level behind everything in a picture (features do not change)", low=0, high=0.4),
)
"""Parameters of every game; `observation` must be the same in a task variant, since it decides the space."""


class Game(Protocol):
    """The rules of a game. `state` is a named tuple of numbers, or of arrays with one entry per game."""

    @property
    def name(self) -> str:
        """Name of the task."""
        ...

    @property
    def summary(self) -> str:
        """One line that describes the game."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All parameters of the game."""
        ...

    def chances(self, params: Mapping[str, Any]) -> int:
        """Return how many random numbers from 0 to 1 an episode needs; all are drawn when it begins."""
        ...

    def begin(self, chances: Any, params: Mapping[str, Any], xp: Arithmetic) -> Any:
        """Return the first state; `chances`, the random numbers, is a tuple, or an array with a row per game."""
        ...

    def advance(self, state: Any, action: Any, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, Any, Any]:
        """Return the next state, the reward, and whether the episode ended."""
        ...

    def features(self, state: Any, params: Mapping[str, Any], xp: Arithmetic) -> tuple[Any, ...]:
        """Return the observation of a player as FEATURES numbers."""
        ...

    def pictures(self, state: Any, params: Mapping[str, Any]) -> np.ndarray:
        """Return grey levels from 0 to 1, one picture per game, for a state of arrays."""
        ...


def settled_again(game: Game, now: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of the next episode of an open game; the kind of observation must stay the same."""
    params = settled(game.parameters, changes, game.name)
    if params["observation"] != now["observation"]:
        raise TaskError(
            f"is open with the observation {now['observation']!r}, and an episode asks for {params['observation']!r}",
            "name it in the task's own parameters",
            where=f"the task {game.name!r}",
        )
    return params


def heading(action: Any, params: Mapping[str, Any]) -> Any:
    """Return the direction of an action: −1, 0 or 1."""
    towards = (action == 2) * 1.0 - (action == 1) * 1.0
    return (1 - 2 * params["controls/inverted"]) * towards
