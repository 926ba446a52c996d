"""Methods in PyTorch: each keeps the contract, does as its paper describes, and is listed without PyTorch."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perdure.errors import LearnerError, MissingExtraError
from perdure.learners import find
from perdure.learners.find import find_maker, make_learner, torch_learners
from perdure.learners.interface import Answer, Situation
from perdure.learners.torch import METHODS
from perdure.runner.contract import check_learner
from perdure.scenario.model import Task
from perdure.tasks.interface import settled
from perdure.tasks.streams import drawn_digits

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is an extra")
DIGITS = drawn_digits()
SETTINGS = ("class", "domain", "task")


def tasks(setting: str) -> list[Task]:
    pairs = {"low": [0, 1], "high": [8, 9]}
    return [Task("digits", name, params={"classes": pair, "setting": setting}) for name, pair in pairs.items()]


def situation(pair: tuple[int, int], setting: str, mode: Any = "learn", block: int = 0) -> Situation:
    classes, outputs = (pair, 2) if setting == "task" else (None, 10 if setting == "class" else 2)
    return Situation(block, mode, f"t{pair}", mode == "learn", inputs=(12, 12), outputs=outputs, classes=classes)


def examples(pair: tuple[int, int], setting: str, number: int, mode: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    params = settled(DIGITS.parameters or (), {"classes": list(pair), "setting": setting}, "digits")
    return DIGITS.examples(params, number, mode, np.random.default_rng(seed))


def teach(learner: Any, pair: tuple[int, int], setting: str, batches: int = 60) -> None:
    here = situation(pair, setting)
    learner.block_started(here)
    for index in range(batches):
        inputs, labels = examples(pair, setting, 16, "learn", hash((pair, index)) % 2**31)
        learner.learn(Answer(inputs, learner.act(inputs), labels))
    learner.block_ended(here)


def accuracy(learner: Any, pair: tuple[int, int], setting: str) -> float:
    here = situation(pair, setting, "evaluate")
    learner.block_started(here)
    inputs, labels = examples(pair, setting, 200, "evaluate", 5)
    result = float(np.mean(learner.act(inputs) == labels))
    learner.block_ended(here)
    return result


def test_every_method_has_a_summary_with_and_without_torch() -> None:
    learners = torch_learners()
    assert list(learners) == [f"torch:{name}" for name in METHODS]
    assert all(len(line) > 20 for line in learners.values())


def test_without_torch_a_method_gives_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "find_spec", lambda module: None)
    with pytest.raises(MissingExtraError, match=r"the learner 'torch:ewc' needs torch.*pip install 'torch'"):
        find_maker("torch:ewc", {})


def test_an_unknown_method_offers_the_nearest() -> None:
    with pytest.raises(LearnerError, match=r"unknown learner 'torch:der'; did you mean 'der\+\+'"):
        find_maker("torch:der", {})


@needs_torch
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract_and_resumes_as_if_uninterrupted(name: str) -> None:
    for setting in SETTINGS if name == "replay" else ("task",):
        check_learner(f"torch:{name}", tasks(setting))


@needs_torch
@pytest.mark.parametrize("name", METHODS)
def test_a_misspelt_parameter_is_refused_before_the_network_is_built(name: str) -> None:
    find_maker(f"torch:{name}", {"rate": 0.1, "hidden": 10})
    with pytest.raises(LearnerError, match=r"takes no parameter 'hiden'; did you mean 'hidden'"):
        find_maker(f"torch:{name}", {"hiden": 10})


@needs_torch
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_single_task_is_learned_in_every_setting(setting: str) -> None:
    learner = make_learner("torch:naive", 1, {})
    teach(learner, (0, 1), setting)
    assert accuracy(learner, (0, 1), setting) > 0.95


@needs_torch
def test_in_the_class_setting_naive_forgets_and_rehearsal_does_not() -> None:
    results = {}
    for name in ("naive", "replay", "der++", "joint"):
        learner = make_learner(f"torch:{name}", 1, {"repeats": 3})
        teach(learner, (0, 1), "class")
        teach(learner, (8, 9), "class")
        results[name] = accuracy(learner, (0, 1), "class")
    assert results["naive"] < 0.2
    assert min(results["replay"], results["der++"], results["joint"]) > 0.8


@needs_torch
@pytest.mark.parametrize("name", ["expert", "packnet"])
def test_a_method_with_weights_per_task_never_changes_its_answers_to_a_task(name: str) -> None:
    learner = make_learner(f"torch:{name}", 1, {})
    teach(learner, (0, 1), "task")
    before = accuracy(learner, (0, 1), "task")
    teach(learner, (8, 9), "task")
    teach(learner, (4, 5), "task")
    assert accuracy(learner, (0, 1), "task") == before > 0.9
    assert accuracy(learner, (8, 9), "task") > 0.8


@needs_torch
def test_packnet_is_refused_without_the_task() -> None:
    learner = make_learner("torch:packnet", 1, {})
    with pytest.raises(LearnerError, match=r'must be told which task it is at.*set setting = "task"'):
        learner.block_started(situation((0, 1), "domain"))


@needs_torch
@pytest.mark.parametrize(("name", "params"), [("ewc", {"strength": 1e9}), ("si", {"strength": 1e9})])
def test_an_unbounded_ewc_penalty_fixes_every_important_weight(name: str, params: dict[str, float]) -> None:
    """A strong penalty does not overshoot, and without it the same learner moves on."""
    moved = {}
    for strength in (params, {"strength": 0.0}):
        learner = make_learner(f"torch:{name}", 1, {**strength})
        teach(learner, (0, 1), "domain", 30)
        before = learner.network.get_parameter("heads.0.weight").detach().clone()
        teach(learner, (8, 9), "domain", 30)
        after = learner.network.get_parameter("heads.0.weight").detach()
        assert bool(after.isfinite().all())
        moved[strength["strength"]] = float((after - before).abs().max())
    assert moved[1e9] < 0.1 * moved[0.0]


@needs_torch
def test_gem_takes_no_step_that_increases_the_loss_on_earlier_tasks() -> None:
    from perdure.learners.torch.classifier import Classifier

    learner = make_learner("torch:a-gem", 1, {"capacity": 100, "recalled": 100})
    teach(learner, (0, 1), "class", 30)
    learner.block_started(situation((8, 9), "class"))
    clashes = 0
    for index in range(10):
        inputs, labels = examples((8, 9), "class", 16, "learn", index)
        batch = learner.batch(inputs, labels)
        state = learner.rng.bit_generator.state
        bent = learner.slopes(batch)
        learner.rng.bit_generator.state = state  # so that the same past examples are recalled
        past = learner.slopes_of(Classifier.loss(learner, learner.recall()))
        plain = learner.slopes_of(Classifier.loss(learner, batch))
        clashes += sum(float((plain[name] * past[name]).sum()) for name in past) < 0
        assert sum(float((bent[name] * past[name]).sum()) for name in past) > -1e-5
        learner.move(bent)
    assert clashes


@needs_torch
def test_lwf_changes_old_outputs_less_than_naive() -> None:
    asked, _ = examples((8, 9), "task", 100, "evaluate", 3)
    drift = {}
    for name in ("lwf", "naive"):
        learner = make_learner(f"torch:{name}", 1, {})
        teach(learner, (0, 1), "task")
        learner.block_started(situation((0, 1), "task", "evaluate"))
        before = learner.scores(learner.batch(asked)).detach()
        teach(learner, (8, 9), "task")
        learner.block_started(situation((0, 1), "task", "evaluate"))
        drift[name] = float((learner.scores(learner.batch(asked)).detach()[:, :2] - before).abs().mean())
    assert drift["lwf"] < 0.7 * drift["naive"]


@needs_torch
def test_convolutions_accept_grey_and_coloured_pictures_and_a_custom_network_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_network.py").write_text(
        "from torch import nn\n\ndef make(inputs, hidden, layers):\n"
        "    return nn.Sequential(nn.Flatten(), nn.LazyLinear(hidden))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for network, shape in (("conv", (8, 8)), ("conv", (8, 8, 3)), ("own_network:make", (5,))):
        learner = make_learner("torch:naive", 1, {"network": network, "hidden": 16})
        learner.block_started(Situation(0, "learn", "t", True, inputs=shape, outputs=4))
        inputs = np.random.default_rng(0).random((6, *shape))
        learner.learn(Answer(inputs, learner.act(inputs), np.arange(6) % 4))
        learner.save(tmp_path)
        again = make_learner("torch:naive", 2, {"network": network, "hidden": 16})
        again.restore(tmp_path)
        assert again.fingerprint() == learner.fingerprint()
    with pytest.raises(LearnerError, match=r"network is 'vit'.*expected 'mlp', 'conv', or package"):
        make_learner("torch:naive", 1, {"network": "vit"}).block_started(situation((0, 1), "task"))


@needs_torch
def test_examples_of_another_size_or_with_more_outputs_are_refused() -> None:
    learner = make_learner("torch:naive", 1, {})
    learner.block_started(situation((0, 1), "domain"))
    with pytest.raises(LearnerError, match=r"the head 'shared' has 2 outputs, and this task needs 10"):
        learner.block_started(situation((0, 1), "class"))
    with pytest.raises(LearnerError, match=r"built for examples of shape \(12, 12\); found \(8, 8\)"):
        learner.block_started(Situation(0, "learn", "t", True, inputs=(8, 8), outputs=2))
    with pytest.raises(LearnerError, match="classifies batches, and pong comes in episodes"):
        learner.block_started(Situation(0, "learn", "pong", True))


@needs_torch
def test_a_memory_samples_early_and_late_examples_equally_and_keeps_its_size() -> None:
    from perdure.learners.torch.methods import Memory

    counts = np.zeros(40)
    for seed in range(60):
        memory, rng = Memory(50), np.random.default_rng(seed)
        for batch in range(40):
            memory.add({"labels": np.full(10, batch)}, rng)
            assert len(memory) == min(50, 10 * (batch + 1)) == len(memory.all()["labels"])
        counts += np.bincount(memory.all()["labels"], minlength=40)
    halves = counts[:20].sum(), counts[20:].sum()
    assert abs(halves[0] - halves[1]) < 0.1 * sum(halves)


@needs_torch
@pytest.mark.parametrize(("name", "stored", "updates"), [("naive", 0, 20), ("replay", 50, 20), ("packnet", 0, 22)])
def test_a_method_reports_parameters_updates_and_the_bytes_it_stores(name: str, stored: int, updates: int) -> None:
    memory = {"replay": {"capacity": 50}, "packnet": {"examples": 32}}.get(name, {})
    learner = make_learner(f"torch:{name}", 1, {"repeats": 2, "layers": 1, "hidden": 10, **memory})
    teach(learner, (0, 1), "task", batches=10)
    picture = 12 * 12 * 4 + 2 * 8  # single precision, with label and head
    parameters = (12 * 12 + 1) * 10 + (10 + 1) * 2
    assert learner.log_info() == {"parameters": parameters, "updates": updates, "stored_bytes": stored * picture}
