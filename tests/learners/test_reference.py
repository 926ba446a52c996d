"""Reference learners: they learn, and by design some forget and some do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perdure
from perdure.learners.find import REFERENCE, make_learner
from perdure.runner.lifetime import lead, run_lifetime
from perdure.scenario.compose import compose
from perdure.scenario.model import Block, Scenario, Task

SHORT = {"points": 2, "steps": 60, "bot/paddle/width": 0.3}
PONG = Task("pong", "plain", params=SHORT)
INVERTED = Task("pong", "inverted", params={**SHORT, "controls/inverted": True})
BREAKOUT = Task("breakout", params={"steps": 60, "bot/paddle/width": 0.3})
UPRIGHT = Task("digits", "upright")
TILTED = Task("digits", "tilted", params={"rotation": 40})
SCRAMBLED = Task("digits", "scrambled", params={"permutation": 7})


def evaluations(
    folder: Path, use: str, tasks: tuple[Task, ...], learn: int, evaluate: int, **params: Any
) -> list[float]:
    """Return the first task's mean at each evaluation: before learning, after its own learning, after each further
    task.
    """
    first = tasks[0].label
    blocks = [Block("evaluate", first, evaluate)]
    for task in tasks:
        blocks += [Block("learn", task.label, learn), Block("evaluate", first, evaluate)]
    described = {task.label: task for task in tasks}
    blocks = [
        Block(block.mode, block.task, block.length, described[block.task].params, group=index)
        for index, block in enumerate(blocks)
    ]
    learner = make_learner(use, 1, params)
    lead(run_lifetime(Scenario.of("test", blocks, tasks), folder, use, seed=2, learner=learner), learner)
    passage = perdure.read(folder / use).passage()
    return [
        float(passage.values[passage.starts[index] : passage.starts[index + 1]].mean())
        for index in passage.scenario.where("evaluate", first)
    ]


def test_a_shared_table_is_overwritten_and_a_table_per_task_is_not(tmp_path: Path) -> None:
    before, learned, later = evaluations(tmp_path, "q-learning", (PONG, INVERTED), 100, 20)
    assert learned > before + 0.5
    assert later < learned - 1.0
    before, learned, later = evaluations(tmp_path, "q-learning-per-task", (PONG, INVERTED), 100, 20)
    assert learned > before + 0.5
    assert later > learned - 0.8


def test_a_similar_task_starts_from_the_last_learned_values(tmp_path: Path) -> None:
    first, after_its_own = evaluations(tmp_path, "q-learning-per-task", (BREAKOUT,), 100, 20)
    scenario = compose("condensed", [PONG], learn=100, evaluate=0, seed=0)
    learner = make_learner("q-learning-per-task", 1, {})
    lead(run_lifetime(scenario, tmp_path, "pong-first", seed=2), learner)
    lead(
        run_lifetime(compose("condensed", [BREAKOUT], learn=1, evaluate=20, seed=0), tmp_path, "then", seed=2), learner
    )
    passage = perdure.read(tmp_path / "then").passage()
    zero_shot = float(passage.values[: passage.starts[1]].mean())
    assert zero_shot > first + 1.0
    assert after_its_own > first + 1.0


def test_an_empty_table_per_task_learns_as_in_a_single_task(tmp_path: Path) -> None:
    def table(tasks: tuple[Task, ...], name: str) -> Any:
        learner = make_learner("q-learning-independent", 1, {})
        blocks = [Block("learn", task.label, 20, task.params, group=index) for index, task in enumerate(tasks)]
        lead(run_lifetime(Scenario.of("test", blocks, tasks), tmp_path, name, seed=2, learner=learner), learner)
        return learner.tables

    alone, among = table((PONG,), "alone"), table((PONG, INVERTED, BREAKOUT), "among")
    assert (among[PONG.label] == alone[PONG.label]).all()  # later tasks did not change its table
    assert set(among) == {PONG.label, INVERTED.label, BREAKOUT.label}
    unlearned = make_learner("q-learning-independent", 1, {})
    unlearned.tables = among
    assert not unlearned._initial_table().size  # the next task begins with an empty table


@pytest.mark.parametrize(("use", "params"), [("replay", {"capacity": 2000, "recalled": 96}), ("joint", {})])
def test_learners_that_rehearse_remember_and_others_forget(tmp_path: Path, use: str, params: dict[str, Any]) -> None:
    tasks = (UPRIGHT, TILTED, SCRAMBLED)
    before, learned, *_, later = evaluations(tmp_path, "naive", tasks, 50, 6, rate=0.2)
    assert learned > before + 0.4
    assert later < learned - 0.15
    before, learned, *_, later = evaluations(tmp_path, use, tasks, 50, 6, rate=0.2, **params)
    assert learned > before + 0.4
    assert later > learned - 0.1


def test_the_ewc_penalty_preserves_earlier_tasks(tmp_path: Path) -> None:
    tasks = (UPRIGHT, TILTED)
    _, learned, later = evaluations(tmp_path, "ewc", tasks, 50, 6, rate=0.2, strength=500.0)
    _, naively, forgotten = evaluations(tmp_path, "naive", tasks, 50, 6, rate=0.2)
    assert later - learned > forgotten - naively + 0.05


def test_a_grid_is_learned_by_one_row_for_each_observation(tmp_path: Path) -> None:
    pytest.importorskip("minigrid")
    before, learned = evaluations(tmp_path, "q-learning", (Task("minigrid5x5"),), 120, 2, rate=0.5)
    assert before == 0
    assert learned > 0.8


@pytest.mark.parametrize("name", [name for name in REFERENCE if name != "ppo"])
def test_a_learner_saved_and_restored_is_the_same_learner(tmp_path: Path, name: str) -> None:
    batches = not name.startswith("q-learning")
    tasks = (UPRIGHT, TILTED) if batches else (PONG, INVERTED)
    learner = make_learner(name, 1, {})
    lead(run_lifetime(compose("condensed", tasks, learn=3, evaluate=1, seed=0), tmp_path, "life"), learner)
    learner.save(tmp_path)
    again = make_learner(name, 2, {})
    assert again.fingerprint() != learner.fingerprint()
    again.restore(tmp_path)
    assert again.fingerprint() == learner.fingerprint()
    assert again.rng.bit_generator.state == learner.rng.bit_generator.state
    again.reseed(9)
    assert again.rng.bit_generator.state != learner.rng.bit_generator.state
    assert again.fingerprint() == learner.fingerprint()
    assert not [file for file in tmp_path.glob("*.np*") if b"pickle" in file.read_bytes()]


def test_a_reservoir_gives_early_and_late_examples_the_same_chance() -> None:
    from perdure.learners.classifiers import Replay

    counts = np.zeros(40)
    for seed in range(60):
        learner = Replay(seed, capacity=50)
        for batch in range(40):
            learner.remember(np.full((10, 2), float(batch)), np.full(10, batch))
        assert len(learner.labels) == 50
        assert learner.seen == 400
        counts += np.bincount(learner.labels, minlength=40)
    halves = counts[:20].sum(), counts[20:].sum()
    assert abs(halves[0] - halves[1]) < 0.1 * sum(halves)


def test_the_gradient_of_the_network_equals_finite_differences() -> None:
    from perdure.learners.classifiers import Network, gradient, new_network, scores

    rng = np.random.default_rng(0)
    start = new_network(5, 4, 3, rng)
    network = Network(start.hidden, start.hidden_bias + 0.1, rng.normal(size=(4, 3)), rng.normal(size=3))
    inputs, labels = rng.normal(size=(6, 5)), rng.integers(3, size=6)

    def loss(network: Network) -> float:
        logits = scores(network, inputs)
        return float(np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(6), labels]))

    slope = gradient(network, inputs, labels)
    for index, part in enumerate(network.parts):
        for place in np.ndindex(part.shape):
            shifted = [part.copy() for part in network.parts]
            shifted[index][place] += 1e-6
            measured = (loss(Network(*shifted)) - loss(network)) / 1e-6
            assert abs(measured - slope.parts[index][place]) < 1e-4


def test_an_action_space_without_numbers_is_refused_with_a_message(tmp_path: Path) -> None:
    from perdure.errors import LearnerError

    learner = make_learner("q-learning", 1, {})
    scenario = Scenario.of("test", [Block("learn", "pendulum", 1)], [Task("pendulum", env="Pendulum-v1")])
    with pytest.raises(LearnerError, match=r"block 0 \(learn pendulum\).*needs a Discrete action space, found Box"):
        lead(run_lifetime(scenario, tmp_path, "box"), learner)
