"""Where learning happens: environments lived in episodes, streams of examples lived in batches."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
