"""Compiled tasks: families of pure functions whose members differ by numbers (extra `jax`).

Nothing here, and nothing that it imports, needs more than JAX, NumPy and msgspec.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
