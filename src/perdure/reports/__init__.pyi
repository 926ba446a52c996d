__all__: list[str]

from .data import gather as gather
from .model import Report as Report
from .model import report_of as report_of
from .thinned import thin_lifetime as thin_lifetime
from .write import as_text as as_text
