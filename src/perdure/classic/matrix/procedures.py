"""S002's procedures for any PyTorch model and loaders: train in turn, evaluate, repeat, train jointly.

They ask of a model, a batch and a loader what PyTorch's have, and import PyTorch only where it is needed (extra
`torch`), so that whatever behaves like them will do.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from perdure import files
from perdure.classic.matrix.metrics import ContinualLearningMetrics
from perdure.errors import LearnerError, LogError, MissingExtraError
from perdure.log.accuracy_matrix import Array, Baseline
from perdure.log.formats.matrix import Cells, as_numbers
from perdure.stats.interval import t_interval

_SEED_STEP = 42  # S002 seeds its runs with 0, 42, 84, …
_LEVEL = 0.95

TrainFn = Callable[[Any, Any, int, Any], Any]
"""`train_fn(model, train_loader, epochs, device)`."""


def evaluate_continual_learning(
    model: Any,
    test_loaders: Sequence[Any],
    train_loaders: Sequence[Any],
    train_fn: TrainFn,
    epochs_per_task: int,
    device: Any = None,
    *,
    before: bool = False,
    to: str | os.PathLike[str] | None = None,
    **facts: Any,
) -> Array:
    """Train on each task in turn, evaluate all tasks seen so far after each; rows are evaluated tasks, in percent.

    What is not evaluated is NaN where S002 leaves 0. `before=True` evaluates every task before any learning and
    after each as well: one more column, in front, from which `fwt` and `above_chance` are read. `to` is a JSON file
    that every verb reads, written anew after each task, with the time that each task's training took; `facts` go
    into it (`learner`, `seed`, `tasks`, `joint`, `random_init`).
    """
    if len(test_loaders) != len(train_loaders):
        raise LearnerError(
            f"{len(train_loaders)} train_loaders and {len(test_loaders)} test_loaders", "give one of each per task"
        )
    count = len(train_loaders)
    matrix = np.full((count, count + 1), np.nan)
    seconds: list[float] = []
    memory: list[float] = []
    for column in range(0 if before else 1, count + 1):
        if column:
            started = time.perf_counter()
            train_fn(model, train_loaders[column - 1], epochs_per_task, device)
            seconds.append(time.perf_counter() - started)
            memory += _memory(device)
        for row in range(count if before else column):
            matrix[row, column] = evaluate_single_task(model, test_loaders[row], device)
        if to is not None:
            cost = {"seconds": seconds, "memory_mb": memory if len(memory) == len(seconds) else None}
            measured = before or None  # then zeros before learning are evaluations too
            save_matrix(to, _known(matrix, before), unit="percent", as_given=measured, **cost, **facts)
    return _known(matrix, before)


def evaluate_single_task(model: Any, test_loader: Iterable[Any], device: Any = None) -> float:
    """The accuracy on one task, in percent; the model learns nothing, and is left in the mode it was in."""
    training = getattr(model, "training", None)
    if hasattr(model, "eval"):
        model.eval()
    correct = total = 0
    try:
        with _without_gradients():
            for data, target in test_loader:
                there = _on(target, device)
                predicted = model(_on(data, device)).argmax(1)
                correct += int((predicted == there).sum())
                total += len(there)
    finally:
        if training and hasattr(model, "train"):
            model.train()
    if not total:
        raise LearnerError("a test loader gave no example, so there is no accuracy", "check its dataset")
    return 100.0 * correct / total


def evaluate_with_confidence(
    run_experiment_fn: Callable[[], Cells],
    num_runs: int = 5,
    *,
    random_init_accuracies: Baseline | None = None,
    to: str | os.PathLike[str] | None = None,
) -> dict[str, float]:
    """Run an experiment that returns an accuracy matrix several times, each from a seed of its own.

    For every key of `ContinualLearningMetrics.summary` that is a number: `_mean` and `_std` (population, as S002 has
    them), and `_low` and `_high`, the 95 % t interval of the mean, which S002 speaks of and does not give. Seeds
    of NumPy and, where it is installed, PyTorch are 0, 42, 84, … `to` is a folder of one JSON file per run, a
    group of lifetimes for every verb.
    """
    if num_runs < 1:
        raise LearnerError(f"num_runs is {num_runs}", "expected 1 or more")
    found: dict[str, list[float]] = {}
    for run in range(num_runs):
        seed = run * _SEED_STEP
        np.random.seed(seed)  # noqa: NPY002 - experiments that draw from the global generator are what is seeded
        if torch := _torch():
            torch.manual_seed(seed)
        made = ContinualLearningMetrics(run_experiment_fn(), random_init_accuracies)
        if to is not None:  # with the column from before any learning, so that no reader asks what its rows are
            matrix = made.lifetime.matrix
            save_matrix(
                Path(to) / f"run-{run}.json", matrix.values, unit=matrix.unit, seed=seed, random_init=matrix.random_init
            )
        for key, value in made.summary().items():
            if isinstance(value, float):
                found.setdefault(key, []).append(value)
    return {name: one for key, values in found.items() for name, one in _spread(key, np.array(values)).items()}


def joint_training_baseline(
    model: Any,
    all_loaders: Sequence[Any],
    test_loaders: Sequence[Any],
    epochs: int,
    device: Any = None,
    *,
    batch_size: int = 128,
    learning_rate: float = 0.001,
) -> list[float]:
    """Train on all tasks together (Adam, cross-entropy, `epochs` for each task) and give the accuracy on each.

    It is what could be had without forgetting: the `joint` of intransigence and of the omegas.
    """
    torch = _torch()
    if torch is None:
        raise MissingExtraError("torch", "torch", "joint_training_baseline")
    data, nn, optim = (import_module(f"torch.{part}") for part in ("utils.data", "nn", "optim"))
    together = data.ConcatDataset([one.dataset for one in all_loaders])
    loader = data.DataLoader(together, batch_size=batch_size, shuffle=True)
    optimizer, criterion = optim.Adam(model.parameters(), lr=learning_rate), nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs * len(all_loaders)):
        for examples, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(_on(examples, device)), _on(target, device))
            loss.backward()
            optimizer.step()
    return [evaluate_single_task(model, one, device) for one in test_loaders]


def save_matrix(path: str | os.PathLike[str], matrix: Cells, **facts: Any) -> Path:
    """Write a matrix as JSON that every verb reads; `facts` are its keys: learner, seed, tasks, unit, joint, …"""
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise LogError(
            f"the suffix is {target.suffix!r}",
            "end it in .json, which holds a matrix and what is known of it",
            file=target,
        )
    cells = as_numbers(matrix, str(target))
    said = {"matrix": [[None if np.isnan(one) else float(one) for one in row] for row in cells]}
    said |= {name: _plain(value) for name, value in facts.items() if value is not None}
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, (json.dumps(said, allow_nan=False) + "\n").encode())
    except OSError as problem:
        raise LogError(
            f"cannot be written ({problem.strerror or problem})", "give another path", file=target
        ) from problem
    return target


# --- parts ---------------------------------------------------------------------------------------


def _known(matrix: Array, before: bool) -> Array:
    return matrix if before else matrix[:, 1:]


def _spread(key: str, values: Array) -> dict[str, float]:
    mean = float(values.mean())
    found = {f"{key}_mean": mean, f"{key}_std": float(values.std())}
    if len(values) > 1:
        low, high = t_interval(mean, float(values.std(ddof=1)), len(values), _LEVEL)
        found |= {f"{key}_low": float(low), f"{key}_high": float(high)}
    return found


def _torch() -> ModuleType | None:
    try:
        return import_module("torch")
    except ModuleNotFoundError:
        return None


def _without_gradients() -> AbstractContextManager[Any]:
    torch = _torch()
    return torch.no_grad() if torch else nullcontext()


def _on(batch: Any, device: Any) -> Any:
    return batch.to(device) if device is not None and hasattr(batch, "to") else batch


def _memory(device: Any) -> list[float]:
    """The most memory used so far, in MB: the accelerator's where the model is on one, else the process's."""
    torch = _torch()
    if torch and "cuda" in str(device):
        return [torch.cuda.max_memory_allocated(device) / 1e6]
    try:
        resource: Any = import_module("resource")
    except ModuleNotFoundError:  # not on every system
        return []
    return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3]


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else value
