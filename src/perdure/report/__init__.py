"""What was found, shown: figures, tables, a report in one file, and a page to watch a run."""

from perdure.report.gather import Material, gather
from perdure.report.model import Report, report_of
from perdure.report.write import as_text, write_report

__all__ = ["Material", "Report", "as_text", "gather", "report_of", "write_report"]
