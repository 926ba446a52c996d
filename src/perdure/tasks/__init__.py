"""Where learning happens: environments lived in episodes, streams of examples lived in batches."""

from perdure.tasks.interface import TASKS, BatchTask, EpisodeTask, Parameter, TaskError, TaskKind

__all__ = ["TASKS", "BatchTask", "EpisodeTask", "Parameter", "TaskError", "TaskKind"]
