"""Public names that differ from the names in their modules, because lazy_loader cannot rename."""

from perdure.log.check import check_log as check
from perdure.reports.figures import save as save_figure

__all__ = ["check", "save_figure"]
