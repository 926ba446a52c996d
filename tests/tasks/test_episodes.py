"""Episodes: errors of an environment are reported with the task's name, and its values are passed on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.tasks import strange

from perdure.errors import PerdureError, TaskError
from perdure.scenario.model import Task
from perdure.tasks.catalogue import kind_of
from perdure.tasks.episodes import Episode, Episodes


def open_episodes(env: type, step_limit: int = 50, **params: Any) -> Episodes:
    return Episodes(Task("mine", "wide", params=params), kind=kind_of(env), step_limit=step_limit)  # type: ignore[arg-type]


def play_episode(episode: Episode, action: int = 0) -> list[float]:
    rewards = []
    episode.reset()
    while not episode.ended:
        rewards.append(float(episode.step(action)[1]))
    return rewards


def test_an_episode_passes_on_the_environments_values_and_their_sums() -> None:
    episode = open_episodes(strange.Honest).begin(seed=4)
    assert play_episode(episode) == [1, 1, 1]
    assert episode.log_info() == {"reward": 3, "steps": 3}
    assert episode.end.terminated
    assert not episode.end.truncated


def test_the_same_seed_gives_the_same_episode_and_another_seed_another() -> None:
    episodes = open_episodes(strange.Honest)
    one, again, other = (episodes.begin(seed=seed).reset()[0] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_learner_cannot_choose_the_seed() -> None:
    episodes = open_episodes(strange.Honest)
    assert np.array_equal(episodes.begin(seed=1).reset(seed=9)[0], episodes.begin(seed=1).reset(seed=5)[0])


def test_a_second_reset_begins_a_separate_sub_episode() -> None:
    episode = open_episodes(strange.Honest).begin(seed=1)
    first, _ = episode.reset()
    episode.step(0)
    second, _ = episode.reset()
    assert not np.array_equal(first, second)
    assert episode.end.steps == 0
    assert episode.resets == 2


def test_parameters_reach_an_environment_that_declares_them_by_reset() -> None:
    episodes = open_episodes(strange.Talking)
    assert len(play_episode(episodes.begin({"length": 5}))) == 5
    episode = episodes.begin({})
    assert len(play_episode(episode)) == 3
    assert episode.log_info() == {"reward": 3, "steps": 3, "detour": 1.5}


def test_parameters_reach_any_other_environment_by_a_new_instance() -> None:
    episodes = open_episodes(strange.Honest, colour="red")
    episodes.begin({"colour": "blue"}).reset()
    assert episodes.env.unwrapped.colour == "blue"  # type: ignore[attr-defined]
    episodes.begin({"colour": "red"}).reset()
    assert episodes.env.unwrapped.colour == "red"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (
            strange.Raising,
            "'mine_wide', at step 2 of an episode with {}: step raised ZeroDivisionError: the motor",
        ),
        (strange.RaisingInReset, "'mine_wide': reset raised OSError: no such device"),
        (
            strange.RaisingWhenMade,
            "'RaisingWhenMade' cannot be made with the parameters {}: RuntimeError: licence expired",
        ),
        (strange.NotANumber, "gave the reward nan; give a finite number"),
        (strange.Growing, "an observation (ndarray of shape (3,)) that is not in its observation_space"),
        (strange.OldFashioned, "reset gave ndarray of shape (2,); expected (observation, info)"),
        (strange.OldStep, "raised ValueError: not enough values to unpack (expected 5, got 4)"),
        (strange.Silent, "gave reward, steps; return detour as well"),
    ],
)
def test_a_breach_of_the_contract_is_named_with_the_task(env: type, message: str) -> None:
    def play_two_episodes() -> None:
        episode = open_episodes(env).begin()
        play_episode(episode)
        episode.log_info()

    with pytest.raises(TaskError) as caught:
        play_two_episodes()
    assert message in str(caught.value)


def test_the_environments_exception_is_the_cause() -> None:
    with pytest.raises(TaskError) as caught:
        play_episode(open_episodes(strange.Raising).begin())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_environment_that_never_ends_is_cut_off_at_the_step_limit() -> None:
    episode = open_episodes(strange.Endless, step_limit=20).begin()
    assert len(play_episode(episode)) == 20
    assert episode.end.truncated
    assert episode.end.info["step_limit"] == 20


def test_a_change_of_spaces_names_both_spaces() -> None:
    with pytest.raises(TaskError, match=r"the action_space changed from Discrete\(2\) to Discrete\(3\)"):
        open_episodes(strange.Shifting).begin().reset()


@pytest.mark.parametrize("action", [2, -1, 0.5, None, "left", np.array([0, 1])])
def test_an_action_outside_the_space_is_reported_as_the_learners_fault(action: object) -> None:
    episode = open_episodes(strange.Honest).begin()
    episode.reset()
    with pytest.raises(TaskError, match=r"the learner's action .* is not in Discrete\(2\)"):
        episode.step(action)


def test_step_before_reset_and_after_the_end_is_refused() -> None:
    episode = open_episodes(strange.Honest).begin()
    with pytest.raises(TaskError, match="step before reset"):
        episode.step(0)
    play_episode(episode)
    with pytest.raises(TaskError, match="after the episode's end"):
        episode.step(0)


def test_an_episode_that_was_followed_by_another_is_over() -> None:
    episodes = open_episodes(strange.Honest)
    first = episodes.begin()
    episodes.begin()
    with pytest.raises(TaskError, match="reset of an episode that is over"):
        first.reset()
    second = episodes.begin()
    second.reset()
    episodes.begin().reset()
    with pytest.raises(TaskError, match="step of an episode that is over"):
        second.step(0)


def test_an_unknown_parameter_is_refused_before_the_first_episode() -> None:
    with pytest.raises(TaskError, match=r"takes no parameter 'color'; did you mean 'colour'\?"):
        open_episodes(strange.Honest, color="red")
    with pytest.raises(TaskError, match=r"takes no parameter 'lenght'; did you mean 'length'\?"):
        open_episodes(strange.Talking, lenght=3)


def test_a_batch_task_has_no_episodes() -> None:
    with pytest.raises(TaskError, match="'digits' comes in batches"):
        Episodes(Task("digits"))


def test_a_step_limit_below_one_is_refused() -> None:
    with pytest.raises(PerdureError, match="is 0; give 1 or more"):
        open_episodes(strange.Honest, step_limit=0)


def test_closing_an_episode_leaves_the_environment_to_the_next() -> None:
    with open_episodes(strange.Honest) as episodes:
        episodes.begin().close()
        assert play_episode(episodes.begin()) == [1, 1, 1]
