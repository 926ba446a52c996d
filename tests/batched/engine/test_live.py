"""Lifetimes in chunks: a lifetime alone equals the same lifetime among others, and failures stay separate."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from tests.batched.engine.little import DIGITS, LITTLE, lifetimes, plan, same

from perdure.batched import live as living
from perdure.batched.block import fingerprints
from perdure.batched.learners.interface import Core, Setting
from perdure.batched.live import live
from perdure.batched.program import Program
from perdure.batched.tasks import Family
from perdure.errors import LearnerError, ProtocolError, TaskError
from perdure.learners.find import CORES, METHODS

HEAVY = ["polars", "gymnasium", "typer", "rich", "scipy.stats", "matplotlib", "plotly", "jinja2"]


def test_a_lifetime_alone_equals_the_lifetime_among_others_bit_for_bit(
    program: Program, lifetimes_together: dict[str, Any], tmp_path: Path
) -> None:
    for identity in ("life-004", "breakout-01"):
        alone = lifetimes(live(program, [program.plan.job(identity)], tmp_path / identity).chunks)
        assert same(alone[identity], lifetimes_together[identity])


def test_a_lifetime_does_not_depend_on_its_place_in_a_chunk(
    program: Program, lifetimes_together: dict[str, Any], tmp_path: Path
) -> None:
    turned = lifetimes(live(program, program.plan.jobs[::-1], tmp_path).chunks)
    assert turned.keys() == lifetimes_together.keys()
    assert all(same(turned[identity], lifetimes_together[identity]) for identity in turned)


def test_lifetimes_differ_and_more_lifetimes_leave_the_others_unchanged(
    lifetimes_together: dict[str, Any], tmp_path: Path
) -> None:
    more = Program(plan(lifetimes=5))
    result = lifetimes(live(more, more.plan.lives[:3], tmp_path).chunks)
    assert all(same(result[identity], lifetimes_together[identity]) for identity in result)
    rewards = [tuple(item["reward"].tolist()) for item in lifetimes_together.values()]
    assert len(set(rewards)) == len(rewards)


def test_every_experience_has_a_record_and_every_episode_its_steps(
    program: Program, lifetimes_together: dict[str, Any]
) -> None:
    for job in program.plan.jobs:
        assert len(lifetimes_together[job.id]["reward"]) == job.experiences
        assert (lifetimes_together[job.id]["steps"] >= 1).all()
        assert (lifetimes_together[job.id]["steps"] <= 25).all()


def test_an_evaluation_leaves_the_learner_unchanged_and_learning_does_not(program: Program) -> None:
    jobs, size = program.plan.lives[:1], 8
    with ThreadPoolExecutor(1) as pool:
        run = living.ChunkRunner(program, size, jax.devices(), pool)
        keys = run._spread(program.keys(jobs, size))
        learnt = run._compiled("begin", keys)(keys)
        before = np.asarray(fingerprints(learnt))
        after, _ = run.send(jobs, learnt, run.spec(jobs, 0), 0)
        assert (np.asarray(fingerprints(after)) == before).all()
        learned, _ = run.send(jobs, after, run.spec(jobs, 3), 3)
    changed = np.asarray(fingerprints(learned)) != before
    assert changed[0]
    assert not changed[1:].any()  # the padding of the chunk does not learn


def test_a_fingerprint_changes_with_every_bit() -> None:
    tree = {"a": jnp.ones((1, 4)), "b": jnp.zeros((1, 2, 3), int)}
    seen = {int(fingerprints(tree)[0])}
    for place in range(4):
        other = np.ones((1, 4), np.float32)
        other[0, place] = np.nextafter(np.float32(1), np.float32(2))
        seen.add(int(fingerprints({**tree, "a": jnp.asarray(other)})[0]))
    for place in range(6):
        whole = np.zeros((1, 6), np.int32)
        whole[0, place] = 1
        seen.add(int(fingerprints({**tree, "b": jnp.asarray(whole.reshape(1, 2, 3))})[0]))
    assert len(seen) == 11


def fragile(setting: Setting) -> Core:
    """Return a learner whose weights become NaN in lifetimes with a small first weight."""

    def push(weights: Any, held: Any, step: Any) -> Any:
        return {"w": jnp.where(weights["w"] < 0, jnp.nan, 0.0)}, held

    return Core(
        init=lambda key: {"w": (key[0] % 1000).astype(float) / 1000 - 0.5},
        act=lambda weights, seen, key, exploring: (seen.sum() > 0).astype(int),
        push=push,
        replayed=lambda weights, step: weights,
        rate=1.0,
    )


def untraceable(setting: Setting) -> Core:
    """Return a learner with a Python condition on a traced value."""
    core = fragile(setting)

    def act(weights: Any, seen: Any, key: Any, exploring: bool) -> Any:
        if weights["w"] > 0:  # this line cannot be traced
            return 1
        return 0

    return Core(core.init, act, core.push, core.replayed, 1.0)


def test_a_lifetime_that_becomes_nan_ends_alone(tmp_path: Path) -> None:
    program = Program(plan(learner={"use": "tests.batched.engine.test_live:fragile"}, lifetimes=6))
    result = lifetimes(live(program, program.plan.lives, tmp_path).chunks)
    ended = [bool(item["unsound"].any()) for item in result.values()]
    assert 0 < sum(ended) < len(ended)
    assert all(np.isfinite(item["reward"]).all() for item in result.values())


def test_an_untraceable_learner_is_named_by_its_line(tmp_path: Path) -> None:
    program = Program(plan(learner={"use": "tests.batched.engine.test_live:untraceable"}))
    with pytest.raises(LearnerError, match=r"test_live.py:\d+: if weights\[\"w\"\] > 0.*TracerBool.*jnp.where"):
        live(program, program.plan.lives[:1], tmp_path)


def untraceable_family(name: str, several: Any) -> Family:
    """Return a task with a Python condition on a traced value."""

    def step(key: Any, state: Any, action: Any, params: Any) -> Any:
        if action > 0:  # this line cannot be traced either
            state = state + 1
        return state, state, state[0], jnp.array(True), jnp.array(False)

    return Family(name, (), 1, 2, reset=lambda key, params: (jnp.zeros(1), jnp.zeros(1)), step=step)


def test_a_task_that_cannot_be_traced_is_named_by_its_line(tmp_path: Path) -> None:
    tasks = {"asked": {"env": "tests.batched.engine.test_live:untraceable_family", "bounds": [0, 1]}}
    scenarios = [{"layout": "condensed", "tasks": ["asked"], "learn": 2, "evaluate": 1}]
    program = Program(plan(tasks=tasks, scenarios=scenarios, experts=0))
    with pytest.raises(LearnerError, match=r"test_live.py:\d+: if action > 0.*TracerBool.*jnp.where"):
        live(program, program.plan.lives[:1], tmp_path)


def test_if_memory_is_short_chunks_are_halved_with_a_note(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tried = living._run, []

    def short(*arguments: Any) -> Any:
        tried.append(arguments[3])
        if arguments[3] > 8:
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes")
        return real(*arguments)

    monkeypatch.setattr(living, "_run", short)
    outcome = live(program, program.plan.experts[:1], tmp_path, size=32)
    assert tried == [32, 16, 8]
    assert len(outcome.notes) == 2
    assert "32 lifetimes at once do not fit" in outcome.notes[0]
    assert outcome.chunks[0].facts.size == 8


def test_unsupported_learners_and_tasks_are_refused_with_the_supported_ones() -> None:
    with pytest.raises(LearnerError, match=r"'q-learning' runs one lifetime at a time.*batched:q"):
        _ = Program(plan(learner={"use": "q-learning"})).learner
    with pytest.raises(LearnerError, match=r"unknown method 'naivee'; did you mean 'naive'"):
        _ = Program(plan(learner={"use": "batched:q", "params": {"method": "naivee"}})).learner
    with pytest.raises(LearnerError, match="takes no parameter 'ratee'; did you mean 'rate'"):
        _ = Program(plan(learner={"use": "batched:q", "params": {"ratee": 1}})).learner
    with pytest.raises(ProtocolError, match=r"does not support twins; remove it, or use --engine local"):
        Program(plan(twin=True))
    with pytest.raises(ProtocolError, match=r"does not support pre-deployment; remove it, or use --engine local"):
        Program(plan(pre_deployment=LITTLE["scenarios"][0]))
    rooms = Program(plan(scenarios=[{"layout": "condensed", "tasks": ["minigrid5x5"], "learn": 2}], tasks={}))
    with pytest.raises(TaskError, match=r"no family for the task 'minigrid5x5'.*--engine local"):
        _ = rooms.switch


@pytest.mark.slow
def test_two_devices_give_the_lifetimes_of_one(lifetimes_together: dict[str, Any], tmp_path: Path) -> None:
    code = (
        "import sys, pickle; from pathlib import Path\n"
        "from tests.batched.engine.little import plan, lifetimes\n"
        "from perdure.batched.program import Program\n"
        "from perdure.batched.live import live\n"
        "import jax; assert len(jax.devices()) == 2\n"
        "program = Program(plan()); found = live(program, program.plan.lives[:2], Path(sys.argv[1]))\n"
        "assert found.chunks[0].facts.devices == 2\n"
    )
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    root = Path(__file__).parents[3]
    environment["PYTHONPATH"] = os.pathsep.join([str(root / "src"), str(root)])
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], env=environment, check=True, cwd=root)
    from perdure.batched.arrays import chunks_in

    result = lifetimes(chunks_in(tmp_path))
    assert len(result) == 2
    assert all(same(result[identity], lifetimes_together[identity]) for identity in result)


def test_running_needs_nothing_but_jax_numpy_and_msgspec() -> None:
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if any(name == heavy or name.startswith(heavy + '.') for heavy in {HEAVY}):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "import perdure.batched.__main__, perdure.batched.live\n"
        "from perdure.learners.find import CORES, METHODS\n"
        "from perdure.batched.tasks.family import FAMILIES\n"
        "from importlib import import_module\n"
        "for place in {**CORES, **METHODS, **FAMILIES}.values(): import_module(place.partition(':')[0])\n"
    )
    source = str(Path(__file__).parents[3] / "src")
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": source})


@pytest.mark.slow
@pytest.mark.parametrize("core", sorted(CORES))
def test_no_learner_makes_a_lifetime_depend_on_the_others_in_its_chunk(core: str, tmp_path: Path) -> None:
    # All methods in one program: random numbers or state that depend on the place in a chunk would show.
    params: dict[str, Any] = {"hidden": 4, "capacity": 8, "method": "+".join(METHODS)}
    batches = core == "softmax"
    tasks = ["zero-one", "two-three"] if batches else ["pong:plain", "breakout"]
    document = plan(
        DIGITS if batches else LITTLE,
        learner={"use": f"batched:{core}", "params": {**params, **({"form": "network"} if core == "q" else {})}},
        limits={"lives_at_once": 4},
        scenarios=[{"layout": "condensed", "tasks": tasks, "learn": 6, "evaluate": 2}],
        experts=0,
        lifetimes=3,
    )
    program = Program(document)
    result = lifetimes(live(program, program.plan.jobs, tmp_path / "all").chunks)
    alone = lifetimes(live(program, program.plan.jobs[2:], tmp_path / "alone").chunks)
    assert list(alone) == ["life-002"]
    assert same(alone["life-002"], result["life-002"])


@pytest.mark.slow
def test_batches_of_a_method_with_a_midpoint_are_the_same_alone_and_among_others(tmp_path: Path) -> None:
    # The lengths of these lifetimes differ, so that some wait while others still learn.
    scenarios = [
        {"name": name, "layout": "condensed", "tasks": ["zero-one", "two-three"], "learn": learn, "evaluate": 4}
        for name, learn in (("short", 7), ("long", 12))
    ]
    params = {"hidden": 16, "method": "packnet+replay"}
    program = Program(plan(DIGITS, scenarios=scenarios, learner={"use": "batched:softmax", "params": params}))
    result = lifetimes(live(program, program.plan.jobs, tmp_path / "all").chunks)
    assert result["life-001"]["accuracy"].max() <= 1
    for identity in ("life-000", "life-001", "zero-one-00"):
        alone = lifetimes(live(program, [program.plan.job(identity)], tmp_path / identity).chunks)
        job, records = program.plan.job(identity), result[identity]
        assert len(alone[identity]["accuracy"]) == job.experiences
        index = own = 0  # among others, a block is as long as the longest
        for block in job.syllabus.scenario.blocks:
            wide = max(
                other.syllabus.scenario.blocks[_index(job, block)].length or 0 for other in _chunk_of(program, identity)
            )
            mine = alone[identity]["accuracy"][own : own + (block.length or 0)]
            assert mine.tobytes() == records["accuracy"][index : index + (block.length or 0)].tobytes()
            index, own = index + wide, own + (block.length or 0)


def _index(job: Any, block: Any) -> int:
    return next(index for index, item in enumerate(job.syllabus.scenario.blocks) if item is block)


def _chunk_of(program: Program, identity: str) -> Any:
    return next(chunk for chunk in program.chunks(program.plan.jobs, 4) if identity in [job.id for job in chunk])
