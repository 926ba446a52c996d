"""Does your learner keep what it learns? Test and evaluation for lifelong learning.

The public names, listed in `__init__.pyi`, load on first use, so that importing perdure costs nothing and does nothing.
"""

import lazy_loader

__version__ = "0.2.0.dev0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
