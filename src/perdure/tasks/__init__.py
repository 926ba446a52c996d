"""Where learning happens: environments lived in episodes, streams of examples lived in batches."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(__name__, __file__)
