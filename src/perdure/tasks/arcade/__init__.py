"""The parametric arcade: Pong, Breakout and Freeway, small, fast, and changeable in every part.

Each game's rules are written once and played in two ways: with plain numbers (one game) and with arrays (hundreds of
games). Gymnasium is imported when a game is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from perdure.errors import TaskError, UnknownNameError
from perdure.scenario.model import Task
from perdure.scenario.parameters import draw_parameters, is_drawn
from perdure.tasks.arcade.freeway import Freeway
from perdure.tasks.arcade.game import Game
from perdure.tasks.arcade.paddle import Breakout, Pong
from perdure.tasks.interface import Direction, EpisodeEnd, Parameter

if TYPE_CHECKING:
    import gymnasium

    from perdure.tasks.arcade.environments import ArcadeVector


GAMES: Mapping[str, Game] = {"pong": Pong(), "breakout": Breakout(), "freeway": Freeway()}


class ArcadeTask:
    """A game of the arcade, as a task."""

    measures: Mapping[str, Direction] = {"reward": "higher"}

    def __init__(self, game: Game) -> None:
        self.game = game
        self.name = game.name
        self.summary = game.summary
        self.parameters: tuple[Parameter, ...] | None = game.parameters

    def make(self, task: Task, seed: int) -> gymnasium.Env[Any, Any]:
        """Make the game; parameters drawn for an episode arrive in `reset`."""
        if is_drawn(task.params.get("observation")):
            raise TaskError(
                "'observation' is drawn, and it decides the space", "name one of them", where=f"the task {task.label!r}"
            )
        return make_game(self.name, draw_parameters(task.params, seed, 0, 0))

    def get_episode_log_info(self, env: gymnasium.Env[Any, Any], end: EpisodeEnd) -> Mapping[str, float]:  # noqa: ARG002
        """Return the total reward and the number of steps."""
        return {"reward": end.reward, "steps": end.steps}


def make_game(
    name: str, params: Mapping[str, Any] | None = None, render_mode: str | None = None
) -> gymnasium.Env[Any, Any]:
    """Make one game of the arcade, as a Gymnasium environment."""
    from perdure.tasks.arcade.environments import ArcadeEnv

    return ArcadeEnv(_game(name), params, render_mode)


def make_games(name: str, num_envs: int, params: Mapping[str, Any] | None = None) -> ArcadeVector:
    """Make many games of the arcade, as a Gymnasium vector environment."""
    from perdure.tasks.arcade.environments import ArcadeVector

    return ArcadeVector(_game(name), num_envs, params)


def _game(name: str) -> Game:
    if name.lower() not in GAMES:
        raise UnknownNameError("game", name, GAMES)
    return GAMES[name.lower()]
