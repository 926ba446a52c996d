"""The arcade environment: a game alone and one of many have the same rules, episodes and pictures."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as some

from perdure.errors import TaskError, UnknownNameError
from perdure.tasks.arcade import GAMES, make_game, make_games

NAMES = sorted(GAMES)
CHANGED: dict[str, dict[str, Any]] = {
    "pong": {"bot/paddle/width": 0.33, "opponent/error": 0.9, "points": 2, "controls/inverted": True},
    "breakout": {"bricks/rows": 2, "bricks/columns": 3, "ball/speed": 0.08, "balls": 2, "mirrored": True},
    "freeway": {"lanes": 2, "traffic": 3, "steps": 30, "mirrored": True},
}


def actions(number: int, games: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(3, size=(number, games))


@pytest.mark.parametrize("game", NAMES)
@pytest.mark.parametrize("seen", ["features", "pixels"])
@pytest.mark.filterwarnings("ignore:.*render.*:UserWarning")
def test_the_environment_passes_gymnasiums_checker(game: str, seen: str) -> None:
    check_env(make_game(game, {"observation": seen}), skip_render_check=True)


@pytest.mark.parametrize("game", NAMES)
@pytest.mark.parametrize("changed", [False, True])
@pytest.mark.parametrize("seen", ["features", "pixels"])
def test_a_game_of_many_runs_as_it_does_alone(game: str, changed: bool, seen: str) -> None:
    params = {**(CHANGED[game] if changed else {}), "observation": seen}
    games, steps = 5, 150
    many = make_games(game, games, params)
    alone = [make_game(game, params) for _ in range(games)]
    together, _ = many.reset(seed=40)
    for number, env in enumerate(alone):
        assert np.array_equal(env.reset(seed=40 + number)[0], together[number])
    over = [False] * games
    for chosen in actions(steps, games):
        together, rewards, terminated, truncated, _ = many.step(chosen)
        for number, env in enumerate(alone):
            if over[number]:
                observation, reward, ended, cut = env.reset()[0], 0.0, False, False
            else:
                observation, reward, ended, cut, _ = env.step(chosen[number])  # type: ignore[assignment]
            assert np.array_equal(observation, together[number])
            assert (reward, ended, cut) == (rewards[number], terminated[number], truncated[number])
            over[number] = bool(ended or cut)


@settings(max_examples=20)
@given(some.sampled_from(NAMES), some.integers(0, 2**31), some.data())
def test_features_stay_within_their_space_for_any_actions(game: str, seed: int, data: some.DataObject) -> None:
    params = {
        parameter.name: data.draw(some.floats(parameter.low, parameter.high), label=parameter.name)
        for parameter in GAMES[game].parameters
        if isinstance(parameter.default, float)
    }
    many = make_games(game, 8, params)
    observations, _ = many.reset(seed=seed)
    for chosen in actions(60, 8, seed):
        assert many.observation_space.contains(observations)
        observations, rewards, *_ = many.step(chosen)
        assert np.isfinite(rewards).all()


@pytest.mark.parametrize("game", NAMES)
def test_inverted_controls_equal_the_game_with_exchanged_actions(game: str) -> None:
    plain, inverted = make_games(game, 6), make_games(game, 6, {"controls/inverted": True})
    assert np.array_equal(plain.reset(seed=1)[0], inverted.reset(seed=1)[0])
    for chosen in actions(80, 6):
        swapped = np.array([0, 2, 1])[chosen]
        for value, other in zip(plain.step(chosen)[:4], inverted.step(swapped)[:4], strict=True):
            assert np.array_equal(value, other)


@pytest.mark.parametrize("game", NAMES)
def test_a_mirrored_game_plays_the_same_and_looks_mirrored(game: str) -> None:
    plain, mirrored = make_games(game, 6), make_games(game, 6, {"mirrored": True})
    seen = make_game(game, {"observation": "pixels"}), make_game(game, {"observation": "pixels", "mirrored": True})
    axis = 0 if game == "freeway" else 1
    assert np.array_equal(np.flip(seen[0].reset(seed=1)[0], axis), seen[1].reset(seed=1)[0])
    plain.reset(seed=1)
    mirrored.reset(seed=1)
    for chosen in actions(80, 6):
        one, other = plain.step(chosen), mirrored.step(chosen)
        assert np.array_equal(one[1], other[1])
        assert np.array_equal(one[0][:, 0], -other[0][:, 0])


@pytest.mark.parametrize("game", NAMES)
def test_the_background_changes_the_picture_and_not_the_features(game: str) -> None:
    dark, grey = (make_game(game, {"background": level}).reset(seed=1)[0] for level in (0.0, 0.3))
    assert np.array_equal(dark, grey)
    dark, grey = (
        make_game(game, {"background": level, "observation": "pixels"}).reset(seed=1)[0] for level in (0, 0.3)
    )
    assert (dark == 0).sum() == (grey == round(0.3 * 255)).sum() > 100


@pytest.mark.parametrize("game", NAMES)
def test_a_game_can_be_rendered(game: str) -> None:
    text = make_game(game, render_mode="ansi")
    text.reset(seed=1)
    drawn: Any = text.render()
    assert len(drawn.splitlines()) == 18
    assert "o" in drawn
    colours = make_game(game, render_mode="rgb_array")
    colours.reset(seed=1)
    picture: Any = colours.render()
    assert (picture.shape, picture.dtype) == ((256, 256, 3), np.uint8)


def test_an_invalid_argument_is_refused_with_a_message() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'pong'\?"):
        make_game("pongg")
    with pytest.raises(TaskError, match="render_mode is 'human'"):
        make_game("pong", render_mode="human")
    with pytest.raises(TaskError, match="step before reset"):
        make_game("pong").step(0)
    with pytest.raises(TaskError, match="made without render_mode"):
        make_game("pong").render()
    with pytest.raises(TaskError, match="num_envs is 0; give 1 or more"):
        make_games("pong", 0)
    with pytest.raises(TaskError, match="step before reset"):
        make_games("pong", 2).step(np.zeros(2))
    many = make_games("pong", 2)
    many.reset(seed=1)
    with pytest.raises(TaskError, match=r"expected \(2,\), one per game"):
        many.step(np.zeros(3))
    with pytest.raises(TaskError, match="an episode asks for 'pixels'"):
        make_game("pong").reset(options={"params": {"observation": "pixels"}})


def test_parameters_hold_for_the_episode_that_starts_with_them() -> None:
    env = make_game("pong")
    env.reset(seed=1, options={"params": {"steps": 3}})
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    many = make_games("pong", 2)
    many.reset(seed=1, options={"params": {"steps": 3}})
    assert [bool(many.step(np.zeros(2))[3].all()) for _ in range(3)] == [False, False, True]


def test_gymnasium_accepts_the_vector_environment() -> None:
    many: Any = make_games("pong", 4)
    assert isinstance(many, gymnasium.vector.VectorEnv)
    observations, _ = many.reset(seed=3)
    assert many.observation_space.contains(observations)
    assert many.action_space.shape == (4,)
