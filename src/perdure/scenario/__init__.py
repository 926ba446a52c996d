"""What a learner goes through: tasks, blocks, scenarios."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(
    __name__,
    {
        "distributions": "episodes",
        "model": "Block Scenario Task",
    },
)
