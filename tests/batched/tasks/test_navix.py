"""MiniGrid's rooms of navix as families: they run as in navix, and rooms of all sizes share a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
navix: Any = pytest.importorskip("navix")
import jax.numpy as jnp  # noqa: E402
from tests.batched.engine.little import lifetimes, plan, same  # noqa: E402

from perdure.batched.live import live  # noqa: E402
from perdure.batched.program import Program  # noqa: E402
from perdure.batched.tasks.libraries import navix_family  # noqa: E402
from perdure.errors import TaskError  # noqa: E402

ROOMS: dict[str, Any] = {
    "name": "rooms",
    "seed": 1,
    "lifetimes": 2,
    "experts": 0,
    "learner": {"use": "batched:q", "params": {"form": "network", "hidden": 8}},
    "limits": {"lives_at_once": 2},
    "scenarios": [{"layout": "condensed", "tasks": ["small", "gap"], "learn": 4, "evaluate": 2}],
    "tasks": {
        "small": {"env": "navix:Navix-Empty-5x5-v0", "params": {"max_steps": 12}},
        "gap": {"env": "navix:Navix-LavaGapS6-v0", "params": {"max_steps": 9}},
    },
}


def test_the_room_runs_as_in_navix_and_the_way_to_the_goal_is_rewarded() -> None:
    family = navix_family("navix:Navix-Empty-5x5-v0", [])
    assert family.reset is not None
    assert family.step is not None
    key, vector = jnp.array([1, 2], jnp.uint32), jnp.asarray(family.numbers({"max_steps": 50}, "room"))
    state, seen = family.reset(key, vector)
    env = navix.make("Navix-Empty-5x5-v0", max_steps=50, observation_fn=navix.observations.symbolic_first_person)
    theirs = env.reset(key)
    assert np.array_equal(seen * 10, theirs.observation.reshape(-1))
    step = jax.jit(family.step)
    # From the upper left corner, facing right, to the lower right one: two ahead, a right turn, two ahead.
    for number, action in enumerate([2, 2, 1, 2, 2], start=1):
        state, seen, reward, terminated, truncated = step(key, state, jnp.asarray(action), vector)
        theirs = env.step(theirs, jnp.asarray(action))
        np.testing.assert_allclose(np.asarray(seen) * 10, theirs.observation.reshape(-1), rtol=1e-6)
        assert float(reward) == pytest.approx(float(theirs.reward))
        assert (bool(terminated), bool(truncated)) == (number == 5, False)
    assert float(reward) > 0.5


def test_rooms_of_two_sizes_run_in_one_program_and_are_cut_at_their_time_limit(tmp_path: Path) -> None:
    program = Program(plan(ROOMS))
    result = lifetimes(live(program, program.plan.jobs, tmp_path / "all").chunks)
    assert len(result) == 2
    for job in program.plan.jobs:
        blocks = job.syllabus.scenario.blocks
        most = np.repeat(
            [12 if block.task == "small" else 9 for block in blocks], [block.length or 0 for block in blocks]
        )
        assert (result[job.id]["steps"] <= most).all()
        assert (result[job.id]["steps"] == most).any()
    alone = lifetimes(live(program, program.plan.jobs[:1], tmp_path / "alone").chunks)
    assert all(same(alone[identity], result[identity]) for identity in alone)


def test_an_unknown_room_is_refused_with_the_nearest() -> None:
    with pytest.raises(TaskError, match="did you mean 'Navix-Empty-5x5-v0'"):
        navix_family("navix:Navix-Empty-5x5", [])
