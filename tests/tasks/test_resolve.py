"""Names of tasks: registered names, Gymnasium ids, import paths and wrappers; unknown ones are refused."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from perdure.errors import MissingExtraError, PerdureError, TaskError, UnknownNameError
from perdure.scenario.model import Task
from perdure.tasks import catalogue
from perdure.tasks.catalogue import check_params, kind_named, task_kind
from perdure.tasks.episodes import Episodes
from perdure.tasks.interface import TASKS, EpisodeTask


def test_a_registered_name_is_found_whatever_its_case() -> None:
    assert task_kind(Task("pong")) is task_kind(Task("x", env="PONG")) is TASKS.get("pong")


def test_env_wins_over_the_tasks_own_name() -> None:
    assert task_kind(Task("pong", env="Breakout")).name == "breakout"


@pytest.mark.parametrize("name", ["CartPole-v1", "cartpole-v1"])
def test_any_gymnasium_id_is_a_task(name: str) -> None:
    with Episodes(Task("cart", env=name)) as episodes:
        observation, _ = episodes.begin(seed=3).reset()
        assert episodes.observation_space.contains(observation)


def test_two_tasks_may_differ_in_their_spaces() -> None:
    with Episodes(Task("pong")) as one, Episodes(Task("cart", env="CartPole-v1")) as other:
        assert one.observation_space != other.observation_space
        assert one.action_space != other.action_space


def test_wrappers_are_applied_from_left_to_right() -> None:
    text = "FrozenLake-v1 | gymnasium.wrappers:FlattenObservation | gymnasium.wrappers:RecordEpisodeStatistics"
    with Episodes(Task("lake", env=text)) as episodes:
        episode = episodes.begin({"is_slippery": False}, seed=1)
        episode.reset()
        assert isinstance(episodes.env, gymnasium.wrappers.RecordEpisodeStatistics)
        assert episodes.observation_space.shape == (16,)


def test_a_custom_task_is_found_by_its_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_tasks_for_resolve.py").write_text(
        "from perdure.tasks.arcade import GAMES, ArcadeTask\nTASK = ArcadeTask(GAMES['pong'])\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert isinstance(kind_named("own_tasks_for_resolve:TASK"), EpisodeTask)


def test_a_plug_in_may_register_an_environments_class_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    plugin: Any = EntryPoint("MyCart", "gymnasium.envs.classic_control:CartPoleEnv", "perdure.tasks")
    monkeypatch.setattr("perdure.registry._installed", lambda: EntryPoints([plugin]))
    monkeypatch.setattr(TASKS, "_plugins_read", False)
    monkeypatch.setattr(TASKS, "_things", dict(TASKS._things))
    kind_named.cache_clear()
    assert isinstance(kind_named("mycart"), EpisodeTask)
    kind_named.cache_clear()


def test_a_task_class_that_cannot_be_instantiated_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_task_for_resolve.py").write_text("class T:\n    def __init__(self): raise OSError('no disk')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(TaskError, match="'broken_task_for_resolve:T' cannot be made: OSError: no disk"):
        kind_named("broken_task_for_resolve:T")


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("Pongg", UnknownNameError, r"unknown task or environment 'Pongg'; did you mean 'pong'\?"),
        ("CartPol-v1", UnknownNameError, "did you mean 'CartPole-v1'"),
        ("navigate", TaskError, r"embedded: pong, breakout, .*import path \(module:name\)"),
        ("ale_py_absent:ALE/Pong-v5", TaskError, "there is no module 'ale_py_absent'"),
        ("no_such_module:Thing", TaskError, "there is no module 'no_such_module'"),
        ("ALE/Pong-v5", TaskError, r"which the package ale-py registers; .*env = 'ale_py:ALE/Pong-v5'"),
        ("perdure.text:SIDES", TaskError, r"has no 'SIDES'; no class and no task is defined there"),
        ("perdure.tasks.digits:SIDES", TaskError, r"has no 'SIDES'; known: Hand"),
        ("perdure.tasks.minigrid:EmptyRom", TaskError, r"has no 'EmptyRom'; did you mean 'EmptyRoom'\?"),
        ("perdure.tasks.minigrid:Taks", TaskError, r"has no 'Taks'; known: EmptyRoom$"),
        ("perdure.tasks.digits:SIDE", TaskError, r"is int, neither a gymnasium.Env class nor a task"),
        ("Pong | no_such_module:Wrapper", TaskError, "the wrapper 'no_such_module:Wrapper'"),
        ("digits | gymnasium.wrappers:FlattenObservation", TaskError, "wrappers are for environments"),
        (":Thing", TaskError, "is no import path"),
    ],
)
def test_an_unknown_name_is_refused_with_the_possible_forms(name: str, kind: type[PerdureError], message: str) -> None:
    with pytest.raises(kind, match=message):
        kind_named(name)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("pong", {"bot/padle/width": 0.4}, "takes no parameter 'bot/padle/width'; did you mean 'bot/paddle/width'"),
        ("pong", {"bot/paddle/width": 9}, "'bot/paddle/width' is 9; it takes"),
        ("digits", {"classes": [3, 3]}, "it takes a list of different numbers"),
        ("FrozenLake-v1", {"is_slipery": True}, "takes no parameter 'is_slipery'; did you mean 'is_slippery'"),
        (
            "FrozenLake-v1 | gymnasium.wrappers:FlattenObservation",
            {"is_slipery": True},
            "takes no parameter 'is_slipery'",
        ),
    ],
)
def test_parameters_are_checked_without_creating_the_task(name: str, params: dict[str, Any], message: str) -> None:
    kind = kind_named(name)
    check_params(kind, name, {})
    with pytest.raises(TaskError, match=message):
        check_params(kind, name, params)


def test_a_wrapper_that_returns_no_environment_is_refused() -> None:
    with pytest.raises(TaskError, match="a wrapper gave str"):
        Episodes(Task("x", env="CartPole-v1 | builtins:str"))


@pytest.mark.skipif(find_spec("Box2D") is not None, reason="Box2D is installed")
def test_an_environment_with_a_missing_library_is_refused_with_the_command_to_install_it() -> None:
    with pytest.raises(TaskError, match=r"'BipedalWalker-v3' needs what is absent: .*pip install"):
        kind_named("BipedalWalker-v3")


@pytest.mark.parametrize("name", ["MiniGrid-Empty-5x5-v0", "minigrid5x5"])
def test_minigrid_without_its_extra_gives_the_command(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "find_spec", lambda module: None)
    monkeypatch.setattr("perdure.tasks.minigrid.find_spec", lambda module: None)
    kind_named.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'minigrid>="):
        Episodes(Task("x", env=name))
    kind_named.cache_clear()
