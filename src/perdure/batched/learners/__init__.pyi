__all__: list[str]

from .interface import Core as Core
