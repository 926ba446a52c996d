"""MiniGrid's empty room, with the parameters that the syllabus of Baker et al. 2023 sets; other rooms go by id."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from perdure.errors import MissingExtraError, TaskError
from perdure.scenario.model import Task
from perdure.scenario.parameters import draw_parameters
from perdure.tasks.interface import Direction, EpisodeEnd, Parameter, settled

if TYPE_CHECKING:
    import gymnasium


SPELLINGS = {"agent_pos": "agent_start_pos", "agent_dir": "agent_start_dir"}
"""Names of two of MiniGrid's keywords in that syllabus; Gymnasium ids of MiniGrid take them as well."""


class EmptyRoom:
    """An empty room with a goal in its far corner; the reward is MiniGrid's, 1 minus 0.9 of the time taken."""

    measures: Mapping[str, Direction] = {"reward": "higher"}

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.summary = f"reach the far corner of an empty room of {size} × {size} (MiniGrid)"
        self._declared = (
            Parameter("agent_pos", (1, 1), "where the agent starts, [column, row]; walls are 0 and size − 1"),
            Parameter("agent_dir", 0, "its heading: 0 right, 1 down, 2 left, 3 up", low=0, high=3),
            Parameter("size", size, "the room's side, walls included", low=4, high=64),
            Parameter("max_steps", 0, "when an episode is cut off; 0 for MiniGrid's 4·size²", low=0, high=1_000_000),
        )
        self.parameters: tuple[Parameter, ...] | None = self._declared

    def make(self, task: Task, seed: int) -> gymnasium.Env[Any, Any]:
        """Make the room; it is made again if the parameters of an episode differ."""
        if find_spec("minigrid") is None:
            raise MissingExtraError("minigrid", "minigrid", f"the task {self.name!r}")
        import_module("minigrid")  # registers its ids
        from perdure.tasks.gymnasium import GymnasiumTask, Remade

        room = GymnasiumTask.of_id("MiniGrid-Empty-5x5-v0", SPELLINGS)
        params = settled(self._declared, draw_parameters(task.params, seed, 0, 0), task.label)
        return Remade(lambda params: room.created(self._keywords(params)), params)

    def get_episode_log_info(self, env: gymnasium.Env[Any, Any], end: EpisodeEnd) -> Mapping[str, float]:  # noqa: ARG002
        """Return the total reward and the number of steps."""
        return {"reward": end.reward, "steps": end.steps}

    def _keywords(self, params: Mapping[str, Any]) -> dict[str, Any]:
        place, size = params["agent_pos"], params["size"]
        valid = (
            isinstance(place, list | tuple)
            and len(place) == 2
            and all(isinstance(coordinate, int) and 0 < coordinate < size - 1 for coordinate in place)
        )
        if not valid:
            raise TaskError(
                f"'agent_pos' is {place!r}",
                f"it takes [column, row], each from 1 to {size - 2}",
                where=f"the task {self.name!r}",
            )
        return {**params, "max_steps": params["max_steps"] or None}
