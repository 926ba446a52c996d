"""Tasks that are compiled: families of pure functions whose members differ by numbers (extra `jax`).

Nothing here, and nothing that it imports, needs more than JAX, NumPy and msgspec.
"""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(__name__, __file__)
