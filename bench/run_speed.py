"""Measure the cost of running: logging compared with a bare loop, two workers with one, and start-up.

    python bench/run_speed.py [--lives 8]

Goals: logging adds at most 10 % to a loop on MiniGrid, two workers are at least 1.7 times as fast as one, and a
lifetime starts within 50 ms after the imports. Bare and logged loops alternate, and the fastest of each counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from perdure import run
from perdure.cluster import cores
from perdure.runner.lifetime import run_lifetime
from perdure.runner.protocol import parse_protocol
from perdure.scenario.compose import single
from perdure.scenario.model import Task
from perdure.tasks.catalogue import task_kind

EPISODES, TURNS = 40, 9
GAME = {"points": 5, "steps": 300}


def played(env: Any, actions: Any) -> int:
    """Play an episode with the given actions; return the number of steps."""
    env.reset()
    for step, action in enumerate(actions):
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return step + 1
    return len(actions)


def bare(task: Task, actions: Any) -> float:
    """Return the seconds per step of a loop of an environment and actions."""
    env = task_kind(task).make(task, 0)  # type: ignore[union-attr]
    env.reset(seed=0)
    start, steps = time.perf_counter(), 0
    for _ in range(EPISODES):
        steps += played(env, actions)
    return (time.perf_counter() - start) / steps


def logged(task: Task, actions: Any, folder: Path) -> float:
    """Return the seconds per step of the same loop as a lifetime."""
    life = run_lifetime(single(task, learn=EPISODES), folder, f"life-{time.time_ns()}")
    start, steps = time.perf_counter(), 0
    for block in life:
        for episode in block.episodes():
            steps += played(episode, actions)
    return (time.perf_counter() - start) / steps


def overhead(task: Task, choices: int) -> None:
    """Print what logging adds to a loop over this task."""
    actions = np.random.default_rng(0).integers(choices, size=10_000).tolist()
    with tempfile.TemporaryDirectory() as folder:
        turns = [(bare(task, actions), logged(task, actions, Path(folder))) for _ in range(TURNS)]
    bare_time, lived = (min(times) for times in zip(*turns, strict=True))
    print(
        f"{task.name:<14} bare {bare_time * 1e6:8.1f} µs a step   lived {lived * 1e6:8.1f}   × {lived / bare_time:.3f}"
    )


def start_up() -> None:
    """Print how long a life takes to begin, from the call to the first reset."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(10):
            start = time.perf_counter()
            life = run_lifetime(single(Task("pong", params=GAME), learn=1), folder, f"life-{number}")
            for block in life:
                for episode in block.episodes():
                    episode.reset()
                    times.append(time.perf_counter() - start)
                    played_out(episode)
    print(f"start of a life: {np.median(times[1:]) * 1e3:.1f} ms (the first one: {times[0] * 1e3:.1f} ms)")


def played_out(episode: Any) -> None:
    """Bring an episode to its end."""
    ended = False
    while not ended:
        *_, terminated, truncated, _ = episode.step(0)
        ended = terminated or truncated


def workers(lives: int) -> None:
    """Print how much faster two workers are than one, starting them included."""
    protocol = parse_protocol(
        {
            "name": "bench",
            "lifetimes": lives,
            "experts": 0,
            "learner": {"use": "q-learning"},
            "scenarios": [{"layout": "condensed", "tasks": ["pong", "breakout"], "learn": 200, "evaluate": 20}],
            "tasks": {"pong": {"params": GAME}},
        }
    )
    times = {}
    for count in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            run(protocol, folder, workers=count, score=False)
            times[count] = time.perf_counter() - start
    print(
        f"{lives} lives: one worker {times[1]:.1f} s, two {times[2]:.1f} s, × {times[1] / times[2]:.2f} "
        f"(on {cores()} cores)"
    )


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lives", type=int, default=8)
    lives = parser.parse_args().lives
    if find_spec("minigrid"):
        overhead(Task("minigrid5x5"), 3)
    overhead(Task("pong", params=GAME), 3)
    start_up()
    workers(lives)


if __name__ == "__main__":
    main()
