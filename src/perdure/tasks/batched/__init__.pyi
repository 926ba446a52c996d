__all__: list[str]

from perdure.tasks.batched.chance import uniform as uniform
from perdure.tasks.batched.family import Family as Family
