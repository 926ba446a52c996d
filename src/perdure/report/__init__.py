"""What was found, shown: figures, tables, a report in one file, and a page to watch a run."""

from perdure.report.material import Material, gather, material, sketched
from perdure.report.model import Report, report_of
from perdure.report.write import as_text, write_report

__all__ = ["Material", "Report", "as_text", "gather", "material", "report_of", "sketched", "write_report"]
