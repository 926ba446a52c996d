"""MiniGrid's empty room with the parameters of the 2019 draft."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import TaskError
from perdure.scenario.model import Task
from perdure.tasks.episodes import Episode, Episodes

pytest.importorskip("minigrid")

LEFT, RIGHT, FORWARD = 0, 1, 2


def place(episode: Episode) -> tuple[tuple[int, int], int]:
    room: Any = episode.unwrapped
    return (int(room.agent_pos[0]), int(room.agent_pos[1])), int(room.agent_dir)


@pytest.mark.parametrize("env", ["minigrid5x5", "MiniGrid-Empty-5x5-v0"])
def test_the_agent_starts_at_the_place_in_the_syllabus(env: str) -> None:
    with Episodes(Task("room", env=env)) as episodes:
        for position, heading in (([1, 1], 0), ([3, 3], 0), ([1, 3], 1)):
            episode = episodes.begin({"agent_pos": position, "agent_dir": heading}, seed=1)
            episode.reset()
            assert place(episode) == (tuple(position), heading)


def test_reward_is_minigrids_own() -> None:
    with Episodes(Task("minigrid5x5")) as episodes:
        episode = episodes.begin({}, seed=1)
        episode.reset()
        for action in (FORWARD, FORWARD, RIGHT, FORWARD, FORWARD):
            episode.step(action)
        assert episode.end.terminated
        # 1 minus 0.9 of the share of steps used, out of 4 · 5² = 100.
        assert episode.log_info() == {"reward": pytest.approx(1 - 0.9 * 5 / 100), "steps": 5}


def test_a_larger_room_has_the_same_space_and_more_time() -> None:
    with Episodes(Task("minigrid5x5", params={"size": 9})) as episodes:
        episode = episodes.begin({"size": 9}, seed=1)
        episode.reset()
        room: Any = episode.unwrapped
        assert (room.width, room.max_steps) == (9, 324)
        episodes.begin({"size": 5}, seed=1).reset()


@pytest.mark.parametrize("position", [[0, 1], [4, 4], [1], "corner", [1.5, 2]])
def test_a_start_within_a_wall_is_refused(position: object) -> None:
    with pytest.raises(TaskError, match=r"it takes \[column, row\], each from 1 to 3"):
        Episodes(Task("minigrid5x5", params={"agent_pos": position}))
