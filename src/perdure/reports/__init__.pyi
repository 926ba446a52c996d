__all__: list[str]

from perdure.reports.data import gather as gather
from perdure.reports.model import Report as Report
from perdure.reports.model import report_of as report_of
from perdure.reports.thinned import thin_lifetime as thin_lifetime
from perdure.reports.write import as_text as as_text
from perdure.reports.write import write_report as write_report
