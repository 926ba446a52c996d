"""The report as JSON: all of it, for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perdure.reports.model import Report

__all__ = ["document"]


def document(report: Report) -> str:
    """The report as a JSON text."""
    return json.dumps(report.as_json(), ensure_ascii=False, allow_nan=False, indent=2, default=str) + "\n"
