__all__: list[str]

from perdure.learners.batched.interface import Core as Core
