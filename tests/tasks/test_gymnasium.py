"""Any Gymnasium environment: its keywords as parameters, checked by name."""

from __future__ import annotations

import pytest

from perdure.errors import TaskError
from perdure.scenario.model import Task
from perdure.tasks.catalogue import kind_named
from perdure.tasks.episodes import Episodes
from perdure.tasks.gymnasium import GymnasiumTask


def test_the_keywords_of_all_bases_are_known() -> None:
    pytest.importorskip("minigrid")
    kind = kind_named("MiniGrid-Empty-5x5-v0")
    assert isinstance(kind, GymnasiumTask)
    assert {"size", "agent_start_pos", "see_through_walls", "max_steps"} <= set(kind.keywords or ())


def test_a_keyword_that_changes_in_an_episode_reaches_the_environment() -> None:
    with Episodes(Task("lake", env="FrozenLake-v1", params={"is_slippery": True})) as episodes:
        episodes.begin({"is_slippery": False, "map_name": "8x8"}, seed=1)
        episodes.begin({"is_slippery": False}, seed=1).reset()
        assert episodes.env.unwrapped.spec.kwargs["is_slippery"] is False  # type: ignore[union-attr]


def test_a_keyword_that_changes_the_space_is_refused_within_one_task() -> None:
    with (
        Episodes(Task("lake", env="FrozenLake-v1")) as episodes,
        pytest.raises(TaskError, match=r"the observation_space changed from Discrete\(16\) to Discrete\(64\)"),
    ):
        episodes.begin({"map_name": "8x8"}, seed=1).reset()


def test_a_value_that_the_environment_refuses_is_reported_with_its_parameters() -> None:
    with pytest.raises(TaskError, match=r"cannot be made with the parameters \{'map_name': '9x9'\}: KeyError"):
        Episodes(Task("lake", env="FrozenLake-v1", params={"map_name": "9x9"}))
