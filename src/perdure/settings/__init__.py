"""What decides a score beside the data: each setting declared once, and everything that takes one derived from it."""

from perdure.settings.declare import Option
from perdure.settings.model import OPTIONS, UNDECIDING, Settings, checked

__all__ = ["OPTIONS", "UNDECIDING", "Option", "Settings", "checked"]
