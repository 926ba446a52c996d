"""Who learns: what a learner is, those that come with Perdure, and how to find one's own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
