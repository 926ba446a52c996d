"""ContinualLearningMetrics: one accuracy matrix, scored by the engine and shown under S002's names."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure.log.accuracy_matrix import Array, Baseline, MatrixLifetime, Unit, with_baselines
from perdure.log.formats.matrix import Cells, Rows, as_numbers, lifetime_of, matrix_lifetime, orientation
from perdure.log.read import Options
from perdure.metrics.score import Score, Scorer
from perdure.settings import Settings
from perdure.text import plural

if TYPE_CHECKING:
    from perdure.reports.svg import Figure


_UNITS = {"percent": "%", "fraction": "", "raw": ""}


class ContinualLearningMetrics:
    """What an accuracy matrix says, under the names and by the conventions of S002.

    Row i is task i, evaluated after each task (column) was learned; where empty or zero cells show that a matrix
    is the other way round, it is turned, and `notes` says so. Names differ from Perdure's in three places:
    `backward_transfer` is `bwt`, `forward_transfer` is `above_chance` (the field's forward transfer is `fwt`), and
    `forgetting_measure` is `forgetting`. With one task, what needs two is 0.0, as in S002.
    """

    def __init__(
        self,
        accuracy_matrix: Cells,
        random_init_accuracies: Baseline | Array | None = None,
        *,
        tasks: Sequence[str] | None = None,
        unit: Unit | None = None,
    ) -> None:
        """LogError says why a matrix cannot be trusted; percent where a value exceeds 1, unless `unit` decides."""
        cells = as_numbers(accuracy_matrix, "accuracy_matrix")
        found = orientation(cells, source="accuracy_matrix") if cells.ndim == 2 else None
        told: Rows | None = None if found is None or found.rows or found.either else "evaluated"  # as S002 writes it
        made = matrix_lifetime(cells, tasks, Options(rows=told, unit=unit), "accuracy_matrix")
        if random_init_accuracies is not None:
            given = random_init_accuracies
            plain = given.tolist() if isinstance(given, np.ndarray) else given
            matrix = with_baselines(made.matrix, random_init=plain, unit=unit, source="random_init_accuracies")
            made = lifetime_of(matrix, made.id)
        self.lifetime: MatrixLifetime = made
        """The matrix as `perdure.score`, `perdure.survey` and `perdure.report` take it."""
        scorer = Scorer(Settings(unit=unit))
        self._declared = scorer.metrics
        self.score: Score = scorer.score(made)
        """Every metric of it, with reasons."""

    @property
    def accuracy_matrix(self) -> Array:
        """T × T, one row per evaluated task; NaN where nothing was evaluated."""
        return self.lifetime.matrix.after

    @property
    def T(self) -> int:  # noqa: N802 - S002's name
        """How many tasks were learned."""
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
        """FWT as S002 has it: later tasks, once learned, above an untrained learner; None without one.

        Where none is given, a column from before any learning stands for one.
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
        """Just learned less the end, for every task but the last; negative where a task gained."""
        changes = self.score.metrics["bwt"].by
        return [-changes[task][0] if changes.get(task) else None for task in self.lifetime.matrix.tasks[:-1]]

    @property
    def notes(self) -> tuple[str, ...]:
        """How the matrix was read."""
        return self.score.notes

    @property
    def why(self) -> dict[str, str]:
        """Perdure's metric → why it has no value."""
        return self.score.why

    def summary(self) -> dict[str, Any]:
        """Every number under S002's key; None where there is none, and `why` has the reason."""
        return {
            "average_accuracy": self.average_accuracy,
            "learning_accuracy": self.learning_accuracy,
            "backward_transfer": self.backward_transfer,
            "forward_transfer": self.forward_transfer,
            "forgetting_measure": self.forgetting_measure,
            "memory_stability": self.memory_stability,
            "per_task_forgetting": self.per_task_forgetting,
        }

    def print_report(self) -> None:
        """Print the numbers, what they mean together, and how the matrix was read."""
        sys.stdout.write(self.report() + "\n")

    def report(self) -> str:
        """What `print_report` prints."""
        from perdure.stats.answer import interpretation_of_one

        sign = _UNITS[self.lifetime.matrix.unit]
        rows = [
            ("Average Accuracy (AA)", _shown(self.average_accuracy, sign)),
            ("Learning Accuracy (LA)", _shown(self.learning_accuracy, sign)),
            ("Backward Transfer (BWT)", _shown(self.backward_transfer, sign, signed=True)),
            ("Forward Transfer (FWT)", _shown(self.forward_transfer, sign, signed=True)),
            ("Forgetting Measure (FM)", _shown(self.forgetting_measure, sign)),
            ("Memory Stability (MS)", _shown(self.memory_stability, "")),
        ]
        lost = zip(self.lifetime.matrix.tasks, self.per_task_forgetting, strict=False)
        bars = {name: one.criterion for name, one in self._declared.items()}
        read = interpretation_of_one(self.score, self._declared, bars)
        lines = [plural(self.T, "task")]
        lines += [f"  {name:26}{value:>10}" for name, value in rows if value]
        lines += ["Forgetting by task"] if self.T > 1 else []
        lines += [f"  {task:26}{_shown(one, sign, signed=True) or '–':>10}" for task, one in lost]
        return "\n".join([*lines, *read, *(f"note: {one}" for one in self.notes)])

    def plot_metrics(self, save_path: str | os.PathLike[str] | None = None) -> Figure:
        """The matrix, just learned against the end, forgetting by task and trajectories, in one figure.

        It is written where a path is given (.png, .svg, .pdf), and returned; a notebook shows it.
        """
        from perdure.reports.data import gather
        from perdure.reports.figures import draw, save_figure

        figure = draw("overview", gather([self.lifetime]))
        if save_path is not None:
            save_figure(figure, save_path)
        return figure

    def _of_two(self, metric: str) -> float | None:
        """A metric that needs two tasks; with one S002 says 0.0."""
        return 0.0 if self.T == 1 else self.score[metric]


def _shown(value: float | None, sign: str, *, signed: bool = False) -> str:
    if value is None:
        return ""
    digits = 2 if sign or abs(value) > 1 else 4
    return f"{value:{'+' if signed else ''}.{digits}f}{sign}"
