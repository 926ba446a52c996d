"""Compiled learners: pure functions over trees of arrays, and methods that change how they learn (extra `jax`).

Nothing here, and nothing that it imports, needs more than JAX, NumPy and msgspec.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
