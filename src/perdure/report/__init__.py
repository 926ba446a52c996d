"""What was found, shown: figures, tables, and a report in one file."""

from perdure.lazy import loading

__getattr__, __dir__, __all__ = loading(
    __name__,
    {
        "material": "Material gather",
        "model": "Report report_of",
        "sketch": "sketched",
        "write": "as_text write_report",
    },
)
