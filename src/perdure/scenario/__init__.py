"""What a learner goes through: tasks, blocks, scenarios."""

from perdure.scenario.model import Block, Scenario, Task

__all__ = ["Block", "Scenario", "Task"]
