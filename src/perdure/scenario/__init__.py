"""What a learner goes through: tasks, blocks, scenarios."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(__name__, __file__)
