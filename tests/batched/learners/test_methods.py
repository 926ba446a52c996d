"""Methods of continual learning: their effect on the weights of a core small enough to compute by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from perdure.batched.learners.interface import (  # noqa: E402
    BatchedLearner,
    BatchedTransition,
    Core,
    LabelledBatch,
    LearnerState,
    Setting,
    make_learner,
)
from perdure.batched.learners.methods import ewc, joint, packnet, replay, reset, separate, shrink_and_perturb, si  # noqa: E402
from perdure.batched.tasks.chance import uniform  # noqa: E402
from perdure.learners.find import METHODS  # noqa: E402

KEY = jnp.array([1, 2], jnp.uint32)
SETTING = Setting(tasks=3, observation=8, outputs=2, experiences=40)
RATE = 0.5


def core() -> Core:
    """Return a core whose weights move towards the observation: a push is the observation minus the weights."""

    def push(weights: Any, held: Any, step: BatchedTransition) -> tuple[Any, Any]:
        return {"w": step.observation - weights["w"]}, held

    return Core(
        init=lambda key: {"w": uniform(key, 8) + 0.5},
        act=lambda weights, seen, key, exploring: 0,
        push=push,
        replayed=lambda weights, step: {"w": step.observation - weights["w"]},
        rate=RATE,
    )


def step(place: float | list[float]) -> BatchedTransition:
    seen = jnp.broadcast_to(jnp.asarray(place, float), 8)
    return BatchedTransition(seen, 1, 1.0, seen, False)


def learn_block(
    learner: BatchedLearner, learnt: LearnerState, task: int, place: Any, times: int = 8, on: bool = True
) -> LearnerState:
    """Run a block of learning, with its midpoint."""
    learnt = learner.begin(learnt, task, KEY)
    for index in range(times):
        if index == times // 2:
            learnt = learner.halfway(learnt, task, KEY)
        learnt, _ = learner.learn(learnt, (), step(place), task, jnp.asarray(on), KEY + jnp.uint32(index))
    return learner.end(learnt, task, KEY)


def weights(learnt: LearnerState) -> np.ndarray:
    return np.asarray(learnt.weights["w"])


def test_naive_moves_by_its_rate_along_the_push() -> None:
    learner = make_naive()
    first = learner.init(KEY)
    after, _ = learner.learn(first, (), step(3.0), 0, jnp.asarray(True), KEY)
    np.testing.assert_allclose(weights(after), weights(first) + RATE * (3.0 - weights(first)), rtol=1e-6)


def make_naive() -> BatchedLearner:
    return BatchedLearner(core(), ())


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_lifetime_that_has_ended_stays_unchanged_bit_for_bit(name: str) -> None:
    learner = make_learner("batched:q", {"method": name, "form": "network", "hidden": 4}, SETTING)
    learnt = learner.begin(learner.init(KEY), 1, KEY)
    held = learner.core.empty_trace(learnt.weights)
    learnt, held = learner.learn(learnt, held, step(0.5), 1, jnp.asarray(True), KEY)
    after, _ = learner.learn(learnt, held, step(-0.5), 1, jnp.asarray(False), KEY)
    for leaf, other in zip(jax.tree.leaves(learnt), jax.tree.leaves(after), strict=True):
        assert np.asarray(leaf).tobytes() == np.asarray(other).tobytes()


def test_separate_learns_each_task_as_if_there_were_no_other() -> None:
    learner = BatchedLearner(core(), (separate(core(), SETTING),))
    first = learner.init(KEY)
    task = learn_block(learner, first, 0, 3.0)
    both = learn_block(learner, task, 1, -3.0)
    alone = learn_block(learner, first, 1, -3.0)
    assert (np.asarray(learner.used(both, 0)["w"]) == np.asarray(learner.used(task, 0)["w"])).all()
    assert (np.asarray(learner.used(both, 1)["w"]) == np.asarray(learner.used(alone, 1)["w"])).all()
    assert (np.asarray(learner.used(both, 2)["w"]) == weights(first)).all()


@pytest.mark.parametrize("method", [ewc(core(), SETTING), si(core(), SETTING, strength=20.0)])
def test_weights_that_an_earlier_task_needs_move_less(method: Any) -> None:
    learner = BatchedLearner(core(), (method,))
    first = learner.init(KEY)._replace(weights={"w": jnp.ones(8)})
    first = LearnerState(first.weights, (method.init(first.weights, KEY),))
    # The first half of the weights is pushed while task 0 is learned; the second half stays unchanged.
    task = learn_block(learner, first, 0, [4.0] * 4 + [1.0] * 4)
    two = learn_block(learner, task, 1, weights(task) + 1.0, times=3)
    moved = weights(two) - weights(task)
    assert (moved[:4] < 0.5 * moved[4:]).all()
    naive = learn_block(make_naive(), LearnerState(task.weights, ()), 1, weights(task) + 1.0, times=3)
    np.testing.assert_allclose(moved[4:], (weights(naive) - weights(task))[4:], rtol=1e-5)


def test_a_strong_ewc_penalty_does_not_overshoot() -> None:
    learner = BatchedLearner(core(), (ewc(core(), SETTING, strength=1e9),))
    task = learn_block(learner, learner.init(KEY), 0, 4.0)
    two = learn_block(learner, task, 1, -4.0)
    np.testing.assert_allclose(weights(two), weights(task), atol=1e-4)


def test_replay_keeps_a_uniform_sample_of_its_experiences_and_learns_it_again() -> None:
    room, seen = 10, 40
    method = replay(core(), SETTING, capacity=room, recalled=3)
    remember = jax.jit(method.remember)
    stored = np.zeros(seen)
    for lifetime in range(150):
        past = method.init({}, KEY)
        for index in range(seen):
            past = remember(past, step(float(index)), jnp.asarray(True), jnp.array([lifetime, index], jnp.uint32))
        numbers = np.asarray(past.experiences.observation)[:, 0].astype(int)
        assert len(set(numbers.tolist())) == room
        stored[numbers] += 1
    # 150 lifetimes keep each of 40 experiences with a chance of 1/4: 37.5 on average, with a standard deviation of 5.3.
    assert (np.abs(stored - 37.5) < 4.5 * 5.3).all()
    assert abs(stored[:20].sum() - stored[20:].sum()) < 4.5 * 5.3 * np.sqrt(40)
    learner = BatchedLearner(core(), (method,))
    filled = LearnerState({"w": jnp.zeros(8)}, (past,))
    after, _ = learner.learn(filled, (), step(0.0), 0, jnp.asarray(True), KEY)
    assert (weights(after) > 0).all()  # the batch without replay would leave them at 0


def test_the_later_of_two_examples_for_one_place_is_kept() -> None:
    setting = SETTING._replace(batch=64, observation=1)
    method = replay(core(), setting, capacity=4, recalled=2)
    assert method.remember is not None
    past = method.init({}, KEY)
    batch = LabelledBatch(jnp.arange(64.0)[:, None], jnp.arange(64))
    past = method.remember(past, batch, jnp.asarray(True), KEY)
    place = np.where(np.arange(64) < 4, np.arange(64), np.floor(np.asarray(uniform(KEY, 64)) * np.arange(1, 65)))
    expected = [np.flatnonzero(place == index).max() for index in range(4)]
    assert np.asarray(past.experiences.labels).tolist() == expected
    assert int(past.seen) == 64


def test_joint_keeps_every_experience() -> None:
    setting = SETTING._replace(batch=4)
    method = joint(core(), setting)
    past = method.init({}, KEY)
    assert past.experiences.labels.shape == (160,)


def test_packnet_never_changes_its_answers_to_earlier_tasks() -> None:
    learner = BatchedLearner(core(), (packnet(core(), SETTING),))
    task = learn_block(learner, learner.init(KEY), 2, [4.0, -3.0, 2.0, -1.0, 0.5, -0.4, 0.3, -0.2])
    answer = np.asarray(learner.used(task, 2)["w"])
    assert (answer != 0).sum() == 4  # half of the weights, the larger ones
    assert set(np.flatnonzero(answer)) == {0, 1, 2, 3}
    two = learn_block(learner, task, 0, 9.0)
    three = learn_block(learner, two, 1, -9.0)
    for later in (two, three):
        assert np.asarray(learner.used(later, 2)["w"]).tobytes() == answer.tobytes()
    second = np.asarray(learner.used(three, 0)["w"])
    assert (second[:4] == answer[:4]).all()  # a later task uses the weights of earlier ones
    assert (second[4:] != 0).sum() == 2  # and half of the free weights
    again = learn_block(learner, three, 2, 7.0)
    assert np.asarray(learner.used(again, 0)["w"])[4:].tolist() == second[4:].tolist()
    assert not np.array_equal(np.asarray(learner.used(again, 2)["w"]), answer)  # its own weights may continue to learn


def test_reset_starts_from_new_weights_and_shrink_and_perturb_from_nearly_the_old_ones() -> None:
    fresh = np.asarray(core().init(jnp.asarray([7, 7], jnp.uint32))["w"])
    start = {"w": jnp.full(8, 5.0)}
    key = jnp.asarray([7, 7], jnp.uint32)
    assert np.array_equal(reset(core(), SETTING).begin(start, (), 0, key)[0]["w"], fresh)
    assert np.array_equal(reset(core(), SETTING, part="output").begin(start, (), 0, key)[0]["w"], start["w"])
    shrunk = shrink_and_perturb(core(), SETTING, shrink=0.5, perturb=0.2).begin(start, (), 0, key)[0]["w"]
    np.testing.assert_allclose(shrunk, 2.5 + 0.2 * fresh, rtol=1e-6)


def test_crelu_outputs_both_signs_and_methods_compose() -> None:
    learner = make_learner("batched:q", {"method": "crelu+ewc+replay", "form": "network", "hidden": 4}, SETTING)
    assert [method.name for method in learner.methods] == ["crelu", "ewc", "replay"]
    learnt = learner.init(KEY)
    assert learnt.weights["output"].shape == (8, 2)  # twice as many outputs as units
    assert len(learnt.memories) == 3


@pytest.mark.parametrize("name", ["q", "actor-critic"])
def test_a_core_learns_which_action_is_rewarded(name: str) -> None:
    setting = SETTING._replace(observation=2, outputs=3)
    learner = make_learner(f"batched:{name}", {"rate": 0.05}, setting)
    seen = jnp.array([0.3, -0.6])

    def learn_once(at: Any, learnt: LearnerState) -> LearnerState:
        key = jnp.stack([jnp.uint32(9), at.astype(jnp.uint32)])
        action = learner.act(learnt.weights, seen, key, True)
        reward = jnp.where(action == 2, 1.0, 0.0)
        held = learner.core.empty_trace(learnt.weights)
        return learner.learn(
            learnt, held, BatchedTransition(seen, action, reward, seen, True), 0, jnp.asarray(True), key
        )[0]

    learnt = jax.lax.fori_loop(0, 400, learn_once, learner.init(KEY))
    assert int(learner.act(learnt.weights, seen, KEY, False)) == 2


def test_softmax_learns_to_distinguish_classes() -> None:
    setting = SETTING._replace(observation=2, outputs=2, batch=16)
    learner = make_learner("batched:softmax", {"hidden": 8}, setting)

    def batch(at: Any) -> LabelledBatch:
        inputs = uniform(jnp.stack([jnp.uint32(4), at.astype(jnp.uint32)]), 32).reshape(16, 2) - 0.5
        return LabelledBatch(inputs, (inputs[:, 0] * inputs[:, 1] > 0).astype(int))

    def learn_once(at: Any, learnt: LearnerState) -> LearnerState:
        return learner.learn(learnt, (), batch(at), 0, jnp.asarray(True), KEY)[0]

    learnt = jax.lax.fori_loop(0, 2000, learn_once, learner.init(KEY))
    test = batch(jnp.int32(99_999))
    assert (learner.act(learnt.weights, test.inputs, KEY, False) == test.labels).mean() > 0.85
