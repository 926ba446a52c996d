__all__: list[str]

from perdure.batched.learners.interface import Core as Core
