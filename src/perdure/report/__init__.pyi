__all__: list[str]

from perdure.report.material import Material as Material
from perdure.report.material import gather as gather
from perdure.report.model import Report as Report
from perdure.report.model import report_of as report_of
from perdure.report.sketch import sketched as sketched
from perdure.report.write import as_text as as_text
from perdure.report.write import write_report as write_report
