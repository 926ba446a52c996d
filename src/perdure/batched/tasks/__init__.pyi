__all__: list[str]

from .chance import uniform as uniform
from .family import Family as Family
