"""What was found, shown: figures, tables, and a report in one file."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(__name__, __file__)
