"""What was found, shown: figures, tables, and a report in one file.

The names load on first use: a process that only sketches lifetimes needs none of the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perdure.report.material import Material as Material
    from perdure.report.material import gather as gather
    from perdure.report.material import material as material
    from perdure.report.model import Report as Report
    from perdure.report.model import report_of as report_of
    from perdure.report.sketch import sketched as sketched
    from perdure.report.write import as_text as as_text
    from perdure.report.write import write_report as write_report

_HOMES = {
    "Material": "material",
    "Report": "model",
    "as_text": "write",
    "gather": "material",
    "report_of": "model",
    "sketched": "sketch",
    "write_report": "write",
}

__all__ = ["Material", "Report", "as_text", "gather", "report_of", "sketched", "write_report"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'perdure.report' has no attribute {name!r}")
    return getattr(import_module(f"perdure.report.{_HOMES[name]}"), name)
