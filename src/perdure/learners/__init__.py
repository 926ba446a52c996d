"""Who learns: what a learner is, those that come with Perdure, and how to find one's own."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(__name__, __file__)
