"""Monitors and evaluations of Stable-Baselines3, as the library writes them."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import perdure
from perdure.errors import LogError
from perdure.log.formats.sb3 import SB3
from perdure.log.read import Options, find, recognise
from perdure.testing import check_reader

HEADER = '#{"t_start": 100.0, "env_id": "Pong-v1"}\nr,l,t\n'


def write_monitor(monitor: Path, task: str, rewards: list[float], start: float, length: int = 10) -> None:
    """Write a monitor in Stable-Baselines3's format with a given start time."""
    rows = "".join(f"{reward},{length},{index}\n" for index, reward in enumerate(rewards, start=1))
    monitor.write_text(f'#{{"t_start": {start}, "env_id": "{task}"}}\nr,l,t\n{rows}')


def blocks(lifetime: perdure.Lifetime) -> list[tuple[str, str, int | None]]:
    return [(block.mode, block.task, block.length) for block in lifetime.scenario.blocks]


@pytest.fixture(scope="module")
def sb3_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Let Stable-Baselines3 write a folder: 300 steps of a task, evaluated every 100."""
    library: Any = pytest.importorskip("stable_baselines3", reason="the files are made by the library")
    import gymnasium

    DQN, Monitor = library.DQN, library.common.monitor.Monitor  # noqa: N806
    EvalCallback = library.common.callbacks.EvalCallback  # noqa: N806

    folder = tmp_path_factory.mktemp("written") / "seed0"
    folder.mkdir()
    env: Any = Monitor(gymnasium.make("CartPole-v1"), str(folder))
    model = DQN("MlpPolicy", env, seed=0, learning_starts=10_000, policy_kwargs={"net_arch": [4]})
    tests = EvalCallback(
        Monitor(gymnasium.make("CartPole-v1")),
        n_eval_episodes=3,
        eval_freq=100,
        log_path=str(folder / "cartpole"),
        verbose=0,
    )
    model.learn(300, callback=tests)
    env.close()
    return folder


def test_a_monitor_of_the_library_is_a_curve_of_its_task(sb3_folder: Path) -> None:
    file = sb3_folder / "monitor.csv"
    check_reader(SB3, file)
    lifetime = perdure.read(file)
    assert {block.task for block in lifetime.scenario.blocks} == {"cartpole-v1"}
    assert [block.mode for block in lifetime.scenario.blocks] == ["learn"]
    own = [line.split(",") for line in file.read_text().splitlines()[2:]]
    assert lifetime.experiences["reward"].to_list() == [float(reward) for reward, *_ in own]
    assert "forgetting" in " ".join(lifetime.notes)


def test_evaluations_of_the_library_are_a_task_learned_between_them(sb3_folder: Path) -> None:
    file = sb3_folder / "cartpole" / "evaluations.npz"
    check_reader(SB3, file)
    saved = np.load(file)
    lifetime = perdure.read(file)
    assert blocks(lifetime) == [("learn", "cartpole", 1), ("evaluate", "cartpole", 3)] * 3
    tested = lifetime.experiences.filter(lifetime.experiences["block_type"] == "test")
    assert tested["reward"].to_list() == saved["results"].ravel().tolist()
    assert tested["total_steps"].unique(maintain_order=True).to_list() == [100, 200, 300]


def test_a_folder_of_the_library_is_one_lifetime_with_its_evaluations_in_order(sb3_folder: Path) -> None:
    check_reader(SB3, sb3_folder)
    assert list(find(sb3_folder.parent)) == [sb3_folder]
    lifetime = perdure.read(sb3_folder)
    tests = lifetime.experiences.filter(lifetime.experiences["block_type"] == "test")
    assert tests.height == 9
    before = lifetime.experiences.filter(
        lifetime.experiences["block_type"] == "train", lifetime.experiences["total_steps"] <= 100
    )
    first = next(number for number, block in enumerate(lifetime.scenario.blocks) if block.mode == "evaluate")
    assert sum(block.length or 0 for block in lifetime.scenario.blocks[:first]) == before.height


def test_the_monitors_of_a_lifetime_are_ordered_by_time_and_not_by_name(tmp_path: Path) -> None:
    write_monitor(tmp_path / "b.monitor.csv", "Pong-v1", [1, 2, 3], start=100.0)
    write_monitor(tmp_path / "a.monitor.csv", "Freeway-v1", [5, 6], start=200.0)
    for task, results in {"pong_v1": [[3.0, 3.0], [1.0, 1.0]], "freeway-v1": [[0.0, 0.0], [6.0, 6.0]]}.items():
        (tmp_path / task).mkdir()
        np.savez(tmp_path / task / "evaluations.npz", timesteps=[30, 50], results=results, ep_lengths=results)
    check_reader(SB3, tmp_path)
    assert blocks(perdure.read(tmp_path)) == [
        ("learn", "pong-v1", 3),
        ("evaluate", "freeway-v1", 2),
        ("evaluate", "pong-v1", 2),
        ("learn", "freeway-v1", 2),
        ("evaluate", "freeway-v1", 2),
        ("evaluate", "pong-v1", 2),
    ]


def test_monitors_that_ran_in_parallel_are_one_block(tmp_path: Path) -> None:
    for number in (0, 1):
        write_monitor(tmp_path / f"{number}.monitor.csv", "Pong-v1", [1, 2, 3], start=100.0 + number / 10)
    assert blocks(perdure.read(tmp_path)) == [("learn", "pong-v1", 6)]


def test_a_monitor_called_eval_holds_evaluations(tmp_path: Path) -> None:
    write_monitor(tmp_path / "pong.monitor.csv", "Pong-v1", [1, 2], start=100.0)
    write_monitor(tmp_path / "pong-eval.monitor.csv", "Pong-v1", [9], start=110.0)
    assert blocks(perdure.read(tmp_path)) == [("learn", "pong-v1", 2), ("evaluate", "pong-v1", 1)]


def test_evaluations_without_a_task_are_refused(tmp_path: Path) -> None:
    write_monitor(tmp_path / "a.monitor.csv", "Pong-v1", [1], start=100.0)
    write_monitor(tmp_path / "b.monitor.csv", "Freeway-v1", [1], start=200.0)
    np.savez(tmp_path / "evaluations.npz", timesteps=[10], results=[[1.0]], ep_lengths=[[1]])
    with pytest.raises(LogError, match="log_path='LIFE/TASK'"):
        perdure.read(tmp_path)


def test_a_folder_without_a_task_name_is_noted(tmp_path: Path) -> None:
    write_monitor(tmp_path / "a.monitor.csv", "Pong-v1", [1], start=100.0)
    write_monitor(tmp_path / "b.monitor.csv", "Freeway-v1", [1], start=200.0)
    (tmp_path / "skiing").mkdir()
    np.savez(tmp_path / "skiing" / "evaluations.npz", timesteps=[10], results=[[1.0]], ep_lengths=[[1]])
    assert any("evaluated and never learned: skiing" in note for note in perdure.read(tmp_path).notes)


def test_keywords_of_a_monitor_are_measures_and_a_torn_line_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "monitor.csv"
    file.write_text(HEADER.replace("r,l,t", "r,l,t,is_success") + "1.5,10,1.0,True\n2.5,10,2.0,False\n3")
    lifetime = perdure.read(file)
    assert list(lifetime.measures) == ["reward", "is_success"]
    assert lifetime.experiences["is_success"].to_list() == [1.0, 0.0]
    assert any("torn" in note for note in lifetime.notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "1,10\n", "monitor.csv:3: 2 fields where the header has 3"),
        (HEADER + "1,10,1\nhigh,10,2\n", "monitor.csv:4: r is 'high'"),
        (HEADER + "1,-10,1\n", "monitor.csv:3: l is"),
        ("#{no}\nr,l,t\n1,1,1\n", "monitor.csv:1: the first line is no JSON"),
        ('#{"t_start": 1}\na,b\n1,2\n', "monitor.csv:2: no columns r, l and t"),
    ],
)
def test_a_bad_line_is_named_by_its_number_in_the_file(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "monitor.csv"
    file.write_text(content)
    assert recognise(file) is SB3
    with pytest.raises(LogError) as problem:
        SB3.read(file, Options())
    assert message in str(problem.value)


@given(st.binary(max_size=200))
def test_any_bytes_in_a_monitor_or_in_evaluations_give_a_log_error_and_nothing_else(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, start in (("monitor.csv", b"#{"), ("monitor.csv", HEADER.encode()), ("evaluations.npz", b"")):
            file = Path(folder, name)
            file.write_bytes(start + content)
            SB3.recognises(file)
            with contextlib.suppress(LogError):
                SB3.read(file, Options())


def test_variants_of_one_environment_are_tasks_called_after_their_folders_of_evaluations(tmp_path: Path) -> None:
    for number, task in enumerate(("plain", "mirrored")):
        (tmp_path / task).mkdir()
        results = np.full((3, 10), 10.0 + number)
        np.savez(tmp_path / task / "evaluations.npz", timesteps=[0, 100, 200], results=results, ep_lengths=results)
    write_monitor(tmp_path / "plain.monitor.csv", "CartPole-v1", [1.0] * 10, 0)
    # Monitor writes into a folder of the name that it is given, if there is one.
    write_monitor(tmp_path / "mirrored" / "monitor.csv", "CartPole-v1", [2.0] * 10, 100)
    learned = [block.task for block in perdure.read(tmp_path).scenario.blocks if block.mode == "learn"]
    assert learned == ["plain", "mirrored"]
    (score,) = perdure.survey([tmp_path]).scores
    assert "performance_maintenance" in score.values


def test_monitors_of_parallel_environments_are_of_one_task(tmp_path: Path) -> None:
    for rank in range(2):
        write_monitor(tmp_path / f"{rank}.monitor.csv", "CartPole-v1", [1.0] * 10, rank)
    assert [block.task for block in perdure.read(tmp_path).scenario.blocks] == ["cartpole-v1"]
