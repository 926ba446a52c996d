"""Environments of gymnax as families: their constants are parameters, and their time limit cuts episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
gymnax: Any = pytest.importorskip("gymnax")
import jax.numpy as jnp  # noqa: E402
from tests.batched.engine.little import lifetimes, plan  # noqa: E402

from perdure.batched.live import live  # noqa: E402
from perdure.batched.program import Program  # noqa: E402
from perdure.batched.tasks.libraries import gymnax_family  # noqa: E402
from perdure.errors import LearnerError, TaskError  # noqa: E402

CARTS: dict[str, Any] = {
    "name": "carts",
    "seed": 1,
    "lifetimes": 2,
    "experts": 0,
    "learner": {"use": "batched:q", "params": {"form": "network", "hidden": 8}},
    "limits": {"lives_at_once": 2},
    "scenarios": [{"layout": "condensed", "tasks": ["cart:light", "cart:heavy"], "learn": 4, "evaluate": 2}],
    "tasks": {
        "cart": {
            "env": "gymnax:CartPole-v1",
            "params": {"max_steps_in_episode": 30},
            "variants": {"light": {}, "heavy": {"gravity": 20.0}},
        }
    },
}


def test_the_environment_runs_as_in_gymnax_with_the_given_parameters() -> None:
    family = gymnax_family("gymnax:CartPole-v1", [])
    assert family.reset is not None
    assert family.step is not None
    key, vector = jnp.array([1, 2], jnp.uint32), jnp.asarray(family.numbers({"gravity": 20.0}, "cart"))
    state, seen = family.reset(key, vector)
    env, params = gymnax.make("CartPole-v1")
    params = params.replace(gravity=20.0)
    theirs, other = env.reset_env(jax.random.wrap_key_data(key), params)
    assert np.array_equal(seen, theirs)
    for number in range(20):
        state, seen, reward, terminated, truncated = family.step(key, state, number % 2, vector)
        theirs, other, gained, done, _ = env.step_env(jax.random.wrap_key_data(key), other, number % 2, params)
        np.testing.assert_allclose(seen, theirs, rtol=1e-6)
        assert (float(reward), bool(terminated | truncated)) == (float(gained), bool(done))


def test_variants_run_and_an_episode_is_cut_at_its_time_limit(tmp_path: Path) -> None:
    program = Program(plan(CARTS))
    result = lifetimes(live(program, program.plan.jobs, tmp_path).chunks)
    assert len(result) == 2
    assert all((item["steps"] <= 30).all() and (item["reward"] == item["steps"]).all() for item in result.values())


def test_unsuited_environments_are_refused() -> None:
    with pytest.raises(TaskError, match="did you mean 'CartPole-v1'"):
        gymnax_family("gymnax:CartPol-v1", [])
    with pytest.raises(TaskError, match="no discrete actions"):
        gymnax_family("gymnax:Pendulum-v1", [])
    pixels = plan(CARTS, learner={"use": "batched:q"}, tasks={"cart": {"env": "gymnax:Breakout-MinAtar"}})
    with pytest.raises(LearnerError, match=r"up to 12 numbers, and an observation has 400.*form = .network"):
        _ = Program(pixels).learner
