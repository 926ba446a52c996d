"""The accuracy matrix of *Evaluation Metrics for Continual Learning* (S002): its class and its procedures.

The class shows the results of `perdure.score` under S002's names. The procedures (train in turn, evaluate, repeat,
train jointly) write matrices that every verb reads. They take any PyTorch model and loaders, and whatever behaves like
these: PyTorch itself is only imported where it is needed (extra `torch`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure import files
from perdure.errors import LearnerError, LogError, MissingExtraError
from perdure.log.accuracy_matrix import Array, Baseline, MatrixLifetime, with_baselines
from perdure.log.formats.matrix import Cells, Rows, as_numbers, lifetime_of, matrix_lifetime, orientation
from perdure.log.model import Unit
from perdure.log.read import Options
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings
from perdure.stats.interval import t_interval
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.reports.svg import Figure

TrainFn = Callable[[Any, Any, int, Any], Any]
"""`train_fn(model, train_loader, epochs, device)`."""

_UNITS = {"percent": "%", "fraction": "", "raw": ""}
_SUMMARY = (
    *("average_accuracy", "learning_accuracy", "backward_transfer", "forward_transfer"),
    *("forgetting_measure", "memory_stability", "per_task_forgetting"),
)
_SEED_STEP = 42  # S002 seeds its runs with 0, 42, 84, …
_LEVEL = 0.95


class ContinualLearningMetrics:
    """The metrics of an accuracy matrix, under the names and by the conventions of S002.

    Row i is task i, evaluated after each task (column) was learned. A matrix whose empty or zero cells show that it
    is transposed is turned, which `notes` reports. Names differ from Perdure's in three places: `backward_transfer`
    is `bwt`, `forward_transfer` is `above_chance` (the field's forward transfer is `fwt`), and `forgetting_measure` is
    `forgetting`. With one task, metrics that need two are 0.0, as in S002.
    """

    def __init__(
        self,
        accuracy_matrix: Cells,
        random_init_accuracies: Baseline | Array | None = None,
        *,
        tasks: Sequence[str] | None = None,
        unit: Unit | None = None,
    ) -> None:
        """Raise LogError for an ambiguous matrix. The unit is percent if a value exceeds 1, unless `unit` is given."""
        cells = as_numbers(accuracy_matrix, "accuracy_matrix")
        rows: Rows | None = None
        if cells.ndim == 2:
            evidence = orientation(cells, source="accuracy_matrix")
            rows = None if evidence.rows or evidence.either else "evaluated"  # as S002 writes it
        lifetime = matrix_lifetime(cells, tasks, Options(rows=rows, unit=unit), "accuracy_matrix")
        if random_init_accuracies is not None:
            accuracies = random_init_accuracies
            plain = accuracies.tolist() if isinstance(accuracies, np.ndarray) else accuracies
            matrix = with_baselines(lifetime.matrix, random_init=plain, unit=unit, source="random_init_accuracies")
            lifetime = lifetime_of(matrix, lifetime.id)
        self.lifetime: MatrixLifetime = lifetime
        """The matrix as `perdure.score`, `perdure.survey` and `perdure.report` take it."""
        scorer = Scorer(Settings(unit=unit))
        self._declared = scorer.metrics
        self.score: Score = scorer.score(lifetime)
        """All metrics, with the reasons of those without a value."""

    @property
    def accuracy_matrix(self) -> Array:
        """T × T, one row per evaluated task; NaN for a cell that was not evaluated."""
        return self.lifetime.matrix.after

    @property
    def T(self) -> int:  # noqa: N802 - S002's name
        """The number of tasks."""
        return len(self.lifetime.matrix.tasks)

    @property
    def random_init(self) -> tuple[float, ...] | None:
        """The accuracies of an untrained learner, as given."""
        return self.lifetime.matrix.random_init

    @property
    def average_accuracy(self) -> float | None:
        """AA: the mean of the last column."""
        return self.score["average_accuracy"]

    @property
    def learning_accuracy(self) -> float | None:
        """LA: the mean of the diagonal."""
        return self.score["learning_accuracy"]

    @property
    def backward_transfer(self) -> float | None:
        """BWT: the mean change of the earlier tasks from their own learning to the end."""
        return self._of_two("bwt")

    @property
    def forward_transfer(self) -> float | None:
        """FWT as in S002: later tasks, once learned, above an untrained learner; None without one.

        If none is given, a column from before any learning is used.
        """
        return self.score["above_chance"]

    @property
    def forgetting_measure(self) -> float | None:
        """FM: the mean fall of the earlier tasks from their best to the end."""
        return self._of_two("forgetting")

    @property
    def memory_stability(self) -> float | None:
        """MS: the mean population variance of the earlier tasks' evaluations since they were learned."""
        return self._of_two("memory_stability")

    @property
    def per_task_forgetting(self) -> list[float | None]:
        """Just learned minus the end, for every task but the last; negative for a task that gained."""
        changes = self.score.metrics["bwt"].by
        return [-changes[task][0] if changes.get(task) else None for task in self.lifetime.matrix.tasks[:-1]]

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the way the matrix was read."""
        return self.score.notes

    @property
    def why(self) -> dict[str, str]:
        """The reason of each of Perdure's metrics that has no value."""
        return self.score.why

    def summary(self) -> dict[str, Any]:
        """Return every number under S002's key; None if missing, and `why` has the reason."""
        return {key: getattr(self, key) for key in _SUMMARY}

    def print_report(self) -> None:
        """Print the numbers, their meaning, and the remarks."""
        sys.stdout.write(self.report() + "\n")

    def report(self) -> str:
        """Return the text of `print_report`."""
        from perdure.stats.answer import interpretation_of_one

        sign = _UNITS[self.lifetime.matrix.unit]
        rows = [
            ("Average Accuracy (AA)", _format(self.average_accuracy, sign)),
            ("Learning Accuracy (LA)", _format(self.learning_accuracy, sign)),
            ("Backward Transfer (BWT)", _format(self.backward_transfer, sign, signed=True)),
            ("Forward Transfer (FWT)", _format(self.forward_transfer, sign, signed=True)),
            ("Forgetting Measure (FM)", _format(self.forgetting_measure, sign)),
            ("Memory Stability (MS)", _format(self.memory_stability, "")),
        ]
        lost = zip(self.lifetime.matrix.tasks, self.per_task_forgetting, strict=False)
        criteria = {name: metric.criterion for name, metric in self._declared.items()}
        meaning = interpretation_of_one(self.score, self._declared, criteria)
        lines = [plural(self.T, "task")]
        lines += [f"  {name:26}{value:>10}" for name, value in rows if value]
        lines += ["Forgetting by task"] if self.T > 1 else []
        lines += [f"  {task:26}{_format(loss, sign, signed=True) or '–':>10}" for task, loss in lost]
        return "\n".join([*lines, *meaning, *(f"note: {note}" for note in self.notes)])

    def plot_metrics(self, save_path: str | os.PathLike[str] | None = None) -> Figure:
        """Return one figure of the matrix, just learned against the end, forgetting by task, and trajectories.

        It is written to `save_path` if given (.png, .svg, .pdf); a notebook shows it.
        """
        from perdure.reports.data import gather
        from perdure.reports.figures import FIGURES, save_figure

        figure = FIGURES["overview"].draw(gather([self.lifetime]))
        if save_path is not None:
            save_figure(figure, save_path)
        return figure

    def _of_two(self, metric: str) -> float | None:
        """Return a metric that needs two tasks; 0.0 with one, as in S002."""
        return 0.0 if self.T == 1 else self.score[metric]


def _format(value: float | None, sign: str, *, signed: bool = False) -> str:
    if value is None:
        return ""
    digits = 2 if sign or abs(value) > 1 else 4
    return f"{value:{'+' if signed else ''}.{digits}f}{sign}"


# --- procedures ----------------------------------------------------------------------------------


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

    A cell that is not evaluated is NaN, and 0 in S002. `before=True` evaluates every task before any learning and
    after each as well: one more column, in front, from which `fwt` and `above_chance` are computed. `to` is a JSON
    file that every verb reads, updated after each task, with the time of each task's training; `facts` are added to it
    (`learner`, `seed`, `tasks`, `joint`, `random_init`).
    """
    if len(test_loaders) != len(train_loaders):
        raise LearnerError(
            f"{len(train_loaders)} train_loaders and {len(test_loaders)} test_loaders", "give one of each per task"
        )
    count = len(train_loaders)
    matrix = np.full((count, count + 1), np.nan)  # the first column is from before any learning
    result = matrix if before else matrix[:, 1:]
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
            as_given = before or None  # then zeros before learning are evaluations too
            save_matrix(to, result, unit="percent", as_given=as_given, **cost, **facts)
    return result


def evaluate_single_task(model: Any, test_loader: Iterable[Any], device: Any = None) -> float:
    """Return the accuracy on one task, in percent; the model keeps its weights and its mode."""
    training = getattr(model, "training", None)
    if hasattr(model, "eval"):
        model.eval()
    correct = total = 0
    try:
        with _without_gradients():
            for data, target in test_loader:
                labels = _on(target, device)
                predicted = model(_on(data, device)).argmax(1)
                correct += int((predicted == labels).sum())
                total += len(labels)
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
    """Run an experiment that returns an accuracy matrix several times, each with its own seed.

    For every key of `ContinualLearningMetrics.summary` that is a number, return `_mean` and `_std` (population, as in
    S002), and `_low` and `_high`, the 95 % t interval of the mean, which S002 mentions but does not give. The seeds of
    NumPy and, if installed, PyTorch are 0, 42, 84, … `to` is a folder of one JSON file per run, a group of lifetimes
    for every verb.
    """
    if num_runs < 1:
        raise LearnerError(f"num_runs is {num_runs}", "expected 1 or more")
    results: dict[str, list[float]] = {}
    for run in range(num_runs):
        seed = run * _SEED_STEP
        np.random.seed(seed)  # noqa: NPY002 - experiments that draw from the global generator are what is seeded
        if torch := _torch():
            torch.manual_seed(seed)
        metrics = ContinualLearningMetrics(run_experiment_fn(), random_init_accuracies)
        if to is not None:  # with the column from before any learning, which makes its orientation unambiguous
            matrix = metrics.lifetime.matrix
            save_matrix(
                Path(to) / f"run-{run}.json", matrix.values, unit=matrix.unit, seed=seed, random_init=matrix.random_init
            )
        for key, value in metrics.summary().items():
            if isinstance(value, float):
                results.setdefault(key, []).append(value)
    summary: dict[str, float] = {}
    for key, numbers in results.items():
        mean, count = float(np.mean(numbers)), len(numbers)
        summary |= {f"{key}_mean": mean, f"{key}_std": float(np.std(numbers))}
        if count > 1:
            low, high = t_interval(mean, float(np.std(numbers, ddof=1)), count, _LEVEL)
            summary |= {f"{key}_low": float(low), f"{key}_high": float(high)}
    return summary


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
    """Train on all tasks at once (Adam, cross-entropy, `epochs` for each task) and return the accuracy on each.

    It is the upper baseline without forgetting: the `joint` of intransigence and of the omegas.
    """
    torch = _torch()
    if torch is None:
        raise MissingExtraError("torch", "torch", "joint_training_baseline")
    data, nn, optim = (import_module(f"torch.{part}") for part in ("utils.data", "nn", "optim"))
    dataset = data.ConcatDataset([loader.dataset for loader in all_loaders])
    joint_loader = data.DataLoader(dataset, batch_size=batch_size, shuffle=True)
    optimizer, criterion = optim.Adam(model.parameters(), lr=learning_rate), nn.CrossEntropyLoss()
    model.train()
    for _ in range(epochs * len(all_loaders)):
        for examples, target in joint_loader:
            optimizer.zero_grad()
            loss = criterion(model(_on(examples, device)), _on(target, device))
            loss.backward()
            optimizer.step()
    return [evaluate_single_task(model, loader, device) for loader in test_loaders]


def save_matrix(path: str | os.PathLike[str], matrix: Cells, **facts: Any) -> Path:
    """Write a matrix as JSON for every verb; `facts` are added to it: learner, seed, tasks, unit, joint, …"""
    target = Path(path)
    if target.suffix.lower() != ".json":
        raise LogError(
            f"the suffix is {target.suffix!r}",
            "end it in .json, which holds a matrix and what is known of it",
            file=target,
        )
    cells = as_numbers(matrix, str(target))
    content: dict[str, Any] = {"matrix": [[None if np.isnan(cell) else float(cell) for cell in row] for row in cells]}
    for name, value in facts.items():
        if isinstance(value, np.ndarray):
            content[name] = value.tolist()
        elif value is not None:
            content[name] = dict(value) if isinstance(value, Mapping) else value
    with files.writing(target, "give another path", LogError):
        target.parent.mkdir(parents=True, exist_ok=True)
        files.deliver(target, (json.dumps(content, allow_nan=False) + "\n").encode())
    return target


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
    """Return the peak memory in MB: the GPU's if the model is on one, else the process's."""
    torch = _torch()
    if torch and "cuda" in str(device):
        return [torch.cuda.max_memory_allocated(device) / 1e6]
    try:
        resource: Any = import_module("resource")
    except ModuleNotFoundError:  # Windows
        return []
    return [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3]
