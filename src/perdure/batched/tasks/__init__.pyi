__all__: list[str]

from perdure.batched.tasks.chance import uniform as uniform
from perdure.batched.tasks.family import Family as Family
