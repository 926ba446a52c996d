"""What a game of the arcade is: its parameters and its rules, written once for one game and for many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from perdure.errors import TaskError
from perdure.tasks.arcade.arithmetic import Arithmetic
from perdure.tasks.interface import Parameter, settled

FEATURES = 7
"""How many numbers a feature observation has, in every game; each lies within −1 and 1."""

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
"""What every game takes; `observation` is a matter of the task variant, since it decides the space."""


class Game(Protocol):
    """A game's rules. `state` is a named tuple of numbers, or of arrays with one entry per game."""

    @property
    def name(self) -> str:
        """The task's name."""
        ...

    @property
    def summary(self) -> str:
        """One line that says what is to be learned."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Everything about the game that may be set."""
        ...

    def chances(self, params: Mapping[str, Any]) -> int:
        """How many random numbers from 0 to 1 an episode needs; all are drawn at its beginning."""
        ...

    def begin(self, chances: Any, params: Mapping[str, Any], on: Arithmetic) -> Any:
        """The first state; `chances` is a tuple, or an array with a row per game."""
        ...

    def advance(self, state: Any, action: Any, params: Mapping[str, Any], on: Arithmetic) -> tuple[Any, Any, Any]:
        """The next state, the reward, and whether the episode has come to its end."""
        ...

    def features(self, state: Any, params: Mapping[str, Any], on: Arithmetic) -> tuple[Any, ...]:
        """What matters to a player, as FEATURES numbers."""
        ...

    def pictures(self, state: Any, params: Mapping[str, Any]) -> np.ndarray:
        """Grey levels from 0 to 1, one picture per game, for a state of arrays."""
        ...


def settled_again(game: Game, now: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of what begins in an open game; the observation stays, since it decides the space."""
    params = settled(game.parameters, given, game.name)
    if params["observation"] != now["observation"]:
        raise TaskError(
            f"is open with the observation {now['observation']!r}, and an episode asks for {params['observation']!r}",
            "name it in the task's own parameters",
            where=f"the task {game.name!r}",
        )
    return params


def heading(action: Any, params: Mapping[str, Any]) -> Any:
    """−1, 0 or 1: where an action goes."""
    towards = (action == 2) * 1.0 - (action == 1) * 1.0
    return (1 - 2 * params["controls/inverted"]) * towards
