"""The accuracy matrix under the names of *Evaluation Metrics for Continual Learning* (S002): its class, its procedures.

Nothing is computed here a second time: the class shows what `perdure.score` says of a matrix, and the procedures
give matrices that every verb reads.
"""

from perdure.classic.matrix.metrics import ContinualLearningMetrics
from perdure.classic.matrix.procedures import (
    evaluate_continual_learning,
    evaluate_single_task,
    evaluate_with_confidence,
    joint_training_baseline,
    save_matrix,
)

__all__ = [
    "ContinualLearningMetrics",
    "evaluate_continual_learning",
    "evaluate_single_task",
    "evaluate_with_confidence",
    "joint_training_baseline",
    "save_matrix",
]
